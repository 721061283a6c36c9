// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/launch_index.h"

#include <algorithm>
#include <tuple>

namespace lacuna::analyzer {
namespace {

/// Calls first, then the shorter span: the innermost range that carries the correlation is the
/// launch.
bool isBetterLaunch(const HostSpan& a, const HostSpan& b) {
  const auto rank = [](const HostSpan& span) {
    if (span.activity == Activity::Launch) return 0;
    return span.activity == Activity::Sync || span.activity == Activity::Driver ? 1 : 2;
  };
  return std::tuple(rank(a), a.endNs - a.startNs, a.startNs) <
         std::tuple(rank(b), b.endNs - b.startNs, b.startNs);
}

}  // namespace

LaunchIndex::LaunchIndex(const Timeline& timeline, std::span<const DeviceSpan> more)
    : topology_(timeline.topology) {
  std::unordered_map<prof::ProcessId, std::uint64_t> counts;
  for (const HostSpan& span : timeline.host) {
    if (!span.launches || !span.thread) continue;
    const prof::ProcessId process = processOf(span.thread);
    entries_.push_back({span.correlation, process, &span});
    ++counts[process];
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.process != b.process) return a.process < b.process;
    if (a.correlation != b.correlation) return a.correlation < b.correlation;
    return isBetterLaunch(*a.span, *b.span);
  });
  std::uint64_t most = 0;
  for (const auto& [process, count] : counts) {
    if (count > most || (count == most && process < busiest_))
      std::tie(most, busiest_) = std::tuple(count, process);
  }
  for (const std::span<const DeviceSpan> spans : {std::span(timeline.device), more}) {
    for (const DeviceSpan& span : spans) {
      if (const HostSpan* launch = find(span)) launching_.insert(launch->thread);
    }
  }
}

LaunchIndex::Key LaunchIndex::keyOf(const DeviceSpan& span) const {
  return {processOf(span.queue), span.correlation};
}

std::vector<LaunchIndex::Entry>::const_iterator LaunchIndex::firstOf(const Key& key) const {
  return std::lower_bound(
      entries_.begin(), entries_.end(), key,
      [](const Entry& entry, const Key& wanted) { return entry.key() < wanted; });
}

std::span<const LaunchIndex::Entry> LaunchIndex::all(const DeviceSpan& span) const {
  if (span.correlation == 0) return {};
  const Key key = keyOf(span);
  const auto first = firstOf(key);
  return {first,
          std::upper_bound(first, entries_.end(), key, [](const Key& wanted, const Entry& entry) {
            return wanted < entry.key();
          })};
}

const HostSpan* LaunchIndex::find(const DeviceSpan& span) const {
  if (span.correlation == 0) return nullptr;
  const Key key = keyOf(span);
  const auto first = firstOf(key);
  return first == entries_.end() || first->key() != key ? nullptr : first->span;
}

prof::ProcessId LaunchIndex::processOf(prof::ThreadId thread) const {
  const auto found = topology_.processOfThread.find(thread);
  return found == topology_.processOfThread.end() ? prof::ProcessId() : found->second;
}

prof::ProcessId LaunchIndex::processOf(prof::QueueId queue) const {
  const auto found = topology_.processOfQueue.find(queue);
  return found == topology_.processOfQueue.end() || !found->second ? busiest_ : found->second;
}

prof::ProcessId LaunchIndex::processOf(const LedgerScope& scope) const {
  if (scope.queue) return processOf(scope.queue);
  for (const auto& [queue, device] : topology_.deviceOfQueue) {
    if (device == scope.device) return processOf(queue);
  }
  return busiest_;
}

}  // namespace lacuna::analyzer
