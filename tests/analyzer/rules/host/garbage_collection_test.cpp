// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/training_phases.h"

namespace lacuna::analyzer {
namespace {

TEST(GarbageCollectionFinding, PricesCollectionsInEveryStep) {
  CpuTraining training;
  training.work(0, 6 * CpuTraining::kMs, "aten::add")
      .each(6 * CpuTraining::kMs, 3 * CpuTraining::kMs, "phase", "garbage collection");
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::GarbageCollection);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "the interpreter collects garbage 12 times over all objects: 3.00 ms a step");
  EXPECT_EQ(finding->predictedGainNsPerStep, 3'000'000);
  EXPECT_EQ(finding->gainLowNsPerStep, 3'000'000)
      << "the thread that collects executes the operators";
}

TEST(GarbageCollectionFinding, HostWorkThatIsGarbageCollectionIsNotPricedTwice) {
  CpuTraining collects;
  collects.work(0, 6 * CpuTraining::kMs, "aten::add")
      .each(6 * CpuTraining::kMs, 4 * CpuTraining::kMs, "phase", "garbage collection");
  EXPECT_EQ(find(collects.analysed(), FindingId::HostWork), nullptr);
  CpuTraining computes;
  computes.work(0, 6 * CpuTraining::kMs, "aten::add")
      .each(6 * CpuTraining::kMs, 4 * CpuTraining::kMs, "phase", "metrics");
  EXPECT_NE(find(computes.analysed(), FindingId::HostWork), nullptr);
}

TEST(GarbageCollectionFinding, OneNowAndThenIsNone) {
  test::TrainingPhases training;
  training.steps(20).inNextStep(5, 3, "garbage collection").steps(20);
  EXPECT_EQ(find(training.analysed(), FindingId::GarbageCollection), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
