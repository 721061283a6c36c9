// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/prof/bounds.h"
#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// The recorded program, played forward once to know what each thing waited for, and walked
/// backward from its end.
class Walk {
 public:
  explicit Walk(const Simulator::Model& model)
      : model_(model),
        hostEnd_(model.items.size(), 0),
        nodeEnd_(model.nodes.size(), 0),
        before_(model.nodes.size(), kNowhere),
        launchedBy_(model.nodes.size(), kNowhere),
        lastOf_(model.queues, kNowhere),
        paths_(std::max<std::size_t>(1, model.steps)),
        stepEnd_(paths_.size(), 0) {}

  /// By step.
  std::vector<StepPath> run() {
    forward();
    backward();
    return std::move(paths_);
  }

 private:
  using Part = std::int64_t StepPath::*;

  void forward() {
    std::int64_t host = 0;
    std::int64_t ready = 0;
    for (std::size_t i = 0; i < model_.items.size(); ++i) {
      const HostItem& item = model_.items[i];
      prof::addTo(host, item.gapNs);
      if (item.kind == HostItemKind::Launch) {
        if (item.room != kNowhere) host = std::max(host, nodeEnd_[item.room]);
        if (!item.blocks) prof::addTo(host, item.durNs);
        start(i, host);
        if (item.blocks) host = std::max(host, nodeEnd_[item.node]) + item.durNs;
      } else {
        if (item.kind == HostItemKind::Sync && item.node != kNowhere)
          host = std::max(host, nodeEnd_[item.node]);
        const bool paced =
            item.kind == HostItemKind::LoaderWait && item.periodNs > 0 && !model_.loader.serial;
        host = paced ? std::max(host, ready + item.periodNs) : host + item.durNs;
        if (item.kind == HostItemKind::LoaderWait) ready = host;
      }
      hostEnd_[i] = host;
      if (item.step < stepEnd_.size()) stepEnd_[item.step] = host;
    }
    // Time after the last item belongs to the last step; a step without items ends with the one
    // before.
    for (std::size_t s = 1; s < stepEnd_.size(); ++s)
      stepEnd_[s] = std::max(stepEnd_[s], stepEnd_[s - 1]);
    stepEnd_.back() = INT64_MAX;
  }
  void start(std::size_t i, std::int64_t host) {
    const HostItem& item = model_.items[i];
    const DeviceNode& node = model_.nodes[item.node];
    const std::size_t last = lastOf_[node.queue];
    std::int64_t begin = host + node.launchDelayNs;
    launchedBy_[item.node] = i;
    if (last != kNowhere && nodeEnd_[last] + node.queueGapNs > begin) {
      begin = nodeEnd_[last] + node.queueGapNs;
      before_[item.node] = last;
    }
    // Work that is launched later cannot have held it up, whatever the trace's correlations are.
    const bool follows = node.after != kNowhere && launchedBy_[node.after] != kNowhere;
    if (follows && nodeEnd_[node.after] + node.afterGapNs > begin) {
      begin = nodeEnd_[node.after] + node.afterGapNs;
      before_[item.node] = node.after;
    }
    nodeEnd_[item.node] = begin + node.durNs;
    if (last == kNowhere || nodeEnd_[item.node] > nodeEnd_[last]) lastOf_[node.queue] = item.node;
  }

  void backward() {
    if (model_.items.empty()) return;
    std::size_t node = kNowhere;
    std::size_t item = model_.items.size() - 1;
    std::int64_t now = hostEnd_[item];
    for (const std::size_t last : lastOf_) {
      if (last == kNowhere || nodeEnd_[last] <= now) continue;
      now = nodeEnd_[last];
      node = last;
    }
    // Work that is waited for was launched by an earlier item, so the walk ends.
    while (now > 0) {
      if (node != kNowhere) {
        fromNode(node, item, now);
      } else if (!fromItem(node, item, now)) {
        break;
      }
    }
    to(0, &StepPath::hostNs, now);
  }
  void fromNode(std::size_t& node, std::size_t& item, std::int64_t& now) {
    const DeviceNode& work = model_.nodes[node];
    const Part kind = work.work == Work::Compute         ? &StepPath::computeNs
                      : work.work == Work::Communication ? &StepPath::communicationNs
                                                         : &StepPath::copyNs;
    const std::int64_t begin = std::min(now, nodeEnd_[node] - work.durNs);
    to(begin, kind, now);
    if (before_[node] != kNowhere) {
      node = before_[node];
      to(nodeEnd_[node], &StepPath::launchNs, now);
      return;
    }
    item = launchedBy_[node];
    const bool held = model_.items[item].blocks;
    const std::int64_t called =
        hostEnd_[item] - (held ? nodeEnd_[node] - begin + model_.items[item].durNs : 0);
    to(std::min(called, now), &StepPath::launchNs, now);
    // The item before a blocking call is asked for what the call itself waited for.
    if (held) {
      to(std::min(now, item > 0 ? hostEnd_[item - 1] : 0), &StepPath::hostNs, now);
      if (item > 0) --item;
    }
    node = kNowhere;
  }
  /// Work that the item itself launched and waits for, or that an earlier one launched. Where
  /// correlations are wrong an item may wait for what is launched later, and following that would
  /// go round.
  [[nodiscard]] bool canBeFollowed(std::size_t node, std::size_t item) const {
    if (node == kNowhere) return false;
    return launchedBy_[node] < item || (launchedBy_[node] == item && model_.items[item].blocks);
  }
  /// False at the first item.
  bool fromItem(std::size_t& node, std::size_t& item, std::int64_t& now) {
    const HostItem& at = model_.items[item];
    const std::size_t waited = at.kind == HostItemKind::Sync     ? at.node
                               : at.kind == HostItemKind::Launch ? (at.blocks ? at.node : at.room)
                                                                 : kNowhere;
    const std::int64_t before = item == 0 ? 0 : hostEnd_[item - 1];
    if (canBeFollowed(waited, item) && nodeEnd_[waited] > before + at.gapNs &&
        nodeEnd_[waited] <= now) {
      to(nodeEnd_[waited], &StepPath::hostNs, now);
      node = waited;
      return true;
    }
    if (isOfLoader(at.kind)) to(std::min(now, before + at.gapNs), &StepPath::loaderNs, now);
    to(std::min(now, before), &StepPath::hostNs, now);
    if (item == 0) return false;
    --item;
    return true;
  }
  /// Walks back to `then`, through as many steps as lie between.
  void to(std::int64_t then, Part part, std::int64_t& now) {
    while (now > then) {
      const auto step = static_cast<std::size_t>(
          std::partition_point(stepEnd_.begin(), stepEnd_.end(),
                               [&](std::int64_t end) { return end < now; }) -
          stepEnd_.begin());
      const std::int64_t from = step == 0 ? then : std::max(then, stepEnd_[step - 1]);
      prof::addTo(paths_[step].*part, now - from);
      now = from;
    }
    now = then;
  }

  const Simulator::Model& model_;
  std::vector<std::int64_t> hostEnd_, nodeEnd_;
  std::vector<std::size_t> before_, launchedBy_, lastOf_;
  std::vector<StepPath> paths_;
  std::vector<std::int64_t> stepEnd_;
};

}  // namespace

std::vector<StepPath> Simulator::criticalPaths() const {
  return Walk(*model_).run();
}

}  // namespace lacuna::analyzer
