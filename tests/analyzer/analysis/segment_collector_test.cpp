// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/segment_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/collected_segments.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using testing::ElementsAre;

std::vector<std::string> textsOf(const std::vector<CauseDetail>& details) {
  std::vector<std::string> out;
  for (const CauseDetail& detail : details) {
    out.push_back(std::string(causeKey(detail.cause)) + " '" + detail.name + "' " +
                  std::to_string(detail.ns) + " x" + std::to_string(detail.count));
  }
  return out;
}

TEST(SegmentCollector, EachStepHasItsPartOfASegment) {
  Collected first({{100, 200}, {250, 300}});
  first.add(0, 120, Cause::Compute).finish();
  EXPECT_EQ(first.made.ledgers.steps[0][Cause::Compute], 20);
  EXPECT_EQ(first.made.ledgers.steps[1].totalNs(), 0);
  Collected longer({{100, 200}, {250, 300}});
  longer.add(150, 400, Cause::HostWork, "prepare").add(400, 500, Cause::Unknown).finish();
  EXPECT_EQ(longer.made.ledgers.steps[0][Cause::HostWork], 50);
  EXPECT_EQ(longer.made.ledgers.steps[1][Cause::HostWork], 50);
  EXPECT_EQ(longer.made.ledgers.steps[1].totalNs(), 50);
  EXPECT_EQ(longer.made.ledgers.run[Cause::HostWork], 250);
}

TEST(SegmentCollector, PausesAreWhatLiesBetweenStepsOfTheMean) {
  Collected collected({{0, 100}, {150, 250}, {250, 350}, {400, 500}}, {{0, 1000}}, true);
  const Analysis& made = collected.add(0, 160, Cause::Compute)
                             .add(160, 380, Cause::LoaderWait)
                             .add(380, 390, Cause::HostWork)
                             .add(390, 700, Cause::LoaderWait)
                             .finish();
  EXPECT_EQ(made.ledgers.pauses[Cause::Compute], 0) << "the first step is warm-up";
  EXPECT_EQ(made.ledgers.pauses[Cause::LoaderWait], 30 + 10)
      << "from 350 to 400, none behind the last step";
  EXPECT_EQ(made.ledgers.pauses[Cause::HostWork], 10);
  EXPECT_EQ(made.meanPauseLedger()[Cause::LoaderWait], 40 / 3);
}

TEST(SegmentCollector, DevicesHaveWhatLiesInTheirWindowAndStepsAllOfIt) {
  Collected collected({{0, 100}}, {{40, 90}});
  const Analysis& made =
      collected.add(0, 50, Cause::LoaderWait, "wait", 20).add(50, 100, Cause::Compute).finish();
  EXPECT_EQ(made.devices[0].ledger[Cause::LoaderWait], 10);
  EXPECT_EQ(made.devices[0].ledger[Cause::Compute], 40);
  EXPECT_EQ(made.ledgers.steps[0][Cause::LoaderWait], 50);
  EXPECT_EQ(made.ledgers.steps[0][Cause::Compute], 50);
  EXPECT_EQ(made.devices[0].bands[Cause::LoaderWait], 4)
      << "a fifth of the segment, and of its band";
  EXPECT_EQ(made.ledgers.bands.steps[0][Cause::LoaderWait], 20);
  EXPECT_EQ(made.ledgers.bands.run[Cause::LoaderWait], 4);
}

TEST(SegmentCollector, ABandIsSharedByLengthAndRounded) {
  struct Case {
    TimeNs from;
    std::int64_t bandNs, shareNs;
  };
  // The step begins at 100, so that as many nanoseconds of the segment lie in it as it begins after
  // 0.
  for (const Case& one :
       {Case{25, 10, 3}, Case{26, 10, 3}, Case{24, 10, 2}, Case{25, 0, 0}, Case{25, 100, 25}}) {
    Collected collected({{100, 1000}});
    const TimeNs start = one.from;
    collected.add(start, start + 100, Cause::HostWork, "op", one.bandNs).finish();
    EXPECT_EQ(collected.made.ledgers.bands.steps[0][Cause::HostWork], one.shareNs)
        << one.from << " " << one.bandNs;
    EXPECT_EQ(collected.made.ledgers.bands.run[Cause::HostWork], one.bandNs)
        << "the device has all of it";
  }
}

TEST(SegmentCollector, SeveralDevicesAreSummedUp) {
  Collected collected({{0, 100}}, {{0, 100}, {0, 50}});
  collected.add(0, 100, Cause::Compute).add(0, 100, Cause::Compute, "", 0, 1).finish();
  EXPECT_EQ(collected.made.ledgers.run[Cause::Compute], 150);
  EXPECT_EQ(collected.made.ledgers.steps[0][Cause::Compute], 200);
  EXPECT_EQ(collected.made.devices[1].ledger[Cause::Compute], 50);
}

TEST(SegmentCollector, TheFiveLongestOfACauseAreKept) {
  Collected collected({});
  TimeNs at = 0;
  for (const std::int64_t dur : {30, 10, 50, 30, 20, 10, 30, 50, 5}) {
    collected.add(at, at + dur, Cause::Synchronisation, "cudaStreamSynchronize");
    at += dur;
  }
  const Analysis& made = collected.add(at, at + 100, Cause::Compute).finish();
  const auto& kept =
      made.of<IdleCauses>().longest[static_cast<std::size_t>(Cause::Synchronisation)];
  std::vector<std::pair<TimeNs, std::int64_t>> seen;
  for (const DeviceSegment& segment : kept) seen.emplace_back(segment.startNs, segment.durNs());
  // The earlier of equal ones is first.
  EXPECT_THAT(seen, ElementsAre(std::pair(40, 50), std::pair(180, 50), std::pair(0, 30),
                                std::pair(90, 30), std::pair(150, 30)));
  EXPECT_EQ(kept[0].device, prof::DeviceId(1));
  EXPECT_TRUE(made.of<IdleCauses>().longest[static_cast<std::size_t>(Cause::Compute)].empty())
      << "computing is no loss";
}

TEST(SegmentCollector, TheLongestAreCutToTheDevicesWindow) {
  Collected collected({}, {{10, 60}});
  const auto& kept = collected.add(0, 100, Cause::ExposedCopy)
                         .finish()
                         .of<IdleCauses>()
                         .longest[static_cast<std::size_t>(Cause::ExposedCopy)];
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].startNs, 10);
  EXPECT_EQ(kept[0].endNs, 60);
}

TEST(SegmentCollector, DetailsSumUpIdleCausesByName) {
  Collected collected({{0, 10}, {10, 20}});
  collected.add(0, 10, Cause::HostWork, "batch 0")
      .add(10, 20, Cause::HostWork, "batch 1")
      .add(20, 25, Cause::HostWork, "batch 7")
      .add(25, 55, Cause::LoaderWait, "wait")
      .add(55, 60, Cause::Launch, "gemm")
      .add(60, 67, Cause::Launch, "relu")
      .add(67, 70, Cause::Dependency, "gemm")
      .add(70, 71, Cause::Unknown)
      .add(71, 900, Cause::Compute)
      .add(900, 990, Cause::ExposedCommunication, "nccl");
  EXPECT_THAT(textsOf(collected.finish().of<IdleCauses>().details),
              ElementsAre("loader_wait 'wait' 30 x1", "host_work 'step' 20 x2", "launch '' 12 x2",
                          "host_work 'batch 7' 5 x1", "dependency '' 3 x1", "unknown '' 1 x1"));
}

TEST(SegmentCollector, OneStepsNameIsKept) {
  Collected collected({{0, 10}});
  EXPECT_THAT(
      textsOf(collected.add(0, 10, Cause::HostWork, "batch 0").finish().of<IdleCauses>().details),
      ElementsAre("host_work 'batch 0' 10 x1"));
}

TEST(SegmentCollector, CallsAreOfTheMeanStep) {
  // The warm-up's calls are in no mean step; two steps of two devices are left.
  Collected collected({{0, 100}, {100, 200}, {200, 300}}, {{0, 1000}, {0, 1000}}, true);
  collected.add(0, 90, Cause::DriverCall, "cudaMalloc")
      .add(100, 140, Cause::DriverCall, "cudaMalloc")
      .add(190, 210, Cause::Synchronisation, "cudaStreamSynchronize")
      .add(230, 270, Cause::DriverCall, "cudaMalloc", 0, 1)
      .add(280, 290, Cause::HostWork, "op")
      .add(400, 500, Cause::Synchronisation, "cudaDeviceSynchronize");
  EXPECT_THAT(textsOf(collected.finish().of<IdleCauses>().stepCalls),
              ElementsAre("synchronisation 'cudaStreamSynchronize' 5 x2",
                          "driver_call 'cudaMalloc' 20 x2"));
}

TEST(SegmentCollector, WithoutStepsCallsAreOfTheRun) {
  Collected collected({}, {{50, 1000}, {0, 1000}});
  collected.add(0, 150, Cause::DriverCall, "cudaMalloc")
      .add(200, 220, Cause::DriverCall, "cudaMalloc", 0, 1);
  EXPECT_THAT(textsOf(collected.finish().of<IdleCauses>().stepCalls),
              ElementsAre("driver_call 'cudaMalloc' 60 x2"));
}

}  // namespace
}  // namespace lacuna::analyzer
