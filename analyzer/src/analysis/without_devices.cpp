// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/without_devices.h"

#include <algorithm>

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

/// Kineto's own range, which is as long as the recording.
constexpr std::string_view kRecorderCategory = "Trace";

/// The host's activity for most of a stretch.
class LongestWithin {
 public:
  explicit LongestWithin(TimeWindow stretch) : stretch_(stretch) {}

  void add(prof::StringId name, TimeNs startNs, TimeNs durNs) {
    const TimeNs from = std::max(startNs, stretch_.startNs);
    const TimeNs to = std::min(startNs + durNs, stretch_.endNs);
    if (from >= to || !name) return;
    const Candidate one{name, to - from, durNs};
    if (isBetter(one)) best_ = one;
  }
  [[nodiscard]] prof::StringId name() const { return best_.name; }
  [[nodiscard]] std::int64_t ns() const { return best_.ns; }

 private:
  struct Candidate {
    prof::StringId name;
    std::int64_t ns = 0;     ///< within the stretch
    std::int64_t durNs = 0;  ///< in all
  };
  [[nodiscard]] bool isMost(const Candidate& one) const {
    return 2 * one.ns >= stretch_.endNs - stretch_.startNs;
  }
  /// Candidates that take half or more each lie in the next, so that the shortest is the most
  /// exact.
  [[nodiscard]] bool isBetter(const Candidate& one) const {
    if (!isMost(one) || !isMost(best_)) return one.ns > best_.ns;
    return one.ns != best_.ns ? one.ns < best_.ns : one.durNs < best_.durNs;
  }

  TimeWindow stretch_;
  Candidate best_;
};

prof::Status addCalls(const Store& store, const Selection& only, TimeWindow stretch,
                      LongestWithin& longest) {
  using prof::ApiCall;
  return store.scan<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::name>(
      stretch, [&](std::uint64_t, auto start, auto dur, auto thread, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (only.everything || only.holds(thread[i])) longest.add(name[i], start[i], dur[i]);
        }
      });
}

prof::Status addRanges(const Store& store, const Selection& only, TimeWindow stretch,
                       LongestWithin& longest) {
  using prof::Range;
  const prof::StringId recorder = store.find(kRecorderCategory);
  return store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::category, &Range::name>(
      stretch, [&](std::uint64_t, auto start, auto dur, auto thread, auto category, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (category[i] == recorder && recorder) continue;
          if (only.everything || only.holds(thread[i])) longest.add(name[i], start[i], dur[i]);
        }
      });
}

prof::Result<WithoutDevices> describe(const Analysis& analysis, TimeWindow stretch) {
  if (stretch.startNs >= stretch.endNs) return WithoutDevices{};
  const Store& store = *analysis.store;
  const Selection& only = analysis.scope.only;
  LongestWithin longest(stretch);
  if (auto status = addCalls(store, only, stretch, longest); !status) return status.error();
  if (auto status = addRanges(store, only, stretch, longest); !status) return status.error();
  return WithoutDevices{stretch.endNs - stretch.startNs, std::string(store.text(longest.name())),
                        longest.ns()};
}

}  // namespace

prof::Status findWithoutDevices(Analysis& analysis) {
  if (analysis.devices.empty()) return {};
  TimeWindow work = analysis.devices.front().window;
  for (const DeviceAccount& device : analysis.devices) {
    work.startNs = std::min(work.startNs, device.window.startNs);
    work.endNs = std::max(work.endNs, device.window.endNs);
  }
  auto before = describe(analysis, {analysis.window.startNs, work.startNs});
  if (!before) return before.error();
  auto after = describe(analysis, {work.endNs, analysis.window.endNs});
  if (!after) return after.error();
  analysis.of<StretchesWithoutDevices>().before = std::move(*before);
  analysis.of<StretchesWithoutDevices>().after = std::move(*after);
  return {};
}

}  // namespace lacuna::analyzer
