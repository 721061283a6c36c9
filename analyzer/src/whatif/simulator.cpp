// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lacuna/analyzer/tables.h"
#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// A replayed graph hands over a kernel in about this time, and leaves this gap between kernels.
constexpr std::int64_t kGraphLaunchNs = 500;
constexpr std::int64_t kGraphGapNs = 500;
constexpr std::int64_t kPinnedCallNs = 5'000;

/// Factors on durations of kernels; docs/analyses/whatif.md says where each was measured.
struct Factor {
  double likely, low, high;
};
constexpr Factor kAmpMatrix{0.35, 0.15, 0.6};
constexpr Factor kAmpOther{0.85, 0.6, 1.0};
constexpr Factor kAutotune{0.9, 0.75, 1.0};
constexpr Factor kFusedRest{0.15, 0.0, 0.5};
constexpr Factor kPinned{0.5, 0.3, 0.9};

enum class Bound { Likely, Low, High };

double pick(const Factor& factor, Bound bound) {
  return bound == Bound::Likely ? factor.likely : bound == Bound::Low ? factor.low : factor.high;
}

bool matches(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    const std::string_view part = pattern.substr(0, star);
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    const auto found =
        std::search(name.begin() + static_cast<std::ptrdiff_t>(at), name.end(), part.begin(), part.end(), same);
    if (found == name.end() && !part.empty()) return false;
    at = static_cast<std::size_t>(found - name.begin()) + part.size();
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return true;
}

bool isOn(const Change& change) {
  return change.value == "on" || change.value == "1" || change.value == "true" || change.value == "yes";
}

/// The model with changes applied, ready to be replayed.
struct Scenario {
  Simulator::Model const* base = nullptr;
  std::vector<DeviceNode> nodes;
  std::vector<HostItem> items;
  std::vector<char> removed;  ///< by node
  double loaderSpeed = 1;     ///< how many times faster batches become ready
  bool loaderAside = false;   ///< batches are prepared beside the host's program, not in it
  std::int64_t prefetch = 0;  ///< ready batches at most; 0: as recorded
};

void scaleNodes(Scenario& scenario, const Change& change) {
  const auto& names = scenario.base->names;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    DeviceNode& node = scenario.nodes[i];
    const bool isKernel = node.work != Work::Copy;
    const bool hit = change.target == "kernel"          ? isKernel && matches(names[i], change.pattern)
                     : change.target == "copy"          ? node.work == Work::Copy
                     : change.target == "communication" ? node.work == Work::Communication
                                                        : false;
    if (hit) node.durNs = static_cast<std::int64_t>(static_cast<double>(node.durNs) * change.factor);
  }
}

void scaleMatching(Scenario& scenario, double matrix, double other) {
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    DeviceNode& node = scenario.nodes[i];
    if (node.work != Work::Compute) continue;
    const double factor = isMatrixWork(scenario.base->names[i]) ? matrix : other;
    node.durNs = static_cast<std::int64_t>(static_cast<double>(node.durNs) * factor);
  }
}

/// Every launch costs what a graph's node costs; what the host computes for itself between waits is gone.
void applyGraph(Scenario& scenario) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    item.gapNs = std::min(item.gapNs, kGraphLaunchNs);
    item.driverNs = std::min(item.driverNs, item.gapNs);
    item.durNs = 0;
    item.blocks = false;
    DeviceNode& node = scenario.nodes[item.node];
    node.queueGapNs = std::min(node.queueGapNs, kGraphGapNs);
  }
}

void removeLaunch(Scenario& scenario, HostItem& item) {
  scenario.removed[item.node] = 1;
  scenario.nodes[item.node].durNs = 0;
  item.gapNs = 0;
  item.driverNs = 0;
  item.durNs = 0;
}

/// Neighbours in launch order on one queue that are all pointwise become one kernel.
void applyFusion(Scenario& scenario, Bound bound) {
  HostItem* head = nullptr;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) {
      head = nullptr;
      continue;
    }
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work != Work::Compute || node.isMemset || !isPointwiseWork(scenario.base->names[item.node])) {
      head = nullptr;
      continue;
    }
    if (head == nullptr || scenario.nodes[head->node].queue != node.queue) {
      head = &item;
      continue;
    }
    std::int64_t& total = scenario.nodes[head->node].durNs;
    const std::int64_t longer = std::max(total, node.durNs);
    total =
        longer + static_cast<std::int64_t>(static_cast<double>(std::min(total, node.durNs)) * pick(kFusedRest, bound));
    removeLaunch(scenario, item);
  }
}

void applyPinning(Scenario& scenario, Bound bound) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !scenario.nodes[item.node].isPageable) continue;
    DeviceNode& node = scenario.nodes[item.node];
    node.durNs = static_cast<std::int64_t>(static_cast<double>(node.durNs) * pick(kPinned, bound));
    item.durNs = item.blocks ? kPinnedCallNs : std::min(item.durNs, kPinnedCallNs);
    item.blocks = false;
  }
}

void applyZeroGrad(Scenario& scenario) {
  for (HostItem& item : scenario.items) {
    if (item.kind == HostItemKind::Launch && item.inZeroGrad) removeLaunch(scenario, item);
  }
}

void applyFusedOptimizer(Scenario& scenario) {
  // A multi-tensor update launches a handful of kernels in place of one or more per parameter.
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !item.inOptimizer || item.inZeroGrad) continue;
    item.gapNs /= 10;
    item.driverNs /= 10;
    item.durNs /= 10;
  }
}

void applyConvBias(Scenario& scenario) {
  for (HostItem& item : scenario.items) {
    if (item.kind == HostItemKind::Launch && matches(scenario.base->names[item.node], "bias"))
      removeLaunch(scenario, item);
  }
}

void apply(Scenario& scenario, const Change& change, Bound bound) {
  const std::string& knob = change.target;
  if (knob == "host") {
    for (HostItem& item : scenario.items)
      item.gapNs = static_cast<std::int64_t>(static_cast<double>(item.gapNs) * change.factor);
  } else if (change.value.empty()) {
    scaleNodes(scenario, change);
  } else if (knob == "loader.workers") {
    scenario.loaderAside = true;
    scenario.loaderSpeed = change.factor / std::max(1.0, static_cast<double>(scenario.base->workers));
    if (scenario.prefetch == 0) scenario.prefetch = static_cast<std::int64_t>(2 * change.factor);
  } else if (knob == "loader.prefetch") {
    scenario.loaderAside = scenario.loaderAside || !scenario.base->serialLoader;
    scenario.prefetch = static_cast<std::int64_t>(change.factor);
  } else if (knob == "zero_grad") {
    if (change.value == "none") applyZeroGrad(scenario);
  } else if (knob == "sync" || knob == "allocator") {
    for (HostItem& item : scenario.items) {
      if (knob == "allocator") {
        item.gapNs -= std::min(item.gapNs, item.driverNs);
      } else if (item.kind == HostItemKind::Sync && change.value == "off") {
        item.node = kNowhere;
        item.durNs = 0;
      }
    }
  } else if (knob == "conv_bias") {
    if (!isOn(change)) applyConvBias(scenario);
  } else if (isOn(change) || change.value == "bf16" || change.value == "fp16") {
    if (knob == "static_graph") applyGraph(scenario);
    if (knob == "fuse") applyFusion(scenario, bound);
    if (knob == "loader.pin") applyPinning(scenario, bound);
    if (knob == "optimizer.fused") applyFusedOptimizer(scenario);
    if (knob == "amp") scaleMatching(scenario, pick(kAmpMatrix, bound), pick(kAmpOther, bound));
    if (knob == "autotune") scaleMatching(scenario, pick(kAutotune, bound), 1.0);
  }
}

/// When batches become ready: one after the other at the recorded pace times the speed, never further ahead than the
/// prefetch depth allows.
class LoaderLine {
 public:
  explicit LoaderLine(const Scenario& scenario) : scenario_(scenario) {}
  std::int64_t ready(const HostItem& item) {
    const auto pace = static_cast<std::int64_t>(static_cast<double>(item.periodNs) / scenario_.loaderSpeed);
    std::int64_t begin = last_;
    const auto depth = static_cast<std::size_t>(scenario_.prefetch);
    if (depth > 0 && taken_.size() >= depth) begin = std::max(begin, taken_[taken_.size() - depth]);
    last_ = begin + pace;
    return last_;
  }
  void taken(std::int64_t at) { taken_.push_back(at); }

 private:
  const Scenario& scenario_;
  std::int64_t last_ = 0;
  std::vector<std::int64_t> taken_;
};

std::int64_t replay(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  std::vector<std::int64_t> end(scenario.nodes.size(), 0);
  std::vector<std::int64_t> queueEnd(base.queues, INT64_MIN / 2);
  LoaderLine loader(scenario);
  std::int64_t host = 0;
  std::int64_t last = 0;
  for (const HostItem& item : scenario.items) {
    host += item.gapNs;
    if (item.kind == HostItemKind::Launch) {
      if (!item.blocks) host += item.durNs;
      if (scenario.removed[item.node]) {
        end[item.node] = std::max(host, queueEnd[scenario.nodes[item.node].queue]);
        continue;
      }
      const DeviceNode& node = scenario.nodes[item.node];
      std::int64_t start = std::max(host + node.launchDelayNs, queueEnd[node.queue] + node.queueGapNs);
      if (node.after != kNowhere) start = std::max(start, end[node.after] + node.afterGapNs);
      end[item.node] = start + node.durNs;
      queueEnd[node.queue] = std::max(queueEnd[node.queue], end[item.node]);
      last = std::max(last, end[item.node]);
      if (item.blocks) host = std::max(host, end[item.node]) + item.durNs;
    } else if (item.kind == HostItemKind::Sync) {
      if (item.node != kNowhere) host = std::max(host, end[item.node]);
      host += item.durNs;
    } else if (base.serialLoader && !scenario.loaderAside) {
      host += item.durNs;
    } else {
      // Small waits are the price of taking a ready batch and stay.
      const std::int64_t ready = loader.ready(item);
      const bool wasBound = item.durNs > item.periodNs / 20;
      host = std::max(host + (wasBound ? 0 : item.durNs), ready);
      loader.taken(host);
    }
  }
  return std::max(host + base.tailNs, last);
}

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound) {
  Scenario scenario{&model, model.nodes, model.items, std::vector<char>(model.nodes.size(), 0), 1, false, 0};
  if (model.serialLoader) {
    // In a serial loader the wait is the work, so that is what a worker would need for the batch.
    for (HostItem& item : scenario.items) {
      if (item.kind == HostItemKind::LoaderWait) item.periodNs = item.durNs;
    }
  }
  for (const Change& change : changes) apply(scenario, change, bound);
  return scenario;
}

}  // namespace

Simulator::Simulator(std::unique_ptr<Model> model) : model_(std::move(model)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

std::optional<Simulator> Simulator::create(const Analysis& analysis) {
  auto model = buildModel(analysis);
  if (model == nullptr) return std::nullopt;
  return Simulator(std::move(model));
}

Prediction Simulator::play(std::span<const Change> changes) const {
  Prediction out;
  const std::int64_t steps = model_->steps;
  const std::int64_t base = replay(scenarioOf(*model_, {}, Bound::Likely));
  out.measuredNsPerStep = model_->measuredNs / steps;
  out.baseNsPerStep = base / steps;
  out.predictedNsPerStep = replay(scenarioOf(*model_, changes, Bound::Likely)) / steps;
  out.lowNsPerStep = std::min(out.predictedNsPerStep, replay(scenarioOf(*model_, changes, Bound::Low)) / steps);
  out.highNsPerStep = std::max(out.predictedNsPerStep, replay(scenarioOf(*model_, changes, Bound::High)) / steps);
  for (const Change& change : changes) {
    if (change.target == "amp" || change.target == "autotune" || change.target == "fuse" ||
        change.target == "loader.pin") {
      out.notes.push_back(change.text() + " rests on a calibration of kernel durations; see the interval");
    }
    if (change.target == "loader.workers")
      out.notes.push_back(change.text() + " assumes that the host has the cores to run the workers");
  }
  return out;
}

Prediction Simulator::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  const std::vector<Change> changes = parsed ? std::vector<Change>{*parsed} : std::vector<Change>{};
  return play(changes);
}

}  // namespace lacuna::analyzer
