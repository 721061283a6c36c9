// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// The recorded program, played forward once to know what each thing waited for, and walked backward from its end.
class Walk {
 public:
  explicit Walk(const Simulator::Model& model)
      : model_(model),
        hostEnd_(model.items.size(), 0),
        nodeEnd_(model.nodes.size(), 0),
        before_(model.nodes.size(), kNowhere),
        launchedBy_(model.nodes.size(), kNowhere),
        lastOf_(model.queues, kNowhere) {}

  StepPath run() {
    forward();
    backward();
    return path_;
  }

 private:
  void forward() {
    std::int64_t host = 0;
    std::int64_t ready = 0;
    for (std::size_t i = 0; i < model_.items.size(); ++i) {
      const HostItem& item = model_.items[i];
      host += item.gapNs;
      if (item.kind == HostItemKind::Launch) {
        if (item.room != kNowhere) host = std::max(host, nodeEnd_[item.room]);
        if (!item.blocks) host += item.durNs;
        start(i, host);
        if (item.blocks) host = std::max(host, nodeEnd_[item.node]) + item.durNs;
      } else {
        if (item.kind == HostItemKind::Sync && item.node != kNowhere) host = std::max(host, nodeEnd_[item.node]);
        const bool paced = item.kind == HostItemKind::LoaderWait && item.periodNs > 0 && !model_.loader.serial;
        host = paced ? std::max(host, ready + item.periodNs) : host + item.durNs;
        if (item.kind == HostItemKind::LoaderWait) ready = host;
      }
      hostEnd_[i] = host;
    }
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
    if (node.after != kNowhere && nodeEnd_[node.after] + node.afterGapNs > begin) {
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
    // Each turn goes back in time or to an earlier item, so the walk ends.
    while (now > 0) {
      if (node != kNowhere) {
        fromNode(node, item, now);
      } else if (!fromItem(node, item, now)) {
        break;
      }
    }
    path_.hostNs += std::max<std::int64_t>(0, now);
  }
  void fromNode(std::size_t& node, std::size_t& item, std::int64_t& now) {
    const DeviceNode& work = model_.nodes[node];
    std::int64_t& kind = work.work == Work::Compute         ? path_.computeNs
                         : work.work == Work::Communication ? path_.communicationNs
                                                            : path_.copyNs;
    const std::int64_t begin = std::min(now, nodeEnd_[node] - work.durNs);
    kind += now - begin;
    now = begin;
    if (before_[node] != kNowhere) {
      node = before_[node];
      to(nodeEnd_[node], path_.launchNs, now);
      return;
    }
    item = launchedBy_[node];
    const bool held = model_.items[item].blocks;
    const std::int64_t called = hostEnd_[item] - (held ? nodeEnd_[node] - begin + model_.items[item].durNs : 0);
    to(std::min(called, now), path_.launchNs, now);
    // What the call itself waited for is asked of the item before a blocking one.
    if (held && item > 0) {
      to(std::min(now, hostEnd_[item - 1]), path_.hostNs, now);
      --item;
    }
    node = kNowhere;
  }
  /// False at the first item.
  bool fromItem(std::size_t& node, std::size_t& item, std::int64_t& now) {
    const HostItem& at = model_.items[item];
    const std::size_t waited = at.kind == HostItemKind::Sync     ? at.node
                               : at.kind == HostItemKind::Launch ? (at.blocks ? at.node : at.room)
                                                                 : kNowhere;
    const std::int64_t before = item == 0 ? 0 : hostEnd_[item - 1];
    if (waited != kNowhere && nodeEnd_[waited] > before + at.gapNs && nodeEnd_[waited] <= now) {
      to(nodeEnd_[waited], path_.hostNs, now);
      node = waited;
      return true;
    }
    if (at.kind == HostItemKind::LoaderWait) to(std::min(now, before + at.gapNs), path_.loaderNs, now);
    to(std::min(now, before), path_.hostNs, now);
    if (item == 0) return false;
    --item;
    return true;
  }
  static void to(std::int64_t then, std::int64_t& sum, std::int64_t& now) {
    sum += now - then;
    now = then;
  }

  const Simulator::Model& model_;
  std::vector<std::int64_t> hostEnd_, nodeEnd_;
  std::vector<std::size_t> before_, launchedBy_, lastOf_;
  StepPath path_;
};

}  // namespace

StepPath Simulator::criticalPath() const {
  StepPath path = Walk(*model_).run();
  const auto steps = static_cast<std::int64_t>(std::max<std::size_t>(1, model_->steps));
  for (std::int64_t* part :
       {&path.computeNs, &path.communicationNs, &path.copyNs, &path.hostNs, &path.launchNs, &path.loaderNs})
    *part /= steps;
  return path;
}

}  // namespace lacuna::analyzer
