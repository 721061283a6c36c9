// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(DtypeRoundTripFinding, AChangeGainsNoMoreThanItTakesAway) {
  RunPlan plan = kHostBound;
  plan.operators = 200;
  plan.roundTrips = 10;
  plan.hostOperatorNs = 10'000;
  const Analysis analysis = analysed(plan);
  const Finding* finding = find(analysis, FindingId::DtypeRoundTrip);
  ASSERT_NE(finding, nullptr);
  // Ten conversions of 10 µs are taken away, however uncertain the replay of a step of 3 ms is.
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 100e3, 5e3);
  EXPECT_LE(finding->gainHighNsPerStep, 105'000);
}

TEST(DtypeRoundTripFinding, SeveralTensorsThatAreConvertedOneByOneAreNoRoundTrip) {
  EXPECT_THAT(opportunities({.roundTrips = 6, .tripsAreOfOne = false}),
              testing::Not(testing::Contains(FindingId::DtypeRoundTrip)));
}

}  // namespace
}  // namespace lacuna::analyzer
