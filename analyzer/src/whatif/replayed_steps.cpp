// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/replayed_steps.h"

#include <algorithm>

#include "analyses/time/chunks.h"
#include "analyses/work/graph_replays.h"

namespace lacuna::analyzer {

namespace {

/// The most steps that follow each other, of these. A replay needs all that happens from its first
/// step to its last, and of plain steps that is not recorded.
std::vector<Step> longestRun(const std::vector<Step>& steps) {
  std::size_t from = 0, best = 0, most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && steps[i].index != steps[i - 1].index + 1) from = i;
    if (i + 1 - from > most) {
      most = i + 1 - from;
      best = from;
    }
  }
  const auto first = steps.begin() + static_cast<std::ptrdiff_t>(best);
  return {first, first + static_cast<std::ptrdiff_t>(most)};
}

/// A step that lacks work shows neither what it does nor how long that takes.
std::vector<Step> recordedInFull(const Analysis& analysis, std::vector<Step> steps) {
  std::erase_if(steps, [&](const Step& step) {
    return analysis.of<GraphReplays>().lacksWorkIn({step.startNs, step.endNs});
  });
  return steps;
}

}  // namespace

bool lacksWork(const Analysis& analysis) {
  return analysis.of<GraphReplays>().underRecorded() > 0 &&
         recordedInFull(analysis, analysis.steps.steadyWithin(analysis.window)).empty();
}

ReplayedSteps chooseReplayed(const Analysis& analysis) {
  const std::vector<Step> steady = analysis.steps.steadyWithin(analysis.window);
  const std::vector<Step> whole = recordedInFull(analysis, steady);
  std::vector<Step> steps = longestRun(whole.empty() ? steady : whole);
  const prof::TimeWindow all = analysis.store->span();
  if (steps.empty()) {
    // Without steps the run is what the devices' own windows span.
    prof::TimeWindow window = analysis.window;
    for (const DeviceAccount& device : analysis.devices) {
      const bool first = &device == &analysis.devices.front();
      window.startNs =
          first ? device.window.startNs : std::min(window.startNs, device.window.startNs);
      window.endNs = first ? device.window.endNs : std::max(window.endNs, device.window.endNs);
    }
    return {window, {window.startNs}};
  }
  const double perNs = static_cast<double>(timelineRows(*analysis.store)) /
                       static_cast<double>(std::max<prof::TimeNs>(1, all.endNs - all.startNs));
  const double rows = perNs * static_cast<double>(steps.back().endNs - steps.front().startNs);
  if (rows > static_cast<double>(kMostReplayedRows)) {
    const auto keep =
        static_cast<std::size_t>(static_cast<double>(steps.size()) * kMostReplayedRows / rows);
    steps.resize(std::max<std::size_t>(1, keep));
  }
  ReplayedSteps chosen{{steps.front().startNs, steps.back().endNs}, {}};
  for (const Step& step : steps) chosen.stepStarts.push_back(step.startNs);
  return chosen;
}

}  // namespace lacuna::analyzer
