// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyses/loader/loader.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::loader_restarts {
namespace {

constexpr Threshold kStall{
    "stall", 0.05, Unit::Share,
    "PyTorch's TensorBoard plugin reports a data loader from the same share on."};
constexpr std::array kThresholds{kStall};

constexpr Confidence kSure{"", 0.9,
                           "The waits for new workers are measured; only whether they can be kept "
                           "is the program's choice."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::LoaderWait};

void detect(const Facts& facts, Outcome& out) {
  const LoaderStats& loader = facts.analysis.of<LoaderStats>();
  const GainSum gain = facts.sharedByEveryStep("waits for new workers", loader.restartNs);
  const std::int64_t cost = gain.value();
  const std::int64_t stepNs =
      facts.analysis.meanStepNs() + cost - facts.perStep(loader.stepRestartNs);
  if (loader.restarts == 0 || static_cast<double>(cost) < kStall * static_cast<double>(stepNs))
    return;
  Finding finding;
  finding.count = loader.restarts;
  finding.words = "the loader's workers were started anew {times}, which takes {cost} {a step}";
  finding.quantities = {Quantity::called(
      "times", loader.restarts == 1 ? "once" : fmt::format("{} times", loader.restarts))};
  finding.costNsPerStep = cost;
  // Workers that stay cost nothing at all between epochs.
  finding.gainBasis = GainBasis::Trace;
  finding.gainChain.gain = finding.gainChain.low = finding.gainChain.high = gain;
  finding.baseNsPerStep = std::max(stepNs, cost);
  finding.confidence = kSure;
  finding.advice =
      "keep the workers from one epoch to the next (persistent_workers=True in PyTorch), or let "
      "them start sooner: by fork, and with fewer imports";
  finding.evidence.push_back({loader.longestRestart.startNs, loader.longestRestart.endNs,
                              "waiting for new workers of the loader"});
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::loader_restarts

constinit const FindingRule kLoaderRestartsRule{
    .id = FindingId::LoaderRestarts,
    .key = "loader-restarts",
    .area = FindingArea::Loader,
    .kind = FindingKind::Fault,
    .prices = rules::loader_restarts::kPrices,
    .names = rules::loader_restarts::kPrices,
    .thresholds = rules::loader_restarts::kThresholds,
    .confidences = rules::loader_restarts::kConfidences,
    .meaning =
        "The program waits while the loader starts a new set of workers, as a rule for each epoch.",
    .when =
        "the waits for workers that take the place of others, divided among the steps, ≥ {stall} "
        "of a step; `loader-wait` is without them",
    .fix =
        "keep the workers from epoch to epoch; read off the trace, as workers that stay cost "
        "nothing between epochs",
    .refutedBy = "a run with persistent workers that pauses as long between epochs",
    .detect = rules::loader_restarts::detect,
};

}  // namespace lacuna::analyzer
