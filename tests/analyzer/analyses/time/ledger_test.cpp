// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

using test::kDevice1;
using test::kQueue1;
using test::TimelineMaker;

/// "compute 10 launch 5": the non-zero entries in the ledger's order, for comparison with the
/// result on paper.
std::string account(const TimelineMaker& timeline, LedgerScope scope, prof::TimeWindow window) {
  const Ledger ledger = LedgerAccountant(timeline.made).sum(scope, window);
  std::string out;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (ledger.ns[i] == 0) continue;
    out += (out.empty() ? "" : " ") + std::string(causeKey(static_cast<Cause>(i))) + " " +
           std::to_string(ledger.ns[i]);
  }
  return out;
}

/// A kernel over [0, 10), then idle until the kernel that thread 1 launches with a call over [90,
/// 94) starts at 100.
TimelineMaker gap() {
  TimelineMaker timeline;
  timeline.launch(1, -10, -5, 1).runs(1, 0, 10, 1).launch(1, 90, 94, 2).runs(1, 100, 110, 2);
  return timeline;
}
constexpr prof::TimeWindow kGap{0, 110};

TEST(Ledger, NothingRecordedInTheGapIsUnknownUntilTheLaunch) {
  EXPECT_EQ(account(gap(), kDevice1, kGap), "compute 20 launch 10 unknown 80");
}

TEST(Ledger, LoaderWaitIsNamed) {
  EXPECT_EQ(account(gap().host(1, 5, 90, Activity::LoaderWait), kDevice1, kGap),
            "compute 20 loader_wait 80 launch 10");
}

TEST(Ledger, SynchronisationIsNamed) {
  EXPECT_EQ(account(gap().host(1, 5, 30, Activity::Sync).host(1, 30, 90, Activity::Operator),
                    kDevice1, kGap),
            "compute 20 synchronisation 20 host_work 60 launch 10");
}

TEST(Ledger, AllocatorOrDriverCallIsNamed) {
  EXPECT_EQ(account(gap().host(1, 0, 95, Activity::Operator).host(1, 40, 60, Activity::Driver),
                    kDevice1, kGap),
            "compute 20 driver_call 20 host_work 64 launch 6");
}

TEST(Ledger, ThreadThatIsNotRunningIsNamed) {
  EXPECT_EQ(account(gap().host(1, 0, 95, Activity::Operator).asleep(1, 20, 50), kDevice1, kGap),
            "compute 20 off_cpu 30 host_work 54 launch 6");
}

TEST(Ledger, CallOfTheOperatingSystemIsNamedUnlessTheDriverMadeIt) {
  auto timeline = gap().host(1, 0, 95, Activity::Operator).host(1, 20, 50, Activity::OffCpu, 5);
  timeline.host(1, 60, 80, Activity::Driver, 6).host(1, 65, 75, Activity::OffCpu, 5);
  EXPECT_EQ(account(timeline, kDevice1, kGap),
            "compute 20 driver_call 20 off_cpu 30 host_work 34 launch 6");
  std::vector<LedgerSegment> segments;
  LedgerAccountant(timeline.made).account(kDevice1, kGap, [&](const LedgerSegment& s) {
    segments.push_back(s);
  });
  EXPECT_THAT(segments, testing::Contains(LedgerSegment{20, 50, Cause::OffCpu, prof::StringId(5),
                                                        prof::ThreadId(1)}));
}

TEST(Ledger, ProfilerComesFirst) {
  EXPECT_EQ(account(gap().host(1, 0, 90, Activity::Sync).host(1, 20, 30, Activity::Profiler),
                    kDevice1, kGap),
            "compute 20 profiler 10 synchronisation 70 launch 10");
}

TEST(Ledger, ProfilerOnNoParticularThreadHoldsUpEverybody) {
  EXPECT_EQ(account(gap().host(1, 0, 90, Activity::Sync).host(0, 20, 30, Activity::Profiler),
                    kDevice1, kGap),
            "compute 20 profiler 10 synchronisation 70 launch 10");
}

TEST(Ledger, ExplicitWaitOfTheQueueIsADependency) {
  EXPECT_EQ(account(gap().host(1, 10, 90, Activity::Operator).waits(1, 95, 98), kDevice1, kGap),
            "compute 20 host_work 80 launch 6 dependency 4");
}

TEST(Ledger, QueueStartedByTheEndOfAnotherQueueDependsOnIt) {
  auto timeline = gap().host(1, 10, 90, Activity::Operator).runs(2, 30, 99);
  EXPECT_EQ(account(timeline, kQueue1, kGap), "compute 20 host_work 80 launch 5 dependency 5");
  EXPECT_EQ(account(timeline, kDevice1, kGap), "compute 89 host_work 20 launch 1");
}

TEST(Ledger, DeviceStartedByTheEndOfAnotherDeviceDependsOnIt) {
  EXPECT_EQ(account(gap().host(1, 10, 90, Activity::Operator).runs(3, 30, 98), kDevice1, kGap),
            "compute 20 host_work 80 launch 6 dependency 4");
}

TEST(Ledger, WorkElsewhereThatEndedLongBeforeIsNoDependency) {
  TimelineMaker timeline;
  timeline.runs(1, 0, 10).launch(1, 10, 20, 2).runs(3, 15, 1'000).runs(1, 50'000, 50'010, 2);
  EXPECT_EQ(account(timeline, kDevice1, {0, 50'010}), "compute 20 launch 49990");
}

TEST(Ledger, LaunchCallOutsideOfAnOperatorIsLaunchBound) {
  EXPECT_EQ(account(gap().host(1, 10, 90, Activity::Operator), kDevice1, kGap),
            "compute 20 host_work 80 launch 10");
}

TEST(Ledger, LaunchedBeforeTheGapIsLaunchBoundThroughout) {
  TimelineMaker timeline;
  timeline.launch(1, 0, 2, 1).launch(1, 2, 4, 2).runs(1, 5, 20, 1).runs(1, 23, 30, 2);
  EXPECT_EQ(account(timeline, kQueue1, {5, 30}), "compute 22 launch 3");
}

TEST(Ledger, AnnotationMeansHostWorkOfThatName) {
  auto timeline = gap().host(1, 10, 90, Activity::Annotation, 7);
  std::vector<LedgerSegment> segments;
  LedgerAccountant(timeline.made).account(kDevice1, kGap, [&](const LedgerSegment& s) {
    segments.push_back(s);
  });
  EXPECT_THAT(segments, testing::Contains(LedgerSegment{10, 90, Cause::HostWork, prof::StringId(7),
                                                        prof::ThreadId(1)}));
}

TEST(Ledger, InnermostOperatorIsNamed) {
  auto timeline =
      gap().host(1, 10, 90, Activity::Operator, 7).host(1, 30, 50, Activity::Operator, 8);
  std::vector<LedgerSegment> segments;
  LedgerAccountant(timeline.made).account(kDevice1, kGap, [&](const LedgerSegment& s) {
    segments.push_back(s);
  });
  EXPECT_THAT(segments,
              testing::IsSupersetOf(
                  {LedgerSegment{10, 30, Cause::HostWork, prof::StringId(7), prof::ThreadId(1)},
                   LedgerSegment{30, 50, Cause::HostWork, prof::StringId(8), prof::ThreadId(1)},
                   LedgerSegment{50, 90, Cause::HostWork, prof::StringId(7), prof::ThreadId(1)}}));
}

TEST(Ledger, ThreadThatWaitsForAnotherIsReplacedByTheOneThatWokeIt) {
  EXPECT_EQ(
      account(gap().asleep(1, 0, 90, 2).host(2, 20, 70, Activity::LoaderWait), kDevice1, kGap),
      "compute 20 loader_wait 50 off_cpu 30 launch 10");
}

TEST(Ledger, LauncherWithNothingToDoIsReplacedByAnotherLaunchingThread) {
  auto timeline =
      gap().launch(2, 60, 62, 3).runs(2, 200, 210, 3).host(2, 10, 90, Activity::Operator);
  EXPECT_EQ(account(timeline, kDevice1, kGap), "compute 20 host_work 80 launch 10");
}

TEST(Ledger, ThreadThatNeverLaunchesExplainsNothing) {
  EXPECT_EQ(account(gap().host(2, 10, 90, Activity::Operator), kDevice1, kGap),
            "compute 20 launch 10 unknown 80");
}

TEST(Ledger, OverlapIsHiddenAndWhatSticksOutIsExposed) {
  TimelineMaker timeline;
  timeline.runs(1, 0, 50).runs(2, 20, 80, 0, Work::Communication).runs(2, 70, 100, 0, Work::Copy);
  EXPECT_EQ(account(timeline, kDevice1, {0, 100}),
            "compute 50 exposed_communication 30 exposed_copy 20");
  EXPECT_EQ(account(timeline, {prof::DeviceId(1), prof::QueueId(2)}, {20, 100}),
            "exposed_communication 60 exposed_copy 20");
}

TEST(Ledger, IdleBehindTheLastKernelIsWhatTheProcessDid) {
  EXPECT_EQ(account(gap().host(1, 110, 150, Activity::Sync), kDevice1, {100, 160}),
            "compute 10 synchronisation 40 unknown 10");
}

TEST(Ledger, WindowCutsGapsAndKernels) {
  EXPECT_EQ(account(gap().host(1, 5, 90, Activity::LoaderWait), kDevice1, {5, 50}),
            "compute 5 loader_wait 40");
}

TEST(Ledger, WindowWithoutWorkIsAllIdle) {
  EXPECT_EQ(account(TimelineMaker(), kDevice1, {0, 100}), "unknown 100");
}

TEST(Ledger, CausesHaveKeysThatFindThem) {
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    EXPECT_EQ(findCause(causeKey(static_cast<Cause>(i))), static_cast<Cause>(i));
  }
  EXPECT_EQ(findCause("laziness"), std::nullopt);
}

}  // namespace
}  // namespace lacuna::analyzer
