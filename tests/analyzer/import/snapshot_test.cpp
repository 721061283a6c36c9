// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <chrono>

#include "import/snapshot/address_set.h"
#include "import/snapshot/pickle.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::HasSubstr;

/// A pickle by Python's own module.
class Pickled : public test::TempFile {
 public:
  Pickled(const std::string& kind, int protocol) : TempFile(".pickle") {
    const std::string command = "python3 " LACUNA_TOOLS "/make_pickle.py " + kind + " " +
                                std::to_string(protocol) + " " + path().string();
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
};

std::shared_ptr<const Store> open(const std::filesystem::path& path) {
  auto store = Store::open(path);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *store : nullptr;
}
std::string errorOf(std::string_view bytes) {
  const test::TempFile file(".pickle", bytes);
  const auto store = Store::open(file.path());
  return store.ok() ? "" : store.error().message;
}

TEST(SnapshotImport, HistoryBecomesAllocationsWithStacksInEveryProtocol) {
  for (const int protocol : {2, 3, 4, 5}) {
    const auto store = open(Pickled("snapshot", protocol).path());
    ASSERT_NE(store, nullptr);
    // A segment and two blocks that were there before; then two allocations and two frees.
    ASSERT_EQ(store->rows<Allocation>(), 7U) << protocol;
    const auto first = store->row<Allocation>(3);
    EXPECT_EQ(first.action, MemoryAction::Allocate);
    EXPECT_EQ(first.address, 0x1200U);
    EXPECT_EQ(first.bytes, 1024U);
    EXPECT_EQ(first.timeNs, 1700000000000010000);
    EXPECT_EQ(store->text(first.op), "forward (forward.py:10)");
    const Args args(*store);
    const auto stack = static_cast<std::uint64_t>(args.integer(first.args, "stack").value());
    const auto frame = store->row<StackFrame>(stack - 1);
    EXPECT_EQ(store->text(frame.function), "forward");
    EXPECT_EQ(store->text(store->row<StackFrame>(frame.parent.value - 1).function), "train");
    EXPECT_EQ(store->rows<StackFrame>(), 5U) << "callers are shared";
  }
}

/// The error with which a pickle of so many values is refused.
std::string errorWithin(std::string_view bytes, std::uint64_t mostValues) {
  const test::TempFile file(".pickle", bytes);
  const auto source = ByteSource::open(file.path());
  const auto pickle = Pickle::read(**source, mostValues);
  return pickle.ok() ? "" : pickle.error().message;
}

TEST(SnapshotImport, ValuesMarksAndReferencesCountForTheBudget) {
  for (const char opcode : {')', ']', '(', 'N'}) {
    EXPECT_THAT(
        errorWithin("\x80\x02" + std::string(2'000, opcode) + ".", 1'000),
        HasSubstr(
            "holds more than 1000 values, the budget for a file of this size; --budget values="));
  }
  // One value, and a list that refers to it again and again.
  std::string list = "\x80\x02]q";
  list += '\0';
  list += "(";
  for (int i = 0; i < 2'000; ++i) (list += 'h') += '\0';
  EXPECT_THAT(errorWithin(list + "e.", 1'500), HasSubstr("holds more than 1500 values"));
  EXPECT_EQ(errorWithin(list + "e.", 5'000), "");
}

/// "X", the size and the text.
std::string textOp(std::string_view text) {
  std::string out = "X";
  for (std::size_t shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(text.size() >> shift & 0xff);
  return out.append(text);
}

TEST(SnapshotImport, ADictionaryThatIsReferredToOftenIsSearchedOnce) {
  // 60,000 keys, and 60,000 events that are all this dictionary.
  std::string pickle = "\x80\x02}" + textOp("device_traces") + "](](}q";
  pickle += '\0';
  pickle += '(';
  for (int i = 0; i < 60'000; ++i) pickle += textOp("key " + std::to_string(i)) + "N";
  pickle += textOp("action") + textOp("alloc") + textOp("size") + "K\x08" + textOp("addr") +
            "K\x10" + "u";
  for (int i = 1; i < 60'000; ++i) (pickle += 'h') += '\0';
  const test::TempFile file(".pickle", pickle + "ees.");
  const auto begin = std::chrono::steady_clock::now();
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->rows<Allocation>(), 60'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// A snapshot of one allocation with so many frames of a function in `file`.
std::string pickleOfFrames(const std::string& file, int frames) {
  const std::string memo{'\0'};
  std::string pickle = "\x80\x02}" + textOp("device_traces") + "](](}(" + textOp("action") +
                       textOp("alloc") + textOp("size") + "K\x08" + textOp("addr") + "K\x10" +
                       textOp("frames") + "](";
  for (int i = 0; i < frames; ++i) {
    pickle += "}(" + textOp("filename") + (i == 0 ? textOp(file) + "q" + memo : "h" + memo) +
              textOp("name") + textOp("f") + textOp("line") + "K\x07u";
  }
  return pickle + "euees.";
}

TEST(SnapshotImport, ALongPathThatManyFramesShareIsNotReadForEach) {
  const test::TempFile file(".pickle", pickleOfFrames(std::string(1 << 20, 'x') + ".py", 30'000));
  const auto begin = std::chrono::steady_clock::now();
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->rows<StackFrame>(), 30'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(SnapshotImport, AnAllocationIsNamedByTheFileOfItsFunctionUnlessThatNameIsTooLong) {
  const auto nameOf = [](const std::string& path) {
    const test::TempFile file(".pickle", pickleOfFrames(path, 1));
    const auto store = *Store::open(file.path());
    return std::string(store->text(store->row<Allocation>(0).op));
  };
  const std::string folders = "/" + std::string(5'000, 'd') + "/", longest(1'021, 'x');
  EXPECT_EQ(nameOf("train.py"), "f (train.py:7)");
  EXPECT_EQ(nameOf(folders + "train.py"), "f (train.py:7)");
  EXPECT_EQ(nameOf(longest + ".py"), "f (" + longest + ".py:7)");
  EXPECT_EQ(nameOf(folders + longest + ".py"), "f (" + longest + ".py:7)");
  EXPECT_EQ(nameOf("x" + longest + ".py"), "f");
  EXPECT_EQ(nameOf(folders + "x" + longest + ".py"), "f");
}

TEST(SnapshotImport, ANumberWiderThanTheFileIsNamedByItsByte) {
  EXPECT_THAT(errorOf("\x80\x02\x8a\x40"), HasSubstr("byte 2: the pickle ends before its STOP"));
}

TEST(SnapshotImport, WhatWasThereBeforeTheHistoryIsTakenAtItsStart) {
  const auto store = open(Pickled("snapshot", 4).path());
  std::vector<std::uint64_t> addresses;
  std::int64_t live = 0;
  for (std::uint64_t i = 0; i < store->rows<Allocation>(); ++i) {
    const auto row = store->row<Allocation>(i);
    if (row.action == MemoryAction::Allocate) live += static_cast<std::int64_t>(row.bytes);
    if (row.action == MemoryAction::Free) live -= static_cast<std::int64_t>(row.bytes);
    if (row.timeNs == store->row<Allocation>(0).timeNs) addresses.push_back(row.address);
  }
  EXPECT_EQ(live, 1536) << "as the segment's allocated_size says";
  EXPECT_THAT(addresses, testing::UnorderedElementsAre(0x1800, 0x1000, 0x1000, 0x1200));
  EXPECT_EQ(store->text(store->row<LogLine>(0).text),
            "out of memory on cuda:0: 1099511627776 bytes wanted, 77 free on the device");
  EXPECT_TRUE(store->find("allocator.setting.expandable_segments"));
  EXPECT_TRUE(store->find("allocator.cuda:0.inactive_bytes"));
  EXPECT_EQ(store->rows<Mark>(), 2U);
  EXPECT_TRUE(store->warnings().empty());
}

TEST(SnapshotImport, SegmentsThatGrowAreGivenBackInAnyPieces) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const auto unmapped = deviceMemory(*open(Pickled("unmapped", 4).path()), {});
  ASSERT_TRUE(unmapped);
  ASSERT_EQ(unmapped->size(), 1U);
  EXPECT_EQ(unmapped->front().reservedPeakBytes, 40 * kMiB);
  const auto late = deviceMemory(*open(Pickled("late", 4).path()), {});
  ASSERT_TRUE(late);
  ASSERT_EQ(late->size(), 1U);
  EXPECT_EQ(late->front().reservedPeakBytes, 120 * kMiB);
}

TEST(SnapshotImport, AddressesAreHeldOnce) {
  AddressSet held;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  const auto visit = [&](std::uint64_t from, std::uint64_t bytes) {
    parts.emplace_back(from, bytes);
  };
  const auto added = [&](std::uint64_t from, std::uint64_t bytes) {
    parts.clear();
    held.add(from, bytes, visit);
    return parts;
  };
  const auto removed = [&](std::uint64_t from, std::uint64_t bytes) {
    parts.clear();
    held.remove(from, bytes, visit);
    return parts;
  };
  using testing::ElementsAre, testing::IsEmpty, testing::Pair;
  EXPECT_THAT(added(10, 10), ElementsAre(Pair(10, 10)));
  EXPECT_THAT(added(30, 10), ElementsAre(Pair(30, 10)));
  EXPECT_THAT(added(0, 50), ElementsAre(Pair(0, 10), Pair(20, 10), Pair(40, 10)));
  EXPECT_THAT(removed(5, 10), IsEmpty());
  EXPECT_THAT(removed(0, 20), ElementsAre(Pair(5, 10)));
  EXPECT_THAT(removed(45, 10), ElementsAre(Pair(50, 5)));
  EXPECT_THAT(added(0, 50), ElementsAre(Pair(0, 20), Pair(45, 5)));
  EXPECT_THAT(added(UINT64_MAX - 1, 10), ElementsAre(Pair(UINT64_MAX - 1, 1)));
  EXPECT_THAT(added(7, 0), IsEmpty());
}

TEST(SnapshotImport, ALoneListOfSegmentsGivesTheState) {
  const auto store = open(Pickled("segments", 4).path());
  EXPECT_EQ(store->rows<Allocation>(), 3U);
}

TEST(SnapshotImport, EventsThatCannotBeAreLeftOutAndCounted) {
  const auto store = open(Pickled("impossible", 4).path());
  const auto usual = open(Pickled("snapshot", 4).path());
  EXPECT_EQ(store->rows<Allocation>(), usual->rows<Allocation>());
  EXPECT_EQ(store->row<Allocation>(0).timeNs, usual->row<Allocation>(0).timeNs);
  EXPECT_THAT(store->warnings(), testing::ElementsAre(HasSubstr(
                                     "3 events have a size or a time that none can have and were "
                                     "left out, the first: alloc at 1700000000000010, -5 bytes")));
}

TEST(SnapshotImport, NothingIsExecuted) {
  const std::filesystem::path trap = "/tmp/lacuna-must-not-exist";
  std::filesystem::remove(trap);
  for (const int protocol : {2, 4}) {
    const Pickled file("evil", protocol);
    const auto store = Store::open(file.path());
    ASSERT_FALSE(store.ok());
    EXPECT_THAT(store.error().message, HasSubstr("names a class or function"));
    EXPECT_THAT(store.error().message, HasSubstr("byte "));
  }
  EXPECT_FALSE(std::filesystem::exists(trap));
}

TEST(SnapshotImport, AFileThatIsNoSnapshotIsNamed) {
  EXPECT_THAT(Store::open(Pickled("other", 5).path()).error().message, HasSubstr("_dump_snapshot"));
  // The list [1, 2].
  EXPECT_THAT(errorOf("\x80\x04](K\x01K\x02"
                      "e."),
              HasSubstr("_dump_snapshot"));
  EXPECT_THAT(Store::open(Pickled("empty", 5).path()).error().message,
              HasSubstr("_record_memory_history"));
}

TEST(SnapshotImport, HostilePicklesAreRefusedByTheirByte) {
  using namespace std::string_literals;
  EXPECT_THAT(errorOf("\x80\x04]a."s), HasSubstr("byte 3"));
  EXPECT_THAT(errorOf("\x80\x04h\x07."s), HasSubstr("slot 7"));
  EXPECT_THAT(errorOf("\x80\x04}(K\x01u."s), HasSubstr("key without a value"));
  EXPECT_THAT(errorOf("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"s), HasSubstr("claims a text"));
  EXPECT_THAT(errorOf("\x80\x04]"s), HasSubstr("breaks off"));
  EXPECT_THAT(errorOf("\x80\x04\xfe."s), HasSubstr("0xfe"));
  EXPECT_THAT(errorOf("\x80\x04u."s), HasSubstr("no mark"));
  EXPECT_THAT(errorOf("\x80\x04(0."s), HasSubstr("empty stack"));
  EXPECT_THAT(errorOf("\x80\x05}\x8c\x0d"s), HasSubstr("breaks off"));
}

TEST(SnapshotImport, SelfReferenceAndRepetitionEnd) {
  using namespace std::string_literals;
  // {"device_traces": L} where L holds itself; then a list that repeats a list that repeats an
  // event.
  const std::string self =
      "\x80\x04}\x8c\x0d"
      "device_traces]\x94h\x00"
      "as."s;
  EXPECT_THAT(errorOf(self), HasSubstr("empty"));
  std::string many =
      "\x80\x04}\x8c\x0d"
      "device_traces](](}\x8c\x06"
      "action\x8c\x05"
      "allocs\x94"s;
  for (int i = 0; i < 3000; ++i) many += "h\x00"s;
  many += "e\x94"s;
  for (int i = 0; i < 3000; ++i) many += "h\x01"s;
  many += "es."s;
  EXPECT_THAT(errorOf(many), HasSubstr("repeat each other"));
}

}  // namespace
}  // namespace lacuna::analyzer
