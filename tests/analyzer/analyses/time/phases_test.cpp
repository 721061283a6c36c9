// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "support/training_phases.h"

namespace lacuna::analyzer {
namespace {

using test::TrainingPhases;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kMillisecond = 1'000'000;

using Use = std::tuple<std::string, PhasePlace, std::uint64_t, std::int64_t>;

/// Name, place, count and milliseconds of the phases in and between steps.
std::vector<Use> usesOf(const Analysis& analysis) {
  std::vector<Use> out;
  for (const PhaseUse& use : analysis.of<RunPhases>().uses) {
    if (use.place == PhasePlace::InSteps || use.place == PhasePlace::BetweenSteps)
      out.emplace_back(use.name, use.place, use.count, use.totalNs / kMillisecond);
  }
  return out;
}

Use between(std::string name, std::uint64_t count, std::int64_t ms) {
  return {std::move(name), PhasePlace::BetweenSteps, count, ms};
}
Use inSteps(std::string name, std::uint64_t count, std::int64_t ms) {
  return {std::move(name), PhasePlace::InSteps, count, ms};
}

TEST(RunPhases, AnEvaluationIncludesTheWaitsForItsBatches) {
  const Analysis analysis =
      TrainingPhases().steps(5).evaluation(3).steps(5).evaluation(3).steps(5).analysed();
  EXPECT_THAT(usesOf(analysis), ElementsAre(between("evaluation", 2, 60)));
  const RunPhases& run = analysis.of<RunPhases>();
  EXPECT_EQ(run.steps, 15U);
  // 15 steps of 10 ms and 60 ms between them, less the pause after the last marker.
  EXPECT_EQ(run.iterationNs(), (15 * 10 - 1 + 60) * kMillisecond / 15);
}

TEST(RunPhases, AnEvaluationThatOpensAStepIsNoPartOfTheStep) {
  const Analysis analysis =
      TrainingPhases().steps(6).evaluationThatOpensAStep(4).steps(6).analysed();
  EXPECT_THAT(usesOf(analysis), ElementsAre(between("evaluation", 1, 40)));
  EXPECT_EQ(analysis.steps.all.size(), 13U);
  EXPECT_EQ(analysis.steps.medianNs(), 10 * kMillisecond);
  EXPECT_EQ(analysis.steps.all[6].durNs(), 10 * kMillisecond);
}

TEST(RunPhases, ANetworkInEvaluationModeThatEveryStepBeginsWithIsPartOfTheStep) {
  TrainingPhases training;
  for (int i = 0; i < 8; ++i) training.evaluationThatOpensAStep(1);
  const Analysis analysis = training.analysed();
  EXPECT_THAT(usesOf(analysis), ElementsAre(inSteps("evaluation", 8, 80)));
  EXPECT_EQ(analysis.steps.medianNs(), 20 * kMillisecond);
}

TEST(RunPhases, AShortEvaluationNowAndThenIsNoUsualPause) {
  // 2 ms beside steps of 10 ms: a pause that long would be nothing unusual.
  const Analysis analysis = TrainingPhases()
                                .steps(5)
                                .phase("evaluation", 2)
                                .steps(5)
                                .phase("evaluation", 2)
                                .steps(5)
                                .analysed();
  EXPECT_THAT(usesOf(analysis), ElementsAre(between("evaluation", 2, 4)));
}

TEST(RunPhases, PhasesInOnePauseShareItByTheirLengths) {
  // 2 ms of the pause are in no phase; they serve the longest.
  const Analysis analysis = TrainingPhases()
                                .steps(6)
                                .evaluation(3)
                                .pause(2)
                                .phase("checkpoint", 8)
                                .phase("garbage collection", 3)
                                .steps(6)
                                .analysed();
  EXPECT_THAT(usesOf(analysis),
              ElementsAre(between("evaluation", 1, 32), between("checkpoint", 1, 8),
                          between("garbage collection", 1, 3)));
}

TEST(RunPhases, ALongPauseDoesNotGetTheNameOfAShortPhaseInIt) {
  const Analysis analysis =
      TrainingPhases().steps(6).pause(50).phase("garbage collection", 3).steps(6).analysed();
  EXPECT_THAT(usesOf(analysis),
              ElementsAre(between("", 1, 50), between("garbage collection", 1, 3)));
}

TEST(RunPhases, PhasesOfTheIterationAreNotListed) {
  EXPECT_THAT(usesOf(TrainingPhases().steps(8).analysed()), IsEmpty());
}

TEST(RunPhases, WhatHappensInStepsIsCountedThere) {
  TrainingPhases training;
  training.steps(4);
  for (int i = 0; i < 4; ++i) training.inNextStep(5, 2, "garbage collection").steps(1);
  EXPECT_THAT(usesOf(training.analysed()), ElementsAre(inSteps("garbage collection", 4, 8)));
}

TEST(RunPhases, SetUpAndEndAreWhatLiesAroundTheSteps) {
  TrainingPhases training;
  training.phase("prepare", 30).steps(6).pause(5).phase("report", 20);
  const Analysis analysis = training.analysed();
  EXPECT_EQ(analysis.of<RunPhases>().totalNs("set-up", PhasePlace::BeforeSteps), 30 * kMillisecond);
  // The pause after the last step's marker, 1 ms, is not known.
  EXPECT_EQ(analysis.of<RunPhases>().totalNs("end", PhasePlace::BehindSteps), 26 * kMillisecond);
  AnalysisOptions some;
  some.steps = {1, 3};
  EXPECT_THAT(TrainingPhases().phase("prepare", 30).steps(6).analysed(some).of<RunPhases>().uses,
              IsEmpty());
}

TEST(RunPhases, ATraceWithoutStepsHasNone) {
  EXPECT_THAT(TrainingPhases().evaluation(3).analysed().of<RunPhases>().uses, IsEmpty());
}

}  // namespace
}  // namespace lacuna::analyzer
