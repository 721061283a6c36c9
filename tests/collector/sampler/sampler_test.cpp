// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "proc/proc_file.h"
#include "sampler/perf_record.h"
#include "sampler/stacks.h"
#include "symbols/symbolizer.h"

namespace lacuna::collector {
namespace {

using sampler::AddressSpace;
using sampler::PerfRecord;

/// Bytes of a record, as the kernel lays them out.
class Bytes {
 public:
  Bytes(std::uint32_t type, std::uint16_t misc) { put(perf_event_header{type, misc, 0}); }
  template <class T>
  Bytes& put(T value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
    return *this;
  }
  Bytes& trailer(std::uint32_t pid, std::uint32_t tid, std::uint64_t timeNs, std::uint32_t cpu) {
    return put(pid).put(tid).put(timeNs).put(cpu).put(std::uint32_t{0});
  }
  std::vector<std::byte> done() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(perf_event_header, size), &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(PerfRecord, SwitchTellsWhetherTheThreadCouldHaveGoneOn) {
  PerfRecord record;
  const std::uint16_t misc = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  ASSERT_TRUE(decodePerfRecord(Bytes(PERF_RECORD_SWITCH, misc).trailer(7, 8, 99, 3).done(), record));
  EXPECT_EQ(record.kind, PerfRecord::Kind::Switch);
  EXPECT_TRUE(record.out);
  EXPECT_TRUE(record.preempted);
  EXPECT_EQ(record.tid, 8u);
  EXPECT_EQ(record.timeNs, 99);
  EXPECT_EQ(record.cpu, 3u);
}

TEST(PerfRecord, SampleKeepsTheUsersPartOfTheChain) {
  Bytes bytes(PERF_RECORD_SAMPLE, 0);
  bytes.trailer(7, 8, 99, 3).put(std::uint64_t{3});
  bytes.put(static_cast<std::uint64_t>(PERF_CONTEXT_USER)).put(std::uint64_t{0x1000}).put(std::uint64_t{0x2000});
  PerfRecord record;
  ASSERT_TRUE(decodePerfRecord(bytes.done(), record));
  EXPECT_EQ(record.frames, (std::vector<std::uint64_t>{0x1000, 0x2000}));
}

TEST(PerfRecord, GarbageIsRefusedAndHarmsNothing) {
  std::mt19937 random(1);
  PerfRecord record;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes(random() % 20, static_cast<std::uint16_t>(random()));
    for (unsigned words = random() % 12; words > 0; --words)
      bytes.put(random() % 3 == 0 ? random() : ~std::uint64_t{0});
    decodePerfRecord(bytes.done(), record);
  }
  EXPECT_FALSE(decodePerfRecord({}, record));
}

TEST(AddressSpace, NewMappingsReplaceWhatTheyCover) {
  AddressSpace space;
  space.map(0x1000, {0x5000, 0, 1});
  space.map(0x2000, {0x3000, 0x100, 2});
  EXPECT_EQ(space.find(0x1fff)->second.module, 1u);
  EXPECT_EQ(space.find(0x2000)->second.module, 2u);
  const auto* behind = space.find(0x3000);
  ASSERT_NE(behind, nullptr);
  EXPECT_EQ(behind->second.module, 1u);
  EXPECT_EQ(behind->second.fileOffset, 0x2000u);
  EXPECT_EQ(space.find(0x5000), nullptr);
  space.map(0x0, {0x10000, 0, 3});
  EXPECT_EQ(space.find(0x2000)->second.module, 3u);
}

TEST(Proc, TellsOfThisProcess) {
  const auto self = static_cast<std::uint32_t>(getpid());
  proc::Stat stat;
  ASSERT_TRUE(proc::readStat("/proc/self/stat", stat));
  EXPECT_EQ(stat.state, 'R');
  EXPECT_GT(stat.residentPages, 100u);
  EXPECT_GT(stat.minorFaults, 10u);
  EXPECT_NE(proc::commandLineOf(self).find("collector_sampler_test"), std::string::npos);
  EXPECT_FALSE(proc::readStat("/proc/0/stat", stat));
}

TEST(Symbolizer, FindsAFunctionOfThisProgram) {
  if (!symbols::Symbolizer::available()) GTEST_SKIP() << "built without elfutils";
  symbols::Symbolizer symbolizer;
  const std::string libc = "/no/such/library.so";
  EXPECT_EQ(symbolizer.find(libc, 0x10).function, "");
  // Somewhere in this program's code there is main.
  bool found = false;
  for (std::uint64_t offset = 0; offset < 4 << 20 && !found; offset += 16) {
    found = symbolizer.find("/proc/self/exe", offset).function == "main";
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace lacuna::collector
