// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/tree_run.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RunTrees, AChangeIsListedWhereItsOwnTimeIs) {
  TreeRun before, after;
  before.op(1'000, 61'000, "forward").op(10'000, 30'000, "matmul");
  after.op(1'000, 71'000, "forward").op(10'000, 40'000, "matmul");
  const RunDiff diff = diffOf(before, after);
  EXPECT_THAT(linesOf(diff), ElementsAre("slower forward > matmul 10000"));
  EXPECT_EQ(diff.pathsBefore, 2U);
  EXPECT_EQ(diff.pathsAfter, 2U);
  EXPECT_EQ(diff.pathsCommon, 2U);
  EXPECT_EQ(diff.tree[0].before.medianNs, 20'000);
  EXPECT_EQ(diff.tree[0].after.medianNs, 30'000);
  EXPECT_EQ(diff.tree[0].before.steps, 6U);
  EXPECT_EQ(diff.step.verdict, DiffVerdict::Same);
}

TEST(RunTrees, PathsOfOneRunAloneAreNewOrGone) {
  TreeRun before, after;
  before.op(1'000, 61'000, "forward").op(70'000, 70'900, "log");
  after.op(1'000, 61'000, "forward").op(2'000, 7'000, "relu");
  const RunDiff diff = diffOf(before, after);
  EXPECT_THAT(linesOf(diff),
              ElementsAre("faster forward -5000", "new forward > relu 5000", "gone log -900"));
  EXPECT_EQ(diff.pathsCommon, 1U);
  EXPECT_EQ(diff.pathsBefore, 2U);
  EXPECT_EQ(diff.pathsAfter, 2U);
  EXPECT_EQ(diff.tree[1].before.steps, 0U);
  EXPECT_EQ(diff.tree[1].lowNs, 5'000);
  EXPECT_EQ(diff.tree[1].highNs, 5'000);
  EXPECT_THAT(linesOf(diffOf(after, before)),
              testing::UnorderedElementsAre("slower forward 5000", "gone forward > relu -5000",
                                            "new log 900"));
}

TEST(RunTrees, ChangesUpToTheFloorAreNotListed) {
  for (const std::int64_t moreNs : {std::int64_t{0}, kFloorNs, kFloorNs + 1}) {
    TreeRun before, after;
    before.op(1'000, 2'000, "op");
    after.op(1'000, 2'000 + moreNs, "op");
    EXPECT_EQ(diffOf(before, after).tree.size(), moreNs > kFloorNs ? 1U : 0U) << moreNs;
    EXPECT_EQ(diffOf(after, before).tree.size(), moreNs > kFloorNs ? 1U : 0U) << moreNs;
  }
  TreeRun none, small, large;
  none.op(5'000, 9'000, "op");
  small.op(5'000, 9'000, "op").op(20'000, 20'200, "tiny");
  large.op(5'000, 9'000, "op").op(20'000, 20'201, "tiny");
  EXPECT_THAT(linesOf(diffOf(none, small)), IsEmpty());
  EXPECT_THAT(linesOf(diffOf(none, large)), ElementsAre("new tiny 201"));
}

TEST(RunTrees, DeviceWorkBelongsToTheInnermostRangeAroundItsLaunch) {
  TreeRun before, after;
  before.op(1'000, 50'000, "forward").op(10'000, 20'000, "matmul").launch(12'000, 15'000, 25'000);
  before.launch(30'000, 31'000, 35'000).launch(60'000, 62'000, 63'000);
  after.op(1'000, 50'000, "forward").op(10'000, 20'000, "matmul").launch(12'000, 15'000, 29'000);
  after.launch(30'000, 31'000, 36'000).launch(60'000, 62'000, 65'000);
  const RunDiff diff = diffOf(before, after);
  EXPECT_THAT(linesOf(diff),
              ElementsAre("slower forward > matmul 4000", "slower (outside of operators) 2000",
                          "slower forward 1000"));
  EXPECT_EQ(diff.tree[0].deviceBeforeNs, 10'000);
  EXPECT_EQ(diff.tree[0].deviceAfterNs, 14'000);
  EXPECT_EQ(diff.tree[0].before.medianNs, 20'000) << "10 of the host and 10 of the device";
  EXPECT_EQ(diff.tree[1].before.medianNs, 1'000);
}

TEST(RunTrees, WorkThatTheHostDoesInPlaceIsItsOwnTime) {
  TreeRun before, after;
  before.op(10'000, 20'000, "matmul").launch(12'000, 12'000, 18'000);
  after.op(10'000, 20'000, "matmul").launch(12'000, 12'000, 19'500);
  EXPECT_THAT(linesOf(diffOf(before, after)), IsEmpty());
}

TEST(RunTrees, ThreadsThatFeedNoDeviceAreNoPart) {
  TreeRun before, after;
  before.op(10'000, 20'000, "matmul");
  after.op(10'000, 20'000, "matmul").op(0, 90'000, "decode", 2);
  const RunDiff diff = diffOf(before, after);
  EXPECT_THAT(linesOf(diff), IsEmpty());
  EXPECT_EQ(diff.pathsAfter, 1U);
}

TEST(RunTrees, AChildThatEndsBehindItsParentTakesOnlyWhatTheyShare) {
  TreeRun before, after;
  before.op(10'000, 50'000, "outer");
  after.op(10'000, 50'000, "outer").op(40'000, 60'000, "inner");
  EXPECT_THAT(linesOf(diffOf(before, after)),
              ElementsAre("new outer > inner 20000", "faster outer -10000"));
}

TEST(RunTrees, TheNumberOfStepsDoesNotMatter) {
  TreeRun few(4), many(20);
  few.op(10'000, 50'000, "op").launch(12'000, 13'000, 20'000);
  many.op(10'000, 50'000, "op").launch(12'000, 13'000, 20'000);
  const RunDiff diff = diffOf(few, many);
  EXPECT_THAT(linesOf(diff), IsEmpty());
  EXPECT_EQ(diff.step.before.steps, 4U);
  EXPECT_EQ(diff.step.after.steps, 20U);
}

TEST(RunTrees, AStepWithoutAPathCountsAsNothing) {
  TreeRun before, mostly, hardly;
  before.op(10'000, 50'000, "op");
  mostly.op(10'000, 50'000, "op");
  hardly.op(10'000, 50'000, "op");
  for (TimeNs step = 0; step < 6; ++step) {
    if (step < 4) mostly.opIn(step, 60'000, 63'000, "check");
    if (step < 2) hardly.opIn(step, 60'000, 63'000, "check");
  }
  EXPECT_THAT(linesOf(diffOf(before, mostly)), ElementsAre("new check 3000"));
  const RunDiff diff = diffOf(before, hardly);
  EXPECT_THAT(linesOf(diff), IsEmpty()) << "a third of the steps moves no median";
  EXPECT_EQ(diff.pathsAfter, 2U);
}

TEST(RunTrees, ChosenStepsAloneAreCompared) {
  TreeRun before, after;
  before.op(10'000, 50'000, "op");
  after.op(10'000, 50'000, "op").opIn(1, 60'000, 63'000, "check").opIn(2, 60'000, 63'000, "check");
  AnalysisOptions options;
  options.steps = {1, 3};
  const auto diff = diffRuns(before.analysed(), after.analysed(options));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->step.after.steps, 2U);
  EXPECT_THAT(linesOf(*diff), ElementsAre("new check 3000"));
}

TEST(RunTrees, WithoutStepsOnOneSideItsWholeRunIsOne) {
  TreeRun before(4), after(4, false);
  before.op(10'000, 50'000, "op").launch(12'000, 13'000, 20'000);
  after.op(10'000, 50'000, "op").launch(12'000, 13'000, 20'000);
  const RunDiff diff = diffOf(before, after);
  EXPECT_TRUE(diff.stepsBefore);
  EXPECT_FALSE(diff.stepsAfter);
  EXPECT_EQ(diff.step.path, "step");
  EXPECT_EQ(diff.step.before.medianNs, kStepNs);
  EXPECT_EQ(diff.step.after.medianNs, 340'000) << "from the first begin to the last end";
  // One value has no interval, so that nothing is called slower.
  EXPECT_THAT(linesOf(diff), ElementsAre("same op 141000"));
  EXPECT_EQ(diff.tree[0].lowNs, 141'000);
  EXPECT_EQ(diff.tree[0].highNs, 141'000);
  EXPECT_EQ(diff.tree[0].deviceAfterNs, 28'000);
}

TEST(RunTrees, NamesLoseWhatIsNotTheSameInTheNextRun) {
  for (const auto& [name, path] : std::vector<std::pair<std::string, std::string>>{
           {"<built-in method f of object at 0x7ffa3c753490>", "<built-in method f of object>"},
           {"a at 0xdeadBEEF b at 0x1 c", "a b c"},
           {"ends at 0x12", "ends"},
           {"ends at 0x", "ends"},
           {"begins at 0yes", "begins at 0yes"},
           {"train.py(22): step", "train.py: step"},
           {"a.py(1): b.py(2): c", "a.py: b.py(2): c"},
           {"train.py(): step", "train.py(): step"},
           {"train.py(2x): step", "train.py(2x): step"},
           {"train.py(22)", "train.py(22)"},
           {"train.py(22): ", "train.py: "},
           {"train.pyx(22): step", "train.pyx(22): step"}}) {
    TreeRun before, after;
    before.op(10'000, 20'000, "op");
    after.op(10'000, 20'000, "op").op(30'000, 31'000, name);
    EXPECT_THAT(linesOf(diffOf(before, after)), ElementsAre("new " + path + " 1000")) << name;
  }
}

TEST(RunTrees, OfRangesWithTheSameTimesTheFirstIsTheOuterOne) {
  TreeRun before, after;
  for (TreeRun* run : {&before, &after}) {
    for (TimeNs at = 0; at < 90'000; at += 3'000)
      run->op(at, at + 1'000, "outer").op(at, at + 1'000, "inner");
  }
  after.op(95'000, 99'000, "check");
  const RunDiff diff = diffOf(before, after);
  EXPECT_EQ(diff.pathsBefore, 2U) << "outer, and outer > inner";
  EXPECT_EQ(diff.pathsAfter, 3U);
  EXPECT_THAT(linesOf(diff), ElementsAre("new check 4000"));
}

}  // namespace
}  // namespace lacuna::analyzer
