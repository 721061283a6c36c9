// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/findings.h"
#include "support/planted_runs.h"

namespace lacuna::analyzer {
namespace {

constexpr GainLimit kNamed{.name = "named", .reason = "a test", .of = GainLimit::Of::Gain};

std::int64_t applied(const GainSum::Term& term, std::int64_t before) {
  switch (term.op) {
    case GainSum::Op::Start:
      return term.value;
    case GainSum::Op::Minus:
      return before - term.value;
    case GainSum::Op::Times:
      return before * term.value;
    case GainSum::Op::Over:
      return before / term.value;
    case GainSum::Op::From:
      return term.value - before;
  }
  return 0;
}

/// Adds the parts up again, as a reader would.
void expectAddsUp(const GainSum& sum, std::int64_t result) {
  std::int64_t now = 0;
  for (const GainSum::Term& term : sum.terms()) {
    now = applied(term, now);
    EXPECT_EQ(term.after, now) << term.name;
  }
  for (const GainLimit& limit : sum.limits()) {
    EXPECT_EQ(limit.beforeNs, now) << limit.name;
    now = limit.isMost ? std::min(now, limit.limitNs) : std::max(now, limit.limitNs);
    EXPECT_EQ(limit.afterNs, now) << limit.name;
  }
  EXPECT_EQ(now, result);
}

void expectExplained(const Finding& finding) {
  const GainChain& chain = finding.gainChain;
  EXPECT_EQ(chain.gain.terms().empty(), finding.gainBasis == GainBasis::None);
  if (finding.gainBasis == GainBasis::None) return;
  if (finding.gainBasis == GainBasis::Bytes)
    return expectAddsUp(chain.gain, static_cast<std::int64_t>(finding.predictedGainBytes));
  expectAddsUp(chain.gain, finding.predictedGainNsPerStep);
  expectAddsUp(chain.low, finding.gainLowNsPerStep);
  expectAddsUp(chain.high, finding.gainHighNsPerStep);
  const bool isReplayed =
      finding.gainBasis == GainBasis::Replay || finding.gainBasis == GainBasis::UpperBound;
  ASSERT_EQ(chain.prediction.has_value(), isReplayed);
  EXPECT_EQ(chain.change.empty(), !isReplayed);
}

TEST(GainSum, KeepsEveryValueOnTheWay) {
  const GainSum sum = GainSum("result", 80).over("times", 4).from("replayed", 50);
  ASSERT_EQ(sum.terms().size(), 3U);
  EXPECT_EQ(sum.terms()[1].after, 20);
  EXPECT_EQ(sum.value(), 30);
  EXPECT_EQ(sum.decisive(), nullptr);
  EXPECT_EQ(GainSum("growth", 7).times("steps", 6).minus("kept", 2).value(), 40);
  EXPECT_EQ(GainSum().value(), 0);
}

TEST(GainSum, TheLastLimitThatMovesItDecides) {
  GainSum sum = GainSum("a", 10).minus("b", 30).atLeast(kNamed, 0).atMost(kNamed, 5);
  ASSERT_NE(sum.decisive(), nullptr);
  EXPECT_FALSE(sum.decisive()->isMost);
  EXPECT_EQ(sum.value(), 0);
  expectAddsUp(sum, 0);
}

TEST(GainSum, StopsWhereNumbersEnd) {
  EXPECT_GT(GainSum("a", INT64_MAX / 2).times("n", INT64_MAX).value(), INT64_MAX / 4);
  EXPECT_LT(GainSum("a", INT64_MIN / 2).minus("b", INT64_MAX).value(), INT64_MIN / 4);
  EXPECT_EQ(GainSum("a", 5).over("none", 0).value(), 5);
}

TEST(GainChain, PlantedRunsAddUpToTheirGains) {
  std::set<GainBasis> seen;
  for (const test::PlantedRun& run : test::plantedRuns()) {
    for (const Finding& finding : analysed(run.plan).of<Findings>()) {
      SCOPED_TRACE(finding.title);
      seen.insert(finding.gainBasis);
      expectExplained(finding);
    }
  }
  for (const GainBasis basis :
       {GainBasis::Replay, GainBasis::UpperBound, GainBasis::Trace, GainBasis::Bytes})
    EXPECT_TRUE(seen.contains(basis)) << gainBasisName(basis);
}

TEST(GainChain, RunsByChanceAddUpToTheirGains) {
  std::size_t findings = 0;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    for (const Finding& finding : analysed(test::anyPlan(seed)).of<Findings>()) {
      SCOPED_TRACE(finding.title);
      ++findings;
      expectExplained(finding);
    }
  }
  EXPECT_GT(findings, 24U);
}

TEST(GainChain, AReplayedGainStartsAtThePrediction) {
  const Analysis analysis =
      analysed({.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true});
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  const GainChain& chain = finding->gainChain;
  ASSERT_TRUE(chain.prediction);
  ASSERT_EQ(chain.gain.terms().size(), 2U);
  EXPECT_EQ(chain.gain.terms()[0].value, chain.prediction->baseNsPerStep);
  EXPECT_EQ(chain.gain.terms()[1].value, chain.prediction->predictedNsPerStep);
  EXPECT_TRUE(chain.change.starts_with("loader")) << chain.change;
}

TEST(MeasuredGain, MayDifferFromThatOfTheRecordedRun) {
  Finding finding;
  finding.gainBasis = GainBasis::UpperBound;
  finding.fullStepNs = 1'000;
  finding.gainHighNsPerStep = finding.predictedGainNsPerStep = 500;
  EXPECT_EQ(finding.measuredInterval().low, 0);
  EXPECT_NEAR(finding.measuredInterval().high, 0.68, 1e-9)
      << "two deviations of 0.36 of half of half of a step";
  Prediction noisy;
  noisy.doubt.noise = 0.02;
  finding.gainChain.prediction = noisy;
  EXPECT_NEAR(finding.measuredInterval().low, -0.04, 1e-9) << "noise may look like a loss";
  // All of a step is no more than a step, whatever the runs are like.
  finding.gainHighNsPerStep = 1'000;
  EXPECT_EQ(finding.measuredInterval().high, 1);
}

TEST(MeasuredGain, IsOfAStepAsLongAsPlainStepsShow) {
  Analysis analysis = analysed({.hostPauseNs = 3'000'000});
  const std::int64_t stepNs = analysis.meanStepNs();
  // By the costs of events recording took a hundredth of a step, half of it in host work. It took a
  // fifth.
  for (Ledger& bands : analysis.ledgers.bands.steps) {
    bands.add(Cause::HostWork, stepNs / 200);
    bands.add(Cause::Compute, stepNs / 200);
  }
  analysis.of<SelfOverhead>() = {
      .known = true, .parts = {}, .nsPerStep = 0, .detailNsPerStep = stepNs / 5, .plainSteps = 10};
  const std::vector<Finding> findings = findFindings(analysis, nullptr);
  const auto found = std::ranges::find(findings, FindingId::HostWork, &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->stepRecordingNs, stepNs / 5);
  const auto ratio = [](std::int64_t part, std::int64_t of) {
    return static_cast<double>(part) / static_cast<double>(of);
  };
  EXPECT_GT(found->recordingNsPerStep, 0);
  EXPECT_NEAR(found->recordedShare, 20 * ratio(found->recordingNsPerStep, found->costNsPerStep),
              0.001);
  analysis.of<SelfOverhead>().plainSteps = 0;
  const std::vector<Finding> estimated = findFindings(analysis, nullptr);
  EXPECT_NEAR(ratio(estimated.front().stepRecordingNs, stepNs), 0.01, 0.001)
      << "without plain steps";
}

TEST(MeasuredGain, IsOfAStepWithoutRecording) {
  Finding finding;
  finding.gainBasis = GainBasis::Replay;
  finding.fullStepNs = 1'000;
  finding.stepRecordingNs = 200;
  finding.recordedShare = 0.1;
  finding.gainLowNsPerStep = 400;
  finding.gainHighNsPerStep = finding.predictedGainNsPerStep = 500;
  EXPECT_NEAR(finding.unrecordedShare(finding.predictedGainNsPerStep), 0.5625, 1e-9);
  EXPECT_LT(finding.measuredInterval().low, 0.45);
  EXPECT_GT(finding.measuredInterval().high, 0.5625);
}

TEST(MeasuredGain, OfMemoryHasNoInterval) {
  Finding finding;
  finding.gainBasis = GainBasis::Bytes;
  finding.fullStepNs = 1'000;
  finding.gainHighNsPerStep = 500;
  EXPECT_EQ(finding.measuredInterval().high, 0);
}

}  // namespace
}  // namespace lacuna::analyzer
