// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "analyses/loader/loader.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "rules/registry.h"

namespace lacuna::analyzer::sections {
namespace of_loader {
namespace {

struct Loader {
  const LoaderStats& stats;
  const LoaderVerdict& verdict;
  std::int64_t recordingNs = 0;
};

const Column<Loader> kColumns[]{
    {{"batches", "", ColumnKind::Count, "that the training thread took"},
     [](const Loader& row) -> TableCell { return cellOf(row.stats.batches); }},
    {{"wait_ns", "", ColumnKind::Time, "that the training thread waited for them"},
     [](const Loader& row) -> TableCell { return row.stats.waitNs; }},
    {{"wait_recording_ns", "", ColumnKind::Time, "what recording may have added to `wait_ns`"},
     kValueOf<&Loader::recordingNs>},
    {{"busy_ns", "", ColumnKind::Time, "that preparing the batches took"},
     [](const Loader& row) -> TableCell { return row.stats.busyNs; }},
    {{"workers", "", ColumnKind::Count, "-1: not known, as only waits are recorded"},
     [](const Loader& row) -> TableCell {
       return row.stats.workersKnown ? std::int64_t{row.stats.workers} : std::int64_t{-1};
     }},
    {{"batch_ns", "", ColumnKind::Time, "that one batch takes"},
     [](const Loader& row) -> TableCell { return row.stats.batchNs(); }},
    {{"mean_depth", "", ColumnKind::Number,
      "batches that were ready, on average; -1: not recorded"},
     [](const Loader& row) -> TableCell { return row.stats.meanDepth; }},
    {{"cpu_share", "", ColumnKind::Share,
      "of `busy_ns` that the workers computed, or waited for a core; -1: not recorded"},
     [](const Loader& row) -> TableCell { return row.stats.cpuShare; }},
    {{"bound_by", "", ColumnKind::Text,
      "`nothing`, `reading`, `computing`, `hand-over`, `copy`, `unknown`"},
     [](const Loader& row) -> TableCell {
       return std::string(loaderBoundName(row.verdict.bound));
     }},
    {{"workers_needed", "", ColumnKind::Count, "that would hide the wait; 0: not known"},
     [](const Loader& row) -> TableCell { return cellOf(row.verdict.workersNeeded); }},
    {{"prefetch_needed", "", ColumnKind::Count,
      "batches of each worker that would hide it; 0: not known"},
     [](const Loader& row) -> TableCell { return cellOf(row.verdict.prefetchNeeded); }},
};

template <std::size_t Stage>
constexpr Column<LoaderStats> kStage{
    {kLoaderStages[Stage], "", ColumnKind::Time, "of `busy_ns`"},
    [](const LoaderStats& row) -> TableCell { return row.stageNs[Stage]; }};
const Column<LoaderStats> kStages[]{kStage<0>, kStage<1>, kStage<2>, kStage<3>};
static_assert(std::size(kLoaderStages) == std::size(kStages));

std::vector<Table> tables(const Analysis& analysis) {
  const LoaderStats& stats = analysis.of<LoaderStats>();
  const std::int64_t bandNs = analysis.meanStepBands()[Cause::LoaderWait] * analysis.stepCount();
  const Loader loader{stats, analysis.of<LoaderVerdict>(), std::min(stats.waitNs, bandNs)};
  return {holding(recordOf("loader", "the data loader", kColumns, loader), [&](std::size_t) {
    return std::vector{placed(
        "stages", recordOf("loader_stages", "what preparing the batches took", kStages, stats))};
  })};
}

Lines notes(const Analysis& analysis) {
  const LoaderStats& loader = analysis.of<LoaderStats>();
  Lines out;
  if (!loader.present) return out;
  const std::string batches = prof::countText(loader.batches, "batch", "batches");
  if (2 * loader.stepWaitNs < loader.waitNs) {
    out.push_back(fmt::format(
        " {}; the training thread waited {} in all, most of it outside of the marked steps",
        batches, prof::timeText(loader.waitNs / analysis.processCount())));
  } else {
    const std::int64_t waitNs =
        loader.stepWaitNs / (analysis.stepCount() * analysis.processCount());
    out.push_back(fmt::format(" {}; the training thread waited {} {}{}", batches,
                              prof::timeText(waitNs), perStep(analysis),
                              bandInBrackets(analysis.meanStepBands()[Cause::LoaderWait], waitNs)));
  }
  if (!loader.workersKnown)
    out.push_back(
        " the number of workers is unknown: the trace has the waits, but not the threads that "
        "prepare batches");
  if (loader.busyNs == 0) return out;
  std::string stages;
  for (std::size_t i = 0; i < kLoaderStages.size(); ++i) {
    if (loader.stageNs[i] > 0)
      stages +=
          fmt::format("{}{} {}", stages.empty() ? "" : ", ", kLoaderStages[i],
                      prof::shareText(ratio(double(loader.stageNs[i]), double(loader.busyNs))));
  }
  const std::string who =
      loader.workers == 0 ? "the training thread prepares them"
                          : fmt::format("{}, busy {}", prof::countText(loader.workers, "worker"),
                                        prof::shareText(loader.utilisation()));
  out.push_back(
      fmt::format(" {}; a batch takes {} ({})", who, prof::timeText(loader.batchNs()), stages));
  if (loader.meanDepth >= 0)
    out.push_back(fmt::format(" {:.1f} batches were ready on average", loader.meanDepth));
  const LoaderVerdict& verdict = analysis.of<LoaderVerdict>();
  if (verdict.bound == LoaderBound::None) return out;
  // A finding that has replayed more workers knows better how many help.
  const bool found = std::ranges::any_of(analysis.of<Findings>(), [](const Finding& finding) {
    return ruleOf(finding.id).playsWorkers;
  });
  const std::string remedy =
      found || verdict.bound == LoaderBound::HandOver || verdict.bound == LoaderBound::Copy
          ? ""
          : fmt::format("; {} with {} each would hide it",
                        prof::countText(verdict.workersNeeded, "worker"),
                        prof::countText(verdict.prefetchNeeded, "batch", "batches"));
  out.push_back(fmt::format(" bound by {}{}", loaderBoundName(verdict.bound), remedy));
  return out;
}

}  // namespace
}  // namespace of_loader

constinit const Section loader{
    .name = "loader",
    .title = "Loader",
    .about = "the data loader: its workers, its stages, what binds it",
    .notes = of_loader::notes,
    .tables = of_loader::tables,
    .overviewRows = 3,
};

}  // namespace lacuna::analyzer::sections
