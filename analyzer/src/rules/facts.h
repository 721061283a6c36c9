// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/whatif.h"
#include "rules/rule.h"

namespace lacuna::analyzer {

/// Calls of one name, or a share of their time, that a finding prices. No other finding prices them
/// again.
struct Claim {
  std::string call;
  Activity activity = Activity::None;
  double share = 1;
  std::int64_t nsPerStep = 0;  ///< the time of a step that they hold the host
};

/// The rules that have run so far: their findings and their claims.
struct Reported {
  std::vector<Finding> findings;
  std::vector<Claim> claims;
};

/// The questions that a rule may ask. Times are of a mean step of one device or process.
class Facts {
 public:
  Facts(const Analysis& analysis, const Simulator* simulator, const Reported& reported,
        const FindingRule& rule)
      : analysis(analysis), simulator_(simulator), reported_(reported), rule_(rule) {}

  const Analysis& analysis;

  [[nodiscard]] const FindingRule& rule() const { return rule_; }
  [[nodiscard]] bool isReplayed() const { return simulator_ != nullptr; }

  /// Nanoseconds of a step, of the host's time in all steps: the mean over the processes.
  [[nodiscard]] std::int64_t perStep(std::int64_t ns) const {
    return ns / (analysis.stepCount() * analysis.processCount());
  }
  /// The same of what is recorded in plain steps, too.
  [[nodiscard]] std::int64_t perEveryStep(std::int64_t ns) const {
    return ns / (analysis.everyStepCount() * analysis.processCount());
  }
  /// The same figure as a sum whose parts can be shown.
  [[nodiscard]] GainSum sharedByEveryStep(std::string_view name, std::int64_t ns) const {
    return GainSum(name, ns).over("steps of all processes",
                                  analysis.everyStepCount() * analysis.processCount());
  }
  /// The same of the devices' time: the mean over them.
  [[nodiscard]] std::int64_t perStepOfDevice(std::int64_t ns) const {
    return ns / (analysis.stepCount() *
                 std::max<std::int64_t>(1, static_cast<std::int64_t>(analysis.devices.size())));
  }
  /// Number of times that a process does in a step what all of them did so often in all steps.
  [[nodiscard]] double timesAStep(std::uint64_t count) const {
    return static_cast<double>(count) /
           static_cast<double>(analysis.stepCount() * analysis.processCount());
  }
  /// The share of a step, 0 … 1.
  [[nodiscard]] double shareOfStep(std::int64_t nsPerStep) const;
  /// True when the time is a large enough share of a step to act on, for a finding of this rule's
  /// kind.
  [[nodiscard]] bool isWorthActing(std::int64_t nsPerStep) const;
  /// The time that a cause takes of an ordinary step of one device.
  [[nodiscard]] std::int64_t costOf(Cause cause) const;
  /// The time that a cause takes between ordinary steps, of a step and device.
  [[nodiscard]] std::int64_t pausesOf(Cause cause) const;
  /// The part of the host's work in which the thread that sets the steps slept: it neither ran nor
  /// waited for a core. Samples of its lines, or its counters, show it. 0 where neither is
  /// recorded.
  [[nodiscard]] std::int64_t asleepNs() const;
  /// Most of the work is executed by the threads that launch it, as a CPU's operators are.
  [[nodiscard]] bool worksInPlace() const;
  /// Threads of the program wait for each other: more of them want to run than there are cores.
  [[nodiscard]] bool threadsCrowd() const;
  /// All devices are CPUs.
  [[nodiscard]] bool onlyHost() const;
  /// A setting that the program announced.
  [[nodiscard]] std::optional<std::string_view> knob(std::string_view name) const;
  /// True when the program announced that the setting is on.
  [[nodiscard]] bool isOn(std::string_view knobName) const {
    return knob(knobName).value_or("off") == "on";
  }
  /// The replay with changes; nothing where no replay is possible, or there is no change.
  [[nodiscard]] std::optional<Prediction> play(std::span<const Change> changes) const;
  [[nodiscard]] std::optional<Prediction> play(std::string_view change) const;
  /// The step that a gain is taken from: as replayed without a change, or as marked where none is
  /// replayed.
  [[nodiscard]] std::int64_t unchangedStepNs() const;
  /// Intervals to show: the longest stretches of a cause.
  [[nodiscard]] std::vector<Evidence> evidenceOf(Cause cause) const;

  // Claims, only of a rule that declares skipsClaimed.
  [[nodiscard]] double claimedShare(std::string_view call) const;
  [[nodiscard]] bool isClaimed(std::string_view call) const { return claimedShare(call) >= 1; }
  /// costOf() without the calls that are claimed.
  [[nodiscard]] std::int64_t unclaimedCostOf(Cause cause) const;
  /// The time of a step that claimed calls of an activity hold the host.
  [[nodiscard]] std::int64_t claimedNsPerStep(Activity activity) const;

  // Leftovers, only of a rule that declares readsLeftovers.
  /// The waiting time of devices that other findings price.
  [[nodiscard]] std::int64_t pricedIdleNs() const;
  /// The part of the waits of a cause that lies in phases which other findings price.
  [[nodiscard]] std::int64_t pricedInPhasesNs(Cause cause) const;
  /// True when a finding is the reason for this idle cause.
  [[nodiscard]] bool isNamed(Cause cause) const;

 private:
  [[nodiscard]] std::int64_t leftoverOf(std::span<const Cause> causes) const;

  const Simulator* simulator_;
  const Reported& reported_;
  const FindingRule& rule_;
};

/// A share of a step that is large enough for anybody to act on.
double leastWorthActing(FindingKind kind);

/// The part of a whole, 0 where there is no whole.
double shareOf(std::int64_t part, std::int64_t total);

/// Calls of that very name take no time, and wait for nothing.
Change withoutCall(std::string_view name);

/// The device whose memory was used to the greatest share; its own peak, never that of several.
struct FullestDevice {
  const DeviceAccount* device = nullptr;
  double share = -1;  ///< -1: not known of any
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  prof::DeviceId memory{};  ///< whose memory that is: of a trace of one device perhaps nobody's
};
FullestDevice fullestDevice(const Analysis& analysis);

/// A report mentions the time between marked steps where one step to the next takes this many times
/// a marked step.
inline constexpr double kGaps = 1.05;

/// As many launches wait on average as a step has, so the host is a step ahead of the devices or
/// more. Its steps then follow each other quickly until it is held back, and mean nothing one by
/// one.
bool hostRunsAhead(const Analysis& analysis);

}  // namespace lacuna::analyzer
