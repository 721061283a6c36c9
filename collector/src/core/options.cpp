// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

namespace lacuna::collector {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The words between the commas of what `option` was given. A comma too many is a word forgotten.
template <class Visit>
prof::Status forEachWord(std::string_view option, std::string_view all, Visit&& visit) {
  for (std::size_t at = 0; at <= all.size();) {
    const auto comma = std::min(all.find(',', at), all.size());
    const auto word = trim(all.substr(at, comma - at));
    at = comma + 1;
    if (word.empty()) {
      return prof::Error{fmt::format(
          "{} '{}' has an empty place. Put a word between any two commas, and none at the ends.",
          option, all)};
    }
    if (auto status = visit(word); !status) return status;
  }
  return {};
}

constexpr std::pair<std::string_view, bool Sources::*> kSources[] = {
    {"nvtx", &Sources::nvtx},         {"cuda", &Sources::cuda},
    {"cublas", &Sources::cublas},     {"cudnn", &Sources::cudnn},
    {"cusparse", &Sources::cusparse}, {"cusolver", &Sources::cusolver},
    {"nccl", &Sources::nccl},         {"counters", &Sources::counters},
    {"samples", &Sources::samples},   {"gpu-counters", &Sources::gpuCounters},
};

/// The value of a word that stands for one.
template <class Value>
prof::Result<Value> oneOf(std::string_view option, std::string_view word,
                          std::initializer_list<std::pair<std::string_view, Value>> values) {
  std::string known;
  for (const auto& [name, value] : values) {
    if (word == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return prof::Error{fmt::format("{} does not know '{}'. Known: {}.", option, word, known)};
}

/// Splits "1.5m" into 1.5 and "m".
bool splitNumber(std::string_view text, double& number, std::string_view& unit) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || !std::isfinite(number) || number < 0) return false;
  unit = trim(text.substr(static_cast<std::size_t>(parsed.ptr - text.data())));
  return true;
}

}  // namespace

prof::Result<Sources> parseSources(std::string_view list) {
  Sources sources;
  for (const auto& [name, member] : kSources) sources.*member = false;
  auto status = forEachWord("--trace", list, [&](std::string_view word) -> prof::Status {
    if (word == "none") return {};
    bool known = false;
    for (const auto& [name, member] : kSources) {
      if (word != name && word != "all") continue;
      sources.*member = true;
      known = true;
    }
    if (known) return {};
    return prof::Error{fmt::format("--trace does not know '{}'. Known: {}.", word,
                                   fmt::join(sourceNames(), ", "))};
  });
  if (!status) return status.error();
  sources.nvtx |=
      sources.cublas || sources.cudnn || sources.cusparse || sources.cusolver || sources.nccl;
  sources.cuda |= sources.gpuCounters;
  return sources;
}

std::vector<std::string_view> sourceNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, member] : kSources) names.push_back(name);
  names.insert(names.end(), {"all", "none"});
  return names;
}

prof::Result<Sampler> parseSampler(std::string_view word) {
  return oneOf<Sampler>("--sampler", word,
                        {{"auto", Sampler::Auto},
                         {"perf", Sampler::Perf},
                         {"timer", Sampler::Timer},
                         {"proc", Sampler::Proc}});
}

prof::Result<CudaMode> parseCudaMode(std::string_view word) {
  return oneOf<CudaMode>("--cuda", word,
                         {{"full", CudaMode::Full},
                          {"kernels", CudaMode::Kernels},
                          {"graphs", CudaMode::Graphs},
                          {"off", CudaMode::Off}});
}

prof::Result<Detail> parseDetail(std::string_view word) {
  return oneOf<Detail>("--detail", word, {{"all", Detail::All}, {"some", Detail::Some}});
}

prof::Result<std::uint64_t> parseBytes(std::string_view text) {
  double number = 0;
  std::string_view unit;
  if (!splitNumber(trim(text), number, unit)) {
    return prof::Error{fmt::format("'{}' is not a size. Write it as 256M, 4G or 65536.", text)};
  }
  constexpr std::string_view kUnits = "KMGT";
  double factor = 1;
  if (!unit.empty()) {
    const auto power = kUnits.find(static_cast<char>(unit[0] & ~0x20));
    const auto rest = unit.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) {
      return prof::Error{
          fmt::format("'{}' is not a size: unknown unit '{}'. Use K, M, G or T.", text, unit)};
    }
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = number * factor;
  if (bytes > 9e18) return prof::Error{fmt::format("'{}' is more than a size can be.", text)};
  return static_cast<std::uint64_t>(bytes);
}

prof::Result<std::int64_t> parseDuration(std::string_view text) {
  double number = 0;
  std::string_view unit;
  const prof::Error bad{
      fmt::format("'{}' is not a duration. Write it as 90s, 500ms, 1.5m or 2h.", text)};
  if (!splitNumber(trim(text), number, unit)) return bad;
  double factor = 0;
  if (unit.empty() || unit == "s") factor = 1e9;
  if (unit == "ms") factor = 1e6;
  if (unit == "us") factor = 1e3;
  if (unit == "m" || unit == "min") factor = 60e9;
  if (unit == "h") factor = 3600e9;
  if (factor == 0 || number * factor > 9e18) return bad;
  return static_cast<std::int64_t>(number * factor);
}

prof::Result<DumpOn> parseDumpOn(std::string_view list) {
  DumpOn when;
  auto status = forEachWord("--dump-on", list, [&](std::string_view word) -> prof::Status {
    if (word == "signal") {
      when.signal = true;
    } else if (word == "crash") {
      when.crash = true;
    } else if (word == "slow-step") {
      when.slowStep = true;
    } else {
      return prof::Error{
          fmt::format("--dump-on does not know '{}'. Known: slow-step, signal, crash.", word)};
    }
    return {};
  });
  if (!status) return status.error();
  return when;
}

prof::Status checkOptions(const RunOptions& options) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  const bool ring = options.ringBytes != 0;
  if (ring && options.ringBytes < kLeast) {
    return prof::Error{
        "--ring is less than 1M. Give each process at least that, for example --ring 64M"};
  }
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const std::uint64_t memory = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (options.ringBytes > memory) {
    return prof::Error{
        fmt::format("--ring is more than the memory of this machine ({}M), which each process "
                    "could fill. Give it less, for example --ring 256M",
                    memory >> 20)};
  }
  if (options.memoryLimit < kLeast) {
    return prof::Error{
        "--memory-limit is less than 1M. Give each process at least that, for example "
        "--memory-limit 64M"};
  }
  const DumpOn& when = options.dumpOn;
  if (!ring && (when.signal || when.crash || when.slowStep)) {
    return prof::Error{"--dump-on needs a flight recorder. Add its size, for example --ring 256M"};
  }
  if (!when.slowStep && !options.stepRange.empty() && options.standby.empty()) {
    return prof::Error{
        "--step-range defines a slow step. Add --dump-on slow-step, or leave it out"};
  }
  if (when.slowStep && !options.sources.nvtx) {
    return prof::Error{"--dump-on slow-step finds steps by their NVTX ranges. Add nvtx to --trace"};
  }
  if (ring && options.sources.samples) {
    return prof::Error{
        "a flight recorder keeps no CPU samples. Leave samples out of --trace, or --ring"};
  }
  if (options.sampler != Sampler::Auto && !options.sources.samples) {
    return prof::Error{
        "--sampler chooses the source of CPU samples. Add samples to --trace, or leave it out"};
  }
  if (options.samplePeriodNs < 50'000 || options.samplePeriodNs > 1'000'000'000) {
    return prof::Error{
        "--sample-rate has to be from 1 to 20000 in a second, for example --sample-rate 1000"};
  }
  if (options.pythonPeriodNs != 0 &&
      (options.pythonPeriodNs < 1'000'000 || options.pythonPeriodNs > 1'000'000'000)) {
    return prof::Error{
        "--python-hz has to be from 1 to 1000 in a second, or 0 for none, for example --python-hz "
        "100"};
  }
  if (!(options.slowDeviations > 0) || !std::isfinite(options.slowDeviations)) {
    return prof::Error{"--step-mad has to be a number above 0, for example --step-mad 5"};
  }
  if (options.captureRange.empty()) return {};
  if (!options.sources.nvtx)
    return prof::Error{"--capture-range is an NVTX range. Add nvtx to --trace"};
  if (options.delayNs > 0 || options.durationNs > 0) {
    return prof::Error{
        "--capture-range chooses when to record, and so do --delay and --duration. Use one of the "
        "two"};
  }
  return {};
}

}  // namespace lacuna::collector
