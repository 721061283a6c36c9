// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/training_phases.h"

namespace lacuna::analyzer {
namespace {

void compileInEveryStep(CpuTraining& training) {
  training.work(0, 6 * CpuTraining::kMs, "aten::add")
      .each(6 * CpuTraining::kMs, 4 * CpuTraining::kMs, "phase", "compile");
}

TEST(RecompilationFinding, PricesCompilationsInEveryStep) {
  CpuTraining training;
  compileInEveryStep(training);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::Recompilation);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the program compiles code 12 times while it trains: 4.00 ms a step");
  EXPECT_EQ(finding->predictedGainNsPerStep, 4'000'000);
  EXPECT_EQ(find(analysis, FindingId::HostWork), nullptr) << "the same time, priced twice";
}

TEST(RecompilationFinding, NamesTheReasonOfMost) {
  CpuTraining training;
  compileInEveryStep(training);
  for (const char* reason : {"a.py:1 f: size of x", "a.py:9 g: lr changed", "a.py:9 g: lr changed"})
    training.out.append(prof::Mark{.timeNs = 5 * CpuTraining::kMs,
                                   .thread = CpuTraining::kThread,
                                   .name = training.out.intern("recompilation"),
                                   .text = training.out.intern(reason)});
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::Recompilation);
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(finding->advice.ends_with("; most often: a.py:9 g: lr changed")) << finding->advice;
}

TEST(RecompilationFinding, TheFirstCompilationIsNone) {
  test::TrainingPhases training;
  training.steps(1).inNextStep(1, 3, "compile").steps(40);
  EXPECT_EQ(find(training.analysed(), FindingId::Recompilation), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
