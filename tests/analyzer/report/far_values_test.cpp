// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Numbers that no program has: analyses end, and what was brought back is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/writer.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::Contains;
using testing::HasSubstr;

/// Every column of every row is one of a few numbers at the limits of its type, or a usual one.
/// `Out` is a writer or a builder.
template <class Out>
class FarRows {
 public:
  FarRows(Out& out, unsigned seed) : out_(out), random_(seed) {
    for (std::uint32_t id = 1; id <= 2; ++id) {
      out_.append(Process{.id = ProcessId(id), .osPid = id, .name = out_.intern("program")});
      out_.append(Thread{.id = ThreadId(id), .process = ProcessId(1), .osTid = id});
      out_.append(Device{.id = DeviceId(id),
                         .kind = DeviceKind::Cuda,
                         .memoryBytes = UINT64_MAX,
                         .multiprocessors = UINT32_MAX,
                         .computeMajor = 8});
      out_.append(Queue{.id = QueueId(id), .device = DeviceId(id), .process = ProcessId(1)});
    }
    for (int i = 0; i < 6; ++i) {
      out_.append(Range{
          .startNs = i * 1000, .durNs = far(), .thread = ThreadId(1), .name = out_.intern("step")});
    }
    for (int i = 0; i < 40; ++i) rows();
  }

 private:
  std::int64_t far() {
    static constexpr std::int64_t kTimes[] = {INT64_MIN, INT64_MAX, -1,          0,
                                              1,         1'000'000, kFarthestNs, INT64_MAX / 2};
    return kTimes[random_() % std::size(kTimes)];
  }
  std::uint32_t side() {
    static constexpr std::uint32_t kSides[] = {0, 1, 32, 65535, 65537, 4294967295, 4294966272};
    return kSides[random_() % std::size(kSides)];
  }
  std::uint64_t size() { return static_cast<std::uint64_t>(far()); }
  std::uint32_t id() { return 1 + static_cast<std::uint32_t>(random_() % 2); }
  void rows() {
    const auto correlation = size();
    out_.append(ApiCall{.startNs = far(),
                        .durNs = far(),
                        .thread = ThreadId(id()),
                        .name = out_.intern(random_() % 2 == 0 ? "cudaLaunchKernel" : "cudaMemcpy"),
                        .correlation = correlation});
    out_.append(Kernel{.startNs = far(),
                       .durNs = far(),
                       .queue = QueueId(id()),
                       .device = DeviceId(id()),
                       .correlation = correlation,
                       .name = out_.intern(
                           random_() % 2 == 0 ? "gemm" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                       .gridX = side(),
                       .gridY = side(),
                       .gridZ = side(),
                       .blockX = side(),
                       .blockY = side(),
                       .blockZ = side(),
                       .registersPerThread = static_cast<std::uint16_t>(side()),
                       .staticSharedBytes = side(),
                       .dynamicSharedBytes = side()});
    out_.append(Memcpy{.startNs = far(),
                       .durNs = far(),
                       .queue = QueueId(id()),
                       .device = DeviceId(id()),
                       .correlation = correlation,
                       .bytes = size(),
                       .sourceKind = MemoryKind::Pageable});
    out_.append(Range{.startNs = far(),
                      .durNs = far(),
                      .thread = ThreadId(id()),
                      .category = out_.intern("loader"),
                      .name = out_.intern(random_() % 2 == 0 ? "wait" : "batch"),
                      .payload = size()});
    out_.append(Allocation{.timeNs = far(),
                           .thread = ThreadId(1),
                           .device = DeviceId(id()),
                           .action = static_cast<MemoryAction>(random_() % 6),
                           .address = size(),
                           .bytes = size()});
    out_.append(CounterSample{
        .timeNs = far(), .track = TrackId(id()), .value = static_cast<double>(far()) * 1e300});
  }

  Out& out_;
  std::mt19937_64 random_;
};

void askFar(const std::shared_ptr<const Store>& store) {
  const TimeWindow span = store->span();
  EXPECT_GE(span.startNs, -kFarthestNs);
  EXPECT_LE(span.endNs, 2 * kFarthestNs);
  EXPECT_TRUE(buildTracks(*store));
  const auto analysis = analyse(store);
  if (!analysis) return;  // it gives the reason
  renderText(*analysis);
  renderHtml(*analysis);
  renderJson(*analysis);
  EXPECT_TRUE(diffRuns(*analysis, *analysis));
  const auto simulator = Simulator::create(*analysis);
  if (!simulator) return;
  for (const char* change :
       {"loader.workers=4", "amp=bf16", "host*0.5", "kernel:g*1e18", "sync=off", "cores-taken*0"})
    EXPECT_GE(simulator->play(change).predictedNsPerStep, 0) << change;
}

class FarValues : public testing::TestWithParam<unsigned> {};

TEST_P(FarValues, OfRowsMadeInMemoryAreAnalysedToTheEnd) {
  StoreBuilder builder;
  FarRows rows(builder, GetParam());
  const auto store = builder.build();
  EXPECT_THAT(store->warnings(), Contains(HasSubstr("beyond what a trace can have")));
  askFar(store);
}

TEST_P(FarValues, OfAFileAreAnalysedToTheEnd) {
  const test::TempFile file(".lcn");
  auto writer = *Writer::create(file.path());
  FarRows rows(writer, GetParam());
  ASSERT_TRUE(writer.finish());
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store) << store.error().message;
  askFar(*store);
  EXPECT_THAT((*store)->warnings(), Contains(HasSubstr("beyond what a trace can have")));
}

INSTANTIATE_TEST_SUITE_P(Seeds, FarValues, testing::Range(0u, 12u));

TEST(Bounds, ThoseOfAFilesColumnsHoldWhereverItIsRead) {
  const test::TempFile file(".lcn");
  auto writer = *Writer::create(file.path());
  writer.append(Range{.startNs = INT64_MAX - 5, .durNs = INT64_MAX, .thread = ThreadId(1)});
  writer.append(Range{.startNs = 7, .durNs = -3, .thread = ThreadId(1)});
  writer.append(Memcpy{.startNs = 7, .bytes = UINT64_MAX});
  writer.append(Process{.id = ProcessId(1), .startNs = 1, .endNs = INT64_MIN});
  ASSERT_TRUE(writer.finish());
  const auto store = *Store::open(file.path());
  EXPECT_EQ(store->row<Range>(0).durNs, 0);
  EXPECT_EQ(store->row<Range>(1).startNs, kFarthestNs);
  EXPECT_EQ(store->row<Range>(1).durNs, kFarthestNs);
  EXPECT_EQ(store->column<&Memcpy::bytes>()[0], kMostMemoryBytes);
  EXPECT_EQ(store->row<Process>(0).endNs, -kFarthestNs);
  EXPECT_THAT(store->warnings(), Contains(HasSubstr("5 times, lengths or sizes are beyond")));
}

TEST(Bounds, SumsStopBeforeTheyOverflow) {
  std::int64_t sum = INT64_MAX - 1;
  addTo(sum, INT64_MAX);
  EXPECT_EQ(sum, INT64_MAX / 2);
  takeFrom(sum, INT64_MIN);
  EXPECT_EQ(sum, INT64_MAX / 2);
  takeFrom(sum, INT64_MAX);
  EXPECT_EQ(sum, INT64_MAX / 2 - INT64_MAX);
  addTo(sum, INT64_MIN);
  EXPECT_EQ(sum, INT64_MIN / 2);
  std::uint64_t bytes = 3;
  takeFrom(bytes, std::uint64_t{4});
  EXPECT_EQ(bytes, 0u);
  addTo(bytes, UINT64_MAX);
  EXPECT_EQ(bytes, UINT64_MAX / 2);
  EXPECT_EQ(productOf(std::int64_t{-5}, INT64_MAX), INT64_MIN / 2);
  EXPECT_EQ(wholeOf<std::int64_t>(1e300), INT64_MAX / 2);
  EXPECT_EQ(wholeOf<std::int64_t>(-1e300), INT64_MIN / 2);
  EXPECT_EQ(wholeOf<std::uint32_t>(-1), 0u);
  EXPECT_EQ(wholeOf<std::int64_t>(std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
