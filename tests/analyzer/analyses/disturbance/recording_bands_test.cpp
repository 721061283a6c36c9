// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/ranks/communication.h"
#include "analyses/ranks/ranks.h"
#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "analyses/work/kernels.h"
#include "analyses/work/launches.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// A CPU device in a process whose recorder reports that a range costs 10 ns and a mark 4.
class BandsTest : public testing::Test {
 protected:
  BandsTest() {
    builder_.append(
        Environment{.key = builder_.intern("self.cost.range"), .value = builder_.intern("10")});
    builder_.append(
        Environment{.key = builder_.intern("self.cost.mark"), .value = builder_.intern("4")});
    builder_.append(Process{.id = ProcessId(1), .osPid = 1});
    builder_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    builder_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
    builder_.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  }
  void range(TimeNs start, TimeNs dur, const char* category, const char* name,
             std::uint64_t correlation = 0) {
    builder_.append(Range{.startNs = start,
                          .durNs = dur,
                          .thread = ThreadId(1),
                          .category = builder_.intern(category),
                          .name = builder_.intern(name),
                          .correlation = correlation});
  }
  void kernel(TimeNs start, TimeNs dur, std::uint64_t correlation) {
    builder_.append(Kernel{.startNs = start,
                           .durNs = dur,
                           .queue = QueueId(1),
                           .device = DeviceId(1),
                           .correlation = correlation,
                           .name = builder_.intern("matmul")});
  }
  Analysis analysed() { return *analyse(builder_.build()); }
  StoreBuilder builder_;
};

TEST_F(BandsTest, DelaysWhileTheDeviceWorksShowInTheNextIdleStretch) {
  kernel(1000, 1000, 7);
  for (int i = 0; i < 5; ++i)
    range(1100 + 100 * i, 50, "op", "view");  // hidden by the kernel: 50 ns
  range(2200, 400, "op", "relu", 8);          // 10 ns
  builder_.append(Allocation{.timeNs = 2300, .thread = ThreadId(1)});  // 4 ns
  kernel(3000, 1000, 8);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 2 * 10);
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 50 + 10 + 4);
  EXPECT_EQ(analysis.devices.at(0).bands, analysis.ledgers.bands.run);
  EXPECT_EQ(analysis.devices.at(0).queues.at(0).bands, analysis.ledgers.bands.run);
  for (std::size_t i = 0; i < kCauseCount; ++i)
    EXPECT_LE(analysis.ledgers.bands.run.ns[i], analysis.ledgers.run.ns[i]) << i;
}

TEST_F(BandsTest, WorkInPlaceHoldsWhatIsRecordedMeanwhile) {
  for (const auto& [start, correlation] : {std::pair<TimeNs, std::uint64_t>(1000, 7), {3000, 8}}) {
    builder_.append(ApiCall{.startNs = start,
                            .thread = ThreadId(1),
                            .name = builder_.intern("enqueue"),
                            .correlation = correlation});
    kernel(start, 1000, correlation);
    for (int i = 0; i < 5; ++i) range(start + 100 + 100 * i, 50, "op", "view");
  }
  range(2200, 400, "op", "idle");
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 2 * (10 + 5 * 10));
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 10);
}

TEST_F(BandsTest, WhatWatchingAddsIsPartOfTheBand) {
  builder_.append(Environment{.key = builder_.intern("knob.self.cost.operator"),
                              .value = builder_.intern("100")});
  builder_.append(
      Environment{.key = builder_.intern("knob.self.cost.memory"), .value = builder_.intern("30")});
  kernel(1000, 1000, 7);
  range(2200, 400, "operator", "relu");
  builder_.append(Allocation{.timeNs = 2300, .thread = ThreadId(1)});
  kernel(3000, 1000, 8);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 10 + 100 + 4 + 30);
  EXPECT_EQ(analysis.of<OperatorTables>().byName.at(0).recordingNs, 10 + 100 + 4 + 30);
}

TEST_F(BandsTest, NoBandIsWiderThanItsFigure) {
  for (int i = 0; i < 100; ++i) range(1000 + i, 1, "op", "view");  // a microsecond in all
  kernel(1000, 100, 7);
  kernel(1130, 5, 8);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ledgers.bands.run.idleNs(), 30);
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 10 + 5);
  EXPECT_EQ(analysis.of<KernelTable>().at(0).recordingNs, 20);
}

TEST_F(BandsTest, OperatorsHoldWhatWasRecordedWithinThem) {
  range(1000, 500, "op", "linear", 7);
  range(1100, 200, "op", "addmm");
  builder_.append(Allocation{
      .timeNs = 1150, .thread = ThreadId(1), .action = MemoryAction::Allocate, .bytes = 8});
  kernel(2000, 300, 7);
  const Analysis analysis = analysed();
  const auto row = [&](std::string_view name) {
    return *std::find_if(analysis.of<OperatorTables>().byName.begin(),
                         analysis.of<OperatorTables>().byName.end(),
                         [&](const OperatorRow& r) { return r.name == name; });
  };
  EXPECT_EQ(row("linear").recordingNs, 10 + 10 + 4);
  EXPECT_EQ(row("linear").selfRecordingNs, 10);
  EXPECT_EQ(row("linear").deviceRecordingNs, 10);
  EXPECT_EQ(row("addmm").recordingNs, 10 + 4);
  EXPECT_EQ(row("addmm").selfRecordingNs, 10 + 4);
}

TEST_F(BandsTest, CallsAndLaunchesHoldWhatWasRecordedMeanwhile) {
  builder_.append(ApiCall{.startNs = 1000,
                          .durNs = 100,
                          .thread = ThreadId(1),
                          .name = builder_.intern("cudaLaunchKernel"),
                          .correlation = 7});
  for (const TimeNs at : {1050, 1300, 1400})
    builder_.append(Allocation{.timeNs = at, .thread = ThreadId(1)});
  kernel(1500, 1000, 7);
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.of<LaunchStats>().medianCallNs, 100);
  EXPECT_EQ(analysis.of<LaunchStats>().callRecordingNs, 4);
  EXPECT_EQ(analysis.of<LaunchStats>().medianDelayNs, 400);
  EXPECT_EQ(analysis.of<LaunchStats>().delayRecordingNs, 4 + 4);
  ASSERT_EQ(analysis.of<CallTable>().size(), 1U);
  EXPECT_EQ(analysis.of<CallTable>()[0].recordingNs, 4);
  const std::string json = renderJson(analysis);
  for (const char* part : {"\"call_recording_ns\":4", "\"delay_recording_ns\":8"}) {
    std::string plain;
    std::copy_if(json.begin(), json.end(), std::back_inserter(plain),
                 [](char c) { return c != ' ' && c != '\n'; });
    EXPECT_NE(plain.find(part), std::string::npos) << part;
  }
}

TEST_F(BandsTest, CopiesAndCollectivesOfACpuAreShownAsRanges) {
  for (const std::int64_t dur : {100, 5}) {
    builder_.append(Memcpy{.startNs = 1000 + dur,
                           .durNs = dur,
                           .queue = QueueId(1),
                           .device = DeviceId(1),
                           .bytes = 8,
                           .copyKind = CopyKind::HostToDevice});
  }
  builder_.append(
      Memset{.startNs = 1500, .durNs = 100, .queue = QueueId(1), .device = DeviceId(1)});
  builder_.append(Kernel{.startNs = 2000,
                         .durNs = 300,
                         .queue = QueueId(1),
                         .device = DeviceId(1),
                         .name = builder_.intern("ncclDevKernel_AllReduce")});
  const Analysis analysis = analysed();
  EXPECT_EQ(
      analysis.of<CopyStats>().byKind[static_cast<std::size_t>(CopyKind::HostToDevice)].recordingNs,
      10 + 5);
  EXPECT_EQ(analysis.of<CopyStats>().memsetRecordingNs, 10);
  EXPECT_EQ(analysis.of<CommunicationStats>().recordingNs, 10);
  ASSERT_EQ(analysis.of<CommunicationStats>().collectives.size(), 1U);
  EXPECT_EQ(analysis.of<CommunicationStats>().collectives[0].recordingNs, 10);
}

TEST_F(BandsTest, RanksHoldWhatWasRecordedOnTheirDevices) {
  for (const std::int32_t rank : {0, 1}) {
    const auto id = static_cast<std::uint32_t>(2 + rank);
    builder_.append(Process{.id = ProcessId(id), .osPid = id, .rank = rank});
    builder_.append(Thread{.id = ThreadId(id), .process = ProcessId(id)});
    builder_.append(Device{.id = DeviceId(id), .kind = DeviceKind::Cpu});
    builder_.append(Queue{.id = QueueId(id), .device = DeviceId(id), .process = ProcessId(id)});
    builder_.append(Kernel{.startNs = 1000 + 40 * rank,
                           .durNs = 300 - 40 * rank,
                           .queue = QueueId(id),
                           .device = DeviceId(id),
                           .name = builder_.intern("ncclDevKernel_AllReduce")});
  }
  const Analysis analysis = analysed();
  ASSERT_EQ(analysis.of<RankStats>().rows.size(), 2U);
  const RankRow& first = analysis.of<RankStats>().rows[0];
  EXPECT_EQ(first.waitNs, 40);
  EXPECT_EQ(first.waitRecordingNs, 10);
  EXPECT_EQ(first.transferNs, 260);
  EXPECT_EQ(first.transferRecordingNs, 10);
  EXPECT_EQ(first.computeRecordingNs, 0);
  EXPECT_EQ(analysis.of<RankStats>().rows[1].heldUpRecordingNs, 10);
}

TEST_F(BandsTest, KernelsOfAGpuAreNotMadeLonger) {
  builder_.append(Device{.id = DeviceId(2), .kind = DeviceKind::Cuda});
  builder_.append(Queue{.id = QueueId(2), .device = DeviceId(2), .process = ProcessId(1)});
  builder_.append(Kernel{.startNs = 1000,
                         .durNs = 500,
                         .queue = QueueId(2),
                         .device = DeviceId(2),
                         .name = builder_.intern("gemm")});
  kernel(1000, 500, 9);
  const Analysis analysis = analysed();
  for (const KernelRow& row : analysis.of<KernelTable>())
    EXPECT_EQ(row.recordingNs, row.name == "gemm" ? 0 : 10) << row.name;
  EXPECT_EQ(analysis.ledgers.bands.run[Cause::Compute], 10);
}

}  // namespace
}  // namespace lacuna::analyzer
