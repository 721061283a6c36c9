// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

class StepsTest : public testing::Test {
 protected:
  void marker(TimeNs start, TimeNs dur, const char* name, const char* category = "") {
    trace.append(Range{.startNs = start,
                       .durNs = dur,
                       .thread = ThreadId(1),
                       .category = trace.intern(category),
                       .name = trace.intern(name)});
  }
  void programStep(TimeNs start, TimeNs dur) {
    trace.append(Range{.startNs = start,
                       .durNs = dur,
                       .thread = ThreadId(1),
                       .domain = trace.intern("lacuna"),
                       .category = trace.intern("step"),
                       .name = trace.intern("step"),
                       .kind = RangeKind::StartEnd});
  }
  void openMarker(TimeNs start, TimeNs untilTheEnd, const char* name) {
    trace.append(Range{.startNs = start,
                       .durNs = untilTheEnd,
                       .thread = ThreadId(1),
                       .name = trace.intern(name),
                       .flags = kUnfinished});
  }
  void kernel(TimeNs start, const char* name) {
    trace.append(
        Kernel{.startNs = start, .durNs = 5, .queue = QueueId(1), .name = trace.intern(name)});
  }
  Steps found() { return *findSteps(*trace.build()); }

  StoreBuilder trace;
};

TEST_F(StepsTest, ProfilerStepsWinOverOtherMarkers) {
  marker(0, 100, "ProfilerStep#4");
  marker(10, 20, "step");
  marker(100, 90, "ProfilerStep#5");
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 2u);
  EXPECT_EQ(steps.all[1].name, "ProfilerStep#5");
  EXPECT_EQ(steps.all[1].durNs(), 90);
  EXPECT_EQ(steps.source, StepSource::Marker);
}

TEST_F(StepsTest, StepsThatTheProgramMarksWinOverAllOthers) {
  marker(0, 40, "step", "step");
  marker(50, 45, "step", "step");
  marker(0, 100, "ProfilerStep#4");
  programStep(0, 98);
  programStep(98, 99);
  programStep(197, 100);
  marker(200, 40, "step", "step");
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 3u);
  EXPECT_EQ(steps.all[1].startNs, 98);
  EXPECT_EQ(steps.all[1].durNs(), 99);
}

TEST_F(StepsTest, NestedMarkersOfOneKindCountOnce) {
  marker(0, 100, "step 0");
  marker(20, 10, "step 1");
  marker(100, 100, "step 2");
  EXPECT_EQ(found().all.size(), 2u);
}

TEST_F(StepsTest, AMarkerThatBeginsBeforeTheOtherHasEndedEndsIt) {
  marker(1000, 1001, "ProfilerStep#1");
  marker(2000, 1001, "ProfilerStep#2");
  marker(3000, 1000, "ProfilerStep#3");
  marker(3900, 110, "ProfilerStep#4");  // mostly inside
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 3u);
  EXPECT_EQ(steps.all[0].endNs, 2000);
  EXPECT_EQ(steps.all[1].durNs(), 1000);
  EXPECT_EQ(steps.all[2].name, "ProfilerStep#3");
  EXPECT_EQ(steps.all[2].durNs(), 1000);
}

TEST_F(StepsTest, AnIterationLastsUntilTheNextOneBegins) {
  for (TimeNs at = 0; at < 10; ++at) marker(at * 150, 100, "step");
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 10u);
  EXPECT_EQ(steps.medianNs(), 150) << "metrics between two markers are part of it";
  EXPECT_EQ(steps.all[3].endNs, steps.all[4].startNs);
  EXPECT_EQ(steps.all[3].markEndNs, 3 * 150 + 100);
  EXPECT_EQ(steps.all.back().durNs(), 100) << "nothing shows where the last one would have ended";
}

TEST_F(StepsTest, AnUnusualPauseStaysBetweenTwoSteps) {
  TimeNs at = 0;
  for (int step = 0; step < 12; ++step) {
    marker(at, 100, "step");
    at += step == 5 ? 5'000 : 120;  // an evaluation
  }
  const Steps steps = found();
  EXPECT_EQ(steps.all[5].durNs(), 120) << "with the usual pause";
  EXPECT_EQ(steps.all[6].startNs - steps.all[5].endNs, 4'880);
  EXPECT_EQ(steps.all[4].durNs(), 120);
}

TEST_F(StepsTest, ASlowStepKeepsItsUsualPause) {
  TimeNs at = 0;
  for (int step = 0; step < 12; ++step) {
    const TimeNs dur = step == 7 ? 900 : 100;
    marker(at, dur, "step");
    at += dur + 20;
  }
  const Steps steps = found();
  EXPECT_EQ(steps.all[7].durNs(), 920);
  EXPECT_EQ(steps.all[7].endNs, steps.all[8].startNs);
}

TEST_F(StepsTest, OfFewStepsTheShortestPauseIsTheUsualOne) {
  for (const TimeNs at : {0, 150, 900}) marker(at, 100, "step");
  const Steps steps = found();
  EXPECT_EQ(steps.all[0].durNs(), 150);
  EXPECT_EQ(steps.all[1].durNs(), 150);
  EXPECT_EQ(steps.all[2].durNs(), 100);
}

TEST_F(StepsTest, TheLastStepIsCutWhereOthersHavePauses) {
  for (TimeNs at = 0; at < 5; ++at) marker(at * 150, 100, "step");
  const Steps steps = found();
  EXPECT_TRUE(steps.all.back().isCut);
  EXPECT_FALSE(steps.all.front().isCut);
}

TEST_F(StepsTest, NoStepIsCutWhereMarkersFollowEachOther) {
  for (TimeNs at = 0; at < 5; ++at) marker(at * 100, 100, "step");
  EXPECT_FALSE(found().all.back().isCut);
}

TEST_F(StepsTest, AMarkerThatWasNeverClosedIsNoStep) {
  marker(0, 100, "step 0");
  marker(100, 110, "step 1");
  openMarker(220, 9'000, "step 2");  // an evaluation and the program's end lie in it
  EXPECT_EQ(found().all.size(), 2u);
}

TEST_F(StepsTest, CategoryMarksSteps) {
  marker(0, 10, "whatever", "step");
  EXPECT_EQ(found().all.size(), 1u);
}

TEST_F(StepsTest, RepetitionIsFoundWithoutMarkers) {
  trace.append(Queue{.id = QueueId(1), .device = DeviceId(1)});
  kernel(0, "set-up");
  TimeNs t = 100;
  for (int step = 0; step < 12; ++step) {
    for (const char* name : {"a", "b", "b", "c", "d"}) kernel(t += 10, name);
    t += 50;
  }
  const Steps steps = found();
  EXPECT_EQ(steps.source, StepSource::Period);
  ASSERT_GE(steps.all.size(), 11u);
  EXPECT_EQ(steps.medianNs(), 100);
}

TEST_F(StepsTest, NeitherMarkersNorRepetitionMeansNoSteps) {
  trace.append(Queue{.id = QueueId(1), .device = DeviceId(1)});
  for (const char* name : {"a", "b", "c", "d", "e"}) kernel(10, name);
  EXPECT_EQ(found().source, StepSource::None);
}

TEST(WarmUp, SlowLeadingStepsAreSetApartAndSlowLaterOnesAreNot) {
  std::vector<Step> steps;
  for (const std::int64_t dur : {900, 300, 100, 101, 99, 100, 400, 100}) {
    steps.push_back({});
    steps.back().endNs = dur;
  }
  markWarmUp(steps);
  EXPECT_TRUE(steps[0].warmUp);
  EXPECT_TRUE(steps[1].warmUp);
  EXPECT_FALSE(steps[2].warmUp);
  EXPECT_FALSE(steps[6].warmUp);
}

TEST(WarmUp, IsNotFoundByComparingWithPlainSteps) {
  std::vector<Step> steps;
  for (const std::int64_t dur : {900, 100, 101, 99, 100, 60, 61, 60, 60, 61, 60, 100, 101, 99}) {
    steps.push_back({});
    steps.back().endNs = dur;
    steps.back().isPlain = dur < 90;
  }
  markWarmUp(steps);
  EXPECT_TRUE(steps[0].warmUp);
  EXPECT_EQ(std::ranges::count_if(steps, &Step::warmUp), 1);
}

TEST_F(StepsTest, PlainStepsAreNoSteadyOnes) {
  for (TimeNs i = 0; i < 12; ++i)
    marker(100 * i, 90, 4 <= i && i < 8 ? "plain step" : "step", "step");
  const Steps steps = found();
  ASSERT_EQ(steps.all.size(), 12u);
  EXPECT_EQ(std::ranges::count_if(steps.all, &Step::isPlain), 4);
  EXPECT_EQ(steps.afterWarmUp().size(), 12u);
  const std::vector<Step> steady = steps.steady();
  ASSERT_EQ(steady.size(), 8u);
  EXPECT_EQ(steady[3].endNs, 400) << "its iteration ends where the plain one begins";
  EXPECT_EQ(steady[4].startNs, 800);
}

TEST_F(StepsTest, WhatHappensInAPlainStepIsInNoStep) {
  for (TimeNs i = 0; i < 12; ++i)
    marker(100 * i, 90, 4 <= i && i < 8 ? "plain step" : "step", "step");
  const StepSpans spans(found(), {0, 1200});
  EXPECT_TRUE(spans.hold(390));
  EXPECT_FALSE(spans.hold(410));
  EXPECT_FALSE(spans.hold(790));
  EXPECT_TRUE(spans.hold(810));
  EXPECT_EQ(spans.foldedName("plain step"), "step");
}

TEST(StepMarkers, NamesAreDistinguished) {
  for (const char* name :
       {"step", "Step 12", "ProfilerStep#3", "iteration 4", "train_step", "iter=7"})
    EXPECT_TRUE(isStepMarker("", name)) << name;
  for (const char* name : {"optimizer.step", "stepper", "Optimizer.step#SGD.step", "forward"})
    EXPECT_FALSE(isStepMarker("", name)) << name;
}

TEST(Activities, TheExecutionOfAnOperatorIsNoSecondOperator) {
  EXPECT_EQ(classifyRange("lacuna.rt", "operator", "aten::conv2d"), Activity::Operator);
  EXPECT_EQ(classifyRange("lacuna.rt", "execution", "aten::conv2d"), Activity::None);
  EXPECT_EQ(classifyRange("mine", "execution", "aten::conv2d"), Activity::Operator);
}

TEST(RangeNames, ATorchRecQueueThatWaitsForCopiesIsNoWaitForTheLoader) {
  EXPECT_EQ(classifyRange("", "user_annotation", "## wait_for_batch ##"), Activity::Annotation);
  EXPECT_EQ(classifyRange("", "user_annotation", "wait_for_batch"), Activity::LoaderWait);
  EXPECT_EQ(classifyRange("", "user_annotation",
                          "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
            Activity::LoaderWait);
}

TEST(Median, OfTwoMiddlesIsTheirMean) {
  EXPECT_EQ(medianOf({10}), 10);
  EXPECT_EQ(medianOf({30, 10}), 20);
  EXPECT_EQ(medianOf({7, 1, 3, 100}), 5);
  EXPECT_EQ(medianOf({9, 1, 5}), 5);
}

}  // namespace
}  // namespace lacuna::analyzer
