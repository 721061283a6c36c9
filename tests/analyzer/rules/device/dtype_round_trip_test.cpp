// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
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

/// Two conversions in a row, of these numbers in the graph of gradients, four times a step, without
/// shapes.
bool findsTrips(std::uint64_t first, std::uint64_t second, bool isCopied) {
  CpuTraining training;
  for (int i = 0; i < 4; ++i) {
    const prof::TimeNs at = i * 2 * CpuTraining::kMs;
    const auto number = [&](std::uint64_t of) { return of == 0 ? 0 : of + 10 * std::uint64_t(i); };
    for (const auto& [behind, sequence] : {std::pair(0, first), {300'000, second}}) {
      training.work(at + behind, 200'000, "aten::to", number(sequence));
      if (isCopied)
        training.each(at + behind + 10'000, 150'000, "operator", "aten::_to_copy",
                      number(sequence));
    }
    training.work(at + CpuTraining::kMs, 500'000, "aten::linear", number(second + 1));
  }
  return find(training.analysed(), FindingId::DtypeRoundTrip) != nullptr;
}

TEST(DtypeRoundTripFinding, WithoutShapesTheGraphOfGradientsShowsWhatFollowsWhat) {
  EXPECT_TRUE(findsTrips(1, 2, true));
  EXPECT_FALSE(findsTrips(1, 3, true)) << "of another tensor";
  EXPECT_FALSE(findsTrips(1, 2, false)) << "nothing is converted";
  EXPECT_FALSE(findsTrips(0, 0, true)) << "inputs, one after the other";
}

}  // namespace
}  // namespace lacuna::analyzer
