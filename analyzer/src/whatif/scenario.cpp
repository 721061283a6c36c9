// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/scenario.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "lacuna/analyzer/efficiency.h"
#include "lacuna/analyzer/tables.h"
#include "lacuna/analyzer/text_match.h"
#include "lacuna/prof/bounds.h"
#include "whatif/replay.h"

namespace lacuna::analyzer {
namespace {

/// A replayed graph hands over a kernel in about this time, and leaves this gap between kernels.
constexpr std::int64_t kGraphLaunchNs = 500;
constexpr std::int64_t kGraphGapNs = 500;
constexpr std::int64_t kPinnedCallNs = 5'000;
/// What does nothing takes about this on a GPU, and on a CPU's queue.
constexpr std::int64_t kEmptyKernelNs = 1'500;
constexpr std::int64_t kEmptyCpuWorkNs = 200;
/// Shorter waits leave a CPU as it was.
constexpr double kSleepNs = 1e6;

double pick(const DurationFactor& factor, Bound bound) {
  return bound == Bound::Likely ? factor.likely : bound == Bound::Low ? factor.low : factor.high;
}

bool isOn(const Change& change) {
  return isOneOf(change.value, kOnWords);
}

/// Whether a name holds the pattern, in which '*' stands for anything; letters match in either case.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    const std::string_view part = pattern.substr(0, star);
    const std::size_t found = findAnyCase(name, part, at);
    if (found == std::string_view::npos) return false;
    at = found + part.size();
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return true;
}

bool isNamed(const Change& change, std::string_view name) {
  return change.whole ? name == change.pattern : matches(name, change.pattern);
}

std::int64_t scaled(std::int64_t ns, double factor) {
  return prof::wholeOf<std::int64_t>(static_cast<double>(ns) * factor);
}

void scaleNodes(Scenario& scenario, const Change& change) {
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    std::int64_t& durNs = scenario.nodes[i].durNs;
    if (scales(change, *scenario.base, i)) durNs = scaled(durNs, change.factor);
  }
}

bool computesInHalf(std::string_view kernel) {
  const Number number = numberOfKernel(kernel);
  return number == Number::F16 || number == Number::Bf16 || number == Number::F8 || number == Number::I8;
}

/// By what the knob leaves of kernels of each kind and length.
void scaleKernels(Scenario& scenario, std::string_view knob, Bound bound) {
  const Simulator::Model& base = *scenario.base;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    DeviceNode& node = scenario.nodes[i];
    if (node.work != Work::Compute || (knob == "amp" && computesInHalf(base.names[i]))) continue;
    node.durNs = scaled(node.durNs, pick(base.factors().factor(knob, kernelKindOf(base.names[i]), node.durNs), bound));
  }
}

/// Every launch costs what a graph's node costs; what the host computes for itself between waits is gone. A graph holds
/// a step: what the host does between two, as waiting for batches of a loader that nothing tells of, stays.
void applyGraph(Scenario& scenario) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch) continue;
    const std::int64_t betweenNs = std::min(item.gapNs, item.betweenNs);
    item.gapNs = betweenNs + std::min(item.gapNs - betweenNs, kGraphLaunchNs);
    item.driverNs = std::min(item.driverNs, item.gapNs);
    // A CPU that works within the call does so for a graph, too, and so does a caller that works itself.
    item.blocks = scenario.base->queueCores > 0 && (item.blocks || scenario.base->callerWorks(item));
    item.durNs = 0;
    DeviceNode& node = scenario.nodes[item.node];
    node.queueGapNs = std::min(node.queueGapNs, kGraphGapNs);
  }
}

/// A quicker host lets queues run side by side whose work it launched one behind the other, and what the program's own
/// waits between them were for shows only where they held something up. So they keep the order that was recorded.
void keepQueueOrder(Scenario& scenario) {
  for (DeviceNode& node : scenario.nodes) {
    if (node.after != kNowhere) continue;
    node.after = node.behind;
    node.afterGapNs = 0;
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
    if (head == nullptr || item.betweenNs > 0 || scenario.nodes[head->node].queue != node.queue) {
      head = &item;
      continue;
    }
    std::int64_t& total = scenario.nodes[head->node].durNs;
    const std::int64_t longer = std::max(total, node.durNs), shorter = std::min(total, node.durNs);
    const DurationFactor rest = scenario.base->factors().factor("fuse", KernelKind::Pointwise, shorter);
    total = longer + scaled(shorter, pick(rest, bound));
    removeLaunch(scenario, item);
  }
}

void applyPinning(Scenario& scenario, Bound bound) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !scenario.nodes[item.node].isPageable) continue;
    DeviceNode& node = scenario.nodes[item.node];
    const DurationFactor pinned = scenario.base->factors().factor("loader.pin", KernelKind::Copy, node.durNs);
    node.durNs = scaled(node.durNs, pick(pinned, bound));
    item.durNs = item.blocks ? kPinnedCallNs : std::min(item.durNs, kPinnedCallNs);
    item.blocks = false;
  }
}

/// The fills go, and in each step as many additions: the first gradient is put where it was added to zeros.
void applyZeroGrad(Scenario& scenario) {
  const auto fills = [&](const HostItem& item) {
    return item.kind == HostItemKind::Launch && item.inZeroGrad &&
           (scenario.nodes[item.node].isMemset || fillsMemory(scenario.base->names[item.node]));
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

using KernelOfQueue = std::pair<std::size_t, prof::StringId>;

/// What a kernel takes however little it does: what it took where it did least, as far as that is usual.
std::map<KernelOfQueue, std::int64_t> startCostsNs(const Simulator::Model& model) {
  const std::int64_t most = model.queueCores > 0 ? kEmptyCpuWorkNs : kEmptyKernelNs;
  std::map<KernelOfQueue, std::int64_t> costs;
  for (const DeviceNode& node : model.nodes) {
    std::int64_t& cost = costs.try_emplace({node.queue, node.name}, most).first->second;
    cost = std::min(cost, node.durNs);
  }
  return costs;
}

/// In each step one launch for all parameters that kernels of one name update: it computes what they did.
void applyFusedOptimizer(Scenario& scenario) {
  const auto startNs = startCostsNs(*scenario.base);
  std::map<KernelOfQueue, DeviceNode*> heads;  // of one step
  std::size_t step = kNowhere;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || !item.inOptimizer || item.inZeroGrad) continue;
    if (item.step != step) heads.clear();
    step = item.step;
    DeviceNode& node = scenario.nodes[item.node];
    if (node.work != Work::Compute || node.isMemset || item.blocks) continue;
    const KernelOfQueue kernel{node.queue, node.name};
    const auto [head, isFirst] = heads.try_emplace(kernel, &node);
    if (isFirst) continue;
    prof::addTo(head->second->durNs, std::max<std::int64_t>(0, node.durNs - startNs.at(kernel)));
    const std::int64_t gapNs = item.gapNs / 10;  // every parameter is still listed
    removeLaunch(scenario, item);
    item.gapNs = gapNs;
  }
}

/// Calls of one name. One that takes no time does not wait either; one that started work hands it over as others do.
void applyCall(Scenario& scenario, const Change& change) {
  const Simulator::Model& base = *scenario.base;
  std::unordered_map<prof::StringId, bool> named;
  for (const auto& [id, name] : base.callNames) named[id] = isNamed(change, name);
  const auto moves = [&](const HostItem& item) {
    const std::uint64_t bytes = scenario.nodes[item.node].bytes;
    return bytes <= change.uptoBytes && (change.aboveBytes == 0 || bytes > change.aboveBytes);
  };
  for (HostItem& item : scenario.items) {
    if (item.kind == HostItemKind::LoaderWait || !named[item.call]) continue;
    if (item.kind == HostItemKind::Launch && !moves(item)) continue;
    if (item.kind == HostItemKind::Sync && change.aboveBytes > 0) continue;
    if (change.factor > 0) {
      item.durNs = scaled(item.durNs, change.factor);
    } else if (item.kind == HostItemKind::Sync) {
      item.node = kNowhere;
      item.durNs = 0;
    } else {
      item.durNs = std::min(item.durNs, kPinnedCallNs);
      item.blocks = false;
    }
  }
  for (const DriverPart& part : base.driverParts) {
    if (!named[part.call]) continue;
    HostItem& item = scenario.items[part.item];
    const std::int64_t goes = std::min({item.gapNs, item.driverNs, scaled(part.ns, std::max(0.0, 1 - change.factor))});
    prof::takeFrom(item.gapNs, goes);
    prof::takeFrom(item.driverNs, goes);
  }
}

/// What the thread did not run takes another time; a call of the driver that it slept in is the driver's.
void scaleOffCpu(Scenario& scenario, double factor) {
  for (HostItem& item : scenario.items) {
    const std::int64_t offNs = std::min(item.gapNs, item.offCpuNs);
    prof::addTo(item.gapNs, scaled(offNs, factor) - offNs);
    item.offCpuNs = scaled(offNs, factor);
  }
}

void scaleDetour(Scenario& scenario, Detour detour, double factor) {
  const auto at = static_cast<std::size_t>(detour);
  for (HostItem& item : scenario.items) {
    const std::int64_t ns = std::min(item.gapNs, item.detourNs[at]);
    prof::addTo(item.gapNs, scaled(ns, factor) - ns);
    item.driverNs = std::min(item.driverNs, item.gapNs);
    if ((item.detours >> at & 1) == 0) continue;
    if (item.kind == HostItemKind::Launch && factor == 0) {
      const std::int64_t before = item.gapNs;
      removeLaunch(scenario, item);
      item.gapNs = before;
    } else if (item.kind == HostItemKind::Launch) {
      item.durNs = scaled(item.durNs, factor);
      scenario.nodes[item.node].durNs = scaled(scenario.nodes[item.node].durNs, factor);
    } else {
      if (factor == 0) item.node = kNowhere;
      item.durNs = scaled(item.durNs, factor);
    }
  }
}

/// How long preparing batches takes.
void scaleLoader(Scenario& scenario, double factor) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::LoaderWait) continue;
    item.periodNs = scaled(item.periodNs, factor);
    // Behind a batch that came late, only handing it over is left of the wait.
    item.durNs = scaled(item.durNs, factor);
  }
  scenario.loader.batchNs = std::max<std::int64_t>(1, scaled(scenario.loader.batchNs, factor));
}

/// Other programs' share of what the threads' work took: of what the host does, of batches as far as preparing them
/// computes, and of the work of a CPU device.
void scaleCoresTaken(Scenario& scenario, double factor) {
  const Simulator::Model& base = *scenario.base;
  const double host = 1 - base.hostLostShare * (1 - factor);
  const double others = 1 - base.lostShare * (1 - factor);
  const double loader = 1 - base.lostShare * (1 - factor) * std::clamp(scenario.loader.cpuShare, 0.0, 1.0);
  for (HostItem& item : scenario.items) {
    item.gapNs = scaled(item.gapNs, host);
    item.driverNs = scaled(item.driverNs, host);
    if (item.kind == HostItemKind::Launch) item.durNs = scaled(item.durNs, host);
    if (item.kind != HostItemKind::LoaderWait) continue;
    item.durNs = scaled(item.durNs, loader);
    item.periodNs = scaled(item.periodNs, loader);
  }
  scenario.loader.batchNs = scaled(scenario.loader.batchNs, loader);
  if (base.queueCores == 0) return;
  for (DeviceNode& node : scenario.nodes) node.durNs = scaled(node.durNs, others);
}

/// More samples: work on the device and in the loader takes that much longer, at most; the host's part stays.
void scaleBatch(Scenario& scenario, double factor) {
  for (DeviceNode& node : scenario.nodes) {
    if (node.work != Work::Communication) node.durNs = scaled(node.durNs, factor);
  }
  scaleLoader(scenario, factor);
}

/// A loop over samples becomes one operator: a launch for each of its kernels, and between as long as the longest and
/// as all of them on the device.
void applyJoinedRepeats(Scenario& scenario, Bound bound) {
  const auto& joins = scenario.base->joins;
  if (joins.empty()) return;
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::Launch || joins[item.node] == kNowhere) continue;
    std::int64_t& head = scenario.nodes[joins[item.node]].durNs;
    const std::int64_t own = scenario.nodes[item.node].durNs;
    head = bound == Bound::Low ? std::max(head, own) : head + own;
    removeLaunch(scenario, item);
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

void scalePart(Scenario& scenario, const Change& change) {
  const std::string& part = change.target;
  if (part == "call") {
    applyCall(scenario, change);
  } else if (part == "loader") {
    scaleLoader(scenario, change.factor);
  } else if (part == "start-delay") {
    for (DeviceNode& node : scenario.nodes) {
      for (const auto delay : {&DeviceNode::launchDelayNs, &DeviceNode::queueGapNs, &DeviceNode::afterGapNs})
        node.*delay = scaled(node.*delay, change.factor);
    }
  } else if (part == "off-cpu") {
    scaleOffCpu(scenario, change.factor);
  } else if (part == "cores-taken") {
    scaleCoresTaken(scenario, change.factor);
  } else if (part == "batch") {
    scaleBatch(scenario, change.factor);
  } else if (part == "replication") {
    scaleDetour(scenario, Detour::Replicates, change.factor);
  } else if (part == "through-host") {
    scaleDetour(scenario, Detour::ThroughHost, change.factor);
  } else if (part == "conversion") {
    scaleDetour(scenario, Detour::ConvertsBack, change.factor);
  } else {
    scaleNodes(scenario, change);
  }
}

void apply(Scenario& scenario, const Change& change, Bound bound) {
  const std::string& knob = change.target;
  if (knob == "host") {
    // Allocator and driver calls take what they take, however quick the program is.
    for (HostItem& item : scenario.items) {
      const std::int64_t driverNs = std::min(item.gapNs, item.driverNs);
      item.gapNs = driverNs + scaled(item.gapNs - driverNs, change.factor);
    }
  } else if (change.value.empty()) {
    scalePart(scenario, change);
  } else if (knob == "loader.workers" || knob == "loader.prefetch") {
    const auto number = prof::wholeOf<std::uint32_t>(change.factor);
    (knob == "loader.workers" ? scenario.loader.workers : scenario.loader.prefetch) = number;
    scenario.loader.serial = scenario.loader.workers == 0;
    scenario.pipelined = scenario.loader.canBePlayed();
    scenario.touched = scenario.pipelined;
  } else if (knob == "zero_grad") {
    if (change.value == "none") applyZeroGrad(scenario);
  } else if (knob == "debug") {
    if (!isOn(change)) applyDebugOff(scenario);
  } else if (knob == "sync" || knob == "allocator") {
    for (HostItem& item : scenario.items) {
      if (knob == "allocator") {
        prof::takeFrom(item.gapNs, std::min(item.gapNs, item.driverNs));
      } else if (item.kind == HostItemKind::Sync && change.value == "off") {
        item.node = kNowhere;
        item.durNs = 0;
      }
    }
  } else if (knob == "repeats") {
    applyJoinedRepeats(scenario, bound);
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
    if (knob == "amp" || knob == "autotune") scaleKernels(scenario, knob, bound);
  }
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
  const double goes = std::clamp(before - after, 0.0, before);
  double warmer = goes / before;
  double gained = 0;
  for (const DeviceNode& node : scenario.nodes)
    gained += static_cast<double>(node.durNs) * warmer * (1 - node.warmShare);
  // What a wait cooled down costs less than the wait: where more would be gained, the steps differ for other reasons.
  const double most = goes * static_cast<double>(measuredNs) * static_cast<double>(base.steps);
  if (gained > most) warmer *= most / gained;
  for (DeviceNode& node : scenario.nodes) {
    node.durNs = scaled(node.durNs, 1 - warmer * (1 - node.warmShare));
  }
}

/// Whether the change takes waits of the host away.
bool takesAStallAway(const Change& change, const Simulator::Model& model) {
  if (change.target.starts_with("loader") || change.target == "debug" || change.target == "sync") return true;
  return change.target == "call" && change.factor == 0 &&
         std::any_of(model.items.begin(), model.items.end(), [&](const HostItem& item) {
           const auto name = model.callNames.find(item.call);
           return (item.kind == HostItemKind::Sync || item.blocks) && name != model.callNames.end() &&
                  isNamed(change, name->second);
         });
}

}  // namespace

bool scales(const Change& change, const Simulator::Model& model, std::size_t node) {
  const Work work = model.nodes[node].work;
  if (change.target == "kernel") return work != Work::Copy && isNamed(change, model.names[node]);
  return (change.target == "copy" && work == Work::Copy) ||
         (change.target == "communication" && work == Work::Communication);
}

bool namesCalls(const Change& change, const Simulator::Model& model) {
  return std::any_of(model.callNames.begin(), model.callNames.end(),
                     [&](const auto& call) { return isNamed(change, call.second); });
}

bool quickensHost(const Change& change) {
  if (change.target == "host" || change.target == "off-cpu") return change.factor < 1;
  return change.target == "static_graph" || change.target == "allocator";
}

bool hasBounds(const Change& change) {
  return change.target == "overlap" || change.target == "repeats" || Calibration::isFor(change.target);
}

namespace {

bool takesStallsAway(const Simulator::Model& model, std::span<const Change> changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const Change& change) { return takesAStallAway(change, model); });
}

Scenario changed(const Simulator::Model& model, std::span<const Change> changes, Bound bound, bool unstalls,
                 bool steadily) {
  const std::vector<DeviceNode>& nodes = steadily ? model.steady.nodes : model.nodes;
  const std::vector<HostItem>& items = steadily ? model.steady.items : model.items;
  Scenario scenario{&model, nodes, items, std::vector<char>(nodes.size(), 0), model.loader};
  scenario.unstalled = unstalls;
  scenario.pipelined = unstalls && model.loader.canBePlayed();
  for (const Change& change : changes) apply(scenario, change, bound);
  const bool overlaps =
      std::any_of(changes.begin(), changes.end(), [](const Change& change) { return change.target == "overlap"; });
  if (!overlaps && std::any_of(changes.begin(), changes.end(), quickensHost) && scenario.items != items)
    keepQueueOrder(scenario);
  scenario.touched = scenario.touched || scenario.nodes != nodes || scenario.items != items;
  warmUp(scenario);
  return scenario;
}

}  // namespace

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound) {
  const bool unstalls = takesStallsAway(model, changes);
  return changed(model, changes, bound, unstalls, unstalls);
}

Scenario asRecorded(const Simulator::Model& model, std::span<const Change> changes) {
  return changed(model, changes, Bound::Likely, takesStallsAway(model, changes), false);
}

}  // namespace lacuna::analyzer
