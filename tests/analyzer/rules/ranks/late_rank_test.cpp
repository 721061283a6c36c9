// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(LateRankFinding, ALateRankIsAsLateAsWasPlanted) {
  for (const int ranks : {2, 3, 4}) {
    const Analysis analysis =
        analysed({.ranks = ranks, .collectiveNs = 100'000, .lateNs = 2'000'000});
    const auto late = std::ranges::find(analysis.of<Findings>(), FindingId::LateRank, &Finding::id);
    ASSERT_NE(late, analysis.of<Findings>().end()) << ranks;
    ASSERT_FALSE(late->evidence.empty()) << ranks;
    for (const Evidence& entry : late->evidence)
      EXPECT_NEAR(static_cast<double>(entry.endNs - entry.startNs), 2e6, 1e5) << ranks;
    EXPECT_GE(late->costNsPerStep, 1'500'000) << ranks;
    // All others enter together, so without it nothing would be waited for.
    EXPECT_EQ(late->predictedGainNsPerStep, late->costNsPerStep) << ranks;
    EXPECT_EQ(late->gainHighNsPerStep, late->costNsPerStep) << ranks;
    EXPECT_LT(late->confidence, 0.6) << ranks;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
