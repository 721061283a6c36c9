// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/launches.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::late_starts {
namespace {

constexpr Threshold kLeast{"least", 0.15, Unit::Share,
                           "Every launch takes some microseconds to start."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.5,
                           "The delay is measured; clocks that disagree would look the same."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::Launch};

void detect(const Facts& facts, Outcome& out) {
  const std::int64_t cost = facts.costOf(Cause::Launch);
  // The queue of a CPU is a thread, which takes its time to wake up.
  if (facts.onlyHost() || facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.words =
      "launched work starts {cost} {a step} late ({share of it}) though its queue has nothing else "
      "to do";
  finding.confidence = kSure;
  finding.count = facts.analysis.of<LaunchStats>().launches;
  finding.advice =
      "look at the longest of these stretches: the queue may wait for an event of work that was "
      "not recorded (a sampled or cut trace, another process), the device may be shared, or the "
      "clocks of host and device may disagree";
  finding.evidence = facts.evidenceOf(Cause::Launch);
  out.addBounded(std::move(finding), "start-delay*0");
}

}  // namespace
}  // namespace rules::late_starts

constinit const FindingRule kLateStartsRule{
    .id = FindingId::LateStarts,
    .key = "late-starts",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::late_starts::kPrices,
    .names = rules::late_starts::kPrices,
    .thresholds = rules::late_starts::kThresholds,
    .confidences = rules::late_starts::kConfidences,
    .meaning = "Work starts long after its launch although its queue has nothing else to do.",
    .when = "launch-bound ≥ {least} of the step; not on a CPU device, whose queue is a thread",
    .fix = "code: `start-delay*0`, an upper bound",
    .refutedBy =
        "a recording of all processes and queues in which the work waits for a recorded event",
    .detect = rules::late_starts::detect,
};

}  // namespace lacuna::analyzer
