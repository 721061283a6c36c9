// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "collector/sampler/trace_access.h"
#include "core/regular_file.h"
#include "proc/proc_file.h"
#include "sampler/perf_record.h"
#include "sampler/rings.h"
#include "sampler/stacks.h"
#include "symbols/symbolizer.h"
#include "timer/walk.h"

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

TEST(PerfRecord, SwitchShowsWhetherTheThreadCouldHaveGoneOn) {
  PerfRecord record;
  const std::uint16_t misc = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  ASSERT_TRUE(
      decodePerfRecord(Bytes(PERF_RECORD_SWITCH, misc).trailer(7, 8, 99, 3).done(), record));
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
  bytes.put(static_cast<std::uint64_t>(PERF_CONTEXT_USER))
      .put(std::uint64_t{0x1000})
      .put(std::uint64_t{0x2000});
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

TEST(Proc, ShowsThisProcess) {
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
  const int self = openRegularFile("/proc/self/exe");
  symbols::Symbolizer symbolizer(self, "/proc/self/exe");
  // Somewhere in this program's code there is main.
  bool found = false;
  const std::uint64_t bytes = std::filesystem::file_size("/proc/self/exe");
  for (std::uint64_t offset = 0; offset < bytes && !found; offset += 16) {
    found = symbolizer.find(offset).function == "main";
  }
  EXPECT_TRUE(found);
  close(self);
}

TEST(Stacks, AreTheSameFromTheirJournalWhereverItIsCut) {
  sampler::Stacks stacks;
  AddressSpace space;
  space.map(0x1000, {0x2000, 0, stacks.moduleOf({"/bin/a", 1, 2, "id"})});
  space.map(0x5000, {0x6000, 0x400, stacks.moduleOf({"/lib/b", 0, 0, {}})});
  TraceAccess access;
  stacks.add(space, {0x1010, 0x5020, 0x1030}, access);
  std::string journal = stacks.takeJournal();
  stacks.add(space, {0x1040, 0x5020, 0x1030}, access);
  journal += stacks.takeJournal();
  EXPECT_TRUE(stacks.takeJournal().empty());

  sampler::Stacks again;
  ASSERT_TRUE(again.load(journal, prof::FrameId{100}));
  EXPECT_EQ(again.size(), stacks.size());
  const auto expected = stacks.name().symbols, found = again.name().symbols;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found[i].address, expected[i].address);

  for (std::size_t cut = 0; cut < journal.size(); ++cut) {
    sampler::Stacks part;
    EXPECT_TRUE(part.load(std::string_view(journal).substr(0, cut), prof::FrameId{100})) << cut;
    EXPECT_LT(part.size(), stacks.size());
  }
  sampler::Stacks early;
  ASSERT_TRUE(early.load(journal, prof::FrameId{3}));
  EXPECT_EQ(early.size(), 2u) << "the frames that the trace knew";
}

TEST(Stacks, RefuseAJournalThatMakesNoSense) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    sampler::Stacks stacks;
    static_cast<void>(stacks.load(bytes, prof::FrameId{100}));
    EXPECT_LE(stacks.size(), bytes.size());
  }
  sampler::Stacks stacks;
  EXPECT_FALSE(stacks.load(std::string("\x07 what is this"), prof::FrameId{100}));
}

/// A stack as an array: words above one another, a frame being the caller's frame pointer and the
/// return address.
class HandMadeStack {
 public:
  explicit HandMadeStack(std::size_t words) : words_(words) {}
  std::uintptr_t at(std::size_t word) const {
    return reinterpret_cast<std::uintptr_t>(words_.data() + word);
  }
  void frame(std::size_t word, std::uintptr_t callers, std::uintptr_t returns) {
    words_[word] = callers;
    words_[word + 1] = returns;
  }
  std::vector<std::uint64_t> walk(std::uintptr_t stackPointer, std::uintptr_t framePointer,
                                  std::size_t room = 60) const {
    std::vector<std::uint64_t> frames(room);
    const timer::StackBounds bounds{at(0), at(words_.size())};
    frames.resize(
        timer::walkFramePointers(0x77, stackPointer, framePointer, bounds, frames.data(), room));
    return frames;
  }

 private:
  std::vector<std::uintptr_t> words_;
};

TEST(FramePointers, LeadOutwardsToTheEndOfTheStack) {
  HandMadeStack stack(16);
  stack.frame(4, stack.at(8), 0x100);
  stack.frame(8, stack.at(14), 0x200);
  stack.frame(14, 0, 0x300);
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(4)),
            (std::vector<std::uint64_t>{0x77, 0x100, 0x200, 0x300}));
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(4), 2), (std::vector<std::uint64_t>{0x77, 0x100}));
}

TEST(FramePointers, AreNotFollowedWhereTheyMakeNoSense) {
  HandMadeStack stack(16);
  const std::vector<std::uint64_t> alone{0x77};
  EXPECT_EQ(stack.walk(stack.at(2), 0x5), alone) << "a register that holds something else";
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(4) + 1), alone) << "not at a word";
  EXPECT_EQ(stack.walk(stack.at(6), stack.at(4)), alone) << "below what is alive";
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(15)), alone) << "across the end of the stack";
  EXPECT_EQ(stack.walk(stack.at(2), ~std::uintptr_t{7}), alone);
  EXPECT_EQ(stack.walk(0x1000, stack.at(4)), alone) << "on another stack";
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(4), 0), std::vector<std::uint64_t>());
  stack.frame(4, stack.at(4), 0x100);
  EXPECT_EQ(stack.walk(stack.at(2), stack.at(4)), (std::vector<std::uint64_t>{0x77, 0x100}))
      << "in a circle";
}

TEST(Maps, ShowWhereCodeLies) {
  const auto pieces = timer::parseMaps(
      "7f00-7fff r-xp 00001000 08:01 42                         /usr/lib/a library.so\n"
      "1000-2000 r--p 00000000 08:01 43                         /bin/true\n"
      "3000-4000 r-xp 00000000 00:00 0 \n"
      "no line at all\n"
      "ffff600000-ffff601000 r-xp 00000000 00:00 0                  [vdso]");
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].start, 0x3000u);
  EXPECT_EQ(pieces[0].path, "");
  EXPECT_EQ(pieces[1].end, 0x7fffu);
  EXPECT_EQ(pieces[1].offset, 0x1000u);
  EXPECT_EQ(pieces[1].path, "/usr/lib/a library.so");
  EXPECT_EQ(pieces[1].device, std::uint64_t{8} << 32 | 1);
  EXPECT_EQ(pieces[1].inode, 42u);
  EXPECT_EQ(pieces[2].path, "[vdso]");
}

}  // namespace
}  // namespace lacuna::collector
