// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/launched_within.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

using prof::ProcessId;
using prof::TimeWindow;

void ThreadStretches::finish() {
  for (auto& [thread, stretches] : byThread_)
    std::ranges::sort(stretches, {}, &TimeWindow::startNs);
}

bool ThreadStretches::hold(prof::ThreadId thread, prof::TimeNs at) const {
  const auto found = byThread_.find(thread);
  if (found == byThread_.end()) return false;
  const auto next = std::ranges::upper_bound(found->second, at, {}, &TimeWindow::startNs);
  return next != found->second.begin() && at < std::prev(next)->endNs;
}

prof::Result<std::int64_t> kernelNsLaunchedIn(const Store& store, const Topology& topology,
                                              TimeWindow window, const ThreadStretches& stretches) {
  using prof::ApiCall;
  using prof::Kernel;
  using prof::Range;
  std::unordered_map<ProcessId, std::unordered_set<std::uint64_t>> launched;
  const auto take = [&](std::uint64_t, auto start, auto thread, auto correlation) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      if (correlation[i] == 0 || !stretches.hold(thread[i], start[i])) continue;
      const auto owner = topology.processOfThread.find(thread[i]);
      launched[owner == topology.processOfThread.end() ? ProcessId() : owner->second].insert(
          correlation[i]);
    }
  };
  auto status = store.scan<&Range::startNs, &Range::thread, &Range::correlation>(window, take);
  if (status)
    status = store.scan<&ApiCall::startNs, &ApiCall::thread, &ApiCall::correlation>(window, take);
  if (!status) return status.error();
  std::int64_t ns = 0;
  status = store.scan<&Kernel::durNs, &Kernel::queue, &Kernel::correlation>(
      window, [&](std::uint64_t, auto dur, auto queue, auto correlation) {
        for (std::size_t i = 0; i < dur.size(); ++i) {
          const auto owner = topology.processOfQueue.find(queue[i]);
          const auto its =
              launched.find(owner == topology.processOfQueue.end() ? ProcessId() : owner->second);
          if (its != launched.end() && its->second.contains(correlation[i]))
            prof::addTo(ns, dur[i]);
        }
      });
  if (!status) return status.error();
  return ns;
}

}  // namespace lacuna::analyzer
