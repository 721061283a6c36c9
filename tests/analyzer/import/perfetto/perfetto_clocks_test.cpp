// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_clocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/proto_wire.h"

namespace lacuna::analyzer {
namespace {

constexpr std::uint64_t kReal = 1, kMono = 3, kBoot = 6, kOther = 200, kOwn = 64;

struct ClockReading {
  std::uint64_t id = 0, timestamp = 0, multiplier = 0;
  bool incremental = false;
};

std::string snapshotOf(const std::vector<ClockReading>& readings) {
  std::string bytes;
  for (const ClockReading& reading : readings) {
    std::string clock;
    proto::putNumber(clock, 1, reading.id);
    proto::putNumber(clock, 2, reading.timestamp);
    if (reading.incremental) proto::putNumber(clock, 3, 1);
    if (reading.multiplier != 0) proto::putNumber(clock, 4, reading.multiplier);
    proto::putBytes(bytes, 1, clock);
  }
  return bytes;
}

TEST(PerfettoClocks, WithoutASnapshotTimesAreThoseOfTheTrace) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  EXPECT_EQ(clocks.traceTime(123, kBoot, local), 123);
  EXPECT_EQ(clocks.traceTime(123, kOther, local), 123);
  EXPECT_EQ(clocks.toMonotonicNs(), 0);
  EXPECT_FALSE(clocks.clock());
  for (const std::uint64_t known : {kBoot, kMono}) EXPECT_TRUE(clocks.explains(known, local));
  for (const std::uint64_t unknown : {kReal, kOther, kOwn})
    EXPECT_FALSE(clocks.explains(unknown, local));
}

TEST(PerfettoClocks, ASnapshotMovesEveryClockOntoTheTraces) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(
      snapshotOf({{kReal, 1'000'000}, {kOther, 50, 1000}, {kMono, 4'000}, {kBoot, 5'000}}), local));
  EXPECT_EQ(clocks.traceTime(5'010, kBoot, local), 5'010);
  EXPECT_EQ(clocks.traceTime(4'010, kMono, local), 5'010);
  EXPECT_EQ(clocks.traceTime(1'000'010, kReal, local), 5'010);
  EXPECT_EQ(clocks.traceTime(51, kOther, local), 6'000) << "a tick is 1000 ns";
  EXPECT_EQ(clocks.traceTime(49, kOther, local), 4'000) << "before the snapshot";
  EXPECT_EQ(clocks.toMonotonicNs(), -1'000);
  ASSERT_TRUE(clocks.clock());
  EXPECT_EQ(clocks.clock()->timeNs, 4'000);
  EXPECT_EQ(clocks.clock()->realtimeNs, 1'000'000);
}

TEST(PerfettoClocks, WithoutBoottimeTheTraceIsMonotonic) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kOther, 70}, {kReal, 900}, {kMono, 40}}), local));
  EXPECT_EQ(clocks.traceTime(75, kOther, local), 45);
  EXPECT_EQ(clocks.toMonotonicNs(), 0);
  EXPECT_EQ(clocks.clock()->timeNs, 40);
}

TEST(PerfettoClocks, WithoutMonotonicTheTraceStaysOnBoottime) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kBoot, 40}, {kReal, 900}}), local));
  EXPECT_EQ(clocks.toMonotonicNs(), 0);
  EXPECT_EQ(clocks.clock()->timeNs, 40);
  EXPECT_EQ(clocks.clock()->realtimeNs, 900);
}

TEST(PerfettoClocks, ASnapshotWithoutAReferenceExplainsItsClocksAsTheyAre) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kOther, 70, 10}, {kReal, 900}}), local));
  EXPECT_TRUE(clocks.explains(kOther, local));
  EXPECT_EQ(clocks.traceTime(75, kOther, local), 750);
  EXPECT_FALSE(clocks.clock());
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kBoot, 5'000}, {kReal, 900}}), local));
  ASSERT_TRUE(clocks.clock()) << "the first that relates it";
  EXPECT_EQ(clocks.clock()->timeNs, 5'000);
}

TEST(PerfettoClocks, TheFirstSnapshotFixesTheClockAndTheLastTheOffsets) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(
      clocks.readSnapshot(snapshotOf({{kBoot, 1'000}, {kMono, 400}, {kReal, 9'000}}), local));
  ASSERT_TRUE(
      clocks.readSnapshot(snapshotOf({{kBoot, 2'000}, {kMono, 1'300}, {kReal, 9'950}}), local));
  EXPECT_EQ(clocks.toMonotonicNs(), -600);
  EXPECT_EQ(clocks.clock()->realtimeNs, 9'000);
  EXPECT_EQ(clocks.traceTime(1'300, kMono, local), 2'000);
  EXPECT_EQ(clocks.traceTime(9'950, kReal, local), 2'000);
}

TEST(PerfettoClocks, AnIncrementalClockGoesOnFromTheTimeBefore) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kBoot, 5'000}, {kOwn, 2, 1000, true}}), local));
  EXPECT_EQ(clocks.traceTime(0, kOwn, local), 5'000);
  EXPECT_EQ(clocks.traceTime(3, kOwn, local), 8'000);
  EXPECT_EQ(clocks.traceTime(3, kOwn, local), 11'000);
  EXPECT_EQ(clocks.traceTime(static_cast<std::uint64_t>(-6), kOwn, local), 5'000) << "and back";
  ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kBoot, 90'000}, {kOwn, 7, 1000, true}}), local));
  EXPECT_EQ(clocks.traceTime(1, kOwn, local), 91'000);
}

TEST(PerfettoClocks, ClocksFrom64To127AreTheirSequencesOwn) {
  for (const std::uint64_t id : {63, 64, 127, 128}) {
    PerfettoClocks clocks;
    PerfettoClocks::Local first, second;
    ASSERT_TRUE(clocks.readSnapshot(snapshotOf({{kBoot, 100}, {id, 10}}), first));
    const bool isOwn = id == 64 || id == 127;
    EXPECT_TRUE(clocks.explains(id, first)) << id;
    EXPECT_EQ(clocks.explains(id, second), !isOwn) << id;
    EXPECT_EQ(clocks.traceTime(10, id, first), 100) << id;
    EXPECT_EQ(clocks.traceTime(10, id, second), isOwn ? 10 : 100) << id;
  }
}

TEST(PerfettoClocks, ADamagedSnapshotChangesNothing) {
  const std::string full = snapshotOf({{kBoot, 5'000}, {kOther, 70}});
  for (const std::string& bytes :
       {full.substr(0, full.size() - 1), full + "\x0a", full + "\x0a\x01\x08"}) {
    PerfettoClocks clocks;
    PerfettoClocks::Local local;
    EXPECT_FALSE(clocks.readSnapshot(bytes, local));
    EXPECT_FALSE(clocks.explains(kOther, local));
    EXPECT_EQ(clocks.traceTime(75, kOther, local), 75);
  }
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  EXPECT_TRUE(clocks.readSnapshot("", local));
  EXPECT_TRUE(clocks.readSnapshot(std::string("\x10\x05", 2) + full, local))
      << "other fields are skipped";
  EXPECT_TRUE(clocks.explains(kOther, local));
}

TEST(PerfettoClocks, NumbersBeyondTheRangeWrapAround) {
  PerfettoClocks clocks;
  PerfettoClocks::Local local;
  ASSERT_TRUE(clocks.readSnapshot(
      snapshotOf({{kBoot, UINT64_MAX}, {kOther, UINT64_MAX, UINT64_MAX}}), local));
  // The reference is at -1, the other clock at -1 · -1 = 1, so that it is moved by -2.
  EXPECT_EQ(clocks.traceTime(3, kOther, local), -3 - 2);
}

}  // namespace
}  // namespace lacuna::analyzer
