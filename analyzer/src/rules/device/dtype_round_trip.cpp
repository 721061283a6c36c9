// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/patterns.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::dtype_round_trip {
namespace {

constexpr Threshold kTrips{"trips", 2, Unit::Count,
                           "One may belong to the loss; a chain has more."};
constexpr std::array kThresholds{kTrips};

constexpr Confidence kSure{"", 0.7,
                           "The conversions are recorded; a loss of precision may be wanted."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const std::uint64_t trips = facts.analysis.of<OperatorPatterns>().roundTrips;
  const double perStep = facts.timesAStep(trips);
  if (perStep < kTrips) return;
  Finding finding;
  finding.count = trips;
  finding.words = "{trips} conversions {a step} directly follow another conversion";
  finding.quantities = {Quantity::number("trips", perStep)};
  finding.confidence = kSure;
  finding.advice =
      "keep one type through the chain: a cast and a cast back move every byte twice for nothing";
  out.add(std::move(finding), "conversion*0");
}

}  // namespace
}  // namespace rules::dtype_round_trip

constinit const FindingRule kDtypeRoundTripRule{
    .id = FindingId::DtypeRoundTrip,
    .key = "dtype-round-trip",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::dtype_round_trip::kThresholds,
    .confidences = rules::dtype_round_trip::kConfidences,
    .meaning = "Tensors are converted to a type and at once to another one.",
    .when =
        "{trips} conversions a step or more directly follow another one of the same shape and "
        "another type; without shapes, the next one in the graph of gradients",
    .fix = "code: `conversion*0`",
    .refutedBy = "a use of the tensor between the two conversions",
    .detect = rules::dtype_round_trip::detect,
};

}  // namespace lacuna::analyzer
