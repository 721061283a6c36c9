// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/command.h"
#include "base/nearest.h"
#include "base/output.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::cli {
namespace {

using Words = std::string_view;

constexpr std::array kOn{Words("on")};
constexpr std::array kOff{Words("off")};
constexpr std::array kOnOff{Words("on"), Words("off")};
constexpr std::array kNone{Words("none")};
constexpr std::array kAllocator{Words("cached"), Words("expandable")};
constexpr std::array kPrecisions{Words("highest"), Words("high"), Words("medium")};
constexpr std::array kFreeze{Words("freeze")};

/// More of any of them than a machine has use for.
constexpr std::uint32_t kMostWorkers = 256;
constexpr std::uint32_t kMostAhead = 1024;
constexpr std::uint32_t kMostThreads = 1024;

constexpr std::string_view kKnowsTheModel = "only the model's own code shows where it may be done";

constexpr auto kTypes = std::to_array<SettingType>({
    {.name = "loader.workers",
     .least = 0,
     .most = kMostWorkers,
     .brief = "worker processes of each DataLoader that trains",
     .inScript = "DataLoader(…, num_workers={})",
     .inRuntime = "LoaderOptions{.workers = {}}"},
    {.name = "loader.prefetch",
     .least = 1,
     .most = kMostAhead,
     .brief = "batches that each worker may be ahead",
     .inScript = "DataLoader(…, prefetch_factor={})",
     .inRuntime = "LoaderOptions{.prefetch = {}}"},
    {.name = "loader.persistent",
     .values = kOnOff,
     .brief = "workers stay from one epoch to the next",
     .inScript = "DataLoader(…, persistent_workers={})"},
    {.name = "loader.pin",
     .values = kOnOff,
     .brief = "batches lie in pinned memory",
     .inScript = "DataLoader(…, pin_memory={}) and batch.to(device, non_blocking={})",
     .inRuntime = "LoaderOptions{.pin = {}}"},
    {.name = "optimizer.fused",
     .values = kOnOff,
     .brief = "one kernel updates all parameters; where there is none, foreach",
     .inScript = "torch.optim.AdamW(…, fused={}), or foreach={}",
     .inRuntime = "optimizer.setFused({})"},
    {.name = "zero_grad",
     .values = kNone,
     .brief = "gradients are dropped instead of filled with zeros",
     .inScript = "optimizer.zero_grad(set_to_none=True)",
     .inRuntime = "optimizer.zeroGrad(true)"},
    {.name = "debug",
     .values = kOff,
     .brief = "anomaly detection, emit_nvtx, gradcheck and blocking launches do nothing",
     .inScript = "no torch.autograd.set_detect_anomaly(True), no emit_nvtx(), no gradcheck, no "
                 "CUDA_LAUNCH_BLOCKING=1",
     .inRuntime = "no rt::AnomalyMode"},
    {.name = "amp",
     .values = kOn,
     .brief = "the outermost module's forward computes in bfloat16",
     .inScript = "with torch.autocast(device_type, dtype=torch.bfloat16):",
     .inRuntime = "const rt::Autocast cast; around the forward"},
    {.name = "fuse",
     .values = kOn,
     .brief = "the outermost module is compiled",
     .inScript = "model.compile(), or torch.compile(model)"},
    {.name = "static_graph",
     .values = kOn,
     .brief = "the same, and a graph of it is replayed; on a GPU. In the runtime: each "
              "rt::StaticGraph is on",
     .inScript = "torch.compile(model, mode=\"reduce-overhead\")",
     .inRuntime = "rt::StaticGraph graph({}); and graph.run() around each step"},
    {.name = "autotune",
     .values = kOn,
     .brief = "cuDNN searches the fastest algorithms; on a GPU",
     .inScript = "torch.backends.cudnn.benchmark = True"},
    {.name = "allocator",
     .values = kAllocator,
     .brief = "cached: caching stays on, and its cache is never emptied; expandable: expandable "
              "segments; on a GPU",
     .inScript =
         "no torch.cuda.empty_cache() in the loop; or PYTORCH_ALLOC_CONF=expandable_segments:True"},
    {.name = "channels_last",
     .values = kOn,
     .brief = "the outermost module and its inputs of four dimensions are channels-last",
     .inScript = "model.to(memory_format=torch.channels_last), and so its inputs"},
    {.name = "threads",
     .least = 1,
     .most = kMostThreads,
     .brief = "threads of an operator on the CPU",
     .inScript = "torch.set_num_threads({})"},
    {.name = "matmul",
     .values = kPrecisions,
     .brief = "precision of matrix products of float32",
     .inScript = "torch.set_float32_matmul_precision(\"{}\")"},
    {.name = "gc",
     .values = kFreeze,
     .brief = "garbage collections leave alone what lives after the first step",
     .inScript = "gc.collect(); gc.freeze() behind the first step"},
    {.name = "batch",
     .inScript = "the batch_size of DataLoader, and mind the learning rate",
     .refusal = "it changes what the model learns from a step"},
    {.name = "conv_bias",
     .inScript = "nn.Conv2d(…, bias=False) in front of a batch norm",
     .refusal = "whether only the batch norm reads a layer's output is not known outside, and "
                "saved models would not fit"},
    {.name = "checkpoint",
     .inScript = "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
     .refusal = kKnowsTheModel},
    {.name = "overlap",
     .inScript = "DistributedDataParallel in the place of an all-reduce behind the backward",
     .refusal = "only the script shows which collectives belong to the gradients"},
    {.name = "sync",
     .inScript = "no .item(), print(loss) or torch.cuda.synchronize() in each step",
     .refusal = "the script uses what it waits for"},
    {.name = "workspace",
     .inScript = "CUBLAS_WORKSPACE_CONFIG in the environment",
     .refusal = "each library has a variable of its own for it"},
    {.name = "backend",
     .inScript = "torch.distributed.init_process_group(\"nccl\")",
     .refusal = "which backends can reach the other ranks only the script knows"},
});

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const SettingType& type : kTypes) all.emplace_back(type.name);
  return all;
}

std::vector<std::string_view> settable() {
  std::vector<std::string_view> all;
  for (const SettingType& type : kTypes) {
    if (type.refusal.empty()) all.push_back(type.name);
  }
  return all;
}

prof::Error unknown(std::string_view text, const std::string& name) {
  if (const analyzer::ChangeInfo* info = analyzer::findChange(name); info != nullptr) {
    return prof::Error{fmt::format(
        "--set {}: only lacuna whatif plays '{}'; it is no setting of a program. Settings: {}",
        text, name, fmt::join(settable(), ", "))};
  }
  const std::string meant = didYouMean(names(), name);
  return prof::Error{fmt::format("--set {}: there is no setting '{}'{} Settings: {}", text, name,
                                 meant.empty() ? "." : meant, fmt::join(settable(), ", "))};
}

/// "on" for "true", as what-if reads it.
std::string canonical(std::string_view value) {
  if (analyzer::isOneOf(value, analyzer::kOnWords)) return std::string(analyzer::kOnWords.front());
  if (analyzer::isOneOf(value, analyzer::kOffWords))
    return std::string(analyzer::kOffWords.front());
  return std::string(value);
}

prof::Result<collector::Setting> valueOf(const SettingType& type, std::string_view text,
                                         std::string_view value) {
  if (type.values.empty()) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < type.least ||
        number > type.most) {
      return prof::Error{fmt::format("--set {}: {} is a whole number from {} to {}", text,
                                     type.name, type.least, type.most)};
    }
    return collector::Setting{std::string(type.name), fmt::format("{}", number)};
  }
  const std::string word = canonical(value);
  if (std::ranges::find(type.values, word) == type.values.end()) {
    return prof::Error{fmt::format("--set {}: {} cannot be '{}'; it can be: {}", text, type.name,
                                   value, fmt::join(type.values, ", "))};
  }
  return collector::Setting{std::string(type.name), word};
}

prof::Result<collector::Setting> parseOne(std::string_view text) {
  const std::size_t end = text.find_first_of("=*:");
  const std::string name(text.substr(0, end));
  const SettingType* type = findSetting(name);
  if (text.empty())
    return prof::Error{
        "--set: nothing stands between two commas. Write it as loader.workers=4,amp=on"};
  if (type == nullptr) return unknown(text, name);
  if (!type->refusal.empty()) {
    return prof::Error{fmt::format("--set {}: {} cannot be set from outside: {}. In the script: {}",
                                   text, name, type->refusal, type->inScript)};
  }
  if (end == std::string_view::npos || text[end] != '=' || end + 1 == text.size())
    return prof::Error{
        fmt::format("--set {}: a value is missing. Write it as {}", text, settingForm(*type))};
  return valueOf(*type, text, text.substr(end + 1));
}

}  // namespace

std::span<const SettingType> settingTypes() {
  return kTypes;
}

const SettingType* findSetting(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &SettingType::name);
  return found == kTypes.end() ? nullptr : &*found;
}

std::string settingForm(const SettingType& type) {
  if (type.values.empty()) return fmt::format("{}=N", type.name);
  return fmt::format("{}={}", type.name, fmt::join(type.values, "|"));
}

prof::Result<std::vector<collector::Setting>> parseSettings(const std::vector<std::string>& lists) {
  std::vector<collector::Setting> settings;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      auto setting = parseOne(rest.substr(0, comma));
      if (!setting) return setting.error();
      std::erase_if(settings,
                    [&](const collector::Setting& old) { return old.name == setting->name; });
      settings.push_back(std::move(*setting));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  return settings;
}

std::string scriptLine(const collector::Setting& setting, Language language) {
  const SettingType* type = findSetting(setting.name);
  if (type == nullptr) return setting.text();
  const bool isPython = language == Language::Python;
  const std::string value = setting.value == "on"    ? (isPython ? "True" : "true")
                            : setting.value == "off" ? (isPython ? "False" : "false")
                                                     : setting.value;
  std::string line(isPython ? type->inScript : type->inRuntime);
  for (std::size_t at = 0; (at = line.find("{}", at)) != std::string::npos; at += value.size())
    line.replace(at, 2, value);
  return line;
}

std::vector<std::string> settingBeginnings() {
  std::vector<std::string> all;
  for (const SettingType& type : kTypes) {
    if (!type.refusal.empty()) continue;
    if (type.values.empty()) all.push_back(fmt::format("{}=", type.name));
    for (const std::string_view value : type.values)
      all.push_back(fmt::format("{}={}", type.name, value));
  }
  return all;
}

std::string settingListText() {
  constexpr std::size_t kFormColumns = 30;
  constexpr std::size_t kLeft = kFormColumns + 4;
  std::string text = "Settings of --set, for PyTorch programs:\n";
  for (const SettingType& type : kTypes) {
    if (!type.refusal.empty()) continue;
    text += fmt::format("  {:<{}}  {}\n", settingForm(type), kFormColumns,
                        wrapped(type.brief, listColumns() - kLeft, kLeft));
  }
  text.pop_back();
  return text;
}

}  // namespace lacuna::cli
