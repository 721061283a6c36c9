// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/python_samples.h"

namespace lacuna::analyzer {
namespace {

/// Steps of 10 ms: a forward until 3, a backward until 7, the optimizer until 8.
CpuTraining& phases(CpuTraining& training) {
  return training.each(0, 3 * kMs, "phase", "forward")
      .work(kMs / 10, 2 * kMs, "aten::linear", 1)
      .each(3 * kMs, 4 * kMs, "phase", "backward")
      .work(3 * kMs + kMs / 10, 3 * kMs, "AddmmBackward0", 1)
      .each(7 * kMs, kMs, "phase", "optimizer")
      .work(7 * kMs + kMs / 10, kMs / 2, "aten::_fused_adam_");
}

TEST(SideWorkFinding, OperatorsBehindTheOptimizerAreFoundWithTheirCost) {
  CpuTraining training;
  phases(training)
      .work(8 * kMs + kMs / 10, kMs, "aten::mul_")
      .work(9 * kMs + kMs / 5, kMs / 2, "aten::add_");
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::SideWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 3 * kMs / 2);
  EXPECT_EQ(finding->count, 24U);
  EXPECT_EQ(finding->kind, FindingKind::Opportunity);
  EXPECT_THAT(finding->title, testing::HasSubstr("1.50 ms a step, most of it aten::mul_"));
  EXPECT_FALSE(finding->notPredicted.empty());
}

TEST(SideWorkFinding, NamesTheLinesThatCallThem) {
  CpuTraining training;
  phases(training).work(8 * kMs + kMs / 10, kMs, "aten::mul_");
  test::PythonSamples samples(training.out);
  const auto average = samples.frame("average", "/home/me/train.py", 42);
  for (int step = 0; step < 12; ++step)
    samples.during(step * 10 * kMs + 8 * kMs + kMs / 10, step * 10 * kMs + 9 * kMs, average,
                   kMs / 10);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::SideWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::HasSubstr("train.py:42 in average"));
}

TEST(SideWorkFinding, ALittleIsNone) {
  CpuTraining training;
  phases(training).work(8 * kMs + kMs / 10, kMs / 5, "aten::item");
  EXPECT_EQ(find(training.analysed(), FindingId::SideWork), nullptr);
}

TEST(SideWorkFinding, TheTrainingAloneIsNone) {
  CpuTraining training;
  EXPECT_EQ(find(phases(training).analysed(), FindingId::SideWork), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
