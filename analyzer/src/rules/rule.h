// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
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

  /// Nanoseconds per step, of a sum over the window.
  [[nodiscard]] std::int64_t perStep(std::int64_t ns) const { return ns / analysis.stepCount(); }
  /// Of a step, 0 … 1.
  [[nodiscard]] double shareOfStep(std::int64_t nsPerStep) const;
  /// What a cause takes of an ordinary step of one device.
  [[nodiscard]] std::int64_t costOf(Cause cause) const;
  /// All devices are CPUs.
  [[nodiscard]] bool onlyHost() const;
  [[nodiscard]] std::optional<std::string_view> knob(std::string_view name) const;
  /// What a change would bring; nothing where no replay is possible.
  [[nodiscard]] std::optional<Prediction> play(std::string_view change) const;

  /// Fills in gain, interval, confidence and severity from the change and adds the finding.
  void add(Finding finding, std::string_view change = {});
  /// Intervals to look at: the longest stretches of a cause.
  [[nodiscard]] std::vector<Evidence> evidenceOf(Cause cause) const;

 private:
  const Simulator* simulator_;
};

void loaderRules(RuleContext& context);
void hostRules(RuleContext& context);
void deviceRules(RuleContext& context);
void memoryRules(RuleContext& context);
void communicationRules(RuleContext& context);

/// "1.23 ms", "45.6 µs", "2.10 s"
std::string humanTime(std::int64_t ns);
/// "1.5 MiB"
std::string humanBytes(std::uint64_t bytes);
/// "12.3 %"
std::string humanShare(double share);
/// A kernel's name without its return type, template arguments and parameters.
std::string plainName(std::string_view kernel);

}  // namespace lacuna::analyzer
