// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/disturbance/core_contention.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::cores_taken {
namespace {

constexpr Threshold kLost{
    "lost", kNoContention, Unit::Share,
    "Less is lost on an idle machine too; the replay begins to count it at the same share."};
constexpr std::array kThresholds{kLost};

constexpr Confidence kSure{
    "", 0.8, "The scheduler reports the time; on the quiet machine others may run after all."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const CoreContention& contention = analysis.of<CoreContention>();
  const std::int64_t windowNs = contention.window.endNs - contention.window.startNs;
  if (contention.threads.empty() || windowNs <= 0 || contention.lostShare() < kLost) return;
  const DisplacedThread& most = contention.threads.front();
  const double share = static_cast<double>(most.lostNs) / static_cast<double>(windowNs);
  if (share < kLost) return;
  Finding finding;
  const std::int64_t stepNs = std::max(analysis.meanStepNs(), facts.unchangedStepNs());
  finding.costNsPerStep = static_cast<std::int64_t>(share * static_cast<double>(stepNs));
  finding.words = "other programs keep {thread} off the cores {cost} {a step} ({share of it})";
  finding.quantities = {Quantity::called(
      "thread", most.name.empty() ? std::string("a thread") : "thread '" + most.name + "'")};
  finding.confidence = kSure;
  finding.count = contention.threads.size();
  for (const prof::TimeWindow& stretch : most.longest) {
    finding.evidence.push_back({.startNs = stretch.startNs,
                                .endNs = stretch.endNs,
                                .what = "kept off the cores: " + most.name,
                                .thread = most.thread});
  }
  finding.advice =
      "record on a machine that nothing else uses, or give the program cores of its own; until "
      "then times, and gains that are predicted from them, hold only for a machine as busy";
  out.add(std::move(finding), "cores-taken*0");
}

}  // namespace
}  // namespace rules::cores_taken

constinit const FindingRule kCoresTakenRule{
    .id = FindingId::CoresTaken,
    .key = "cores-taken",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .thresholds = rules::cores_taken::kThresholds,
    .confidences = rules::cores_taken::kConfidences,
    .meaning = "Other programs use the cores that the run wants, which lengthens all of its times.",
    .when =
        "other programs kept a thread off the cores ≥ {lost} of the time of the steady steps ([its "
        "measurement](whatif.md#cores-that-other-programs-use))",
    .fix = "a quiet machine: `cores-taken*0`",
    .refutedBy = "a run on a quiet machine whose steps take as long",
    .detect = rules::cores_taken::detect,
};

}  // namespace lacuna::analyzer
