// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {

/// What a rule may ask, and where it leaves its finding. To add a rule: write a function that looks at `analysis` and
/// calls add() at most once per cause, list it in rules.cpp, and give it a row in docs/analyses/findings.md.
class RuleContext {
 public:
  RuleContext(const Analysis& analysis, const Simulator* simulator) : analysis(analysis), simulator_(simulator) {}

  const Analysis& analysis;
  std::vector<Finding> findings;

  /// Nanoseconds of a step, of the host's time in all steps: the mean over the processes.
  [[nodiscard]] std::int64_t perStep(std::int64_t ns) const {
    return ns / (analysis.stepCount() * analysis.processCount());
  }
  /// The same of the devices' time: the mean over them.
  [[nodiscard]] std::int64_t perStepOfDevice(std::int64_t ns) const {
    return ns / (analysis.stepCount() * std::max<std::int64_t>(1, static_cast<std::int64_t>(analysis.devices.size())));
  }
  /// How often a process does in a step what all of them did so often in all steps.
  [[nodiscard]] double timesAStep(std::uint64_t count) const {
    return static_cast<double>(count) / static_cast<double>(analysis.stepCount() * analysis.processCount());
  }
  /// Of a step, 0 … 1.
  [[nodiscard]] double shareOfStep(std::int64_t nsPerStep) const;
  /// Whether it is enough of a step for anybody to do something about it.
  [[nodiscard]] bool isWorthActing(std::int64_t nsPerStep, FindingKind kind) const;
  /// What a cause takes of an ordinary step of one device.
  [[nodiscard]] std::int64_t costOf(Cause cause) const;
  /// From now on calls of that name, or that share of their time, belong to a finding that tells more than that they
  /// are driver calls or synchronisations.
  void claim(std::string_view call, double share = 1) { claimed_.emplace(call, share); }
  [[nodiscard]] double claimedShare(std::string_view call) const;
  [[nodiscard]] bool isClaimed(std::string_view call) const { return claimedShare(call) >= 1; }
  /// costOf() without what is claimed of it.
  [[nodiscard]] std::int64_t unclaimedCostOf(Cause cause) const;
  /// All devices are CPUs.
  [[nodiscard]] bool onlyHost() const;
  [[nodiscard]] std::optional<std::string_view> knob(std::string_view name) const;
  /// What changes would bring; nothing where no replay is possible, or there is no change.
  [[nodiscard]] std::optional<Prediction> play(std::span<const Change> changes) const;
  [[nodiscard]] std::optional<Prediction> play(std::string_view change) const;
  /// What a gain is taken from: the step as it is replayed without a change, or as it is marked where none is replayed.
  [[nodiscard]] std::int64_t unchangedStepNs() const;

  /// Fills in gain, interval, confidence and severity from the change and adds the finding, unless what it costs and
  /// gains is not worth acting on. In its title "{cost}" stands for what it costs in the end, "{share} of it", behind
  /// "a step", for that part of the step, and "{: cost}" at the end for ": … a step", where it costs anything.
  void add(Finding finding, std::string_view change = {});
  void add(Finding finding, std::span<const Change> changes);
  /// The same of a change that takes away all that the finding is about.
  void addBounded(Finding finding, std::string_view change);
  /// Without a change: the rule has filled in the gain, or why there is none.
  void addAsItIs(Finding finding);
  /// Intervals to look at: the longest stretches of a cause.
  [[nodiscard]] std::vector<Evidence> evidenceOf(Cause cause) const;

 private:
  void predict(Finding& finding, std::span<const Change> changes) const;
  void finish(Finding finding);
  [[nodiscard]] bool isWorthTelling(const Finding& finding) const;

  const Simulator* simulator_;
  std::map<std::string, double, std::less<>> claimed_;
};

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

/// From one step to the next it is so many times a marked step, or more, where what lies between is told of.
inline constexpr double kGaps = 1.05;

/// As many launches wait on average as a step has, so the host is a step ahead of the devices or more. Its steps then
/// follow each other quickly until it is held back, and say nothing one by one.
bool hostRunsAhead(const Analysis& analysis);

void loaderRules(RuleContext& context);
void hostRules(RuleContext& context);
void deviceRules(RuleContext& context);
void memoryRules(RuleContext& context);
void communicationRules(RuleContext& context);
/// Behind all others: of what they leave.
void utilisationRules(RuleContext& context);

/// "1.23 ms", "45.6 µs", "2.10 s"
std::string humanTime(std::int64_t ns);
/// "1.5 MiB"
std::string humanBytes(std::uint64_t bytes);
/// "12.3 %"
std::string humanShare(double share);
/// "1 copy", "2 copies"; without a plural of its own "s" makes it.
std::string humanCount(std::uint64_t count, std::string_view one, std::string_view several = {});
/// A kernel's name without its return type, template arguments and parameters.
std::string plainName(std::string_view kernel);

}  // namespace lacuna::analyzer
