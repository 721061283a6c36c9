// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/queue_room.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lacuna::analyzer {
namespace {

/// A queue that holds this part of the most that it ever held is full. A host that waits for room
/// wakes when some of it is free, a quarter in our own runtime.
constexpr double kFull = 0.7;
/// Queues hold about a thousand pieces of work. One that never held so many has never been full.
constexpr std::int64_t kDeep = 64;

}  // namespace

QueueRoom::QueueRoom(std::vector<std::vector<prof::TimeNs>> earlierEnds,
                     std::span<const Launch> launches)
    : ends_(std::move(earlierEnds)), full_(launches.size(), 0) {
  std::vector<std::int64_t> launched(ends_.size()), most(ends_.size()), held;
  for (std::size_t queue = 0; queue < ends_.size(); ++queue)
    launched[queue] = static_cast<std::int64_t>(ends_[queue].size());
  for (const Launch& launch : launches) {
    ends_[launch.queue].push_back(launch.endNs);
    queues_.push_back(launch.queue);
  }
  for (auto& ends : ends_) std::sort(ends.begin(), ends.end());
  for (const Launch& launch : launches) {
    const auto& ends = ends_[launch.queue];
    const auto ended = std::upper_bound(ends.begin(), ends.end(), launch.returnedNs) - ends.begin();
    held.push_back(++launched[launch.queue] - ended);
    most[launch.queue] = std::max(most[launch.queue], held.back());
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::int64_t deepest = most[launches[i].queue];
    const bool isFull = static_cast<double>(held[i]) >= kFull * static_cast<double>(deepest);
    full_[i] = deepest >= kDeep && isFull ? 1 : 0;
  }
}

std::int64_t QueueRoom::behindWait(std::size_t launch, prof::TimeNs startNs,
                                   prof::TimeNs endNs) const {
  const auto& ends = ends_[queues_[launch]];
  const auto behind = std::upper_bound(ends.begin(), ends.end(), endNs);
  return behind == ends.begin() ? endNs - startNs : endNs - std::max(startNs, *std::prev(behind));
}

}  // namespace lacuna::analyzer
