// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/node_links.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "analyses/work/patterns.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Work that starts within this of the end of another queue's work waited for that: devices take
/// some microseconds.
constexpr TimeNs kWokenWithinNs = 10'000;
/// The usual gap between queued kernels is no longer than this, a convention: longer ones waited
/// for something.
constexpr std::int64_t kMostUsualGapNs = 2'000;

/// The gap where no work of the run waited behind other work: captures of A100s have 1.0 µs at
/// least, usually 1.6.
constexpr std::int64_t kUnseenGapNs = 1'000;

class NodeLinks {
 public:
  NodeLinks(std::span<DeviceNode> nodes, std::span<const RecordedWork> work,
            std::span<const prof::DeviceId> devices)
      : nodes_(nodes), work_(work), devices_(devices), queueEndNs_(work.size()) {}

  void find() {
    findPredecessors();
    const std::int64_t reachNs = leastReach();
    std::vector<std::int64_t> delays, gaps;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (nodes_[i].after != kNowhere) continue;
      if (isBoundByLaunch(i, reachNs)) {
        delays.push_back(nodes_[i].launchDelayNs = work_[i].startNs - launchedNs(i));
      } else {
        gaps.push_back(nodes_[i].queueGapNs = work_[i].startNs - queueEndNs_[i]);
      }
    }
    const std::int64_t usualDelay = std::max<std::int64_t>(0, medianOf(delays));
    const std::int64_t usualGap =
        gaps.empty() ? kUnseenGapNs : std::clamp<std::int64_t>(medianOf(gaps), 0, kMostUsualGapNs);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      DeviceNode& node = nodes_[i];
      const bool byLaunch = isBoundByLaunch(i, reachNs);
      if (!byLaunch) node.launchDelayNs = std::min(usualDelay, work_[i].startNs - launchedNs(i));
      if (byLaunch || node.after != kNowhere) node.queueGapNs = std::min(usualGap, mostGap(i));
      if (work_[i].inPlace) node.queueGapNs = 0;
    }
  }

 private:
  struct End {
    TimeNs endNs;
    std::size_t node;
  };
  /// The work that a queue began last, and what it had done before that.
  struct Begun {
    std::size_t last = kNowhere;
    std::size_t before = kNowhere;
  };

  /// The moment from which the launch call itself does not hold up the work.
  [[nodiscard]] TimeNs launchedNs(std::size_t i) const {
    return work_[i].blocks ? work_[i].calledNs : work_[i].returnedNs;
  }

  [[nodiscard]] bool foundQueueFree(std::size_t i) const {
    return nodes_[i].after == kNowhere && launchedNs(i) >= queueEndNs_[i];
  }
  /// Work whose call began that shortly before its queue's end had not reached the device when the
  /// queue was free.
  [[nodiscard]] bool isBoundByLaunch(std::size_t i, std::int64_t reachNs) const {
    return foundQueueFree(i) ||
           (nodes_[i].after == kNowhere && work_[i].calledNs + reachNs >= queueEndNs_[i]);
  }

  /// Work that another bound holds up had at most that gap, or its queue would have held it up.
  [[nodiscard]] std::int64_t mostGap(std::size_t i) const {
    return queueEndNs_[i] == INT64_MIN
               ? INT64_MAX
               : std::max<std::int64_t>(0, work_[i].startNs - queueEndNs_[i]);
  }

  /// A launch takes at least so long from its call to the device: the least that work took whose
  /// queue was free.
  [[nodiscard]] std::int64_t leastReach() const {
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (foundQueueFree(i) && !work_[i].blocks)
        least = std::min(least, work_[i].startNs - work_[i].calledNs);
    }
    return least == INT64_MAX ? 0 : std::max<std::int64_t>(0, least);
  }

  void findPredecessors() {
    const std::vector<End> ends = endsInOrder();
    std::vector<TimeNs> before(devices_.size(), INT64_MIN);
    std::vector<Begun> begun(devices_.size());
    for (const std::size_t i : startsInOrder()) {
      DeviceNode& node = nodes_[i];
      node.behind = lastDone(begun, i);
      begun[node.queue] = {i, begun[node.queue].last};
      queueEndNs_[i] = before[node.queue];
      before[node.queue] = std::max(before[node.queue], work_[i].endNs);
      linkToOtherQueue(i, ends);
      if (node.after != kNowhere) node.behind = kNowhere;
    }
  }

  /// The work that the device's other queues had done last when this node began.
  [[nodiscard]] std::size_t lastDone(const std::vector<Begun>& begun, std::size_t node) const {
    const std::size_t queue = nodes_[node].queue;
    std::size_t last = kNowhere;
    for (std::size_t other = 0; other < begun.size(); ++other) {
      if (other == queue || devices_[other] != devices_[queue]) continue;
      for (const std::size_t at : {begun[other].last, begun[other].before}) {
        if (at == kNowhere || at > node || work_[at].endNs > work_[node].startNs) continue;
        if (last == kNowhere || work_[at].endNs > work_[last].endNs) last = at;
      }
    }
    return last;
  }

  void linkToOtherQueue(std::size_t i, const std::vector<End>& ends) {
    DeviceNode& node = nodes_[i];
    const TimeNs start = work_[i].startNs;
    const TimeNs own = std::max(launchedNs(i), queueEndNs_[i]);
    auto it = std::ranges::upper_bound(ends, start, {}, &End::endNs);
    while (it != ends.begin()) {
      --it;
      if (it->endNs <= own || it->endNs < start - kWokenWithinNs) return;
      if (it->node >= i || nodes_[it->node].queue == node.queue) continue;
      node.after = it->node;
      node.afterGapNs = start - it->endNs;
      return;
    }
  }

  [[nodiscard]] std::vector<End> endsInOrder() const {
    std::vector<End> ends;
    for (std::size_t i = 0; i < work_.size(); ++i) ends.push_back({work_[i].endNs, i});
    std::ranges::sort(ends, {}, &End::endNs);
    return ends;
  }

  [[nodiscard]] std::vector<std::size_t> startsInOrder() const {
    std::vector<std::size_t> byStart(work_.size());
    std::iota(byStart.begin(), byStart.end(), std::size_t{0});
    std::ranges::stable_sort(byStart, {}, [&](std::size_t i) { return work_[i].startNs; });
    return byStart;
  }

  std::span<DeviceNode> nodes_;
  std::span<const RecordedWork> work_;
  std::span<const prof::DeviceId> devices_;
  std::vector<TimeNs>
      queueEndNs_;  ///< for each piece of work, the end of the work before it on its queue
};

}  // namespace

void linkNodes(std::span<DeviceNode> nodes, std::span<const RecordedWork> work,
               std::span<const prof::DeviceId> devices) {
  NodeLinks(nodes, work, devices).find();
}

}  // namespace lacuna::analyzer
