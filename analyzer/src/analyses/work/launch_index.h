// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// Work in place: the thread that calls executes it, so its launch call is the moment at which it
/// begins.
inline bool isInPlace(const HostSpan& launch, const DeviceSpan& work) {
  return launch.startNs == launch.endNs && launch.startNs == work.startNs;
}

/// Joins device work to the call that launched it, by correlation within a process.
class LaunchIndex {
 public:
  /// `more`: work that the timeline lacks; its launches are as others.
  explicit LaunchIndex(const Timeline& timeline, std::span<const DeviceSpan> more = {});

  /// The launching call, or null. An API call is preferred to a range that carries the same
  /// correlation.
  [[nodiscard]] const HostSpan* find(const DeviceSpan& span) const;
  using Key = std::pair<prof::ProcessId, std::uint64_t>;
  struct Entry {
    std::uint64_t correlation;
    prof::ProcessId process;
    const HostSpan* span;
    [[nodiscard]] Key key() const { return {process, correlation}; }
  };
  /// All calls and ranges that carry the work's correlation, the launching one first: calls may lie
  /// in each other.
  [[nodiscard]] std::span<const Entry> all(const DeviceSpan& span) const;
  /// True for a thread that launched at least one span of device work.
  [[nodiscard]] bool isLaunching(prof::ThreadId thread) const {
    return launching_.contains(thread);
  }

  [[nodiscard]] prof::ProcessId processOf(prof::ThreadId thread) const;
  /// The process that fills the queue; where the trace does not show it, the process that launches
  /// the most.
  [[nodiscard]] prof::ProcessId processOf(prof::QueueId queue) const;
  [[nodiscard]] prof::ProcessId processOf(const LedgerScope& scope) const;

 private:
  [[nodiscard]] Key keyOf(const DeviceSpan& span) const;
  /// The first entry that does not lie before the key.
  [[nodiscard]] std::vector<Entry>::const_iterator firstOf(const Key& key) const;

  const Topology& topology_;
  std::vector<Entry> entries_;
  std::unordered_set<prof::ThreadId> launching_;
  prof::ProcessId busiest_;
};

}  // namespace lacuna::analyzer
