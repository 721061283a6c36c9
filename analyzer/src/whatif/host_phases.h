// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>

#include "analyses/time/interval_set.h"
#include "analyses/work/launch_index.h"
#include "whatif/model.h"

namespace lacuna::analyzer {

/// The times of the phases of a program that changes are about, as ranges and calls of the
/// launching threads show them.
class HostPhases {
 public:
  void collect(const Analysis& analysis, const Timeline& timeline, prof::TimeWindow window,
               const LaunchIndex& launches, prof::ProcessId process);

  /// The phases and kinds of avoidable work that an item which starts at `startNs` is part of.
  void mark(HostItem& item, prof::TimeNs startNs) const;
  /// Fills in the host's work in the gap before an item, as far as a change may take it away.
  void fillGap(Simulator::Model& model, HostItem& item, prof::TimeWindow gap,
               const Store& store) const;
  /// Fills in the avoidable part of work that the launching thread executes.
  void fillWork(DeviceNode& node, prof::TimeWindow work) const;

 private:
  void collectWork(const Analysis& analysis, const Timeline& timeline, const LaunchIndex& launches,
                   prof::ProcessId process);
  void collectSteps(const Analysis& analysis);
  void collectAvoidableWork(const Analysis& analysis, const Timeline& timeline,
                            prof::TimeWindow window, const LaunchIndex& launches);

  IntervalSet optimizer_, zeroGrad_, accumulation_, driver_;
  IntervalSet driverOrAsleep_;
  IntervalSet marked_;  ///< the steps, where ranges mark them
  std::map<prof::StringId, IntervalSet> driverCalls_;
  std::array<IntervalSet, kAvoidableKinds> avoidable_;
};

}  // namespace lacuna::analyzer
