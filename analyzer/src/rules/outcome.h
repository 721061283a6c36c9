// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "rules/facts.h"

namespace lacuna::analyzer {

inline constexpr GainLimit kNoLoss{.name = "no-loss",
                                   .reason = "nobody makes a change that loses time",
                                   .of = GainLimit::Of::Gain};
inline constexpr GainLimit kItsGain{
    .name = "gain", .reason = "the interval includes the gain", .of = GainLimit::Of::Gain};

/// The results of one rule: findings and claims. It fills in id, kind, gain, interval, confidence,
/// severity and title, and drops a finding whose cost and gain are not worth acting on. Gain and
/// interval are ends of Finding::gainChain.
class Outcome {
 public:
  Outcome(const Facts& facts, Reported& reported) : facts_(facts), reported_(reported) {}

  /// The gain is that of the replay with the change. Its text becomes the finding's knob where a
  /// user can turn it.
  void add(Finding finding, std::string_view change);
  void add(Finding finding, std::span<const Change> changes);
  /// The change takes away all that the finding is about, so its gain is an upper bound.
  void addBounded(Finding finding, std::string_view change);
  /// The rule has filled in the gain, or why there is none.
  void addAsItIs(Finding finding);
  /// The gain is memory.
  void addBytes(Finding finding, GainSum bytes);
  /// Launching threads are replayed, others are not. So a replay that gains next to nothing does
  /// not show that nothing would be gained; otherwise as addBounded().
  void addSeenInPart(Finding finding, std::string_view change);
  /// Only of a rule that declares claims.
  void claim(Claim claim);

 private:
  void predict(Finding& finding, std::span<const Change> changes) const;
  [[nodiscard]] std::int64_t baseOf(const Finding& finding, const Prediction& prediction) const;
  void addRecording(Finding& finding) const;
  void finish(Finding finding);
  [[nodiscard]] bool isWorthListing(const Finding& finding) const;
  [[nodiscard]] std::int64_t recordingIn(const Finding& finding) const;

  const Facts& facts_;
  Reported& reported_;
};

}  // namespace lacuna::analyzer
