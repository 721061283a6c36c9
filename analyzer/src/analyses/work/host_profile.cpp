// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/host_profile.h"

#include <algorithm>
#include <array>

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// The spans that cover the sweep's position, per activity. Ended ones are dropped when they
/// surface at the top.
class OpenSpans {
 public:
  void open(const HostSpan* span) {
    stacks_[static_cast<std::size_t>(span->activity)].push_back(span);
  }

  /// The winner at `t`, or null. Drops what has ended.
  const HostSpan* best(TimeNs t) {
    for (std::size_t i = stacks_.size(); i-- > 1;) {
      auto& stack = stacks_[i];
      while (!stack.empty() && stack.back()->endNs <= t) stack.pop_back();
      if (!stack.empty()) return stack.back();
    }
    return nullptr;
  }

 private:
  std::array<std::vector<const HostSpan*>, kActivityCount> stacks_;
};

void emit(HostProfile& profile, const HostSpan* span, TimeNs from, TimeNs to) {
  if (span == nullptr || from >= to) return;
  if (!profile.empty()) {
    HostPiece& last = profile.back();
    if (last.endNs == from && last.activity == span->activity && last.name == span->name &&
        last.thread == span->thread && last.wokenBy == span->wokenBy) {
      last.endNs = to;
      return;
    }
  }
  profile.push_back({from, to, span->name, span->thread, span->wokenBy, span->activity});
}

/// Advances from `t` to `until` with what is open. A piece ends where its span ends; what begins is
/// added by the caller.
void advance(OpenSpans& open, HostProfile& profile, TimeNs t, TimeNs until) {
  while (t < until) {
    const HostSpan* span = open.best(t);
    if (span == nullptr) return;
    const TimeNs end = std::min(span->endNs, until);
    emit(profile, span, t, end);
    t = end;
  }
}

}  // namespace

HostProfile flatten(std::span<const HostSpan* const> sortedByStart) {
  HostProfile profile;
  OpenSpans open;
  for (std::size_t i = 0; i < sortedByStart.size(); ++i) {
    const HostSpan* span = sortedByStart[i];
    if (i > 0) advance(open, profile, sortedByStart[i - 1]->startNs, span->startNs);
    if (span->activity != Activity::None && span->endNs > span->startNs) open.open(span);
  }
  if (!sortedByStart.empty()) advance(open, profile, sortedByStart.back()->startNs, INT64_MAX);
  return profile;
}

HostProfile::const_iterator pieceAt(const HostProfile& profile, TimeNs t) {
  return std::partition_point(profile.begin(), profile.end(),
                              [&](const HostPiece& piece) { return piece.endNs <= t; });
}

}  // namespace lacuna::analyzer
