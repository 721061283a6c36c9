// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/whatif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lacuna/analyzer/analysis.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using test::restlessRun;
using test::RunPlan;

Prediction play(const RunPlan& plan, std::string_view change) {
  const auto analysis = analyse(test::makeRun(plan));
  EXPECT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  EXPECT_TRUE(simulator);
  return simulator->play(change);
}

/// Device time of a whole run made with the other plan, per step.
double measured(const RunPlan& plan) {
  return static_cast<double>(play(plan, "host*1").measuredNsPerStep);
}

TEST(WhatIf, AFasterHostMakesNoDriverCallFaster) {
  const RunPlan plan{.mallocNs = 3'000'000, .hostPauseNs = 2'000'000};
  const Prediction prediction = play(plan, "host*0");
  EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 2e6, 4e5);
  EXPECT_NEAR(static_cast<double>(play(plan, "allocator=cached").gainNs()), 3e6, 4e5);
}

TEST(WhatIf, UnchangedReplayReproducesTheMeasuredStep) {
  for (const RunPlan& plan :
       {RunPlan{}, RunPlan{.syncEachStep = true}, RunPlan{.batchNs = 20'000'000, .workers = 0},
        RunPlan{.batchNs = 30'000'000, .workers = 1}, RunPlan{.operators = 200, .kernelNs = 3'000},
        RunPlan{.pageableCopyNs = 2'000'000}, RunPlan{.ranks = 2, .collectiveNs = 3'000'000}}) {
    const Prediction prediction = play(plan, "host*1");
    EXPECT_NEAR(static_cast<double>(prediction.baseNsPerStep), static_cast<double>(prediction.measuredNsPerStep),
                0.02 * static_cast<double>(prediction.measuredNsPerStep));
    EXPECT_EQ(prediction.gainNs(), 0);
  }
}

TEST(WhatIf, WorkersTakeTheLoaderOutOfTheStep) {
  const RunPlan slow{.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true};
  RunPlan fixed = slow;
  fixed.workers = 4;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=4").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
}

TEST(WhatIf, MoreWorkersHelpStarvedOnes) {
  const RunPlan slow{.steps = 40, .batchNs = 16'000'000, .workers = 1};
  RunPlan fixed = slow;
  fixed.workers = 2;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=2").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
}

TEST(WhatIf, WorkersThatHandOverTogetherCountByWholeRounds) {
  // Some 4 ms a step; so few workers cannot keep up, and each round of theirs waits once.
  const RunPlan slow{.steps = 120, .batchNs = 60'000'000, .workers = 0, .syncEachStep = true};
  for (const int workers : {5, 6, 7, 9, 11}) {
    RunPlan fixed = slow;
    fixed.workers = workers;
    const auto prediction = play(slow, "loader.workers=" + std::to_string(workers));
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), 60e6 / workers, 0.03 * 60e6 / workers) << workers;
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), measured(fixed), 0.05 * measured(fixed)) << workers;
  }
}

TEST(WhatIf, ThatAConsumerComesLateIsNotWhatHandingOverTakes) {
  // A batch is ready 0.2 ms before a step asks for it, and the steps without the waits take less than that.
  const RunPlan slow{.steps = 60,
                     .operators = 6,
                     .operatorNs = 5'000,
                     .kernelNs = 20'000,
                     .batchNs = 200'000,
                     .workers = 8,
                     .syncEveryOperators = 1,
                     .batchesNumbered = true};
  RunPlan fixed = slow;
  fixed.syncEveryOperators = 0;
  ASSERT_LT(measured(fixed), 0.8 * measured(slow));
  EXPECT_NEAR(static_cast<double>(play(slow, "sync=off").predictedNsPerStep), measured(fixed), 0.08 * measured(fixed));
}

TEST(WhatIf, MoreWorkersQuickenNeitherHandingOverNorWhatElseHoldsStepsUp) {
  EXPECT_LT(play(restlessRun(), "loader.workers=3").gainNs(), 10'000);
  RunPlan starved = restlessRun();
  starved.batchNs = 2'000'000;
  RunPlan fixed = starved;
  fixed.workers = 8;
  const auto gain = static_cast<double>(play(starved, "loader.workers=8").gainNs());
  const double waits = measured(starved) - measured(fixed);
  EXPECT_GE(gain, waits);
  EXPECT_LE(gain, 1.3 * waits);
}

TEST(WhatIf, WhatDoesNotConcernTheLoaderLeavesItsWaitsAsTheyAre) {
  for (const int workers : {1, 8}) {
    const RunPlan slow{.steps = 120, .batchNs = 8'000'000 * workers, .workers = workers, .syncEachStep = true};
    const Prediction prediction = play(slow, "sync=off");
    EXPECT_NEAR(static_cast<double>(prediction.predictedNsPerStep), measured(slow), 0.05 * measured(slow)) << workers;
  }
}

TEST(WhatIf, FasterKernelsShortenADeviceBoundStep) {
  const RunPlan slow{.steps = 30, .syncEachStep = true};
  RunPlan fixed = slow;
  fixed.kernelNs = 50'000;
  EXPECT_NEAR(static_cast<double>(play(slow, "kernel:*0.5").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
}

TEST(WhatIf, CallsAreChosenByNameAndAWholeNameByQuotes) {
  const RunPlan plan{.steps = 20, .operators = 10, .kernelNs = 4'000, .batchNs = 1'000, .blockingMemsetNs = 3'000'000};
  EXPECT_NEAR(static_cast<double>(play(plan, "call:memset*0").gainNs()), 3e6, 0.05 * 3e6);
  EXPECT_NEAR(static_cast<double>(play(plan, "call:\"cudaMemset\"*0").gainNs()), 3e6, 0.05 * 3e6);
  EXPECT_FALSE(play(plan, "call:\"Memset\"*0").touched);
  EXPECT_EQ(parseChange("call:\"cudaMemset\"*0")->text(), "call:\"cudaMemset\"*0");
}

TEST(WhatIf, CallsThatThereAreNoneOfAreRefusedWithThoseThatThereAre) {
  const auto analysis = analyse(test::makeRun({.syncEachStep = true, .mallocNs = 3'000'000}));
  const auto simulator = Simulator::create(*analysis);
  const auto refused = simulator->check(*parseChange("call:nothing*0"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("there are: cudaLaunchKernel, "));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("cudaMalloc"));
  EXPECT_TRUE(simulator->check(*parseChange("call:malloc*0")));
}

TEST(WhatIf, PartsThatCannotBeChosenAreRefused) {
  EXPECT_THAT(parseChange("call*0").error().message, testing::HasSubstr("say which calls"));
  EXPECT_THAT(parseChange("host:name*0").error().message, testing::HasSubstr("host has no names to choose from"));
  EXPECT_THAT(parseChange("batch*0").error().message, testing::HasSubstr("above 0"));
  EXPECT_THAT(parseChange("repeats=on").error().message, testing::HasSubstr("it can be: joined"));
}

TEST(WhatIf, ALargerBatchLeavesTheHostsPartAsItIs) {
  // 0.6 ms of kernels behind 3 ms of launching them.
  const RunPlan plan{.steps = 20, .operators = 200, .kernelNs = 3'000, .batchNs = 1'000};
  const Prediction two = play(plan, "batch*2");
  EXPECT_NEAR(static_cast<double>(two.predictedNsPerStep), static_cast<double>(two.baseNsPerStep),
              0.01 * static_cast<double>(two.baseNsPerStep));
  // Gaps between kernels stay too.
  EXPECT_NEAR(static_cast<double>(play(plan, "batch*10").predictedNsPerStep), 201 * 32e3, 0.02 * 201 * 32e3);
}

TEST(WhatIf, FasterKernelsDoNotHelpAHostBoundStep) {
  const Prediction prediction = play({.operators = 200, .kernelNs = 3'000}, "kernel:*0.5");
  EXPECT_LT(prediction.gainNs() * 50, prediction.baseNsPerStep);
}

TEST(WhatIf, RemovedSynchronisationsLetTheQueueFill) {
  const RunPlan slow{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 4};
  RunPlan fixed = slow;
  fixed.syncEveryOperators = 0;
  EXPECT_NEAR(static_cast<double>(play(slow, "sync=off").predictedNsPerStep), measured(fixed), 0.08 * measured(fixed));
}

TEST(WhatIf, PatternsChooseKernels) {
  const RunPlan plan{.syncEachStep = true};
  EXPECT_EQ(play(plan, "kernel:nothing*0.1").gainNs(), 0);
  EXPECT_GT(play(plan, "kernel:BLOCK*kernel*0.5").gainNs(), 0);
}

TEST(WhatIf, WorkersThatComputeCannotGainBeyondTheCores) {
  RunPlan slow{.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true};
  slow.hostCores = 2;
  slow.loaderComputes = true;
  const Prediction two = play(slow, "loader.workers=2");
  const Prediction many = play(slow, "loader.workers=16");
  EXPECT_GE(many.predictedNsPerStep, 12'000'000 / 2);
  EXPECT_EQ(many.predictedNsPerStep, two.predictedNsPerStep);
  EXPECT_GE(many.highNsPerStep, many.baseNsPerStep);
}

TEST(WhatIf, PrefetchBoundsHowFarWorkersRunAhead) {
  const RunPlan plan{.steps = 40, .batchNs = 16'000'000, .workers = 1};
  EXPECT_GE(play(plan, "loader.prefetch=8").predictedNsPerStep, 15'900'000);
}

TEST(WhatIf, IntervalHoldsThePredictionAndConfidenceIsAProbability) {
  const Prediction prediction = play({.batchNs = 20'000'000, .workers = 0}, "loader.workers=4");
  EXPECT_LT(prediction.lowNsPerStep, prediction.predictedNsPerStep);
  EXPECT_GT(prediction.highNsPerStep, prediction.predictedNsPerStep);
  EXPECT_GT(prediction.confidence, 0.9);
  EXPECT_LE(prediction.confidence, 1);
  EXPECT_EQ(play({}, "loader.workers=4").confidence, 0);
}

TEST(WhatIf, DebugChecksGoWithTheSynchronisationThatLooksAtThem) {
  RunPlan checked{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 1};
  checked.kernelName = "is_finite";
  const RunPlan plain{.steps = 30, .operatorNs = 60'000};
  EXPECT_LT(play(checked, "debug=off").predictedNsPerStep, play(plain, "host*1").measuredNsPerStep);
  checked.kernelName = "block";
  EXPECT_NEAR(static_cast<double>(play(checked, "debug=off").predictedNsPerStep), measured(plain),
              0.08 * measured(plain));
}

TEST(WhatIf, ACpuThatNoLongerWaitsComputesAsInItsQuickestSteps) {
  const RunPlan slow{.steps = 80,
                     .batchNs = 12'000'000,
                     .workers = 0,
                     .syncEachStep = true,
                     .hostCores = 8,
                     .cpuDevice = true,
                     .loaderSleeps = true,
                     .afterWaiting = 1.2};
  RunPlan fixed = slow;
  fixed.workers = 6;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=6").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
  // Where batches are computed nothing sleeps.
  RunPlan computing = slow;
  computing.loaderSleeps = false;
  computing.loaderComputes = true;
  EXPECT_GT(static_cast<double>(play(computing, "loader.workers=6").predictedNsPerStep), 1.1 * measured(fixed));
}

TEST(WhatIf, WhatOtherProgramsTookOfTheCoresIsNotPromised) {
  const RunPlan slow{.steps = 60,
                     .batchNs = 3'000'000,
                     .workers = 0,
                     .syncEachStep = true,
                     .hostCores = 2,
                     .cpuDevice = true,
                     .loaderSleeps = true,
                     .displaced = 0.46};
  const Prediction prediction = play(slow, "loader.workers=2");
  EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 3e6, 0.4e6);
  EXPECT_THAT(prediction.notes, testing::Contains(testing::HasSubstr("other programs took 46 %")));
}

TEST(WhatIf, AThreadThatWaitsAMomentAsItIsWokenLosesNothingToOthers) {
  RunPlan slow{.steps = 60,
               .kernelNs = 100'000,
               .batchNs = 10'000'000,
               .workers = 0,
               .syncEachStep = true,
               .hostCores = 2,
               .cpuDevice = true,
               .loaderSleeps = true,
               .afterWaiting = 1.1};
  // 0.8 % of the time, of a thread that wants 8 % of it.
  slow.displaced = 0.1;
  slow.wanted = 0.08;
  const Prediction prediction = play(slow, "loader.workers=6");
  EXPECT_THAT(prediction.notes, testing::Not(testing::Contains(testing::HasSubstr("other programs"))));
  slow.wanted = 0.8;
  EXPECT_THAT(play(slow, "loader.workers=6").notes, testing::Contains(testing::HasSubstr("other programs took 10 %")));
}

TEST(WhatIf, AWaitThatGoesWarmsACpuByNoMoreThanItself) {
  // As above, but nothing tells why the steps differ, and the wait is short.
  RunPlan slow{.steps = 60,
               .batchNs = 1'500'000,
               .workers = 0,
               .syncEachStep = true,
               .hostCores = 2,
               .cpuDevice = true,
               .loaderSleeps = true,
               .displaced = 0.46,
               .countersOfThreads = false};
  const Prediction some = play(slow, "loader.workers=2");
  slow.loaderSleeps = false;  // no warming is played where nothing tells what the loader computes
  const Prediction without = play(slow, "loader.workers=2");
  EXPECT_LE(without.predictedNsPerStep - some.predictedNsPerStep, 1'600'000);
}

TEST(WhatIf, GradientsThatAreNotFilledWithZerosAreNotAddedToEither) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .zeroGradNs = 2'000'000, .accumulateNs = 100'000};
  RunPlan fixed = slow;
  fixed.zeroGradNs = fixed.accumulateNs = 0;
  EXPECT_NEAR(static_cast<double>(play(slow, "zero_grad=none").predictedNsPerStep), measured(fixed),
              0.05 * measured(fixed));
  // Additions that nothing was filled with zeros for are of another sort.
  const RunPlan kept{.steps = 30, .syncEachStep = true, .accumulateNs = 100'000};
  EXPECT_EQ(play(kept, "zero_grad=none").gainNs(), 0);
  // So are zeros that an operator writes into memory of its own.
  const RunPlan own{.steps = 30, .syncEachStep = true, .zeroGradNs = 2'000'000, .zerosIn = "aten::zeros"};
  EXPECT_EQ(play(own, "zero_grad=none").gainNs(), 0);
}

TEST(WhatIf, AFusedOptimizerLaunchesOncePerKernelAndStep) {
  const RunPlan slow{
      .steps = 30, .operators = 10, .kernelNs = 2'000, .batchNs = 10'000, .syncEachStep = true, .optimizerKernels = 60};
  RunPlan fixed = slow;
  fixed.optimizerKernels = 0;
  // What the updates compute remains; the launches, the gaps between them and what starting a kernel takes go.
  const double expected = measured(fixed) + 2'000 + 59 * 500.0;
  EXPECT_NEAR(static_cast<double>(play(slow, "optimizer.fused=on").predictedNsPerStep), expected, 0.15 * expected);
  EXPECT_LT(expected, 0.75 * measured(slow));
}

TEST(WhatIf, AnOptimizerOfOneLaunchHasNothingToFuse) {
  RunPlan plan{
      .steps = 30, .operators = 10, .kernelNs = 2'000, .batchNs = 10'000, .syncEachStep = true, .optimizerKernels = 1};
  EXPECT_FALSE(play(plan, "optimizer.fused=on").touched);
  plan.optimizerKernels = 2;
  EXPECT_TRUE(play(plan, "optimizer.fused=on").touched);
}

TEST(WhatIf, ABiasBeforeANormGoesWithItsGradient) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .biasGradientNs = 1'500'000};
  RunPlan fixed = slow;
  fixed.biasGradientNs = 1;  // the other kernels stay
  EXPECT_NEAR(static_cast<double>(play(slow, "conv_bias=off").predictedNsPerStep), measured(fixed),
              0.02 * measured(fixed));
}

TEST(WhatIf, OverlappedCollectivesHoldUpTheOptimizerAlone) {
  const RunPlan slow{.steps = 30, .syncEachStep = true, .collectiveNs = 2'000'000};
  const Prediction prediction = play(slow, "overlap=on");
  RunPlan hidden = slow;
  hidden.collectiveNs = 0;
  EXPECT_TRUE(prediction.touched);
  EXPECT_LE(static_cast<double>(prediction.lowNsPerStep), measured(hidden));
  EXPECT_GE(prediction.highNsPerStep, prediction.baseNsPerStep);
}

TEST(WhatIf, AQuickerHostGainsTheIdleTimeAndNoMore) {
  // A collective that starts as soon as it is launched, behind the gradients that it reduces.
  const auto analysis = analyse(test::makeRun({.steps = 30,
                                               .operators = 200,
                                               .kernelNs = 3'000,
                                               .syncEachStep = true,
                                               .collectiveNs = 3'000'000,
                                               .biasBeforeNorm = true}));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  const auto idle = static_cast<double>(analysis->meanStepLedger().idleNs());
  for (const char* change : {"static_graph=on", "host*0"}) {
    const Prediction prediction = simulator->play(change);
    EXPECT_GT(static_cast<double>(prediction.gainNs()), 0.8 * idle) << change;
    EXPECT_LT(static_cast<double>(prediction.gainNs()), 1.03 * idle) << change;
    EXPECT_LT(static_cast<double>(prediction.baseNsPerStep - prediction.lowNsPerStep), 1.03 * idle) << change;
    EXPECT_LE(prediction.lowNsPerStep, prediction.predictedNsPerStep) << change;
  }
}

TEST(WhatIf, AGraphHoldsAStepAndNotWhatLiesBetweenTwo) {
  const RunPlan plan{.steps = 30, .operators = 200, .kernelNs = 3'000, .syncEachStep = true};
  RunPlan waits = plan;
  waits.betweenStepsNs = 7'000'000;
  const Prediction without = play(plan, "static_graph=on"), with = play(waits, "static_graph=on");
  EXPECT_GT(without.gainNs(), 1'000'000);
  EXPECT_NEAR(static_cast<double>(with.gainNs()), static_cast<double>(without.gainNs()), 50'000);
}

TEST(WhatIf, AGraphOfACpuWorksWhileItIsCalled) {
  RunPlan plan{.steps = 30,
               .operators = 50,
               .kernelNs = 20'000,
               .cpuDevice = true,
               .callsWork = true,
               .betweenStepsNs = 7'000'000};
  const auto expectWork = [&] {
    const Prediction prediction = play(plan, "static_graph=on");
    EXPECT_GT(prediction.predictedNsPerStep, 7'000'000 + 50 * 20'000);
    EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 50 * 11'000.0, 50'000);
  };
  expectWork();
  // As PyTorch's operators are recorded.
  plan.callsWork = false;
  plan.callerWorks = true;
  expectWork();
}

TEST(WhatIf, AGraphOfACpuWithAQueueOfItsOwnLeavesTheHostFree) {
  // As the runtime's operators: handing over takes no time that is recorded, and a thread works them off.
  const RunPlan plan{.steps = 30, .operators = 200, .kernelNs = 3'000, .cpuDevice = true, .launchNs = 0};
  const Prediction prediction = play(plan, "static_graph=on");
  EXPECT_LT(prediction.predictedNsPerStep, 1.2 * 201 * 3'500) << "as long as the work and the gaps between";
}

TEST(WhatIf, SaysWhenNothingRecordedWouldChange) {
  const RunPlan plan{.steps = 30, .syncEachStep = true};
  for (const char* change : {"conv_bias=off", "kernel:nosuchkernel*0.5", "zero_grad=none", "overlap=on"}) {
    const Prediction prediction = play(plan, change);
    EXPECT_FALSE(prediction.touched) << change;
    EXPECT_EQ(prediction.gainNs(), 0) << change;
    EXPECT_EQ(prediction.confidence, 0) << change;
    // Knowing nothing is no certainty.
    EXPECT_LT(prediction.lowNsPerStep, prediction.predictedNsPerStep) << change;
    EXPECT_GT(prediction.highNsPerStep, prediction.predictedNsPerStep) << change;
    ASSERT_EQ(prediction.notes.size(), change == std::string_view("overlap=on") ? 2U : 1U) << change;
    EXPECT_THAT(prediction.notes.back(), testing::HasSubstr("lacuna diff")) << change;
  }
}

TEST(WhatIf, KnobsThatNoRunTellsAreRefusedWithWhatToDo) {
  for (const char* text : {"batch", "batch=64", "checkpoint=on", "workspace=4096", "backend=nccl"}) {
    const auto change = parseChange(text);
    ASSERT_FALSE(change) << text;
    EXPECT_THAT(change.error().message, testing::StartsWith("'" + std::string(text) + "' cannot be replayed: "));
    EXPECT_THAT(change.error().message, testing::HasSubstr("lacuna ")) << text;
  }
}

StepPath pathOf(const RunPlan& plan) {
  const auto analysis = analyse(test::makeRun(plan));
  EXPECT_TRUE(analysis);
  EXPECT_NEAR(static_cast<double>(analysis->criticalPath.totalNs()), static_cast<double>(analysis->meanStepNs()),
              0.1 * static_cast<double>(analysis->meanStepNs()));
  return analysis->criticalPath;
}

TEST(CriticalPath, OfACpuWhoseCallersWorkIsThatWork) {
  const RunPlan plan{
      .steps = 20, .operators = 20, .operatorNs = 10'000, .kernelNs = 100'000, .cpuDevice = true, .callerWorks = true};
  const auto analysis = analyse(test::makeRun(plan));
  ASSERT_TRUE(analysis);
  const StepPath& path = analysis->criticalPath;
  EXPECT_GE(path.computeNs, 20 * 100'000) << "what is computed is no other work of the host";
  EXPECT_GT(path.hostNs, 0);
  EXPECT_LT(path.hostNs, 1'000'000);
}

TEST(CriticalPath, IsWhatBindsTheStep) {
  const StepPath device = pathOf({.steps = 30, .syncEachStep = true});
  EXPECT_GT(device.computeNs * 10, device.totalNs() * 8);
  const StepPath host = pathOf({.steps = 30, .operators = 200, .kernelNs = 3'000});
  EXPECT_GT(host.hostNs * 10, host.totalNs() * 8);
  const StepPath loader = pathOf({.steps = 30, .batchNs = 30'000'000, .workers = 1});
  EXPECT_GT(loader.loaderNs * 10, loader.totalNs() * 6);
  const StepPath collective = pathOf({.steps = 30, .ranks = 2, .collectiveNs = 6'000'000});
  EXPECT_GT(collective.communicationNs * 10, collective.totalNs() * 4);
}

/// Time of one kind in a drawn step; every stretch lies inside of it.
std::int64_t drawn(const DrawnStep& step, DrawnStep::Kind kind) {
  std::int64_t sum = 0;
  for (const auto& stretch : step.stretches) {
    EXPECT_TRUE(stretch.startNs >= 0 && stretch.startNs < stretch.endNs && stretch.endNs <= step.durNs);
    if (stretch.kind == DrawnStep::Kind::Work) {
      EXPECT_LT(stretch.queue, step.queues);
    }
    if (stretch.kind == kind) sum += stretch.endNs - stretch.startNs;
  }
  return sum;
}

TEST(WhatIf, ADrawnStepIsTheTypicalOne) {
  const auto analysis =
      analyse(test::makeRun({.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true}));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  const Change change = *parseChange("loader.workers=4");
  const DrawnStep before = simulator->draw({});
  const DrawnStep after = simulator->draw({&change, 1});
  const Prediction prediction = simulator->play({&change, 1});
  const auto near = [](std::int64_t a, std::int64_t b) { return std::abs(a - b) <= b / 50; };
  EXPECT_TRUE(near(before.durNs, prediction.baseNsPerStep)) << before.durNs;
  EXPECT_TRUE(near(after.durNs, prediction.predictedNsPerStep)) << after.durNs;
  EXPECT_TRUE(near(drawn(before, DrawnStep::Kind::LoaderWait), 12'000'000));
  EXPECT_LT(drawn(after, DrawnStep::Kind::LoaderWait), 1'000'000);
  const std::int64_t work = drawn(before, DrawnStep::Kind::Work);
  EXPECT_GT(work, 0);
  EXPECT_TRUE(near(drawn(after, DrawnStep::Kind::Work), work));
  for (const DrawnStep* step : {&before, &after}) {
    ASSERT_EQ(step->queueNames.size(), step->queues);
    EXPECT_THAT(step->queueNames, testing::Each(testing::StartsWith("queue ")));
  }
  // One thread: what it does and waits for follow each other.
  std::int64_t host = 0;
  for (const auto kind : {DrawnStep::Kind::Host, DrawnStep::Kind::LoaderWait, DrawnStep::Kind::SyncWait})
    host += drawn(after, kind);
  EXPECT_LE(host, after.durNs);
}

TEST(WhatIf, KernelsThatTheRunHasNotAreAnErrorThatNamesThoseItHas) {
  const auto analysis = analyse(test::makeRun({}));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  for (const char* text : {"kernel:BLOCK*kernel*0.5", "kernel*0.5", "host*0.5", "copy*0.5", "sync=off"}) {
    EXPECT_TRUE(simulator->check(*parseChange(text))) << text;
  }
  const auto typo = simulator->check(*parseChange("kernel:blcok*0.5"));
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().message, testing::AllOf(testing::HasSubstr("'kernel:blcok*0.5'"),
                                                   testing::HasSubstr("'blcok'"), testing::HasSubstr("block")));
}

TEST(WhatIf, BadChangesAreNamed) {
  EXPECT_THAT(parseChange("fuse=banana").error().message, testing::HasSubstr("it can be: on, off"));
  for (const char* text : {"fuse=on", "amp=bf16", "zero_grad=none", "allocator=cached", "debug=off", "host*1000"})
    EXPECT_TRUE(parseChange(text)) << text;
  for (const char* text : {"", "loader.workers", "loader.workers=many", "loader.workers=0", "colour=red", "kernel*x",
                           "sky*0.5", "amp=", "host*nan", "host*inf", "host*-1", "kernel:gemm*1e300", "fuse=banana",
                           "loader.workers=2.5", "allocator=off"}) {
    const auto change = parseChange(text);
    ASSERT_FALSE(change) << text;
    EXPECT_THAT(change.error().message, testing::HasSubstr("'" + std::string(text) + "'"));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
