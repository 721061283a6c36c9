// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/account.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/prof/bounds.h"
#include "store/watched_store.h"
#include "whatif/replayed_steps.h"

namespace lacuna::analyzer {
namespace {

/// Where the replay ends, of 1: about as long as it took of traces of some millions of events.
constexpr double kReplayUntil = 0.96;

/// Gives the replayed steps' paths to the steps, and takes the mean.
void placePaths(Analysis& analysis, const std::vector<StepPath>& paths) {
  const std::vector<Step>& all = analysis.steps.all;
  std::vector<StepPath>& ofSteps = analysis.of<CriticalPaths>().steps;
  ofSteps.resize(all.size());
  const std::vector<prof::TimeNs> starts = chooseReplayed(analysis).stepStarts;
  for (std::size_t i = 0; i < std::min(starts.size(), paths.size()); ++i) {
    const auto step = std::ranges::lower_bound(all, starts[i], {}, &Step::startNs);
    if (step != all.end() && step->startNs == starts[i])
      ofSteps[static_cast<std::size_t>(step - all.begin())] = paths[i];
  }
  for (auto part : {&StepPath::computeNs, &StepPath::communicationNs, &StepPath::copyNs,
                    &StepPath::hostNs, &StepPath::launchNs, &StepPath::loaderNs}) {
    std::int64_t sum = 0;
    for (const StepPath& path : paths) prof::addTo(sum, path.*part);
    analysis.of<CriticalPaths>().mean.*part =
        paths.empty() ? 0 : sum / static_cast<std::int64_t>(paths.size());
  }
}

prof::Status fill(Analysis& analysis, WorkProgress& progress) {
  if (auto status = account(analysis, progress); !status) return status;
  if (!progress.next(kReplayUntil)) return cancelled();
  const auto simulator = Simulator::create(analysis);
  if (simulator && progress.at(0.5)) placePaths(analysis, simulator->criticalPaths());
  if (!progress.next(1)) return cancelled();
  analysis.of<Findings>() = findFindings(analysis, simulator ? &*simulator : nullptr);
  return {};
}

}  // namespace

prof::Result<Analysis> analyse(std::shared_ptr<const Store> store, const AnalysisOptions& options) {
  Analysis analysis;
  analysis.options = options;
  analysis.store = store;
  WorkProgress progress(options.progress);
  if (options.progress) {
    // The analyses are scans for most of the time, and feel there that nobody waits for them any
    // more.
    const Progress watch = [&](double share) { return progress.at(share); };
    analysis.store = watchScans(store, watch);
    analysis.options.progress = watch;
  }
  const prof::Status status = fill(analysis, progress);
  if (progress.stopped() || (status && !progress.next(1))) return cancelled();
  if (!status) return status.error();
  analysis.store = std::move(store);
  analysis.options.progress = nullptr;
  return analysis;
}

}  // namespace lacuna::analyzer
