// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/python_samples.h"

namespace lacuna::analyzer {
namespace {

TEST(HostWorkFinding, LaunchCallsThatTakeLongAreNotWorkOfTheProgram) {
  const Analysis analysis =
      analysed(with(kHostBound, [](RunPlan& p) { p.loadsCodeNs = 3'000'000; }));
  const Finding* finding = find(analysis, FindingId::HostWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title,
              testing::EndsWith("a step, most of it in launch calls of aten::block"));
  EXPECT_THAT(finding->advice, testing::HasSubstr("a kernel's first launch loads its code"));
}

TEST(HostWorkFinding, LongWorkOfTheHostBetweenLaunchesIsNotTheLaunches) {
  const auto found = faults({.operatorNs = 3'000'000});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), FindingId::HostWork);
  EXPECT_THAT(found, testing::Not(testing::Contains(FindingId::LaunchBound)));
}

TEST(HostWorkFinding, HostWorkInStepsThatAreNumberedIsOfOneName) {
  const Analysis analysis =
      analysed({.hostPauseNs = 3'000'000, .numberedSteps = true, .pauseIsNamed = false});
  const auto finding =
      std::ranges::find(analysis.of<Findings>(), FindingId::HostWork, &Finding::id);
  ASSERT_NE(finding, analysis.of<Findings>().end());
  EXPECT_THAT(finding->title, testing::EndsWith("most of it in step"));
  const auto named = [](const CauseDetail& detail) { return detail.name.starts_with("batch "); };
  EXPECT_EQ(std::ranges::count_if(analysis.of<IdleCauses>().details, named), 0);
}

TEST(HostWorkFinding, WhatCallingOperatorsTakesIsNoFault) {
  // A step of 10 ms calls 100 operators of 60 µs, with 40 µs of the interpreter between; another
  // has the same idle time in one piece.
  CpuTraining calling;
  for (int i = 0; i < 100; ++i) calling.work(i * 100'000, 60'000, "aten::add");
  const Analysis calls = calling.analysed();
  EXPECT_EQ(find(calls, FindingId::HostWork), nullptr);
  EXPECT_EQ(find(calls, FindingId::LaunchBound), nullptr)
      << "no operator that the caller executes could begin sooner";
  CpuTraining few;
  few.work(0, 6 * CpuTraining::kMs, "aten::add");
  EXPECT_NE(find(few.analysed(), FindingId::HostWork), nullptr);
}

/// An operator takes 6 of the 10 ms of a step; the rest is at two lines.
Analysis withSampledHostWork(bool sampled) {
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  CpuTraining run;
  run.work(0, 6 * kMs, "aten::add");
  test::PythonSamples samples(run.out);
  const auto loop = samples.frame("main", "/home/me/train.py", 10);
  const auto metrics = samples.frame("metrics", "/home/me/train.py", 42, loop);
  const auto log = samples.frame("log", "/home/me/train.py", 57, loop);
  for (int step = 0; step < 12 && sampled; ++step) {
    const prof::TimeNs start = step * 10 * kMs;
    samples.during(start, start + 6 * kMs, loop, kMs);
    samples.during(start + 6 * kMs, start + 9 * kMs, metrics, kMs);
    samples.during(start + 9 * kMs, start + 10 * kMs, log, kMs);
  }
  return run.analysed();
}

TEST(HostWorkFinding, NamesTheLinesOfPythonThatSamplesSaw) {
  const Analysis analysis = withSampledHostWork(true);
  const Finding* finding = find(analysis, FindingId::HostWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title,
              testing::StartsWith("the device waits for host work 4.00 ms a step: train.py:42 in "
                                  "metrics 3.00 ms; train.py:57 in log 1.00 ms"));
  ASSERT_FALSE(finding->evidence.empty());
  EXPECT_EQ(finding->evidence.front().what, "train.py:42 in metrics");
  EXPECT_EQ(finding->evidence.front().thread, prof::ThreadId(1));
  EXPECT_EQ(finding->evidence.front().endNs - finding->evidence.front().startNs,
            3 * CpuTraining::kMs);
}

TEST(HostWorkFinding, WhatTheFrameworksOwnPythonTakesIsNoWorkOfTheProgram) {
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  const auto found = [](std::string_view module) {
    CpuTraining run;
    run.work(0, 6 * kMs, "aten::add");
    test::PythonSamples samples(run.out);
    const auto loop = samples.frame("main", "/home/me/train.py", 10);
    const auto library =
        samples.frame("step", "/usr/lib/python3/dist-packages/x/y.py", 7, loop, module);
    for (int step = 0; step < 12; ++step) {
      samples.during(step * 10 * kMs, (step * 10 + 6) * kMs, loop, kMs);
      samples.during((step * 10 + 6) * kMs, (step + 1) * 10 * kMs, library, kMs);
    }
    return find(run.analysed(), FindingId::HostWork) != nullptr;
  };
  EXPECT_FALSE(found("torch.optim.optimizer"));
  EXPECT_TRUE(found("numpy.core"));
  EXPECT_TRUE(found("torchmetrics"));
}

TEST(HostWorkFinding, FewSamplesMeasureNothingButMayRefuteIt) {
  // The device waits for 4 of the 10 ms of a step. Samples see the program at work then in the last
  // few steps only.
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  const auto costWith = [](int stepsWithWork, prof::TimeNs everyNs) {
    CpuTraining run;
    run.work(0, 6 * kMs, "aten::add");
    test::PythonSamples samples(run.out);
    const auto loop = samples.frame("main", "/home/me/train.py", 10);
    for (int step = 0; step < 12; ++step) {
      const prof::TimeNs start = step * 10 * kMs;
      samples.during(start, start + 6 * kMs, loop, everyNs);
      if (step >= 12 - stepsWithWork)
        samples.during(start + 6 * kMs, start + 10 * kMs, loop, everyNs);
    }
    const Analysis analysis = run.analysed();
    const Finding* finding = find(analysis, FindingId::HostWork);
    return finding == nullptr ? 0 : finding->costNsPerStep;
  };
  EXPECT_EQ(costWith(0, kMs), 0) << "72 samples, and none of them at such work";
  EXPECT_EQ(costWith(4, kMs), 4 * kMs) << "88 samples are too few to measure it";
  EXPECT_LT(costWith(4, kMs / 2), 2 * kMs) << "176 samples are not";
}

TEST(HostWorkFinding, WithoutSamplesNamesWhatItNamedBefore) {
  const Analysis analysis = withSampledHostWork(false);
  const Finding* finding = find(analysis, FindingId::HostWork);
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title,
              testing::StartsWith("the device waits for host work 4.00 ms a step, most of it in"));
}

}  // namespace
}  // namespace lacuna::analyzer
