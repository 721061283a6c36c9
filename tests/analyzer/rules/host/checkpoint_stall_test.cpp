// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"
#include "support/training_phases.h"

namespace lacuna::analyzer {
namespace {

using test::TrainingPhases;

TEST(CheckpointStallFinding, PricesCheckpointsBetweenSteps) {
  TrainingPhases training;
  for (int i = 0; i < 4; ++i) training.steps(5).phase("checkpoint", 20);
  const Analysis analysis = training.steps(5).analysed();
  const Finding* finding = find(analysis, FindingId::CheckpointStall);
  ASSERT_NE(finding, nullptr);
  // 4 times 20 ms in 25 steps.
  EXPECT_EQ(finding->title, "training stops for 4 checkpoints: 3.20 ms a step on average");
  EXPECT_EQ(finding->costNsPerStep, 3'200'000);
  EXPECT_EQ(finding->predictedGainNsPerStep, 3'200'000);
  EXPECT_GT(finding->baseNsPerStep, 13'000'000) << "a step with its part of the pauses";
  EXPECT_EQ(find(analysis, FindingId::SlowSteps), nullptr) << "the pauses have a name";
}

TEST(CheckpointStallFinding, PricesCheckpointsInSteps) {
  TrainingPhases training;
  for (int i = 0; i < 12; ++i) training.inNextStep(4, 3, "checkpoint").steps(1);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::CheckpointStall);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 3'000'000);
  EXPECT_EQ(finding->gainLowNsPerStep, 0) << "the device may have work meanwhile";
}

TEST(CheckpointStallFinding, TheWayToTheDiskIsPartOfACheckpoint) {
  TrainingPhases training;
  for (int i = 0; i < 4; ++i)
    training.steps(5).phase("checkpoint", 20).phase("checkpoint sync", 30);
  const Analysis analysis = training.steps(5).analysed();
  const Finding* finding = find(analysis, FindingId::CheckpointStall);
  ASSERT_NE(finding, nullptr);
  // 4 times 50 ms in 25 steps.
  EXPECT_EQ(finding->title, "training stops for 4 checkpoints: 8.00 ms a step on average");
  EXPECT_EQ(finding->predictedGainNsPerStep, 8'000'000);
}

TEST(CheckpointStallFinding, OneThatHardlyTakesTimeIsNone) {
  TrainingPhases training;
  training.steps(20).phase("checkpoint", 4).steps(20);
  EXPECT_EQ(find(training.analysed(), FindingId::CheckpointStall), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
