// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/timeline.h"

/// Which spans of a host thread lie around which.
namespace lacuna::analyzer {

/// Sorts the spans of a thread by begin, outer ones first. Two with the same times keep their
/// order: the first of them is the outer one.
void sortOuterFirst(std::vector<const HostSpan*>& spans);

/// Per thread, in that order.
using ByThread = std::unordered_map<prof::ThreadId, std::vector<const HostSpan*>>;
ByThread sortedByThread(const Timeline& timeline, bool (*wanted)(const HostSpan&));

inline constexpr std::size_t kNoSpan = static_cast<std::size_t>(-1);
/// For spans sorted as above, the position of each one's innermost enclosing span, or kNoSpan.
std::vector<std::size_t> parentsOf(const std::vector<const HostSpan*>& spans);
using Parents = std::unordered_map<prof::ThreadId, std::vector<std::size_t>>;

inline bool startsIn(prof::TimeWindow window, prof::TimeNs startNs) {
  return startNs >= window.startNs && startNs < window.endNs;
}

/// The position of the innermost span around `t`, or kNoSpan.
std::size_t spanAt(const std::vector<const HostSpan*>& spans,
                   const std::vector<std::size_t>& parents, prof::TimeNs t);
/// The same span itself, or null.
const HostSpan* operatorAt(const std::vector<const HostSpan*>& spans,
                           const std::vector<std::size_t>& parents, prof::TimeNs t);

}  // namespace lacuna::analyzer
