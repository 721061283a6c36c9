// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "analyses/work/kernels.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;

/// Steps of these lengths, one after the other, whose ledger is all computing but for `idleNs` of
/// each.
Analysis runOf(const std::vector<std::int64_t>& lengths, std::int64_t idleNs = 0) {
  Analysis run;
  prof::TimeNs at = 0;
  for (const std::int64_t length : lengths) {
    run.steps.all.push_back(
        {.index = run.steps.all.size(), .name = "step", .startNs = at, .endNs = at + length});
    at += length;
    run.ledgers.steps.emplace_back().add(Cause::Compute, length - idleNs);
    run.ledgers.steps.back().add(Cause::HostWork, idleNs);
  }
  return run;
}

Comparison rowOf(const std::vector<Comparison>& rows, std::string_view what) {
  for (const Comparison& row : rows) {
    if (row.what == what) return row;
  }
  ADD_FAILURE() << "no row " << what;
  return {};
}

KernelRow kernelOf(std::string_view name, std::int64_t stepNs, std::uint64_t stepCount = 1) {
  KernelRow row;
  row.name = name;
  row.stepNs = stepNs;
  row.stepCount = stepCount;
  return row;
}

TEST(Comparisons, HaveAnOrder) {
  Analysis run = runOf({100, 100});
  std::vector<std::string> names;
  for (const Comparison& row : compareRuns(run, run)) names.push_back(row.what);
  EXPECT_THAT(names, ElementsAre("kernels per step", "synchronisations per step", "copies per step",
                                 "memsets per step", "step time", "idle time per step"));
  run.of<MemoryTables>().all.present = true;
  EXPECT_EQ(compareRuns(run, run).at(4).what, "peak memory");
  EXPECT_EQ(compareRuns(run, runOf({100})).size(), 6U) << "memory was recorded in one run alone";
}

TEST(Comparisons, CountsAreOfAStep) {
  Analysis before = runOf({100, 100, 100, 100}), after = before;
  before.of<KernelTable>() = {kernelOf("a", 0, 6), kernelOf("b", 0, 2)};
  after.of<KernelTable>() = {kernelOf("a", 0, 10)};
  CallRow sync, launch;
  sync.activity = Activity::Sync;
  launch.activity = Activity::Launch;
  sync.stepCount = 4;
  launch.stepCount = 400;
  before.of<CallTable>() = {sync, launch};
  after.of<CopyStats>().stepCount = 12;
  before.of<CopyStats>().stepMemsets = 8;
  const auto rows = compareRuns(before, after);
  const auto values = [&](std::string_view what) {
    const Comparison row = rowOf(rows, what);
    EXPECT_TRUE(row.deterministic);
    EXPECT_EQ(row.unit, "");
    return std::pair(row.before, row.after);
  };
  EXPECT_EQ(values("kernels per step"), std::pair(2.0, 2.5));
  EXPECT_EQ(values("synchronisations per step"), std::pair(1.0, 0.0));
  EXPECT_EQ(values("copies per step"), std::pair(0.0, 3.0));
  EXPECT_EQ(values("memsets per step"), std::pair(2.0, 0.0));
}

TEST(Comparisons, ACountMayDifferByHalfOrATwoHundredth) {
  struct Case {
    std::uint64_t before, after;
    bool worse, better;
  };
  // These are sums of ten steps.
  for (const Case& one :
       {Case{20, 25, false, false}, Case{20, 26, true, false}, Case{20, 15, false, false},
        Case{20, 14, false, true}, Case{10'000, 10'050, false, false},
        Case{10'000, 10'051, true, false}, Case{0, 5, false, false}, Case{0, 6, true, false}}) {
    Analysis before = runOf(std::vector<std::int64_t>(10, 100)), after = before;
    before.of<KernelTable>() = {kernelOf("a", 0, one.before)};
    after.of<KernelTable>() = {kernelOf("a", 0, one.after)};
    const Comparison row = rowOf(compareRuns(before, after), "kernels per step");
    EXPECT_EQ(row.worse(), one.worse) << one.before << " " << one.after;
    EXPECT_EQ(row.better(), one.better) << one.before << " " << one.after;
  }
}

TEST(Comparisons, FurtherRunsOfTheBaselineWidenWhatACountMayDifferBy) {
  Analysis before = runOf({100, 100});
  std::vector<Analysis> noise;
  for (const std::uint64_t count : {24U, 12U}) {
    noise.push_back(runOf({100, 100}));
    noise.back().of<KernelTable>() = {kernelOf("a", 0, count)};
  }
  before.of<KernelTable>() = {kernelOf("a", 0, 20)};
  EXPECT_EQ(rowOf(compareRuns(before, before, noise), "kernels per step").threshold, 4)
      << "from 10 to 6, either way";
  EXPECT_EQ(rowOf(compareRuns(before, before), "kernels per step").threshold, 0.5);
}

TEST(Comparisons, MemoryMayDifferByAHundredth) {
  Analysis before = runOf({100}), after = runOf({100});
  before.of<MemoryTables>().all.present = after.of<MemoryTables>().all.present = true;
  before.of<MemoryTables>().all.peakBytes = 1'000'000;
  after.of<MemoryTables>().all.peakBytes = 1'010'000;
  EXPECT_FALSE(rowOf(compareRuns(before, after), "peak memory").worse());
  after.of<MemoryTables>().all.peakBytes = 1'010'001;
  EXPECT_TRUE(rowOf(compareRuns(before, after), "peak memory").worse());
  std::vector<Analysis> noise;
  noise.push_back(runOf({100}));
  noise.back().of<MemoryTables>().all.peakBytes = 1'200'000;
  EXPECT_EQ(rowOf(compareRuns(before, after, noise), "peak memory").threshold, 200'000);
}

TEST(Comparisons, AStepMayDifferByAFiftiethOrThreeOfItsErrors) {
  const std::vector<std::int64_t> even(20, 1'000);
  EXPECT_EQ(rowOf(compareRuns(runOf(even), runOf(even)), "step time").threshold, 20);
  // Means of ten blocks of two steps: five of 1,000 and five of 1,400. Their middle is 1,200, from
  // which each is 200.
  std::vector<std::int64_t> uneven;
  for (int i = 0; i < 20; ++i) uneven.push_back(i < 10 ? 1'000 : 1'400);
  const double error = 1.4826 * 200 / std::sqrt(10.0);
  const Comparison one = rowOf(compareRuns(runOf(uneven), runOf(even)), "step time");
  EXPECT_EQ(one.before, 1'200);
  EXPECT_EQ(one.unit, "ns");
  EXPECT_FALSE(one.deterministic);
  EXPECT_NEAR(one.threshold, 3 * error, 0.01);
  EXPECT_NEAR(rowOf(compareRuns(runOf(uneven), runOf(uneven)), "step time").threshold,
              3 * error * std::sqrt(2.0), 0.01);
}

TEST(Comparisons, IdleTimeIsNoSteadierThanItsStep) {
  const std::vector<std::int64_t> even(20, 1'000);
  const Comparison idle =
      rowOf(compareRuns(runOf(even, 100), runOf(even, 121)), "idle time per step");
  EXPECT_EQ(idle.before, 100);
  EXPECT_EQ(idle.after, 121);
  EXPECT_EQ(idle.threshold, 20) << "a fiftieth of the step, not of the idle time";
  EXPECT_TRUE(idle.worse());
}

TEST(Comparisons, KernelsAreSortedByTheirDifference) {
  Analysis before = runOf({100, 100}), after = runOf({100, 100, 100, 100});
  before.of<KernelTable>() = {kernelOf("gone", 60), kernelOf("same", 1'000),
                              kernelOf("slower", 200)};
  after.of<KernelTable>() = {kernelOf("new", 200), kernelOf("same", 2'000),
                             kernelOf("slower", 800)};
  const auto rows = compareKernels(before, after);
  std::vector<std::string> names;
  for (const Comparison& row : rows) names.push_back(row.what);
  EXPECT_THAT(names, ElementsAre("kernel slower", "kernel new", "kernel gone", "kernel same"));
  EXPECT_EQ(rows[0].before, 100);
  EXPECT_EQ(rows[0].after, 200);
  EXPECT_EQ(rows[0].threshold, 12) << "three fiftieths of the longer";
  EXPECT_TRUE(rows[1].appeared());
  EXPECT_TRUE(rows[2].vanished());
  EXPECT_FALSE(rows[3].worse() || rows[3].better() || rows[3].appeared() || rows[3].vanished());
}

TEST(Comparisons, OperatorsCountTheirOwnTimeAndTheirWork) {
  Analysis before = runOf({100, 100}), after = before;
  OperatorRow row;
  row.name = "matmul";
  row.stepSelfNs = 100;
  row.stepDeviceNs = 300;
  row.totalNs = 5'000;
  before.of<OperatorTables>().byName = {row};
  row.stepDeviceNs = 500;
  // The same name may stand for two rows, of two shapes.
  after.of<OperatorTables>().byName = {row, row};
  const auto rows = compareOperators(before, after);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "operator matmul");
  EXPECT_EQ(rows[0].before, 200);
  EXPECT_EQ(rows[0].after, 600);
}

TEST(Comparisons, LedgersLeaveOutWhatNeitherRunHas) {
  const std::vector<std::int64_t> even(20, 1'000);
  const auto rows = compareLedgers(runOf(even), runOf(even, 30));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].what, causeLabel(Cause::Compute));
  EXPECT_TRUE(rows[0].better());
  EXPECT_EQ(rows[1].what, causeLabel(Cause::HostWork));
  EXPECT_EQ(rows[1].threshold, 20);
  EXPECT_TRUE(rows[1].worse());
  EXPECT_EQ(rows[1].changeShare(), 0) << "there was none before";
  EXPECT_EQ(rows[0].changeShare(), -0.03);
}

}  // namespace
}  // namespace lacuna::analyzer
