// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lacuna::cli::tune {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

Measured step(double ms, double loss = 1, std::uint64_t bytes = 1000) {
  Measured run;
  run.nsPerStep = ms * 1e6;
  for (std::uint32_t i = 0; i < 10; ++i) run.losses[i] = loss;
  run.hostBytes = bytes;
  return run;
}

Comparison compared(std::initializer_list<double> before, std::initializer_list<double> after) {
  Comparison out;
  for (const double ms : before) out.before.push_back(step(ms));
  for (const double ms : after) out.after.push_back(step(ms));
  return out;
}

Judgement judged(const Comparison& comparison, const Noise& noise = {}, const Limits& limits = {}) {
  return judge(comparison, noise, comparison.before, limits);
}

TEST(Estimates, AreTheMeanOfThePairsWithStudentsInterval) {
  // Logarithms 0.5 and 0.4: mean 0.45, deviation 0.0707, and 12.706 × 0.0707 / √2 = 0.635.
  const Estimate got = estimate(std::vector{0.5, 0.4}, {});
  EXPECT_DOUBLE_EQ(got.share, 1 - std::exp(-0.45));
  EXPECT_THAT(got.low, DoubleNear(1 - std::exp(-0.45 + 0.6353), 1e-4));
  EXPECT_THAT(got.high, DoubleNear(1 - std::exp(-0.45 - 0.6353), 1e-4));
  EXPECT_FALSE(estimate(std::vector{0.5}, {}).known);
}

TEST(Estimates, OfFewPairsLearnTheNoiseFromAllComparisons) {
  Noise noise;
  for (int i = 0; i < 10; ++i) noise.add(std::vector{0.01, 0.03});  // deviation 0.0141, 10 degrees
  EXPECT_THAT(noise.deviation(), DoubleNear(0.01414, 1e-5));
  const double half = 2.228 * 0.01414;
  EXPECT_THAT(estimate(std::vector{0.5}, noise).low, DoubleNear(1 - std::exp(-0.5 + half), 1e-4));
  // Pairs that agree by chance are not more certain than that.
  EXPECT_THAT(estimate(std::vector{0.5, 0.5}, noise).low,
              DoubleNear(1 - std::exp(-0.5 + half / std::sqrt(2)), 1e-4));
}

TEST(Estimates, OfFourPairsShowTheirOwnNoise) {
  Noise noise;
  for (int i = 0; i < 10; ++i) noise.add(std::vector{0.0, 1.0});
  const Estimate got = estimate(std::vector{0.5, 0.52, 0.5, 0.52}, noise);
  EXPECT_THAT(got.high - got.low, DoubleNear(2 * 3.182 * 0.01155 / 2 * std::exp(-0.51), 1e-3));
}

TEST(Pairs, AreAlikeWhicheverRunIsDisturbed) {
  EXPECT_DOUBLE_EQ(pairOf(100, 200), -pairOf(200, 100));
  EXPECT_DOUBLE_EQ(shareOf(pairOf(100, 75)), 0.25);
  EXPECT_DOUBLE_EQ(shorterBy(100, 75), 0.25);
}

TEST(Student, ApproachesTheNormalDistribution) {
  EXPECT_DOUBLE_EQ(studentQuantile(1), 12.706);
  EXPECT_THAT(studentQuantile(11), DoubleNear(2.201, 0.003));
  EXPECT_THAT(studentQuantile(1000), DoubleNear(1.962, 0.001));
  EXPECT_TRUE(std::isinf(studentQuantile(0)));
}

TEST(Judgements, KeepWhatIsFasterBeyondTheNoise) {
  EXPECT_EQ(judged(compared({100, 101}, {50, 50.4})).verdict, Verdict::Kept);
}

TEST(Judgements, WaitForMorePairsWhereTheyDisagree) {
  EXPECT_EQ(judged(compared({100, 100}, {95, 80})).verdict, Verdict::Unsure);
  EXPECT_EQ(judged(compared({100}, {50})).verdict, Verdict::Unsure) << "one pair shows no noise";
}

TEST(Judgements, GiveUpWhenAllPairsAreDone) {
  EXPECT_EQ(judged(compared({100, 100, 100, 100, 100, 100}, {101, 99, 100, 102, 98, 100})).verdict,
            Verdict::NoGain);
}

TEST(Judgements, SeeASlowerStepAndNeedTwoPairsForItToo) {
  Noise noise;
  for (int i = 0; i < 3; ++i) noise.add(std::vector{0.0, 0.01});
  EXPECT_EQ(judged(compared({100, 100}, {150, 150}), noise).verdict, Verdict::Slower);
  EXPECT_EQ(judged(compared({100}, {150}), noise).verdict, Verdict::Unsure)
      << "one run may be disturbed";
}

TEST(Judgements, RejectAnotherLoss) {
  Comparison comparison = compared({100, 100}, {50, 50});
  comparison.after = {step(50, 1.2), step(50, 1.2)};
  const Judgement got = judged(comparison);
  EXPECT_EQ(got.verdict, Verdict::LossChanged);
  EXPECT_THAT(got.why, HasSubstr("1.2 instead of 1"));
}

TEST(Judgements, AllowLossesThatVaryByThemselves) {
  Comparison comparison = compared({100, 100}, {50, 50.1});
  comparison.after = {step(50, 1.02), step(50.1, 1.2)};  // mean 1.11; three times the range is 0.54
  EXPECT_EQ(judged(comparison).verdict, Verdict::Kept);
  comparison = compared({100}, {50});
  comparison.after = {step(50, 1.2)};
  EXPECT_EQ(judged(comparison).verdict, Verdict::Unsure) << "one run of each shows no spread";
}

TEST(Judgements, RejectALossThatIsNoNumber) {
  Comparison comparison = compared({100, 100}, {50, 50});
  comparison.after[0] = step(50, std::nan(""));
  EXPECT_THAT(judged(comparison).why, HasSubstr("no number"));
}

TEST(Judgements, AllowWhatRunsWithoutAChangeDifferBy) {
  Comparison comparison = compared({100, 100}, {50, 50.1});
  comparison.before[0] = step(100, 0.9);
  comparison.after = {step(50, 1.1),
                      step(50.1, 1.1)};  // means 0.95 and 1.1; three times the range is 0.3
  EXPECT_EQ(judged(comparison).verdict, Verdict::Kept);
}

TEST(Judgements, DoWithoutALoss) {
  Comparison comparison = compared({100, 100.5}, {50, 50});
  for (Measured& run : comparison.before) run.losses.clear();
  EXPECT_EQ(judged(comparison).verdict, Verdict::Kept);
}

TEST(Judgements, CompareLossesOfTheSecondHalf) {
  Measured run = step(1, 4);
  for (std::uint32_t i = 4; i < 10; ++i) run.losses[i] = 1;
  EXPECT_DOUBLE_EQ(*lateLoss(run), 1);
}

TEST(Judgements, RejectMemoryThatGrows) {
  Comparison comparison = compared({100, 100}, {50, 50});
  comparison.after[0] = step(50, 1, 1200);
  EXPECT_EQ(judged(comparison).verdict, Verdict::MemoryGrew);
  Limits roomy;
  roomy.roomBytes = 300;
  EXPECT_EQ(judged(comparison, {}, roomy).verdict, Verdict::Unsure)
      << "there is room, and equal pairs show no noise";
  comparison.after[0].deviceBytes = 10;
  EXPECT_THAT(judged(comparison, {}, roomy).why,
              HasSubstr("the GPU's memory grows from 0 B to 10 B"));
}

}  // namespace
}  // namespace lacuna::cli::tune
