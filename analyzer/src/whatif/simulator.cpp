// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "lacuna/analyzer/tables.h"
#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// A replayed graph hands over a kernel in about this time, and leaves this gap between kernels.
constexpr std::int64_t kGraphLaunchNs = 500;
constexpr std::int64_t kGraphGapNs = 500;
constexpr std::int64_t kPinnedCallNs = 5'000;
/// Shorter waits leave a CPU as it was.
constexpr double kSleepNs = 1e6;

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
  LoaderModel loader;
  bool pipelined = false;  ///< batches are prepared by workers of the model, not at the recorded pace
  bool touched = false;    ///< a change altered something
};

/// The interval is this many standard deviations wide on each side: about nineteen of twenty runs.
constexpr double kSigmas = 2;

/// Changes of which a low and a high bound can be played.
bool hasBounds(const Change& change) {
  return change.target == "overlap" || change.target == "amp" || change.target == "autotune" ||
         change.target == "fuse" || change.target == "loader.pin";
}

/// Relative standard deviation of predicted step times from measured ones, by kind of change: what scripts/bench
/// predict measured, or twice the greatest of those where nothing was measured.
double knownError(const Change& change) {
  if (change.target == "loader.workers" || change.target == "loader.prefetch") return 0.05;
  if (change.target == "debug" || change.target == "sync") return 0.1;
  return 0.2;
}

double normalBelow(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// That at least half of the gain comes true: the interval is taken for that of a normal distribution.
double confidenceOf(const Prediction& prediction) {
  const auto gain = static_cast<double>(prediction.gainNs());
  const auto sigma = static_cast<double>(prediction.highNsPerStep - prediction.lowNsPerStep) / (2 * kSigmas);
  if (gain <= 0 || sigma <= 0) return 0;
  return std::clamp(normalBelow(gain / 2 / sigma), 0.0, 0.99);
}

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

/// The fills go, and in each step as many additions: the first gradient is put where it was added to zeros.
void applyZeroGrad(Scenario& scenario) {
  const auto fills = [&](const HostItem& item) {
    return item.kind == HostItemKind::Launch && item.inZeroGrad &&
           (scenario.nodes[item.node].isMemset || matches(scenario.base->names[item.node], "fill"));
  };
  std::vector<std::size_t> filled(scenario.base->steps, 0);
  for (HostItem& item : scenario.items) {
    if (!fills(item)) continue;
    ++filled[item.step];
    removeLaunch(scenario, item);
  }
  // What is added to in the first step was filled with zeros before it.
  if (filled.size() > 1) filled[0] = std::max(filled[0], filled[1]);
  for (HostItem& item : scenario.items) {
    if (!item.accumulates || filled[item.step] == 0) continue;
    --filled[item.step];
    removeLaunch(scenario, item);
  }
}

/// In each step one launch for all parameters that kernels of one name update: it computes what they did.
void applyFusedOptimizer(Scenario& scenario) {
  std::map<std::pair<std::size_t, prof::StringId>, DeviceNode*> heads;  // by queue and kernel, of one step
  std::size_t step = kNowhere;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !item.inOptimizer || item.inZeroGrad) continue;
    if (item.step != step) heads.clear();
    step = item.step;
    item.gapNs /= 10;  // every parameter is still listed
    item.driverNs /= 10;
    item.durNs /= 10;
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work != Work::Compute || node.isMemset || item.blocks) continue;
    const auto [head, isFirst] = heads.try_emplace({node.queue, node.name}, &node);
    if (isFirst) continue;
    head->second->durNs += node.durNs;
    const std::int64_t gapNs = item.gapNs;
    removeLaunch(scenario, item);
    item.gapNs = gapNs;
  }
}

bool isReduction(std::string_view name) {
  return name == "sum" || matches(name, "reduce_kernel") || matches(name, "bias");
}

/// A layer's bias has a gradient, the sum of the layer's: a reduction among the products that come next to the norm's
/// own gradient, which is computed just before.
void applyConvBias(Scenario& scenario) {
  bool behindNorm = false;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    const std::string& name = scenario.base->names[item.node];
    const bool isNorm = matches(name, "batch_norm") || matches(name, "batchnorm") || matches(name, "bn_");
    const bool goesBack = matches(name, "grad") || matches(name, "backward") || matches(name, "_bw_");
    if (isNorm) {
      behindNorm = goesBack;
    } else if (matches(name, "bias") || (behindNorm && isReduction(name))) {
      removeLaunch(scenario, item);
      behindNorm = false;
    } else if (behindNorm && !isMatrixWork(name) && !scenario.nodes[item.node].isMemset) {
      behindNorm = false;
    }
  }
}

/// Collectives get a queue of their own, on which each waits for the work launched before it, and of the step's work
/// only the optimizer waits for them, or where there is none the next step.
void applyOverlap(Scenario& scenario) {
  const std::size_t own = scenario.base->queues;
  std::vector<std::size_t> lastOn(own, kNowhere);
  std::size_t pending = kNowhere, pendingStep = 0;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work == Work::Communication) {
      item.blocks = false;
      if (node.after == kNowhere && lastOn[node.queue] != kNowhere) {
        node.after = lastOn[node.queue];
        node.afterGapNs = node.queueGapNs;
      }
      node.queue = own;
      pending = item.node;
      pendingStep = item.step;
      continue;
    }
    lastOn[node.queue] = item.node;
    if (node.after != kNowhere && scenario.nodes[node.after].work == Work::Communication) {
      node.after = kNowhere;
      node.afterGapNs = 0;
    }
    if (pending == kNowhere || (item.step == pendingStep && (!item.inOptimizer || item.inZeroGrad))) continue;
    node.after = pending;
    pending = kNowhere;
  }
}

bool checksNumbers(std::string_view name) {
  return matches(name, "finite") || matches(name, "isnan") || matches(name, "is_nan") || matches(name, "isinf");
}

/// Checks for numbers that are none, up to the synchronisation that looks at the answer. Where there are none, every
/// synchronisation is taken for the debug mode's.
void applyDebugOff(Scenario& scenario) {
  constexpr int kChain = 8;
  auto& items = scenario.items;
  bool any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != HostItemKind::Launch || !checksNumbers(scenario.base->names[items[i].node])) continue;
    std::size_t end = i;
    while (end < items.size() && end - i < kChain && items[end].kind != HostItemKind::Sync) ++end;
    if (end == items.size() || items[end].kind != HostItemKind::Sync) continue;
    any = true;
    for (std::size_t k = i; k < end; ++k) {
      if (items[k].kind == HostItemKind::Launch) removeLaunch(scenario, items[k]);
    }
    items[end].node = kNowhere;
    items[end].gapNs = items[end].durNs = 0;
    i = end;
  }
  if (any) return;
  for (HostItem& item : items) {
    item.blocks = false;
    if (item.kind != HostItemKind::Sync) continue;
    item.node = kNowhere;
    item.durNs = 0;
  }
}

void apply(Scenario& scenario, const Change& change, Bound bound) {
  const std::string& knob = change.target;
  if (knob == "host") {
    for (HostItem& item : scenario.items)
      item.gapNs = static_cast<std::int64_t>(static_cast<double>(item.gapNs) * change.factor);
  } else if (change.value.empty()) {
    scaleNodes(scenario, change);
  } else if (knob == "loader.workers" || knob == "loader.prefetch") {
    const auto number = static_cast<std::uint32_t>(change.factor);
    (knob == "loader.workers" ? scenario.loader.workers : scenario.loader.prefetch) = number;
    scenario.loader.serial = scenario.loader.workers == 0;
    scenario.pipelined = scenario.loader.workers > 0 && scenario.loader.batchNs > 0;
  } else if (knob == "zero_grad") {
    if (change.value == "none") applyZeroGrad(scenario);
  } else if (knob == "debug") {
    if (!isOn(change)) applyDebugOff(scenario);
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
    if (knob == "overlap" && bound == Bound::Likely) applyOverlap(scenario);
    if (knob == "overlap" && bound == Bound::Low) {
      Change hidden;
      hidden.target = "communication";
      hidden.factor = 0;
      scaleNodes(scenario, hidden);
    }
    if (knob == "loader.pin") applyPinning(scenario, bound);
    if (knob == "optimizer.fused") applyFusedOptimizer(scenario);
    if (knob == "amp") scaleMatching(scenario, pick(kAmpMatrix, bound), pick(kAmpOther, bound));
    if (knob == "autotune") scaleMatching(scenario, pick(kAutotune, bound), 1.0);
  }
}

/// When batches become ready. As recorded: in time where the consumer did not wait, at the recorded pace where it did.
/// Of a changed loader: each worker takes the next batch when it is done, never further ahead than the prefetch depth.
class LoaderLine {
 public:
  explicit LoaderLine(const Scenario& scenario)
      : scenario_(scenario), free_(std::max(1u, scenario.loader.workers), INT64_MIN / 2) {}

  /// When a consumer that comes at `now` has its batch.
  std::int64_t take(const HostItem& item, std::int64_t now) {
    if (!scenario_.pipelined) return recorded(item, now);
    const LoaderModel& loader = scenario_.loader;
    const std::size_t ahead = std::size_t{loader.workers} * loader.prefetch;
    std::int64_t begin = taken_.size() < ahead ? INT64_MIN / 4 : taken_[taken_.size() - ahead];
    auto& worker = *std::min_element(free_.begin(), free_.end());
    begin = std::max(begin, worker);
    worker = begin + loader.batchNs;
    const std::int64_t has = std::max(now, worker) + loader.handoverNs;
    taken_.push_back(has);
    return has;
  }

 private:
  std::int64_t recorded(const HostItem& item, std::int64_t now) {
    const std::int64_t arrives = now + item.durNs;
    ready_ = item.periodNs == 0 || ready_ == INT64_MIN ? arrives : std::max(now, ready_ + item.periodNs);
    return ready_;
  }

  const Scenario& scenario_;
  std::vector<std::int64_t> free_;
  std::vector<std::int64_t> taken_;
  std::int64_t ready_ = INT64_MIN;
};

/// The host's program and the queues, once through.
class Replay {
 public:
  explicit Replay(const Scenario& scenario)
      : scenario_(scenario),
        base_(*scenario.base),
        loader_(scenario),
        end_(scenario.nodes.size(), 0),
        queueEnd_(base_.queues + 1, INT64_MIN / 2) {}

  /// Cuts everything that the next passes do to this window of the replay's time and hands it out.
  void draw(std::int64_t fromNs, std::int64_t toNs, std::vector<DrawnStep::Stretch>* into) {
    from_ = fromNs;
    to_ = toNs;
    drawn_ = into;
  }

  [[nodiscard]] std::int64_t nowNs() const { return host_; }

  Completions pass() {
    Completions out;
    out.atNs.assign(base_.steps, INT64_MIN);
    const std::int64_t from = host_;
    for (const HostItem& item : scenario_.items) {
      play(item);
      std::int64_t& at = out.atNs[item.step];
      at = std::max(at, std::max(host_, item.kind == HostItemKind::Launch ? end_[item.node] : INT64_MIN));
    }
    host_ += base_.tailNs;
    std::int64_t latest = INT64_MIN;
    for (std::int64_t& at : out.atNs) at = latest = std::max(latest, at);
    out.totalNs = std::max(host_, last_) - from;
    return out;
  }

 private:
  void play(const HostItem& item) {
    add(host_, host_ + item.gapNs, {});
    host_ += item.gapNs;
    const std::int64_t before = host_;
    if (item.kind == HostItemKind::Launch) {
      launch(item);
      add(before, host_, {.kind = item.blocks ? DrawnStep::Kind::SyncWait : DrawnStep::Kind::Host, .name = {}});
    } else if (item.kind == HostItemKind::Sync) {
      if (item.node != kNowhere) host_ = std::max(host_, end_[item.node]);
      host_ += item.durNs;
      add(before, host_, {.kind = DrawnStep::Kind::SyncWait, .name = {}});
    } else {
      host_ = scenario_.loader.serial ? host_ + item.durNs : loader_.take(item, host_);
      add(before, host_, {.kind = DrawnStep::Kind::LoaderWait, .name = {}});
    }
  }
  void add(std::int64_t startNs, std::int64_t endNs, DrawnStep::Stretch stretch) {
    if (drawn_ == nullptr || endNs <= from_ || startNs >= to_ || startNs >= endNs) return;
    stretch.startNs = std::max(startNs, from_) - from_;
    stretch.endNs = std::min(endNs, to_) - from_;
    const bool onHost = stretch.kind != DrawnStep::Kind::Work;
    if (onHost && !drawn_->empty() && drawn_->back().kind == stretch.kind && drawn_->back().endNs == stretch.startNs) {
      drawn_->back().endNs = stretch.endNs;
    } else {
      drawn_->push_back(stretch);
    }
  }
  void launch(const HostItem& item) {
    if (item.room != kNowhere) host_ = std::max(host_, end_[item.room]);
    if (!item.blocks) host_ += item.durNs;
    const DeviceNode& node = scenario_.nodes[item.node];
    if (scenario_.removed[item.node]) {
      end_[item.node] = std::max(host_, queueEnd_[node.queue]);
      return;
    }
    std::int64_t start = std::max(host_ + node.launchDelayNs, queueEnd_[node.queue] + node.queueGapNs);
    if (node.after != kNowhere) start = std::max(start, end_[node.after] + node.afterGapNs);
    end_[item.node] = start + node.durNs;
    queueEnd_[node.queue] = std::max(queueEnd_[node.queue], end_[item.node]);
    last_ = std::max(last_, end_[item.node]);
    add(start, end_[item.node],
        {.kind = DrawnStep::Kind::Work, .work = node.work, .queue = node.queue, .name = node.name});
    if (item.blocks) host_ = std::max(host_, end_[item.node]) + item.durNs;
  }

  const Scenario& scenario_;
  const Simulator::Model& base_;
  LoaderLine loader_;
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> queueEnd_;
  std::int64_t host_ = 0;
  std::int64_t last_ = 0;
  std::vector<DrawnStep::Stretch>* drawn_ = nullptr;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

/// What a step computes on the host's cores, whoever does it: a step cannot be shorter than that shared among them.
double computedPerStep(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  double sum = 0;
  for (const HostItem& item : scenario.items) {
    sum += static_cast<double>(item.gapNs);
    if (item.kind == HostItemKind::Launch) {
      sum += static_cast<double>(item.durNs);
      if (!scenario.removed[item.node])
        sum += static_cast<double>(scenario.nodes[item.node].durNs) * static_cast<double>(base.queueCores);
    } else if (item.kind == HostItemKind::LoaderWait) {
      sum += static_cast<double>(scenario.loader.batchNs) * std::max(0.0, scenario.loader.cpuShare);
    }
  }
  return sum / static_cast<double>(base.steps);
}

/// The typical step of the replay. Changed loaders are replayed twice, of which the first fills the pipeline.
std::int64_t replay(const Scenario& scenario) {
  Replay run(scenario);
  if (scenario.pipelined) run.pass();
  const std::int64_t step = run.pass().typicalNs();
  if (!scenario.pipelined || scenario.base->hostCores == 0) return step;
  const double cores = scenario.base->hostCores;
  const auto shared = static_cast<std::int64_t>(computedPerStep(scenario) / cores);
  // What was recorded ran on the same cores, so sharing them makes nothing slower than that.
  return std::max(step, std::min(shared, scenario.base->measured.typicalNs()));
}

/// A CPU that was left waiting computes slower when its work comes: it was asleep, and its caches hold other things.
/// Measured: 5 to 23 % after 10 ms. As far as a change takes the waiting away, work takes what its like took in the
/// quickest steps. Not where batches are computed on the same cores, which keeps them awake.
void warmUp(Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  const double cpuShare = scenario.loader.cpuShare;
  if (!scenario.pipelined || base.queueCores == 0 || cpuShare < 0 || cpuShare > 0.5) return;
  const auto busy = [](const std::vector<DeviceNode>& nodes) {
    double sum = 0;
    for (const DeviceNode& node : nodes) sum += static_cast<double>(node.durNs);
    return sum;
  };
  const auto idleShare = [&](const std::vector<DeviceNode>& nodes, std::int64_t stepNs) {
    const double step = std::max(1.0, static_cast<double>(stepNs) * static_cast<double>(base.steps));
    return std::clamp(1 - busy(nodes) / step, 0.0, 1.0);
  };
  const std::int64_t measuredNs = base.measured.typicalNs();
  const double before = idleShare(base.nodes, measuredNs);
  if (before * static_cast<double>(measuredNs) < kSleepNs) return;
  const double after = idleShare(scenario.nodes, replay(scenario));
  const double warmer = std::clamp((before - after) / before, 0.0, 1.0);
  for (DeviceNode& node : scenario.nodes) {
    node.durNs = static_cast<std::int64_t>(static_cast<double>(node.durNs) * (1 - warmer * (1 - node.warmShare)));
  }
}

/// The window of the step whose length is nearest to the typical one's. The first is left out where there are others:
/// it has no step before it to end at.
std::pair<std::int64_t, std::int64_t> typicalWindow(const Completions& completions, std::int64_t fromNs) {
  const auto& at = completions.atNs;
  std::pair<std::int64_t, std::int64_t> best{fromNs, fromNs + completions.totalNs};
  const std::int64_t typical = completions.typicalNs();
  std::int64_t miss = INT64_MAX;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const std::int64_t off = std::abs(at[i] - at[i - 1] - typical);
    if (off >= miss || at[i] <= at[i - 1]) continue;
    miss = off;
    best = {at[i - 1], at[i]};
  }
  return best;
}

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound) {
  const bool unstalls = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.target.starts_with("loader.") || change.target == "debug" || change.target == "sync";
  });
  Scenario scenario{&model,
                    unstalls ? model.steady.nodes : model.nodes,
                    unstalls ? model.steady.items : model.items,
                    std::vector<char>(model.nodes.size(), 0),
                    model.loader,
                    false};
  for (const Change& change : changes) apply(scenario, change, bound);
  scenario.touched = scenario.pipelined || scenario.nodes != (unstalls ? model.steady.nodes : model.nodes) ||
                     scenario.items != (unstalls ? model.steady.items : model.items);
  warmUp(scenario);
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

bool Simulator::coresBind(std::span<const Change> changes) const {
  const Scenario scenario = scenarioOf(*model_, changes, Bound::Likely);
  if (!scenario.pipelined || model_->hostCores == 0 || scenario.loader.cpuShare < 0.5) return false;
  const double computed = computedPerStep(scenario) / model_->hostCores;
  return computed > 0.7 * static_cast<double>(replay(scenario));
}

Prediction Simulator::play(std::span<const Change> changes) const {
  Prediction out;
  out.measuredNsPerStep = model_->measured.typicalNs();
  out.baseNsPerStep = replay(scenarioOf(*model_, {}, Bound::Likely));
  const auto played = [&](Bound bound) { return replay(scenarioOf(*model_, changes, bound)); };
  const Scenario likely = scenarioOf(*model_, changes, Bound::Likely);
  out.touched = likely.touched;
  out.predictedNsPerStep = out.touched ? replay(likely) : out.baseNsPerStep;
  double doubt = 0;
  bool bounded = false;
  for (const Change& change : changes) {
    doubt = std::max(doubt, knownError(change));
    bounded = bounded || hasBounds(change);
    if (change.target == "overlap") {
      out.notes.push_back(change.text() +
                          " leaves collectives where they are launched, and only the optimizer waits for them; the "
                          "interval reaches from no gain to all of them hidden");
    } else if (hasBounds(change)) {
      out.notes.push_back(change.text() + " rests on a calibration of kernel durations; see the interval");
    }
    if (change.target == "loader.workers" && (model_->hostCores == 0 || model_->loader.cpuShare < 0))
      out.notes.push_back(change.text() + " assumes that the host has the cores to run the workers");
  }
  if (!changes.empty() && !out.touched) {
    out.notes.push_back(
        "nothing that was recorded would change, so the replay cannot tell what this brings: record a run with it and "
        "compare (lacuna diff)");
  }
  out.lowNsPerStep = bounded ? std::min(out.predictedNsPerStep, played(Bound::Low)) : out.predictedNsPerStep;
  out.highNsPerStep = bounded ? std::max(out.predictedNsPerStep, played(Bound::High)) : out.predictedNsPerStep;
  const auto step = static_cast<double>(std::max<std::int64_t>(1, out.predictedNsPerStep));
  if (coresBind(changes)) {
    // Cores may be threads of one core, or lent out: two of them computed 1.1 times what one did on a machine we
    // measured.
    out.highNsPerStep = std::max(out.highNsPerStep, out.baseNsPerStep);
    out.notes.push_back("the loader computes, and the host's cores bound it: the gain may be nothing");
  }
  const auto measured = static_cast<double>(std::max<std::int64_t>(1, out.measuredNsPerStep));
  const double miss = (static_cast<double>(out.baseNsPerStep) - measured) / measured;
  const double sigma = std::sqrt(doubt * doubt + miss * miss + model_->stepNoise * model_->stepNoise);
  const auto widen = static_cast<std::int64_t>(kSigmas * sigma * step);
  if (!changes.empty()) {
    out.lowNsPerStep -= std::min(out.lowNsPerStep, widen);
    out.highNsPerStep += widen;
  }
  out.confidence = confidenceOf(out);
  return out;
}

DrawnStep Simulator::draw(std::span<const Change> changes) const {
  const Scenario scenario = scenarioOf(*model_, changes, Bound::Likely);
  const auto warm = [&] {
    Replay run(scenario);
    if (scenario.pipelined) run.pass();
    return run;
  };
  Replay first = warm();
  const std::int64_t begin = first.nowNs();
  const auto [from, to] = typicalWindow(first.pass(), begin);
  DrawnStep out{.durNs = to - from, .queues = model_->queues, .stretches = {}};
  Replay second = warm();
  second.draw(from, to, &out.stretches);
  second.pass();
  // A change may give work a queue that was not recorded.
  for (const DrawnStep::Stretch& stretch : out.stretches) out.queues = std::max(out.queues, stretch.queue + 1);
  return out;
}

Prediction Simulator::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  const std::vector<Change> changes = parsed ? std::vector<Change>{*parsed} : std::vector<Change>{};
  return play(changes);
}

}  // namespace lacuna::analyzer
