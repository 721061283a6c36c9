// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "links/nccl_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::ProcessId, prof::QueueId, prof::ThreadId, prof::TimeNs;
using Lines = std::vector<std::string>;

constexpr std::string_view kReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
constexpr std::string_view kSendKernel = "ncclDevKernel_SendRecv";
constexpr std::string_view kGenericKernel = "ncclDevKernel_Generic_1";

/// Threads and queues 1 and 2 belong to processes 1 and 2.
class NcclCallsTest : public testing::Test {
 protected:
  NcclCallsTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      trace_.append(prof::Process{.id = ProcessId(i)});
      trace_.append(prof::Thread{.id = ThreadId(i), .process = ProcessId(i)});
      trace_.append(prof::Queue{.id = QueueId(i), .process = ProcessId(i)});
    }
  }
  void range(TimeNs from, TimeNs to, std::string_view name, std::string_view text = "",
             std::uint32_t thread = 1) {
    trace_.append(prof::Range{.startNs = from,
                              .durNs = to - from,
                              .thread = ThreadId(thread),
                              .domain = trace_.intern("NCCL"),
                              .name = trace_.intern(name),
                              .text = trace_.intern(text)});
  }
  void call(TimeNs from, TimeNs to, std::string_view name, std::uint64_t communicator,
            std::uint64_t bytes) {
    range(from, to, name,
          fmt::format("NCCL communicator ID={} Message size [bytes]={}", communicator, bytes));
  }
  void group(TimeNs from) { range(from, from + 1, "ncclGroupStart"); }
  void launchAt(TimeNs time, std::uint64_t correlation, std::uint32_t thread = 1) {
    trace_.append(prof::ApiCall{
        .startNs = time, .durNs = 1, .thread = ThreadId(thread), .correlation = correlation});
  }
  /// Kernels run one after the other, long after their launches.
  void kernel(std::uint64_t correlation, std::string_view name = kReduceKernel,
              std::uint32_t queue = 1) {
    trace_.append(prof::Kernel{.startNs = 1000 + kernels_++,
                               .queue = QueueId(queue),
                               .correlation = correlation,
                               .name = trace_.intern(name)});
  }
  void launched(TimeNs time, std::string_view name = kReduceKernel) {
    launchAt(time, ++correlation_);
    kernel(correlation_, name);
  }
  void ranks(std::string_view text) {
    trace_.append(prof::Mark{
        .thread = ThreadId(1), .domain = trace_.intern("NCCL"), .text = trace_.intern(text)});
  }
  NcclCalls build() {
    const auto store = trace_.build();
    return buildNcclCalls(*store, OwnerTree::read(*store));
  }
  /// "0: all_reduce ×1 in 7, 64 64 96" for each kernel that is known: bytes, of the whole buffer,
  /// across the bus.
  Lines lines() {
    Lines out;
    for (const NcclWork& one : build().work)
      out.push_back(fmt::format("{}: {} ×{} in {}, {} {} {}", one.kernel, nameOf(one.kind),
                                one.calls, one.communicator, one.volume.bytes,
                                one.volume.algorithmBytes, one.volume.busBytes));
    return out;
  }

  StoreBuilder trace_;
  TimeNs kernels_ = 0;
  std::uint64_t correlation_ = 0;
};

TEST_F(NcclCallsTest, RangesOfOtherDomainsAreNoCalls) {
  trace_.append(
      prof::Range{.startNs = 10,
                  .durNs = 10,
                  .thread = ThreadId(1),
                  .domain = trace_.intern("mine"),
                  .name = trace_.intern("ncclAllReduce"),
                  .text = trace_.intern("NCCL communicator ID=7 Message size [bytes]=64")});
  launched(15);
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(NcclCallsTest, NumbersAreReadFromTextAndFromJson) {
  ranks("NCCL communicator ID=7 No. of ranks=2 Rank=0");
  ranks(R"({"NCCL communicator ID": 8, "No. of ranks": 4})");
  ranks("NCCL communicator ID=9 No. of devices=8");
  ranks("NCCL communicator ID=10 No. of ranks=3 No. of devices=8");
  ranks("NCCL communicator ID=11");
  ranks("No. of ranks=5");
  ranks("NCCL communicator ID=99999999999999999999 No. of ranks=6");  // beyond 64 bits
  ranks("NCCL communicator ID=12 No. of ranks=");
  const auto known = build().ranks;
  EXPECT_EQ(known,
            (std::unordered_map<std::uint64_t, std::uint32_t>{{7, 2}, {8, 4}, {9, 8}, {10, 3}}));
}

TEST_F(NcclCallsTest, ACallsOwnTextMayHoldTheRanks) {
  range(10, 20, "ncclCommInitRank", "NCCL communicator ID=7 No. of ranks=4");
  range(30, 40, "ncclAllReduce", R"({"NCCL communicator ID": 7, "Message size [bytes]": 64})");
  launched(15);  // within a function that moves no message
  launched(35);
  EXPECT_EQ(lines(), Lines{"1: all_reduce ×1 in 7, 64 64 96"});
}

TEST_F(NcclCallsTest, ACallLaunchesFromItsBeginUntilBeforeItsEnd) {
  call(10, 20, "ncclAllReduce", 7, 64);
  call(20, 30, "ncclAllReduce", 8, 32);
  for (const TimeNs time : {9, 10, 19, 20, 29, 30}) launched(time);
  const std::string first = "all_reduce ×0 in 7, 0 0 0", second = "all_reduce ×0 in 8, 0 0 0";
  // Two kernels each: which of them carries out the one call is not known.
  EXPECT_EQ(lines(), (Lines{"1: " + first, "2: " + first, "3: " + second, "4: " + second}));
}

TEST_F(NcclCallsTest, ALaunchIsOfItsThreadAndAKernelOfItsProcess) {
  call(10, 20, "ncclAllReduce", 7, 64);
  launchAt(15, 5, 2);           // meanwhile, elsewhere
  kernel(5, kReduceKernel, 2);  // 0
  launchAt(16, 6);
  kernel(6, kReduceKernel, 2);      // 1: the number of a launch of another process
  kernel(6, "elementwise_kernel");  // 2: launched within the call, but no communication
  kernel(6);                        // 3
  kernel(0);                        // 4
  const NcclCalls calls = build();
  ASSERT_EQ(calls.work.size(), 1U);
  EXPECT_EQ(calls.work[0].calls, 1U);
  EXPECT_EQ(calls.find(3), calls.work.data());
  for (const std::uint64_t none : {0U, 1U, 2U, 4U, 5U})
    EXPECT_EQ(calls.find(none), nullptr) << none;
}

TEST_F(NcclCallsTest, GroupsWithinGroupsAreLaunchedByTheOutermostEnd) {
  group(10);
  group(12);
  call(14, 15, "ncclAllReduce", 7, 10);
  range(16, 20, "ncclGroupEnd");
  launched(17);  // 0: the inner end launches nothing
  call(22, 23, "ncclAllReduce", 7, 20);
  range(24, 30, "ncclGroupEnd");
  launched(25);  // 1
  range(32, 40, "ncclGroupEnd");
  launched(35);  // 2: an end without a begin
  call(42, 50, "ncclAllReduce", 7, 5);
  launched(45);  // 3
  EXPECT_EQ(lines(), (Lines{"1: all_reduce ×2 in 7, 30 30 0", "3: all_reduce ×1 in 7, 5 5 0"}));
}

TEST_F(NcclCallsTest, CallsOfSeveralCommunicatorsAndKindsHaveOnlyTheirSumInCommon) {
  ranks("NCCL communicator ID=7 No. of ranks=2");
  ranks("NCCL communicator ID=8 No. of ranks=4");
  group(10);
  call(12, 13, "ncclAllReduce", 7, 100);  // 100, 100 across the bus
  call(14, 15, "ncclAllGather", 8, 10);   // 40 in all, 30 across the bus
  range(16, 20, "ncclGroupEnd");
  launched(17, kGenericKernel);
  EXPECT_EQ(lines(), Lines{"0: several ×2 in 0, 110 140 130"});
}

TEST_F(NcclCallsTest, WithAnUnknownNumberOfRanksTheSumIsUnknownToo) {
  ranks("NCCL communicator ID=7 No. of ranks=2");
  group(10);
  call(12, 13, "ncclAllGather", 7, 100);
  call(14, 15, "ncclAllGather", 8, 10);
  range(16, 20, "ncclGroupEnd");
  launched(17);
  EXPECT_EQ(lines(), Lines{"0: all_gather ×2 in 0, 110 0 0"});
}

TEST_F(NcclCallsTest, SendsAndReceivesAreOneKindOfKernel) {
  group(10);
  call(12, 13, "ncclSend", 7, 100);
  call(14, 15, "ncclAllReduce", 7, 8);
  call(16, 17, "ncclRecv", 7, 30);
  range(20, 30, "ncclGroupEnd");
  launched(21, kReduceKernel);
  launched(22, kSendKernel);
  EXPECT_EQ(lines(),
            (Lines{"0: all_reduce ×1 in 7, 8 8 0", "1: send and receive ×2 in 7, 100 100 100"}));
}

TEST_F(NcclCallsTest, KernelsWithoutAKindShareCallsThatAreAlikeAndAsManyForEach) {
  group(10);
  for (TimeNs i = 0; i < 4; ++i) call(12 + i, 13 + i, "ncclBroadcast", 7, 50);
  range(20, 30, "ncclGroupEnd");
  launched(21, kGenericKernel);
  launched(22, kGenericKernel);
  group(30);
  for (TimeNs i = 0; i < 3; ++i) call(32 + i, 33 + i, "ncclBroadcast", 7, 50);
  range(40, 50, "ncclGroupEnd");
  launched(41, kGenericKernel);
  launched(42, kGenericKernel);
  EXPECT_EQ(lines(),
            (Lines{"0: broadcast ×2 in 7, 100 100 100", "1: broadcast ×2 in 7, 100 100 100",
                   "2: broadcast ×0 in 7, 0 0 0", "3: broadcast ×0 in 7, 0 0 0"}));
}

TEST_F(NcclCallsTest, KernelsOfOtherKindsThanTheCallsKeepTheirOwn) {
  group(10);
  call(12, 13, "ncclAllReduce", 7, 50);
  call(13, 14, "ncclAllReduce", 7, 50);
  range(20, 30, "ncclGroupEnd");
  launched(21, kReduceKernel);
  launched(22, kSendKernel);
  EXPECT_EQ(lines(), (Lines{"0: all_reduce ×0 in 7, 0 0 0", "1: send and receive ×0 in 7, 0 0 0"}));
}

TEST_F(NcclCallsTest, ASumOfHugeMessagesStopsAtItsLimit) {
  group(10);
  for (TimeNs i = 0; i < 4; ++i) call(12 + i, 13 + i, "ncclAllReduce", 7, UINT64_MAX / 2);
  range(20, 30, "ncclGroupEnd");
  launched(21);
  const NcclCalls calls = build();
  ASSERT_EQ(calls.work.size(), 1U);
  EXPECT_EQ(calls.work[0].volume.bytes, UINT64_MAX / 2);
}

}  // namespace
}  // namespace lacuna::analyzer
