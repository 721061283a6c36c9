// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/checkpoint.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace {

constexpr const char* kKind = "lacuna.optimizer";
constexpr const char* kParameters = "lacuna.parameters";
constexpr const char* kSteps = "lacuna.steps";
constexpr const char* kRate = "lacuna.rate";
constexpr const char* kBaseRate = "lacuna.base_rate";
constexpr const char* kScale = "lacuna.scale";
constexpr const char* kFiniteUpdates = "lacuna.finite_updates";
constexpr const char* kUpdates = "lacuna.updates";  ///< of each parameter, with commas between

std::string described(const Tensor& tensor) {
  return name(tensor.dtype()) + tensor.shape().toString();
}

template <class T>
T parsed(const std::filesystem::path& path, const char* key, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("loadOptimizer", path.string() + ": " + key + " '" + std::string(text) + "' is no number");
  return value;
}

template <class T>
T numberOf(const std::filesystem::path& path, const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    fail("loadOptimizer", path.string() + " holds no " + key + ": it is no optimizer's state");
  return parsed<T>(path, key, found->second);
}

std::string exactly(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// None in a file of a version that did not count them.
std::vector<std::int64_t> updatesOf(const std::filesystem::path& path, const Metadata& metadata) {
  std::vector<std::int64_t> updates;
  const auto found = metadata.find(kUpdates);
  if (found == metadata.end() || found->second.empty()) return updates;
  std::string_view rest = found->second;
  for (;;) {
    const std::size_t comma = rest.find(',');
    updates.push_back(parsed<std::int64_t>(path, kUpdates, rest.substr(0, comma)));
    if (comma == std::string_view::npos) return updates;
    rest.remove_prefix(comma + 1);
  }
}

optim::GradScaler::State scaleOf(const std::filesystem::path& path, const Metadata& metadata) {
  if (!metadata.contains(kScale))
    fail("loadOptimizer",
         path.string() + " was saved without a scaler; pass none to load the optimizer alone");
  const optim::GradScaler::State state{numberOf<double>(path, metadata, kScale),
                                       numberOf<std::int64_t>(path, metadata, kFiniteUpdates)};
  if (!(state.factor > 0) || !std::isfinite(state.factor) || state.finiteUpdates < 0)
    fail("loadOptimizer",
         path.string() + ": the scaler's factor or count of updates makes no sense");
  return state;
}

/// `op` is who was called, `from` where the state comes from, for what does not fit.
void load(nn::Module& module, const TensorMap& state, const char* op, const std::string& from) {
  TensorMap own = stateOf(module);
  for (const auto& [name, tensor] : own) {
    const auto found = state.find(name);
    if (found == state.end()) fail(op, from + " has no '" + name + "'; is it of another network?");
    if (found->second.shape() != tensor.shape() || found->second.dtype() != tensor.dtype()) {
      fail(op, "'" + name + "' is " + described(found->second) + " in " + from + ", and " +
                   described(tensor) + " in the network");
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!own.contains(name)) fail(op, "the network has no '" + name + "', which " + from + " has");
  }
  const NoGrad guard;
  for (auto& [name, tensor] : own) tensor.copy_(state.at(name).to(tensor.device()));
}

}  // namespace

TensorMap stateOf(const nn::Module& module) {
  TensorMap state;
  for (const auto& [name, tensor] : module.namedState()) {
    const auto [at, fresh] = state.emplace(name, tensor);
    if (!fresh && at->second.impl() != tensor.impl())
      fail("stateOf", "two tensors of the network are called '" + name +
                          "', so a file could hold only one of them");
  }
  return state;
}

void loadState(nn::Module& module, const TensorMap& state) {
  load(module, state, "loadState", "the saved state");
}

void saveModule(const std::filesystem::path& path, const nn::Module& module,
                const Metadata& metadata) {
  const PhaseScope phase(Phase::Checkpoint);
  saveTensors(path, stateOf(module), metadata);
}

Metadata loadModule(const std::filesystem::path& path, nn::Module& module) {
  LoadedTensors loaded = loadTensors(path);
  load(module, loaded.tensors, "loadModule", path.string());
  return std::move(loaded.metadata);
}

void saveOptimizer(const std::filesystem::path& path, const optim::Optimizer& optimizer,
                   const optim::GradScaler* scaler) {
  const PhaseScope phase(Phase::Checkpoint);
  TensorMap tensors;
  for (const auto& [name, tensor] : optimizer.state()) {
    if (tensor.defined()) tensors.emplace(name, tensor);
  }
  Metadata metadata{{kKind, optimizer.kind()},
                    {kParameters, std::to_string(optimizer.parameters().size())},
                    {kSteps, std::to_string(optimizer.steps())},
                    {kUpdates, joined(optimizer.updates())},
                    {kRate, exactly(optimizer.rate())},
                    {kBaseRate, exactly(optimizer.baseRate())}};
  if (scaler != nullptr) {
    metadata[kScale] = exactly(scaler->state().factor);
    metadata[kFiniteUpdates] = std::to_string(scaler->state().finiteUpdates);
  }
  saveTensors(path, tensors, metadata);
}

void loadOptimizer(const std::filesystem::path& path, optim::Optimizer& optimizer,
                   optim::GradScaler* scaler) {
  const LoadedTensors loaded = loadTensors(path);
  const auto steps = numberOf<std::int64_t>(path, loaded.metadata, kSteps);
  const auto rate = numberOf<double>(path, loaded.metadata, kRate);
  const bool hasBase = loaded.metadata.contains(kBaseRate);  // files of older versions have none
  const auto base = hasBase ? numberOf<double>(path, loaded.metadata, kBaseRate) : rate;
  const auto count = numberOf<std::size_t>(path, loaded.metadata, kParameters);
  const auto kind = loaded.metadata.find(kKind);
  if (kind == loaded.metadata.end() || kind->second != optimizer.kind()) {
    fail("loadOptimizer", path.string() + " is the state of '" +
                              (kind == loaded.metadata.end() ? "" : kind->second) + "', not of '" +
                              optimizer.kind() + "'");
  }
  if (count != optimizer.parameters().size()) {
    fail("loadOptimizer", path.string() + " is the state of " + std::to_string(count) +
                              " parameters, not of " +
                              std::to_string(optimizer.parameters().size()));
  }
  if (!std::isfinite(rate) || !std::isfinite(base))
    fail("loadOptimizer", path.string() + ": the rate is not finite");
  const auto scale =
      scaler != nullptr ? scaleOf(path, loaded.metadata) : optim::GradScaler::State{};
  std::vector<std::pair<std::string, Tensor>> state(loaded.tensors.begin(), loaded.tensors.end());
  optimizer.setState(state, steps, updatesOf(path, loaded.metadata));
  optimizer.setRate(rate, base);
  if (scaler != nullptr) scaler->setState(scale);
}

}  // namespace lacuna::rt
