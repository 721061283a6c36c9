// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"
#include "whatif/replay.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::ElementsAre;

/// Steps of 1,000 ns (or of `stepNs`) of one thread; the device has the queues 1 and 2, called
/// "main" and "side".
class RecordedProgram {
 public:
  explicit RecordedProgram(int steps, TimeNs stepNs = 1'000) : steps_(steps), stepNs_(stepNs) {
    out_.append(Process{.id = ProcessId(1)});
    out_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    out_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
    for (const std::uint32_t queue : {1U, 2U}) {
      out_.append(Queue{.id = QueueId(queue),
                        .device = DeviceId(1),
                        .process = ProcessId(1),
                        .name = out_.intern(queue == 1 ? "main" : "side")});
    }
    for (TimeNs step = 0; step < steps; ++step)
      range(step * stepNs, (step + 1) * stepNs, "step", "step");
  }

  void range(TimeNs from, TimeNs to, const char* category, const char* name) {
    out_.append(Range{.startNs = from,
                      .durNs = to - from,
                      .thread = ThreadId(1),
                      .category = out_.intern(category),
                      .name = out_.intern(name)});
  }
  void call(TimeNs from, TimeNs to, const char* name) {
    out_.append(ApiCall{.startNs = from,
                        .durNs = to - from,
                        .thread = ThreadId(1),
                        .name = out_.intern(name),
                        .correlation = ++correlation_});
  }
  /// In each step, counted from its begin.
  RecordedProgram& launch(TimeNs callFrom, TimeNs callTo, TimeNs from, TimeNs to,
                          std::uint32_t queue = 1) {
    for (TimeNs at = 0; at < steps_ * stepNs_; at += stepNs_)
      launchAt(at + callFrom, at + callTo, at + from, at + to, queue);
    return *this;
  }
  void launchAt(TimeNs callFrom, TimeNs callTo, TimeNs from, TimeNs to, std::uint32_t queue = 1) {
    call(callFrom, callTo, "cudaLaunchKernel");
    out_.append(Kernel{.startNs = from,
                       .durNs = to - from,
                       .queue = QueueId(queue),
                       .device = DeviceId(1),
                       .correlation = correlation_,
                       .name = out_.intern("gemm")});
  }
  RecordedProgram& sync(TimeNs from, TimeNs to) {
    for (TimeNs at = 0; at < steps_ * stepNs_; at += stepNs_)
      call(at + from, at + to, "cudaStreamSynchronize");
    return *this;
  }
  RecordedProgram& batch(TimeNs from, TimeNs to) {
    for (TimeNs at = 0; at < steps_ * stepNs_; at += stepNs_)
      range(at + from, at + to, "loader", "wait");
    return *this;
  }
  /// In each step an epoch of one batch, which a worker begins when the program asks for it.
  RecordedProgram& epoch(TimeNs from, TimeNs to) {
    for (TimeNs at = 0; at < steps_ * stepNs_; at += stepNs_) {
      stage(ThreadId(1), at + from, at + to, "wait", "loader=0");
      stage(ThreadId(2), at + from, at + to - 10, "fetch", "loader=0 worker=0");
      stage(ThreadId(2), at + to - 10, at + to + 50, "put", "loader=0 worker=0");
    }
    out_.append(Thread{.id = ThreadId(2), .process = ProcessId(1)});
    return *this;
  }
  /// Nothing where there is no device work.
  std::unique_ptr<Simulator::Model> model() {
    analysis_ = *analyse(out_.build());
    return buildModel(analysis_);
  }

 private:
  void stage(ThreadId thread, TimeNs from, TimeNs to, const char* name, const char* whose) {
    out_.append(Range{.startNs = from,
                      .durNs = to - from,
                      .thread = thread,
                      .category = out_.intern("loader"),
                      .name = out_.intern(name),
                      .text = out_.intern(whose),
                      .payloadType = PayloadType::U64,
                      .payload = 0});
  }

  StoreBuilder out_;
  Analysis analysis_;
  int steps_;
  TimeNs stepNs_;
  std::uint64_t correlation_ = 0;
};

/// A kernel, one on the side queue that waits for it, and one after it, which the host waits for.
RecordedProgram& threeLaunches(RecordedProgram& program) {
  return program.launch(100, 110, 130, 330)
      .launch(120, 130, 340, 400, 2)
      .launch(140, 150, 332, 380)
      .sync(200, 410);
}

TEST(ReplayModel, KnowsWhatEachPieceOfWorkWaitedFor) {
  RecordedProgram program(5);
  const auto model = threeLaunches(program).model();
  ASSERT_TRUE(model);
  ASSERT_EQ(model->nodes.size(), 15U);
  EXPECT_EQ(model->queues, 2U);
  EXPECT_THAT(model->queueNames, ElementsAre("main", "side"));
  for (std::size_t step = 0; step < 5; ++step) {
    const DeviceNode &first = model->nodes[3 * step], &side = model->nodes[3 * step + 1],
                     &behind = model->nodes[3 * step + 2];
    EXPECT_EQ(first.durNs, 200);
    EXPECT_EQ(first.queue, 0U);
    EXPECT_EQ(first.after, kNowhere);
    EXPECT_EQ(first.launchDelayNs, 20);
    EXPECT_EQ(first.queueGapNs, 2) << "as is usual on this machine";
    EXPECT_EQ(side.queue, 1U);
    EXPECT_EQ(side.after, 3 * step);
    EXPECT_EQ(side.afterGapNs, 10);
    EXPECT_EQ(side.launchDelayNs, 20) << "as is usual";
    EXPECT_EQ(behind.after, kNowhere);
    EXPECT_EQ(behind.queueGapNs, 2);
    EXPECT_EQ(behind.measuredEndNs, static_cast<TimeNs>(1'000 * step + 380));
  }
}

TEST(ReplayModel, HoldsTheHostsProgram) {
  RecordedProgram program(5);
  const auto model = threeLaunches(program).model();
  ASSERT_TRUE(model);
  ASSERT_EQ(model->items.size(), 20U);
  std::vector<std::int64_t> gaps, lengths;
  for (std::size_t i = 4; i < 8; ++i) {
    gaps.push_back(model->items[i].gapNs);
    lengths.push_back(model->items[i].durNs);
    EXPECT_EQ(model->items[i].step, 1U);
  }
  // The wait before it ended at 410 of the last step.
  EXPECT_THAT(gaps, ElementsAre(690, 10, 10, 50));
  EXPECT_THAT(lengths, ElementsAre(10, 10, 10, 10));
  EXPECT_EQ(model->items[0].gapNs, 100);
  EXPECT_EQ(model->items[7].kind, HostItemKind::Sync);
  EXPECT_EQ(model->items[7].node, 4U) << "the side queue's work ended last, at 400";
  EXPECT_EQ(model->tailNs, 590);
  EXPECT_EQ(model->measured.typicalNs(), 1'000);
  EXPECT_EQ(model->busyNs, 200 + 68) << "queues side by side count once";
}

TEST(ReplayModel, IsReplayedAsItWasRecorded) {
  RecordedProgram program(8);
  const auto model = threeLaunches(program).model();
  ASSERT_TRUE(model);
  const Scenario scenario = scenarioOf(*model, {}, Bound::Likely);
  EXPECT_FALSE(scenario.touched);
  EXPECT_EQ(replay(scenario), 1'000);
  EXPECT_EQ(Replay(scenario).pass().atNs, model->measured.atNs);
}

TEST(ReplayModel, ABlockingLaunchLastsBehindItsWork) {
  RecordedProgram program(5);
  const auto model = program.launch(100, 350, 150, 320).model();
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->items[2].blocks);
  EXPECT_EQ(model->items[2].durNs, 30);
  EXPECT_EQ(model->nodes[2].launchDelayNs, 50) << "from the begin of the call";
  EXPECT_EQ(replay(scenarioOf(*model, {}, Bound::Likely)), 1'000);
}

TEST(ReplayModel, AStuckLaunchWaitedForRoomInItsQueue) {
  // Calls of 1 µs, but one of 100 µs in the last step, in which work ends after 70.
  RecordedProgram program(5, 400'000);
  program.launch(10'000, 11'000, 12'000, 100'000);
  program.launchAt(1'640'000, 1'740'000, 1'750'000, 1'760'000);
  program.launchAt(1'630'000, 1'631'000, 1'700'000, 1'710'000);
  const auto model = program.model();
  ASSERT_TRUE(model);
  const HostItem& stuck = model->items.back();
  ASSERT_NE(stuck.room, kNowhere);
  EXPECT_EQ(model->nodes[stuck.room].measuredEndNs, 1'710'000);
  EXPECT_EQ(stuck.durNs, 30'000) << "behind the wait";
  for (std::size_t i = 0; i + 1 < model->items.size(); ++i)
    EXPECT_EQ(model->items[i].room, kNowhere) << i;
}

TEST(ReplayModel, BatchesThatCameLateHaveAPace) {
  struct Case {
    TimeNs waitNs;
    std::int64_t periodNs;
  };
  // Batches come 1,000 ns apart, and handing one over may take a twentieth of that.
  for (const Case& one : {Case{20, 0}, Case{50, 0}, Case{51, 1'000}, Case{300, 1'000}}) {
    RecordedProgram program(6);
    const auto model = program.batch(400 - one.waitNs, 400).launch(420, 430, 450, 500).model();
    ASSERT_TRUE(model);
    ASSERT_EQ(model->items[4].kind, HostItemKind::LoaderWait);
    EXPECT_EQ(model->items[4].durNs, one.waitNs);
    EXPECT_EQ(model->items[4].periodNs, one.periodNs) << one.waitNs;
  }
}

TEST(ReplayModel, EpochsOfOneBatchHaveABatchEach) {
  RecordedProgram program(6);
  const auto model = program.epoch(100, 400).launch(420, 430, 450, 500).model();
  ASSERT_TRUE(model);
  EXPECT_EQ(model->loader.workers, 1U);
  EXPECT_EQ(model->loader.batchNs, 290) << "all have number 0, and the worker pauses between them";
  EXPECT_EQ(model->loader.handoverNs, 10);
  for (const HostItem& item : model->items)
    EXPECT_EQ(item.beginsEpoch, item.kind == HostItemKind::LoaderWait);
}

TEST(ReplayModel, OneWaitInsideAnotherIsPartOfIt) {
  RecordedProgram program(5);
  const auto model =
      program.launch(100, 110, 130, 330).sync(200, 410).sync(250, 400).sync(450, 460).model();
  ASSERT_TRUE(model);
  ASSERT_EQ(model->items.size(), 15U);
  EXPECT_EQ(model->items[1].durNs, 410 - 330);
  EXPECT_EQ(model->items[2].gapNs, 40);
  EXPECT_EQ(model->items[2].node, kNowhere) << "nothing ended while it waited";
  EXPECT_EQ(model->items[2].durNs, 10);
}

TEST(ReplayModel, ThereIsNoneWithoutLaunchedWork) {
  RecordedProgram idle(5);
  EXPECT_FALSE(idle.sync(100, 200).model());
}

}  // namespace
}  // namespace lacuna::analyzer
