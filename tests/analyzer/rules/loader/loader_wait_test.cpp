// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/loader/loader.h"
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"
#include "support/small_trace.h"

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
            EXPECT_THAT(
                finding.advice,
                testing::ContainsRegex("more workers would not help|[0-9]+ workers would gain"));
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

/// Steps of 10 ms, half of each a wait for a batch. `byWorker`: another thread prepares batches all
/// the time.
Analysis loading(bool byWorker, double trainingRan, double workerRan, double workerWaited,
                 const char* cores = "2") {
  CpuTraining training(60);
  StoreBuilder& out = training.out;
  out.append(prof::Environment{.key = out.intern("host.cores"), .value = out.intern(cores)});
  training.work(0, 5 * kMs, "aten::linear")
      .each(5 * kMs, 5 * kMs, "loader", "wait")
      .ran(trainingRan);
  const prof::ThreadId worker(10);
  out.append(prof::Thread{.id = worker, .process = prof::ProcessId(1)});
  for (int step = 0; step < 60; ++step) {
    out.append(prof::Range{.startNs = step * 10 * kMs + (byWorker ? 0 : 5 * kMs),
                           .durNs = byWorker ? 10 * kMs - 1'000 : 5 * kMs,
                           .thread = byWorker ? worker : prof::ThreadId(1),
                           .category = out.intern("loader"),
                           .name = out.intern("fetch"),
                           .payloadType = prof::PayloadType::U64,
                           .payload = static_cast<std::uint64_t>(step)});
  }
  training.ran(workerRan, workerWaited, worker);
  return training.analysed();
}

TEST(LoaderWaitFinding, WorkersThatRunOrWaitForACoreCompute) {
  EXPECT_NEAR(loading(true, 100, 60, 30).of<LoaderStats>().cpuShare, 0.9, 0.02);
  EXPECT_NEAR(loading(true, 100, 5, 1).of<LoaderStats>().cpuShare, 0.06, 0.02);
}

TEST(LoaderWaitFinding, AConsumerThatNeverSleepsComputesItsBatches) {
  EXPECT_NEAR(loading(false, 100, 0, 0).of<LoaderStats>().cpuShare, 1, 0.02);
  EXPECT_NEAR(loading(false, 60, 0, 0).of<LoaderStats>().cpuShare, 0.2, 0.03)
      << "it slept for 4 of the 5 ms";
}

TEST(LoaderWaitFinding, WhereCoresBindCheaperBatchesAreTheFix) {
  const Analysis computing = loading(true, 50, 50, 50, "1");
  const Finding* finding = find(computing, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->knob, "");
  EXPECT_THAT(finding->advice, testing::HasSubstr("make preparing a batch cheaper"));
  EXPECT_THAT(finding->advice, testing::HasSubstr("the training needs the cores"));
  const Analysis reading = loading(true, 50, 5, 1, "1");
  ASSERT_NE(find(reading, FindingId::LoaderWait), nullptr);
  EXPECT_EQ(find(reading, FindingId::LoaderWait)->knob, "loader.workers=2");
}

TEST(LoaderWaitFinding, AnEvaluationsWaitsArePartOfAnIteration) {
  test::SmallTrace trace;
  std::int64_t nowUs = 0;
  const auto batch = [&](std::int64_t waitUs, std::int64_t workUs) {
    trace.range(nowUs, nowUs + waitUs, "wait", "loader");
    trace.launched(nowUs + waitUs, nowUs + waitUs + 10, nowUs + waitUs + 20,
                   nowUs + waitUs + workUs, "gemm");
    nowUs += waitUs + workUs;
  };
  for (int step = 0; step < 25; ++step) {
    if (step % 5 == 0 && step > 0) {
      trace.range(nowUs, nowUs + 50'000, "evaluation", "phase");
      batch(40'000, 10'000);
    }
    trace.step(nowUs, nowUs + 9'900);
    batch(4'000, 6'000);
  }
  const Analysis analysis = trace.analysed();
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  // 4 ms in each of 25 steps and 4 times 40 ms between them; an iteration is 10 ms and its part of
  // 4 times 50 ms. The first step is warm-up.
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 10.7e6, 0.3e6);
  EXPECT_NEAR(static_cast<double>(finding->pausesNsPerStep), 6.7e6, 0.3e6);
  EXPECT_NEAR(static_cast<double>(finding->fullStepNs), 18.3e6, 0.5e6);
  EXPECT_NEAR(finding->gainShare(), finding->costShare(), 0.06);
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
  EXPECT_THAT(unknown->advice, testing::HasSubstr("does not show how many workers"));
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
  const Analysis analysis = analysed({.steps = 30,
                                      .batchNs = 12'000'000,
                                      .workers = 0,
                                      .syncEachStep = true,
                                      .waitIsMarked = false});
  EXPECT_NEAR(static_cast<double>(analysis.meanStepLedger()[Cause::LoaderWait]), 12e6, 0.02 * 12e6);
  const Finding* finding = find(analysis, FindingId::LoaderWait);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 12e6, 0.05 * 12e6);
  EXPECT_GT(finding->predictedGainNsPerStep, 10'000'000);
  EXPECT_THAT(finding->title,
              testing::HasSubstr("74.2 % of it"));  // of 16 ms, not of the 4 ms that are marked
  EXPECT_NE(analysis.of<LoaderVerdict>().bound, LoaderBound::None);
  EXPECT_EQ(find(analysis, FindingId::SyncInStep), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
