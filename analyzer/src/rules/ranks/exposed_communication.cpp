// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/ranks/communication.h"
#include "analyses/ranks/ranks.h"
#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::exposed_communication {
namespace {

constexpr Threshold kLeast{
    "least", 0.1, Unit::Share,
    "PyTorch's TensorBoard plugin names communication from the same share on."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.7, "The exposed time is measured; some of it has no compute left to hide behind."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::ExposedCommunication};

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  // The wait of ranks for a late one is not the communication's fault.
  std::int64_t waited = 0;
  for (const RankRow& row : analysis.of<RankStats>().rows) prof::addTo(waited, row.stepWaitNs);
  const std::int64_t cost =
      facts.costOf(Cause::ExposedCommunication) - facts.perStepOfDevice(waited);
  if (facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.words = "communication that no compute hides takes {cost} {a step} ({share of it})";
  finding.confidence = kSure;
  finding.advice =
      "start collectives as soon as gradients are ready, in buckets; accumulate over several "
      "batches; send half precision";
  finding.evidence = facts.evidenceOf(Cause::ExposedCommunication);
  for (const CollectiveRow& row : analysis.of<CommunicationStats>().collectives)
    finding.count += row.count;
  out.add(std::move(finding), "overlap=on");
}

}  // namespace
}  // namespace rules::exposed_communication

constinit const FindingRule kExposedCommunicationRule{
    .id = FindingId::ExposedCommunication,
    .key = "exposed-communication",
    .area = FindingArea::Ranks,
    .kind = FindingKind::Fault,
    .prices = rules::exposed_communication::kPrices,
    .cost = CostIs::WorkTime,
    .thresholds = rules::exposed_communication::kThresholds,
    .confidences = rules::exposed_communication::kConfidences,
    .meaning = "Collectives run while no compute does.",
    .when =
        "exposed communication ≥ {least} of the step, without the waits of ranks for a later one",
    .fix = "`overlap=on`",
    .refutedBy = "a run on one rank whose steps take as long",
    .detect = rules::exposed_communication::detect,
};

}  // namespace lacuna::analyzer
