// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(UnderUtilisedFinding, IdleTimeThatNobodyExplainsIsAFault) {
  const Analysis analysis = deviceAlone(150'000);
  const Finding* finding = find(analysis, FindingId::UnderUtilised);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::Fault);
  EXPECT_EQ(finding->severity, Severity::High);
  EXPECT_EQ(finding->title,
            "the device is busy 15.1 % of the time; most of the rest, 169 ms in all, has no cause "
            "in the trace");
  EXPECT_FALSE(finding->evidence.empty());
  EXPECT_EQ(finding->costNsPerStep, 199 * 850'000);
  EXPECT_EQ(finding->predictedGainNsPerStep, 0);
}

TEST(UnderUtilisedFinding, ADeviceThatIsIdleForACauseWithoutARuleIsReported) {
  const Analysis analysis = analysed({.profilerNs = 20'000'000});
  const Finding* finding = find(analysis, FindingId::UnderUtilised);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::EndsWith("a step, is held up by the profiler"));
  const Ledger step = analysis.meanStepLedger();
  EXPECT_GE(2 * finding->costNsPerStep, step.totalNs() - step.busyNs());
  EXPECT_LE(finding->costNsPerStep, step.totalNs() - step.busyNs());
}

TEST(UnderUtilisedFinding, IdleTimeThatAFindingPricesIsNoFaultOfItsOwn) {
  for (const RunPlan& plan :
       {RunPlan{}, RunPlan{.syncEachStep = true}, RunPlan{.batchNs = 20'000'000, .workers = 0},
        RunPlan{.hostPauseNs = 20'000'000}, RunPlan{.asleepNs = 20'000'000},
        RunPlan{.mallocNs = 20'000'000}, RunPlan{.operators = 200, .kernelNs = 3'000},
        RunPlan{.ranks = 2, .collectiveNs = 20'000'000}})
    EXPECT_EQ(find(analysed(plan), FindingId::UnderUtilised), nullptr);
}

TEST(UnderUtilisedFinding, IdleTimeInPhasesThatAFindingPricesIsNoFaultOfItsOwn) {
  for (const char* phase : {"garbage collection", "checkpoint"}) {
    CpuTraining training;
    training.work(0, 2 * CpuTraining::kMs, "aten::add")
        .each(2 * CpuTraining::kMs, 7 * CpuTraining::kMs, "phase", phase);
    EXPECT_EQ(find(training.analysed(), FindingId::UnderUtilised), nullptr) << phase;
  }
}

TEST(UnderUtilisedFinding, IdleTimeBesideSuchPhasesIsNamedWithoutThem) {
  CpuTraining training;
  training.work(0, 1 * CpuTraining::kMs, "aten::add")
      .each(1 * CpuTraining::kMs, 2 * CpuTraining::kMs, "phase", "garbage collection")
      .each(3 * CpuTraining::kMs, 7 * CpuTraining::kMs, "overhead", "buffer flush");
  const Analysis analysis = training.analysed();
  const Ledger step = analysis.meanStepLedger();
  const Finding* finding = find(analysis, FindingId::UnderUtilised);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, step.totalNs() - step.busyNs() - 2 * CpuTraining::kMs);
}

}  // namespace
}  // namespace lacuna::analyzer
