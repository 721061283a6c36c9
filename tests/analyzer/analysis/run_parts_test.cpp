// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_parts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyses/parts.h"
#include "analyses/ranks/communication.h"
#include "analyses/time/projection.h"
#include "analyses/time/queue_length.h"
#include "analyses/work/calls.h"
#include "analyses/work/launches.h"
#include "analyses/work/patterns.h"
#include "analyses/work/step_work.h"
#include "analysis/account.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/store.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using testing::ElementsAre;

/// The tables of a trace whose scope, steps and window are found, read in the chunks between the
/// cuts.
class Tabulated {
 public:
  Tabulated(const Analysis& found, std::vector<TimeNs> cuts) {
    made.store = found.store;
    made.steps = found.steps;
    made.window = found.window;
    made.devices = found.devices;
    made.scope = found.scope;
    cuts.insert(cuts.begin(), found.store->span().startNs);
    cuts.push_back(found.store->span().endNs + 1);
    const Timeline timeline = *loadTimeline(*found.store);
    WorkProgress progress({});
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      const prof::TimeWindow chunk{cuts[i - 1], cuts[i]};
      const auto costs = RecordedCosts::load(*found.store, eventCosts(*found.store), timeline,
                                             chunk, made.scope.taken);
      EXPECT_TRUE(costs);
      addChunk(made, allParts(), timeline, chunk, *costs, progress);
    }
    finishChunks(made, allParts());
  }

  Analysis made;
};

/// A trace with its steps, window, devices and scope.
Analysis foundIn(std::shared_ptr<const Store> store, const AnalysisOptions& options = {}) {
  Analysis found;
  found.store = std::move(store);
  found.options = options;
  WorkProgress progress({});
  const auto status = account(found, progress);
  EXPECT_TRUE(status) << status.error().message;
  return found;
}

std::vector<TimeNs> evenCuts(const Analysis& found, TimeNs count) {
  const prof::TimeWindow span = found.store->span();
  std::vector<TimeNs> cuts;
  for (TimeNs i = 1; i < count; ++i)
    cuts.push_back(span.startNs + (span.endNs - span.startNs) * i / count);
  return cuts;
}

/// Every row that a cut must not change, as text, in the order of its table.
std::vector<std::string> rowsOf(const Tabulated& tables) {
  const Analysis& made = tables.made;
  std::vector<std::string> out;
  for (const auto* operators :
       {&made.of<OperatorTables>().byName, &made.of<OperatorTables>().byShapes}) {
    for (const OperatorRow& row : *operators) {
      out.push_back(
          fmt::format("operator {} {} x{} total {} self {} device {} step {} {} memory {} {}",
                      row.name, row.shapes, row.count, row.totalNs, row.selfNs, row.deviceNs,
                      row.stepSelfNs, row.stepDeviceNs, row.memBytes, row.selfMemBytes));
    }
  }
  for (const CallRow& row : made.of<CallTable>()) {
    out.push_back(fmt::format("call {} x{} {} step x{} {} from {} copies {} {} {}", row.name,
                              row.count, row.totalNs, row.stepCount, row.stepNs, row.caller,
                              row.copies, row.stepLargeCount, row.stepLargeNs));
  }
  for (const CollectiveRow& row : made.of<CommunicationStats>().collectives)
    out.push_back(
        fmt::format("collective {} x{} {} {}", row.name, row.count, row.totalNs, row.exposedNs));
  out.push_back(fmt::format("communication {} {}", made.of<CommunicationStats>().totalNs,
                            made.of<CommunicationStats>().exposedNs));
  for (const QueueLength& row : made.of<QueueLengths>()) {
    out.push_back(fmt::format("queue {} x{} of {} waited {}", row.queue.value, row.work, row.spanNs,
                              row.waitedNs));
  }
  for (const ProjectedRange& row : made.of<ProjectedRanges>()) {
    out.push_back(fmt::format("range {} x{} work {} host {} device {} busy {} {} {}", row.name,
                              row.count, row.work, row.hostNs, row.projectedNs, row.busyNs,
                              row.minNs, row.maxNs));
  }
  out.push_back(fmt::format("launches {} in steps {} short {} unmatched {}",
                            made.of<LaunchStats>().launches, made.of<LaunchStats>().stepLaunches,
                            made.of<LaunchStats>().shorterThanCall,
                            made.of<LaunchStats>().unmatched));
  out.push_back(fmt::format("zero fills {} {}", made.of<PatternStats>().zeroFills,
                            made.of<PatternStats>().zeroFillNs));
  std::vector<std::string> kernels;
  for (const auto& [name, sum] : made.of<StepWork>().kernels)
    kernels.push_back(
        fmt::format("step kernel {} x{} {}", made.store->text(name), sum.count, sum.ns));
  std::ranges::sort(kernels);
  out.insert(out.end(), kernels.begin(), kernels.end());
  return out;
}

TEST(RunParts, AreTheSameOfSeveralChunksAsOfOne) {
  using test::RunPlan;
  // No work starts later than a chunk after its range.
  for (const RunPlan& plan :
       {RunPlan{.steps = 6, .operators = 6, .syncEachStep = true, .zeroGradNs = 200'000},
        RunPlan{.steps = 5, .operators = 8, .syncEachStep = true, .pageableCopyNs = 300'000},
        RunPlan{.steps = 4,
        .ranks = 2,
        .operators = 6,
        .syncEveryOperators = 3,
        .collectiveNs = 700'000,
        .roundTrips = 2,
        .numberedSteps = true}}) {
    const Analysis found = foundIn(test::makeRun(plan));
    const std::vector<std::string> whole = rowsOf(Tabulated(found, {}));
    ASSERT_GT(whole.size(), 8U);
    for (const TimeNs chunks : {2, 3, 7}) {
      EXPECT_EQ(rowsOf(Tabulated(found, evenCuts(found, chunks))), whole) << chunks;
    }
  }
}

TEST(RunParts, OfChosenStepsAreTheSameToo) {
  AnalysisOptions options;
  options.steps = {1, 4};
  const Analysis found = foundIn(
      test::makeRun({.steps = 6, .operators = 6, .syncEachStep = true, .zeroGradNs = 200'000}),
      options);
  const std::vector<std::string> whole = rowsOf(Tabulated(found, {}));
  for (const TimeNs chunks : {2, 3, 5})
    EXPECT_EQ(rowsOf(Tabulated(found, evenCuts(found, chunks))), whole) << chunks;
}

/// Launch calls by one thread of kernels on one queue, each in an operator of its own.
class Launches {
 public:
  Launches() {
    using namespace prof;
    out_.append(Process{.id = ProcessId(1)});
    out_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    out_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
    out_.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  }
  Launches& add(TimeNs callNs, std::int64_t callDurNs, TimeNs workNs, std::int64_t workDurNs,
                const char* op = "op") {
    using namespace prof;
    ++correlation_;
    out_.append(Range{.startNs = callNs,
                      .durNs = callDurNs,
                      .thread = ThreadId(1),
                      .category = out_.intern("cpu_op"),
                      .name = out_.intern(op)});
    out_.append(ApiCall{.startNs = callNs,
                        .durNs = callDurNs,
                        .thread = ThreadId(1),
                        .name = out_.intern("cudaLaunchKernel"),
                        .correlation = correlation_});
    out_.append(Kernel{.startNs = workNs,
                       .durNs = workDurNs,
                       .queue = QueueId(1),
                       .device = DeviceId(1),
                       .correlation = correlation_,
                       .name = out_.intern("gemm")});
    return *this;
  }
  LaunchStats cutAt(std::vector<TimeNs> cuts) {
    return tablesOf(std::move(cuts)).of<LaunchStats>();
  }
  Analysis tablesOf(std::vector<TimeNs> cuts) {
    return Tabulated(foundIn(out_.build()), std::move(cuts)).made;
  }
  std::shared_ptr<const Store> build() { return out_.build(); }

 private:
  StoreBuilder out_;
  std::uint64_t correlation_ = 0;
};

TEST(RunParts, MediansAreThoseOfTheChunkWithTheMostLaunches) {
  const auto stats = [](bool manyFirst, std::vector<TimeNs> cuts) {
    Launches launches;
    const TimeNs many = manyFirst ? 0 : 10'000, one = manyFirst ? 10'000 : 0;
    for (const TimeNs at : {0, 1000, 2000}) launches.add(many + at, 10, many + at + 50, 100);
    launches.add(one, 400, one + 500, 100);
    return launches.cutAt(std::move(cuts));
  };
  for (const bool manyFirst : {true, false}) {
    const LaunchStats launches = stats(manyFirst, {5'000});
    EXPECT_EQ(launches.launches, 4U);
    EXPECT_EQ(launches.medianCallNs, 10) << manyFirst;
    EXPECT_EQ(launches.medianDelayNs, 40) << manyFirst;
    EXPECT_EQ(launches.shorterThanCall, 1U);
    EXPECT_EQ(launches.foundQueueEmpty, 4U);
  }
}

TEST(RunParts, TheMeanDepthOfAQueueIsWeightedByLaunches) {
  // Three launches at once see 0, 1 and 2 waiting; one later sees none.
  Launches launches;
  launches.add(0, 1, 100, 100).add(10, 1, 200, 100).add(20, 1, 300, 100).add(5'000, 1, 5'100, 100);
  EXPECT_DOUBLE_EQ(launches.cutAt({3'000}).meanQueueDepth, 0.75);
}

TEST(RunParts, OfAChunkWithoutLaunchesNothingChanges) {
  Launches launches;
  launches.add(0, 10, 100, 100).add(10'000, 10, 10'100, 100);
  const LaunchStats stats = launches.cutAt({1'000, 2'000, 3'000});
  EXPECT_EQ(stats.launches, 2U);
  EXPECT_EQ(stats.medianDelayNs, 90);
  EXPECT_EQ(stats.meanQueueDepth, 0);
}

TEST(RunParts, AreOrderedByTheSumsOfAllChunks) {
  Launches launches;
  launches.add(0, 10, 100, 50, "early")
      .add(200, 10, 300, 20, "both")
      .add(5'000, 10, 5'100, 100, "both");
  const Tabulated tables(foundIn(launches.build()), {2'000});
  std::vector<std::string> names;
  for (const OperatorRow& row : tables.made.of<OperatorTables>().byName)
    names.push_back(fmt::format("{} {}", row.name, row.deviceNs));
  EXPECT_THAT(names, ElementsAre("both 120", "early 50"));
  EXPECT_EQ(tables.made.of<OperatorTables>().byName[0].count, 2U);
}

TEST(RunParts, WorkBelongsToTheChunkInWhichItBegins) {
  // A cut lies between the call and its kernel, in each of them, and at the begin of each.
  for (const TimeNs cut : {50, 5, 150, 100, 1}) {
    Launches launches;
    launches.add(0, 10, 100, 100).add(2'000, 10, 2'100, 100);
    const Tabulated tables(foundIn(launches.build()), {cut});
    EXPECT_EQ(tables.made.of<LaunchStats>().launches, 2U) << cut;
    EXPECT_EQ(tables.made.of<LaunchStats>().unmatched, 0U) << cut;
    ASSERT_EQ(tables.made.of<OperatorTables>().byName.size(), 1U) << cut;
    EXPECT_EQ(tables.made.of<OperatorTables>().byName[0].deviceNs, 200) << cut;
    EXPECT_EQ(tables.made.of<OperatorTables>().byName[0].totalNs, 20) << cut;
    EXPECT_EQ(tables.made.of<OperatorTables>().byName[0].count, 2U) << cut;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
