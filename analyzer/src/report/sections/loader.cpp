// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analyses/loader/loader.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "rules/registry.h"

namespace lacuna::analyzer::sections {
namespace of_loader {
namespace {

Lines notes(const Analysis& analysis) {
  const LoaderStats& loader = analysis.of<LoaderStats>();
  Lines out;
  if (!loader.present) return out;
  const std::string batches = prof::countText(loader.batches, "batch", "batches");
  if (2 * loader.stepWaitNs < loader.waitNs) {
    out.push_back(fmt::format(" {}; the training thread waited {} in all, most of it outside of the marked steps",
                              batches, prof::timeText(loader.waitNs / analysis.processCount())));
  } else {
    const std::int64_t waitNs = loader.stepWaitNs / (analysis.stepCount() * analysis.processCount());
    out.push_back(fmt::format(" {}; the training thread waited {} {}{}", batches, prof::timeText(waitNs),
                              perStep(analysis), bandInBrackets(analysis.meanStepBands()[Cause::LoaderWait], waitNs)));
  }
  if (!loader.workersKnown)
    out.push_back(" the number of workers is unknown: the trace tells of the waits alone, not of who prepares batches");
  if (loader.busyNs == 0) return out;
  std::string stages;
  for (std::size_t i = 0; i < kLoaderStages.size(); ++i) {
    if (loader.stageNs[i] > 0)
      stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", kLoaderStages[i],
                            prof::shareText(ratio(double(loader.stageNs[i]), double(loader.busyNs))));
  }
  const std::string who = loader.workers == 0 ? "the training thread prepares them"
                                              : fmt::format("{}, busy {}", prof::countText(loader.workers, "worker"),
                                                            prof::shareText(loader.utilisation()));
  out.push_back(fmt::format(" {}; a batch takes {} ({})", who, prof::timeText(loader.batchNs()), stages));
  if (loader.meanDepth >= 0) out.push_back(fmt::format(" {:.1f} batches were ready on average", loader.meanDepth));
  const LoaderVerdict& verdict = analysis.of<LoaderVerdict>();
  if (verdict.bound == LoaderBound::None) return out;
  // A finding that has replayed more workers knows better how many help.
  const bool found = std::ranges::any_of(analysis.of<Findings>(),
                                         [](const Finding& finding) { return ruleOf(finding.id).playsWorkers; });
  const std::string remedy =
      found || verdict.bound == LoaderBound::HandOver || verdict.bound == LoaderBound::Copy
          ? ""
          : fmt::format("; {} with {} each would hide it", prof::countText(verdict.workersNeeded, "worker"),
                        prof::countText(verdict.prefetchNeeded, "batch", "batches"));
  out.push_back(fmt::format(" bound by {}{}", loaderBoundName(verdict.bound), remedy));
  return out;
}

void json(JsonWriter& json, const Analysis& analysis) {
  const LoaderStats& loader = analysis.of<LoaderStats>();
  json.key("loader")
      .beginObject()
      .field("batches", loader.batches)
      .field("wait_ns", loader.waitNs)
      .field("wait_recording_ns",
             std::min(loader.waitNs, analysis.meanStepBands()[Cause::LoaderWait] * analysis.stepCount()))
      .field("busy_ns", loader.busyNs)
      .field("workers", loader.workersKnown ? std::int64_t{loader.workers} : std::int64_t{-1})
      .field("batch_ns", loader.batchNs())
      .field("mean_depth", loader.meanDepth)
      .field("cpu_share", loader.cpuShare)
      .field("bound_by", loaderBoundName(analysis.of<LoaderVerdict>().bound))
      .field("workers_needed", std::uint64_t{analysis.of<LoaderVerdict>().workersNeeded})
      .field("prefetch_needed", std::uint64_t{analysis.of<LoaderVerdict>().prefetchNeeded})
      .key("stages")
      .beginObject();
  for (std::size_t i = 0; i < kLoaderStages.size(); ++i) json.field(kLoaderStages[i], loader.stageNs[i]);
  json.endObject().endObject();
}

constexpr std::string_view kJsonKeys[]{"loader"};

}  // namespace
}  // namespace of_loader

constinit const Section loader{
    .name = "loader",
    .title = "Loader",
    .about = "the data loader: its workers, its stages, what binds it",
    .notes = of_loader::notes,
    .overviewRows = 3,
    .json = of_loader::json,
    .jsonKeys = of_loader::kJsonKeys,
};

}  // namespace lacuna::analyzer::sections
