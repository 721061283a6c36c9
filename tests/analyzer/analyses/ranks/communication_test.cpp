// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyses/ranks/communication.h"
#include "analyses/ranks/ranks.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

constexpr const char* kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
constexpr const char* kAllGather =
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
constexpr const char* kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
constexpr std::uint64_t kWorld = 0xabc, kTensor = 0xdef;

/// A process as `lacuna run` records it: NCCL's ranges, the calls that launch, and the kernels.
/// Times are in µs.
class NcclTrace {
 public:
  explicit NcclTrace(std::uint32_t id = 1, TimeNs skewUs = 0) : skewUs_(skewUs) {
    builder_.append(
        Process{.id = ProcessId(1), .osPid = id, .rank = static_cast<std::int32_t>(id) - 1});
    builder_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    builder_.append(Thread{.id = ThreadId(2), .process = ProcessId(1)});
    builder_.append(Device{.id = DeviceId(1),
                           .kind = DeviceKind::Cuda,
                           .index = id,
                           .uuid = builder_.intern(fmt::format("gpu{}", id))});
    for (std::uint32_t queue : {1U, 2U})
      builder_.append(Queue{
          .id = QueueId(queue), .device = DeviceId(1), .process = ProcessId(1), .nativeId = queue});
  }

  NcclTrace& communicator(std::uint64_t number, int ranks) {
    builder_.append(
        Mark{.timeNs = ns(0),
             .thread = ThreadId(1),
             .domain = nccl(),
             .name = builder_.intern("end of range"),
             .text = builder_.intern(fmt::format(
                 "NCCL communicator ID={} No. of ranks={} Rank=0 CUDA device=0", number, ranks))});
    return *this;
  }
  NcclTrace& range(TimeNs fromUs, TimeNs toUs, const char* name, const std::string& text = {},
                   std::uint32_t thread = 1) {
    builder_.append(Range{.startNs = ns(fromUs),
                          .durNs = 1000 * (toUs - fromUs),
                          .thread = ThreadId(thread),
                          .domain = nccl(),
                          .name = builder_.intern(name),
                          .text = builder_.intern(text)});
    return *this;
  }
  NcclTrace& call(TimeNs fromUs, TimeNs toUs, const char* name, std::uint64_t communicator,
                  std::uint64_t bytes) {
    return range(
        fromUs, toUs, name,
        fmt::format("NCCL communicator ID={} Message size [bytes]={}", communicator, bytes));
  }
  /// Launches at `atUs` what runs from `fromUs` on.
  NcclTrace& kernel(TimeNs atUs, TimeNs fromUs, TimeNs toUs, const char* name,
                    std::uint32_t queue = 1, std::uint32_t thread = 1) {
    builder_.append(ApiCall{.startNs = ns(atUs),
                            .durNs = 500,
                            .thread = ThreadId(thread),
                            .name = builder_.intern("cuLaunchKernelEx"),
                            .correlation = ++correlation_});
    builder_.append(Kernel{.startNs = ns(fromUs),
                           .durNs = 1000 * (toUs - fromUs),
                           .queue = QueueId(queue),
                           .device = DeviceId(1),
                           .correlation = correlation_,
                           .name = builder_.intern(name)});
    return *this;
  }
  std::shared_ptr<const Store> built() { return builder_.build(); }

  /// "all_reduce of 0xabc (4): 2 calls, 1024 1024 1536" for each kernel: bytes, of the whole
  /// buffer, across the bus.
  std::vector<std::string> listed() { return linesOf(*built()); }
  static std::vector<std::string> linesOf(const Store& store) {
    const auto list = listCollectives(store, {});
    EXPECT_TRUE(list);
    std::vector<std::string> out;
    for (const Collective& one : list->calls) {
      const Communicator& among = list->communicatorOf(one);
      out.push_back(fmt::format("{} of {} ({}): {} calls, {} {} {}", nameOf(one.kind), among.name,
                                among.ranks, one.calls, one.volume.bytes, one.volume.algorithmBytes,
                                one.volume.busBytes));
    }
    return out;
  }

 private:
  StringId nccl() { return builder_.intern("NCCL"); }
  [[nodiscard]] TimeNs ns(TimeNs us) const { return 1000 * (us + skewUs_); }

  StoreBuilder builder_;
  TimeNs skewUs_;
  std::uint64_t correlation_ = 0;
};

using Lines = std::vector<std::string>;

TEST(Collectives, AKernelIsNamedByTheCallAroundItsLaunch) {
  NcclTrace trace;
  trace.communicator(kWorld, 4);
  trace.call(10, 20, "ncclAllReduce", kWorld, 1024).kernel(15, 100, 110, kAllReduce);
  trace.call(30, 40, "ncclAllGather", kWorld, 1000).kernel(35, 120, 130, kAllGather);
  trace.call(50, 60, "ncclReduceScatter", kWorld, 1000)
      .kernel(55, 140, 150, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()");
  trace.call(70, 80, "ncclBroadcast", kWorld, 80)
      .kernel(75, 160, 170, "ncclDevKernel_Broadcast_RING_LL()");
  // 4 ranks: a ring moves 2·3/4 of a buffer for an all-reduce, 3/4 of the whole for what gathers or
  // scatters.
  EXPECT_EQ(trace.listed(), (Lines{"all_reduce of 0xabc (4): 1 calls, 1024 1024 1536",
                                   "all_gather of 0xabc (4): 1 calls, 1000 4000 3000",
                                   "reduce_scatter of 0xabc (4): 1 calls, 4000 4000 3000",
                                   "broadcast of 0xabc (4): 1 calls, 80 80 80"}));
}

TEST(Collectives, WithoutTheNumberOfRanksOnlyFiguresWithoutItAreShown) {
  NcclTrace trace;
  trace.call(10, 20, "ncclAllReduce", kWorld, 1024).kernel(15, 100, 110, kAllReduce);
  trace.call(30, 40, "ncclAllGather", kWorld, 1000).kernel(35, 120, 130, kAllGather);
  trace.call(50, 60, "ncclReduceScatter", kWorld, 1000)
      .kernel(55, 140, 150, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()");
  EXPECT_EQ(trace.listed(), (Lines{"all_reduce of 0xabc (0): 1 calls, 1024 1024 0",
                                   "all_gather of 0xabc (0): 1 calls, 1000 0 0",
                                   "reduce_scatter of 0xabc (0): 1 calls, 0 0 0"}));
}

TEST(Collectives, WhatLiesInNoCallIsKnownByItsNameAlone) {
  NcclTrace trace;
  trace.call(10, 20, "ncclAllReduce", kWorld, 1024);
  trace.kernel(25, 100, 110, kAllReduce)
      .kernel(15, 120, 130, kAllReduce, 1, 2);  // later; on another thread
  const std::string nothing = "all_reduce of  (0): 0 calls, 0 0 0";
  EXPECT_EQ(trace.listed(), (Lines{nothing, nothing}));
}

TEST(Collectives, AGroupsOneKernelCarriesOutAllItsCalls) {
  NcclTrace trace;
  trace.communicator(kWorld, 2);
  trace.range(10, 11, "ncclGroupStart");
  trace.call(12, 13, "ncclAllReduce", kWorld, 1000).call(14, 15, "ncclAllReduce", kWorld, 24);
  trace.range(16, 30, "ncclGroupEnd").kernel(20, 100, 110, kAllReduce);
  // The next call is none of the group.
  trace.call(40, 50, "ncclAllReduce", kWorld, 8).kernel(45, 120, 130, kAllReduce);
  EXPECT_EQ(trace.listed(), (Lines{"all_reduce of 0xabc (2): 2 calls, 1024 1024 1024",
                                   "all_reduce of 0xabc (2): 1 calls, 8 8 8"}));
}

TEST(Collectives, OfSendsAndReceivesOfAGroupTheLargerSumCounts) {
  NcclTrace trace;
  trace.range(10, 11, "ncclGroupStart").range(11, 12, "ncclGroupStart");
  trace.call(12, 13, "ncclSend", kWorld, 100)
      .call(14, 15, "ncclRecv", kWorld, 300)
      .call(15, 16, "ncclSend", kWorld, 50);
  trace.range(16, 17, "ncclGroupEnd").range(18, 30, "ncclGroupEnd").kernel(20, 100, 110, kSendRecv);
  EXPECT_EQ(trace.listed(), (Lines{"send and receive of 0xabc (0): 3 calls, 150 300 300"}));
}

TEST(Collectives, KernelsOfAGroupShareCallsThatAreAlike) {
  NcclTrace trace;
  trace.communicator(kWorld, 2);
  trace.range(10, 11, "ncclGroupStart");
  for (TimeNs i = 0; i < 4; ++i) trace.call(12 + 2 * i, 13 + 2 * i, "ncclAllReduce", kWorld, 500);
  trace.range(20, 30, "ncclGroupEnd")
      .kernel(21, 100, 110, kAllReduce)
      .kernel(22, 120, 130, kAllReduce, 2);
  const std::string half = "all_reduce of 0xabc (2): 2 calls, 1000 1000 1000";
  EXPECT_EQ(trace.listed(), (Lines{half, half}));
}

TEST(Collectives, KernelsOfAGroupTakeTheCallsOfTheirKind) {
  NcclTrace trace;
  trace.communicator(kWorld, 2).communicator(kTensor, 4);
  trace.range(10, 11, "ncclGroupStart");
  trace.call(12, 13, "ncclAllReduce", kWorld, 500).call(14, 15, "ncclAllGather", kTensor, 100);
  trace.range(20, 30, "ncclGroupEnd")
      .kernel(21, 100, 110, kAllGather)
      .kernel(22, 120, 130, kAllReduce, 2);
  EXPECT_EQ(trace.listed(), (Lines{"all_gather of 0xdef (4): 1 calls, 100 400 300",
                                   "all_reduce of 0xabc (2): 1 calls, 500 500 500"}));
}

TEST(Collectives, WhoOfAGroupDidWhatIsNotGuessed) {
  NcclTrace trace;
  trace.communicator(kWorld, 2);
  trace.range(10, 11, "ncclGroupStart");
  trace.call(12, 13, "ncclAllReduce", kWorld, 500).call(14, 15, "ncclAllReduce", kWorld, 700);
  trace.range(20, 30, "ncclGroupEnd")
      .kernel(21, 100, 110, kAllReduce)
      .kernel(22, 120, 130, kAllReduce, 2);
  const std::string unknown = "all_reduce of 0xabc (2): 0 calls, 0 0 0";
  EXPECT_EQ(trace.listed(), (Lines{unknown, unknown}));
}

TEST(Collectives, AGroupWhoseBeginWasNotRecordedIsNotUsed) {
  NcclTrace trace;
  trace.range(16, 30, "ncclGroupEnd").kernel(20, 100, 110, kAllReduce);
  trace.call(40, 50, "ncclAllReduce", kWorld, 8).kernel(45, 120, 130, kAllReduce);
  EXPECT_EQ(trace.listed(), (Lines{"all_reduce of  (0): 0 calls, 0 0 0",
                                   "all_reduce of 0xabc (0): 1 calls, 8 8 0"}));
}

TEST(Collectives, CallsOfNcclToItselfAreOfTheProgramsCall) {
  NcclTrace trace;
  trace.communicator(kWorld, 4);
  trace.call(10, 40, "ncclAllToAll", kWorld, 100);
  trace.range(12, 13, "ncclGroupStart")
      .call(14, 15, "ncclSend", kWorld, 100)
      .range(16, 30, "ncclGroupEnd");
  trace.kernel(20, 100, 110, kSendRecv);
  EXPECT_EQ(trace.listed(), (Lines{"all_to_all of 0xabc (4): 1 calls, 400 400 300"}));
}

TEST(Collectives, AreTheSameOutOfAFile) {
  NcclTrace trace;
  trace.communicator(kWorld, 4);
  trace.call(10, 20, "ncclAllReduce", kWorld, 1024).kernel(15, 100, 110, kAllReduce);
  trace.range(22, 23, "ncclGroupStart")
      .call(24, 25, "ncclAllGather", kTensor, 10)
      .range(26, 40, "ncclGroupEnd");
  trace.kernel(30, 120, 130, kAllGather);
  const auto store = trace.built();
  const Lines before = NcclTrace::linesOf(*store);
  for (const char* ending : {".lcn", ".json", ".sqlite"}) {
    const test::TempFile file(ending);
    ASSERT_TRUE(exportTrace(*store, file.path(), *formatOf(file.path())));
    EXPECT_EQ(NcclTrace::linesOf(**Store::open(file.path())), before) << ending;
  }
}

TEST(Communication, RowsAreByKernelAndCommunicatorWithTheirRates) {
  NcclTrace trace;
  trace.communicator(kWorld, 4).communicator(kTensor, 2);
  trace.kernel(5, 90, 104, "gemm", 2);  // hides 4 µs of the first
  trace.call(10, 20, "ncclAllReduce", kWorld, 40'000).kernel(15, 100, 110, kAllReduce);
  trace.call(30, 40, "ncclAllReduce", kWorld, 40'000).kernel(35, 120, 130, kAllReduce);
  trace.call(50, 60, "ncclAllReduce", kTensor, 1'000).kernel(55, 140, 150, kAllReduce);
  trace.kernel(65, 160, 170, kAllReduce);  // of no call
  const auto analysis = analyse(trace.built());
  ASSERT_TRUE(analysis);
  const auto& rows = analysis->of<CommunicationStats>().collectives;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].communicator, "0xabc");
  EXPECT_EQ(rows[0].kind, "all_reduce");
  EXPECT_EQ(rows[0].ranks, 4U);
  EXPECT_EQ(rows[0].count, 2U);
  EXPECT_EQ(rows[0].totalNs, 20'000);
  EXPECT_EQ(rows[0].exposedNs, 16'000);
  EXPECT_EQ(rows[0].algorithmBytes, 80'000U);
  EXPECT_EQ(rows[0].algorithmNs, 20'000);
  EXPECT_DOUBLE_EQ(rows[0].busBytes, 120'000);
  EXPECT_EQ(rows[1].bytesNs, 0) << "of no call";
  EXPECT_EQ(rows[2].communicator, "0xdef");
  EXPECT_DOUBLE_EQ(rows[2].busBytes, 1'000);
}

/// Both ranks reduce in two communicators by turns; the second enters late and both leave together.
std::shared_ptr<const Store> rank(std::uint32_t id, TimeNs skewUs, std::uint64_t own) {
  NcclTrace trace(id, skewUs);
  const TimeNs late = id == 1 ? 0 : 4;
  for (TimeNs i = 0; i < 5; ++i) {
    const TimeNs at = 1000 * i;
    trace.call(at + 10, at + 20, "ncclAllReduce", kWorld, 64)
        .kernel(at + 15, at + 100 + late, at + 150, kAllReduce);
    // Alone in its group, at a time of its own.
    trace.call(at + 30, at + 40, "ncclAllReduce", own, 64);
    trace.kernel(at + 35, at + 200 * id + 37 * i, at + 210 * id + 41 * i, kAllReduce);
  }
  return trace.built();
}

TEST(Communication, RanksAreMatchedAndAlignedByCommunicator) {
  const std::vector<std::shared_ptr<const Store>> stores{rank(1, 0, 0x111),
                                                         rank(2, 5'000'000, 0x222)};
  const auto merged = mergeTraces(stores);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->alignments[1].how, AlignedBy::Collectives);
  EXPECT_EQ(merged->alignments[1].matches, 5U) << "those of the communicator that both are in";
  EXPECT_EQ(merged->alignments[1].offsetNs, -5'000'000'000);
  EXPECT_EQ(merged->alignments[1].spreadNs, 0);
  const auto analysis = analyse(merged->store);
  ASSERT_TRUE(analysis);
  EXPECT_EQ(analysis->of<RankStats>().matched, 5U);
  EXPECT_EQ(analysis->of<RankStats>().unmatched, 10U);
  ASSERT_EQ(analysis->of<RankStats>().rows.size(), 2U);
  EXPECT_EQ(analysis->of<RankStats>().rows[0].waitNs, 5 * 4'000);
  EXPECT_EQ(analysis->of<RankStats>().rows[1].last, 5U);
}

TEST(Communication, NamesShowWhatIsCarriedOut) {
  const std::pair<const char*, CollectiveKind> kNames[] = {
      {"ncclAllReduce", CollectiveKind::AllReduce},
      {"_allgather_base", CollectiveKind::AllGather},
      {"reduce_scatter_tensor_coalesced", CollectiveKind::ReduceScatter},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       CollectiveKind::Reduce},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", CollectiveKind::SendReceive},
      {"void vllm::cross_device_reduce_1stage<__half, 2>(…)", CollectiveKind::AllReduce},
      {"ncclAlltoAllConfig", CollectiveKind::AllToAll},
      {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::Unknown},
  };
  for (const auto& [name, kind] : kNames) EXPECT_EQ(collectiveKind(name), kind) << name;
}

}  // namespace
}  // namespace lacuna::analyzer
