// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/python_samples.h"

namespace lacuna::analyzer {
namespace {

TEST(HostNotRunningFinding, ACallOfTheOperatingSystemIsNoDriverCall) {
  // Also where the scheduler shows that most of it was sleep.
  for (const std::int64_t asleepNs : {0, 2'500'000}) {
    const Analysis analysis = analysed({.asleepNs = asleepNs, .readNs = 3'000'000 - asleepNs});
    const Ledger step = analysis.meanStepLedger();
    EXPECT_EQ(step[Cause::DriverCall], 0) << asleepNs;
    EXPECT_NEAR(static_cast<double>(step[Cause::OffCpu]), 3e6, 0.05 * 3e6) << asleepNs;
    const auto finding =
        std::ranges::find(analysis.of<Findings>(), FindingId::HostNotRunning, &Finding::id);
    ASSERT_NE(finding, analysis.of<Findings>().end()) << asleepNs;
    EXPECT_THAT(finding->title, testing::EndsWith("a step, most of it in read")) << asleepNs;
    ASSERT_FALSE(finding->evidence.empty()) << asleepNs;
    EXPECT_EQ(finding->evidence[0].what, "host thread not running: read") << asleepNs;
    EXPECT_EQ(std::ranges::find(analysis.of<Findings>(), FindingId::DriverCalls, &Finding::id),
              analysis.of<Findings>().end())
        << asleepNs;
  }
}

/// Steps of 10 ms. Operators take 6 ms of each, and nothing was recorded in the others.
Analysis halfRecorded(double ranPercent) {
  CpuTraining training(60);
  return training.work(0, 6 * CpuTraining::kMs, "aten::linear").ran(ranPercent).analysed();
}

TEST(HostNotRunningFinding, ATimeInWhichCountersShowNoCpuWasSleep) {
  const Analysis analysis = halfRecorded(62);
  const Finding* finding = find(analysis, FindingId::HostNotRunning);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 3.8e6, 0.1e6)
      << "the thread ran for 6.2 of 10 ms";
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 3.8e6, 0.2e6);
  EXPECT_EQ(find(analysis, FindingId::HostWork), nullptr);
}

TEST(HostNotRunningFinding, ATimeInWhichTheThreadRanWasWork) {
  const Analysis analysis = halfRecorded(100);
  EXPECT_EQ(find(analysis, FindingId::HostNotRunning), nullptr);
  ASSERT_NE(find(analysis, FindingId::HostWork), nullptr);
  EXPECT_NEAR(static_cast<double>(find(analysis, FindingId::HostWork)->costNsPerStep), 4e6, 0.1e6);
}

/// The same with samples of a line in the 4 ms.
std::string titleOfSampled(double ranPercent) {
  CpuTraining training(60);
  training.work(0, 6 * CpuTraining::kMs, "aten::linear").ran(ranPercent);
  test::PythonSamples samples(training.out);
  const auto wait = samples.frame("wait", "/home/me/train.py", 42);
  for (int step = 0; step < 60; ++step)
    samples.during((10 * step + 6) * CpuTraining::kMs, (10 * step + 10) * CpuTraining::kMs, wait,
                   CpuTraining::kMs);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::HostNotRunning);
  return finding == nullptr ? std::string() : finding->title;
}

TEST(HostNotRunningFinding, NamesTheLineWhereTheThreadSlept) {
  EXPECT_THAT(titleOfSampled(62), testing::HasSubstr("a step; it was at train.py:42 in wait 3.8"));
}

/// In each step of 10 ms operators take 4 ms, a line that sleeps takes 3 ms, and a line that
/// computes takes 3 ms.
Analysis sleepsAndComputes(prof::ThreadState slept, prof::ThreadState computed) {
  CpuTraining training(60);
  training.work(0, 4 * CpuTraining::kMs, "aten::linear").ran(70);
  test::PythonSamples samples(training.out);
  const auto wait = samples.frame("wait", "/home/me/train.py", 42);
  const auto metrics = samples.frame("metrics", "/home/me/train.py", 90);
  for (int step = 0; step < 60; ++step) {
    const prof::TimeNs start = 10 * step * CpuTraining::kMs;
    samples.state = slept;
    samples.during(start + 4 * CpuTraining::kMs, start + 7 * CpuTraining::kMs, wait,
                   CpuTraining::kMs);
    samples.state = computed;
    samples.during(start + 7 * CpuTraining::kMs, start + 10 * CpuTraining::kMs, metrics,
                   CpuTraining::kMs);
  }
  return training.analysed();
}

TEST(HostNotRunningFinding, SamplesSeparateSleepFromWorkLineByLine) {
  const Analysis analysis =
      sleepsAndComputes(prof::ThreadState::Sleeping, prof::ThreadState::Running);
  const Finding* asleep = find(analysis, FindingId::HostNotRunning);
  const Finding* work = find(analysis, FindingId::HostWork);
  ASSERT_NE(asleep, nullptr);
  ASSERT_NE(work, nullptr);
  EXPECT_THAT(asleep->title, testing::HasSubstr("it was at train.py:42 in wait 3.00 ms"));
  EXPECT_THAT(asleep->title, testing::Not(testing::HasSubstr("train.py:90")));
  EXPECT_THAT(work->title, testing::HasSubstr("train.py:90 in metrics 3.00 ms"));
  EXPECT_THAT(work->title, testing::Not(testing::HasSubstr("train.py:42")));
  EXPECT_NEAR(static_cast<double>(asleep->costNsPerStep), 3e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(work->costNsPerStep), 3e6, 0.1e6);
}

TEST(HostNotRunningFinding, SleepCountsInGapsAsShortAsACallToo) {
  // 20 operators a step, with gaps of 400 µs: a log is flushed in 8 of them, and the interpreter
  // runs in the others.
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  constexpr prof::TimeNs kGap = 4 * kMs / 10;
  CpuTraining training(20);
  test::PythonSamples samples(training.out);
  const auto flush = samples.frame("flush", "/home/me/train.py", 57);
  const auto call = samples.frame("forward", "/home/me/train.py", 20);
  for (int i = 0; i < 20; ++i) training.work(i * kMs / 2, kMs / 10, "aten::item");
  for (int gap = 0; gap < 20 * 20; ++gap) {
    const bool isFlush = gap % 20 < 8;
    samples.state = isFlush ? prof::ThreadState::Blocked : prof::ThreadState::Running;
    const prof::TimeNs start = gap * kMs / 2 + kMs / 10;
    samples.during(start, start + kGap, isFlush ? flush : call, kGap);
  }
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::HostNotRunning);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 3.2e6, 0.2e6);
  EXPECT_THAT(finding->title, testing::HasSubstr("train.py:57 in flush"));
  EXPECT_EQ(find(analysis, FindingId::HostWork), nullptr)
      << "what calling operators takes is no fault";
}

TEST(HostNotRunningFinding, AThreadThatIsBlockedInTheKernelSleepsToo) {
  const Analysis analysis =
      sleepsAndComputes(prof::ThreadState::Blocked, prof::ThreadState::Sleeping);
  ASSERT_NE(find(analysis, FindingId::HostNotRunning), nullptr);
  EXPECT_NEAR(static_cast<double>(find(analysis, FindingId::HostNotRunning)->costNsPerStep), 6e6,
              0.1e6);
  EXPECT_EQ(find(analysis, FindingId::HostWork), nullptr);
}

TEST(HostNotRunningFinding, SamplesWithoutStatesLeaveItToTheCounters) {
  const Analysis analysis =
      sleepsAndComputes(prof::ThreadState::Unknown, prof::ThreadState::Unknown);
  ASSERT_NE(find(analysis, FindingId::HostNotRunning), nullptr);
  EXPECT_NEAR(static_cast<double>(find(analysis, FindingId::HostNotRunning)->costNsPerStep), 3e6,
              0.1e6);
}

TEST(HostNotRunningFinding, NamesNoLineWhereTheThreadMostlyRan) {
  const std::string title = titleOfSampled(85);
  EXPECT_THAT(title, testing::HasSubstr("was not running"));
  EXPECT_THAT(title, testing::Not(testing::HasSubstr("train.py")))
      << "the line may be of the 2.5 ms of work";
}

}  // namespace
}  // namespace lacuna::analyzer
