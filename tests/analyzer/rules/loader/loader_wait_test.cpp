// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/loader/loader.h"
#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {
namespace {

TEST(LoaderWaitFinding, ProposeNoWorkersThatTheReplayCallsSlower) {
  int without = 0;
  for (const std::uint32_t cores : {1u, 2u, 4u}) {
    for (const int workers : {0, 1, 2}) {
      for (const std::int64_t batchNs : {3'000'000, 12'000'000}) {
        const Analysis analysis = analysed({.steps = 30,
                                            .batchNs = batchNs,
                                            .workers = workers,
                                            .syncEachStep = true,
                                            .hostCores = cores,
                                            .cpuDevice = true,
                                            .loaderComputes = true});
        for (const Finding& finding : analysis.of<Findings>()) {
          if (finding.id != FindingId::LoaderWait) continue;
          if (finding.knob.empty()) {
            EXPECT_THAT(finding.advice, testing::HasSubstr("more workers would not help"));
            ++without;
          } else {
            EXPECT_GT(Simulator::create(analysis)->play(finding.knob).gainNs(), 0) << finding.knob;
          }
        }
      }
    }
  }
  EXPECT_GT(without, 0);
}

TEST(LoaderWaitFinding, WhoPreparesBatchesIsNotMadeUp) {
  RunPlan plan{.batchNs = 10'000'000, .syncEachStep = true};
  plan.waitName = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const Analysis several = analysed(plan);
  EXPECT_FALSE(several.of<LoaderStats>().workersKnown);
  EXPECT_EQ(several.of<LoaderVerdict>().workersNeeded, 0U);
  const Finding* unknown = find(several, FindingId::LoaderWait);
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->knob, "");
  // All of the wait, at most.
  EXPECT_EQ(unknown->gainBasis, GainBasis::UpperBound);
  EXPECT_NEAR(static_cast<double>(unknown->predictedGainNsPerStep), 10e6, 0.02 * 10e6);
  EXPECT_EQ(unknown->gainLowNsPerStep, 0);
  EXPECT_LT(unknown->confidence, 0.3);
  EXPECT_THAT(unknown->advice, testing::HasSubstr("does not tell how many workers"));
  EXPECT_THAT(renderJson(several), testing::HasSubstr("\"workers\": -1"));
  const Prediction more = Simulator::create(several)->play("loader.workers=8");
  EXPECT_FALSE(more.touched);
  EXPECT_EQ(more.gainNs(), 0);
  plan.waitName = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const Analysis none = analysed(plan);
  EXPECT_TRUE(none.of<LoaderStats>().workersKnown);
  EXPECT_EQ(none.of<LoaderStats>().workers, 0U);
  ASSERT_NE(find(none, FindingId::LoaderWait), nullptr);
  EXPECT_THAT(find(none, FindingId::LoaderWait)->knob, testing::StartsWith("loader.workers="));
  EXPECT_GT(find(none, FindingId::LoaderWait)->predictedGainNsPerStep, 5'000'000);
}

TEST(LoaderWaitFinding, BatchesThatAreReadyNeedNoMoreWorkers) {
  RunPlan plan = test::restlessRun();
  const Analysis ready = analysed(plan);
  ASSERT_GT(ready.meanStepLedger()[Cause::LoaderWait], ready.meanStepNs() / 10);
  EXPECT_EQ(find(ready, FindingId::LoaderWait), nullptr);
  plan.batchNs = 2'000'000;
  const Analysis late = analysed(plan);
  ASSERT_NE(find(late, FindingId::LoaderWait), nullptr);
  EXPECT_THAT(find(late, FindingId::LoaderWait)->knob, testing::StartsWith("loader.workers="));
}

TEST(LoaderWaitFinding, AWaitInFrontOfTheMarkedStepIsFound) {
  const Analysis analysis =
      analysed({.steps = 30, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true, .waitIsMarked = false});
  EXPECT_NEAR(static_cast<double>(analysis.meanStepLedger()[Cause::LoaderWait]), 12e6, 0.02 * 12e6);
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 12e6, 0.05 * 12e6);
  EXPECT_GT(finding->predictedGainNsPerStep, 10'000'000);
  EXPECT_THAT(finding->title, testing::HasSubstr("74.2 % of it"));  // of 16 ms, not of the 4 ms that are marked
  EXPECT_NE(analysis.of<LoaderVerdict>().bound, LoaderBound::None);
  EXPECT_EQ(find(analysis, FindingId::SyncInStep), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
