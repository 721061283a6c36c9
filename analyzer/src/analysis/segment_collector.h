// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/pause_lengths.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Collects the segments of the devices' ledgers into the run, the steps, the details and the
/// evidence of an analysis, whose steps, window and devices are given.
class SegmentCollector {
 public:
  explicit SegmentCollector(Analysis& analysis);

  /// `bandNs`: how much of the segment may be recording.
  void add(DeviceAccount& device, const LedgerSegment& segment, std::int64_t bandNs);
  /// Fills in what needs all segments; call it once, after the last.
  void finish();

 private:
  /// Time and number of segments by cause and name.
  using Sums = std::map<std::pair<Cause, prof::StringId>, std::pair<std::int64_t, std::uint64_t>>;

  void addToSteps(const LedgerSegment& segment, std::int64_t bandNs);
  void addToPauses(const LedgerSegment& segment);
  void addUnknown(prof::TimeNs from, prof::TimeNs to);
  void addHostWork(prof::DeviceId device, const LedgerSegment& segment);
  void endHostWork(prof::TimeWindow stretch);
  void addCall(const LedgerSegment& segment, std::int64_t durNs);
  void addPhases(Cause cause, prof::TimeWindow wait);
  void addIdle(const LedgerSegment& segment, std::int64_t durNs);
  void keepLongest(const DeviceSegment& segment);
  void fillDetails();
  /// The sums as those of a mean step.
  [[nodiscard]] std::vector<CauseDetail> ofMeanStep(const Sums& sums) const;

  Analysis& analysis_;
  std::vector<bool> counted_;  ///< by position in steps.all: whether the mean step is of it
  std::map<prof::DeviceId, prof::TimeWindow> hostWork_;  ///< the stretch that may go on
  PauseLengths pauses_;
  std::int64_t countedSteps_ = 0;
  Sums details_, calls_, phases_;
};

}  // namespace lacuna::analyzer
