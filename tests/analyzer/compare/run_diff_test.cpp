// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/store.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::HasSubstr;
using testing::Not;

TEST(RunDiff, SeparatesChangesFromNoise) {
  const std::vector<std::int64_t> quiet{100, 101, 99, 100, 100, 102, 98, 100};
  std::vector<std::int64_t> slower;
  for (const std::int64_t ns : quiet) slower.push_back(ns + 20);
  const Difference change = compareSteps("step", quiet, slower, 5);
  EXPECT_EQ(change.changeNs, 20);
  EXPECT_LE(change.lowNs, 20);
  EXPECT_GE(change.highNs, 20);
  EXPECT_GT(change.lowNs, 15);
  EXPECT_EQ(change.verdict, DiffVerdict::Slower);
  EXPECT_EQ(change.before.madNs, 0);
  EXPECT_EQ(compareSteps("step", slower, quiet, 5).verdict, DiffVerdict::Faster);
  const std::vector<std::int64_t> noisy{60, 140, 75, 130, 100, 90, 120, 80},
      alike{65, 150, 80, 125, 104, 95, 118, 70};
  EXPECT_EQ(compareSteps("step", noisy, alike, 1).verdict, DiffVerdict::Same);
}

TEST(RunDiff, NamesWhatIsNewAndGone) {
  const std::vector<std::int64_t> some{50, 50, 50}, none;
  EXPECT_EQ(compareSteps("a", none, some, 5).verdict, DiffVerdict::New);
  EXPECT_EQ(compareSteps("a", some, none, 5).verdict, DiffVerdict::Gone);
  EXPECT_EQ(compareSteps("a", some, none, 60).verdict, DiffVerdict::Same);
}

TEST(RunDiff, NumbersInTheNamesOfStepsArePartOfNoPath) {
  const RunPlan fast{.steps = 20, .numberedSteps = true};
  RunPlan slow = fast;
  slow.kernelNs = 150'000;
  const auto diff = diffRuns(analysed(fast), analysed(slow));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, diff->pathsBefore);
  ASSERT_FALSE(diff->tree.empty());
  EXPECT_EQ(diff->tree.front().verdict, DiffVerdict::Slower);
  EXPECT_THAT(diff->tree.front().path, Not(HasSubstr("batch")));
}

TEST(RunDiff, FindsTheSlowerKernelsInTheTree) {
  const RunPlan fast{.steps = 20};
  RunPlan slow = fast;
  slow.kernelNs = 150'000;
  const auto diff = diffRuns(analysed(fast), analysed(slow));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, diff->pathsBefore);
  ASSERT_FALSE(diff->tree.empty());
  const Difference& first = diff->tree.front();
  EXPECT_EQ(first.verdict, DiffVerdict::Slower) << first.path;
  // Forty kernels of a step, 50 µs longer each.
  EXPECT_NEAR(static_cast<double>(first.deviceAfterNs - first.deviceBeforeNs), 40 * 50'000, 40'000)
      << first.path;
}

/// Ten steps of 1 ms on the CPU, in a function of Python that lasts from before the first to after
/// the last; an operator of `operatorNs` in each.
Analysis inPython(prof::TimeNs operatorNs, bool frames, const char* module, const char* method) {
  using namespace prof;
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  const auto range = [&](TimeNs start, TimeNs dur, const char* category, const std::string& name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = builder.intern(category),
                         .name = builder.intern(name)});
  };
  if (frames) range(0, 12'000'000, "python_function", module);
  for (int i = 0; i < 10; ++i) {
    const TimeNs start = 1'000'000 * (i + 1);
    range(start, 1'000'000, "user_annotation", "ProfilerStep#" + std::to_string(i));
    // A range inside it may end later by a late reading of the clock.
    if (frames) range(start + 100'000, operatorNs, "python_function", method);
    range(start + 100'001, operatorNs + 1'000, "cpu_op", "aten::relu");
  }
  return *analyse(builder.build());
}

TEST(RunDiff, ARangeThatOutlivesAStepHasItsPartInEach) {
  const auto diff = diffRuns(inPython(200'000, true, "train.py(3): <module>", "f"),
                             inPython(500'000, true, "train.py(3): <module>", "f"));
  ASSERT_TRUE(diff);
  ASSERT_EQ(diff->tree.size(), 2U);
  EXPECT_EQ(diff->tree[0].path, "train.py: <module>");
  EXPECT_EQ(diff->tree[0].before.medianNs, 800'000);
  EXPECT_EQ(diff->tree[0].after.medianNs, 500'000);
  EXPECT_EQ(diff->tree[1].path, "train.py: <module> > f > aten::relu");
}

TEST(RunDiff, LinesAndAddressesInNamesMakeNoOtherPlace) {
  const auto diff = diffRuns(inPython(200'000, true, "train.py(3): <module>",
                                      "<built-in method relu of object at 0x7ffa3c753490>"),
                             inPython(500'000, true, "train.py(8): <module>",
                                      "<built-in method relu of object at 0x7f0000000000>"));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, 3U);
  EXPECT_EQ(diff->pathsBefore, 3U);
  EXPECT_EQ(diff->pathsAfter, 3U);
}

TEST(RunDiff, StacksOfOneRunAloneAreLeftOut) {
  const auto diff = diffRuns(inPython(200'000, false, "", ""),
                             inPython(500'000, true, "train.py(3): <module>", "f"));
  ASSERT_TRUE(diff);
  EXPECT_TRUE(diff->framesLeftOut);
  ASSERT_EQ(diff->tree.size(), 1U);
  EXPECT_EQ(diff->tree[0].path, "aten::relu");
  EXPECT_EQ(diff->tree[0].changeNs, 300'000);
}

TEST(RunDiff, WithoutStepsIsOfTheWholeRun) {
  const Analysis stepped = analysed({});
  const Analysis whole = analysed({.steps = 1, .stepsMarked = false});
  ASSERT_TRUE(whole.steps.all.empty());
  const RunDiff neither = *diffRuns(whole, whole);
  EXPECT_EQ(neither.step.path, "run");
  EXPECT_FALSE(neither.stepsBefore || neither.stepsAfter);
  EXPECT_EQ(neither.step.before.medianNs, whole.window.endNs - whole.window.startNs);
  const RunDiff one = *diffRuns(stepped, whole);
  EXPECT_EQ(one.step.path, "step");
  EXPECT_TRUE(one.stepsBefore);
  EXPECT_FALSE(one.stepsAfter);
}

TEST(RunDiff, OfARunWithItselfIsEmpty) {
  const Analysis run = analysed(kSlow);
  const auto diff = diffRuns(run, run);
  ASSERT_TRUE(diff);
  EXPECT_TRUE(diff->tree.empty());
  EXPECT_EQ(diff->step.verdict, DiffVerdict::Same);
}

}  // namespace
}  // namespace lacuna::analyzer
