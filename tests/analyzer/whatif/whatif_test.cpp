// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/whatif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(WhatIf, UnchangedReplayReproducesTheMeasuredStep) {
  for (const RunPlan& plan :
       {RunPlan{}, RunPlan{.syncEachStep = true}, RunPlan{.batchNs = 20'000'000, .workers = 0},
        RunPlan{.batchNs = 30'000'000, .workers = 1}, RunPlan{.operators = 200, .kernelNs = 3'000},
        RunPlan{.pageableCopyNs = 2'000'000}, RunPlan{.ranks = 2, .collectiveNs = 3'000'000}}) {
    const Prediction prediction = play(plan, "host*1");
    EXPECT_NEAR(static_cast<double>(prediction.baseNsPerStep),
                static_cast<double>(prediction.measuredNsPerStep),
                0.02 * static_cast<double>(prediction.measuredNsPerStep));
    EXPECT_EQ(prediction.gainNs(), 0);
  }
}

TEST(WhatIf, PartsThatCannotBeChosenAreRefused) {
  EXPECT_THAT(parseChange("call*0").error().message, testing::HasSubstr("name which calls"));
  EXPECT_THAT(parseChange("host:name*0").error().message,
              testing::HasSubstr("host has no names to choose from"));
  EXPECT_THAT(parseChange("batch*0").error().message, testing::HasSubstr("above 0"));
  EXPECT_THAT(parseChange("repeats=on").error().message, testing::HasSubstr("it can be: joined"));
}

TEST(WhatIf, IntervalHoldsThePredictionAndConfidenceIsAProbability) {
  const Prediction prediction = play({.batchNs = 20'000'000, .workers = 0}, "loader.workers=4");
  EXPECT_LT(prediction.lowNsPerStep, prediction.predictedNsPerStep);
  EXPECT_GT(prediction.highNsPerStep, prediction.predictedNsPerStep);
  EXPECT_GT(prediction.confidence, 0.9);
  EXPECT_LE(prediction.confidence, 1);
  EXPECT_EQ(play({}, "loader.workers=4").confidence, 0);
}

TEST(WhatIf, ACpuThatNoLongerWaitsComputesAsInItsQuickestSteps) {
  const RunPlan slow = with(kSleepsForBatches, [](RunPlan& plan) {
    plan.steps = 80;
    plan.batchNs = 12'000'000;
    plan.hostCores = 8;
    plan.afterWaiting = 1.2;
  });
  RunPlan fixed = slow;
  fixed.workers = 6;
  EXPECT_NEAR(static_cast<double>(play(slow, "loader.workers=6").predictedNsPerStep),
              measured(fixed), 0.05 * measured(fixed));
  // Where batches are computed nothing sleeps.
  RunPlan computing = slow;
  computing.loaderSleeps = false;
  computing.loaderComputes = true;
  EXPECT_GT(static_cast<double>(play(computing, "loader.workers=6").predictedNsPerStep),
            1.1 * measured(fixed));
}

TEST(WhatIf, WhatOtherProgramsTookOfTheCoresIsNotPromised) {
  const Prediction prediction = play(kDisplaced, "loader.workers=2");
  EXPECT_NEAR(static_cast<double>(prediction.gainNs()), 3e6, 0.4e6);
  EXPECT_THAT(prediction.notes, testing::Contains(testing::HasSubstr("other programs took 46 %")));
}

TEST(WhatIf, AThreadThatWaitsAMomentAsItIsWokenLosesNothingToOthers) {
  // 0.8 % of the time, of a thread that wants 8 % of it.
  RunPlan slow = with(kSleepsForBatches, [](RunPlan& plan) {
    plan.batchNs = 10'000'000;
    plan.afterWaiting = 1.1;
    plan.displaced = 0.1;
    plan.wanted = 0.08;
  });
  const Prediction prediction = play(slow, "loader.workers=6");
  EXPECT_THAT(prediction.notes,
              testing::Not(testing::Contains(testing::HasSubstr("other programs"))));
  slow.wanted = 0.8;
  EXPECT_THAT(play(slow, "loader.workers=6").notes,
              testing::Contains(testing::HasSubstr("other programs took 10 %")));
}

TEST(WhatIf, AWaitThatGoesWarmsACpuByNoMoreThanItself) {
  // Nothing shows why the steps differ, and the wait is short.
  RunPlan slow = with(kDisplaced, [](RunPlan& plan) {
    plan.batchNs = 1'500'000;
    plan.countersOfThreads = false;
  });
  const Prediction some = play(slow, "loader.workers=2");
  slow.loaderSleeps = false;  // no warming is played where nothing shows what the loader computes
  const Prediction without = play(slow, "loader.workers=2");
  EXPECT_LE(without.predictedNsPerStep - some.predictedNsPerStep, 1'600'000);
}

TEST(WhatIf, ReportsAChangeOfNothingRecorded) {
  const RunPlan plan{.steps = 30, .syncEachStep = true};
  for (const char* change :
       {"conv_bias=off", "kernel:nosuchkernel*0.5", "zero_grad=none", "overlap=on"}) {
    const Prediction prediction = play(plan, change);
    EXPECT_FALSE(prediction.touched) << change;
    EXPECT_EQ(prediction.gainNs(), 0) << change;
    EXPECT_EQ(prediction.confidence, 0) << change;
    // Knowing nothing is no certainty.
    EXPECT_LT(prediction.lowNsPerStep, prediction.predictedNsPerStep) << change;
    EXPECT_GT(prediction.highNsPerStep, prediction.predictedNsPerStep) << change;
    ASSERT_EQ(prediction.notes.size(), change == std::string_view("overlap=on") ? 2U : 1U)
        << change;
    EXPECT_THAT(prediction.notes.back(), testing::HasSubstr("lacuna diff")) << change;
  }
}

TEST(KernelChange, HalvesAStepWhoseHostWaitsForRoomInTheQueue) {
  // The host is 100 kernels ahead, so each of its launch calls waits for a kernel to end.
  const RunPlan plan{.steps = 30, .operators = 40, .kernelNs = 100'000, .queueRoom = 100};
  const double step = measured(plan);
  EXPECT_NEAR(step, 41 * 100'000, 0.1 * step);
  double before = 0;
  for (const auto& [change, share] :
       {std::pair("kernel*0.5", 0.49), {"kernel*0.2", 0.79}, {"kernel*0.1", 0.8}}) {
    EXPECT_GE(gain(plan, change), std::max(before, (share - 0.03) * step)) << change;
    before = gain(plan, change);
  }
  EXPECT_NEAR(gain(plan, "host*0"), 0, 0.02 * step) << "the host only waits";
}

TEST(KernelChange, ShortensTheWorkThatTheCallerExecutes) {
  // As PyTorch runs on a CPU: operators of 100 µs with 10 µs of Python between.
  const RunPlan plan{.steps = 20,
                     .operators = 40,
                     .operatorNs = 10'000,
                     .kernelNs = 100'000,
                     .cpuDevice = true,
                     .callerWorks = true};
  const double step = measured(plan);
  const double work = 41 * 100'000;  // with the optimizer's
  EXPECT_NEAR(gain(plan, "kernel*0.5"), work / 2, 0.02 * step);
  EXPECT_NEAR(gain(plan, "kernel*0"), work, 0.02 * step);
  EXPECT_NEAR(gain(plan, "host*0"), step - work, 0.05 * step)
      << "the device's work is none of the host's";
  EXPECT_NEAR(gain(plan, "call:cudaLaunchKernel*0"), 0, 0.01 * step)
      << "a call that does the work does it all the same";
}

StepPath pathOf(const RunPlan& plan) {
  const Analysis analysis = analysed(plan);
  EXPECT_NEAR(static_cast<double>(analysis.of<CriticalPaths>().mean.totalNs()),
              static_cast<double>(analysis.meanStepNs()),
              0.1 * static_cast<double>(analysis.meanStepNs()));
  return analysis.of<CriticalPaths>().mean;
}

TEST(CriticalPath, OfACpuWhoseCallersWorkIsThatWork) {
  const RunPlan plan{.steps = 20,
                     .operators = 20,
                     .operatorNs = 10'000,
                     .kernelNs = 100'000,
                     .cpuDevice = true,
                     .callerWorks = true};
  const StepPath path = analysed(plan).of<CriticalPaths>().mean;
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
    EXPECT_TRUE(stretch.startNs >= 0 && stretch.startNs < stretch.endNs &&
                stretch.endNs <= step.durNs);
    if (stretch.kind == DrawnStep::Kind::Work) {
      EXPECT_LT(stretch.queue, step.queues);
    }
    if (stretch.kind == kind) sum += stretch.endNs - stretch.startNs;
  }
  return sum;
}

TEST(WhatIf, ADrawnStepIsTheTypicalOne) {
  const Analysis analysis =
      analysed({.steps = 40, .batchNs = 12'000'000, .workers = 0, .syncEachStep = true});
  const auto simulator = Simulator::create(analysis);
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
  for (const auto kind :
       {DrawnStep::Kind::Host, DrawnStep::Kind::LoaderWait, DrawnStep::Kind::SyncWait})
    host += drawn(after, kind);
  EXPECT_LE(host, after.durNs);
}

TEST(WhatIf, BadChangesAreNamed) {
  EXPECT_THAT(parseChange("fuse=banana").error().message, testing::HasSubstr("it can be: on, off"));
  for (const char* text :
       {"fuse=on", "amp=bf16", "zero_grad=none", "allocator=cached", "debug=off", "host*1000"})
    EXPECT_TRUE(parseChange(text)) << text;
  for (const char* text :
       {"", "loader.workers", "loader.workers=many", "loader.workers=0", "colour=red", "kernel*x",
        "sky*0.5", "amp=", "host*nan", "host*inf", "host*-1", "kernel:gemm*1e300", "fuse=banana",
        "loader.workers=2.5", "allocator=off"}) {
    const auto change = parseChange(text);
    ASSERT_FALSE(change) << text;
    EXPECT_THAT(change.error().message, testing::HasSubstr("'" + std::string(text) + "'"));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
