// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/writer.h"
#include "store/lcn_backend.h"
#include "store/lcn_writer.h"
#include "support/sanitizer.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::TimeNs;

/// Rows as several threads flush them: blocks overlap, some rows are long, many start together.
std::shared_ptr<const Store> overlapping(const test::TempFile& file, int rows,
                                         StoreBuilder& reference) {
  prof::WriterOptions options;
  options.blockRows = 64;
  auto writer = prof::Writer::create(file.path(), options);
  EXPECT_TRUE(writer.ok());
  std::mt19937 random(7);
  for (int i = 0; i < rows; ++i) {
    Range range;
    const int thread = (i / 40) % 3;
    range.startNs = (i / 120) * 400 + (i % 40) * 10 + static_cast<TimeNs>(random() % 3);
    range.durNs = random() % 50 == 0 ? 20000 : static_cast<TimeNs>(random() % 20);
    range.thread.value = static_cast<std::uint32_t>(thread + 1);
    range.correlation = static_cast<std::uint64_t>(i);
    range.name = writer->intern("name " + std::to_string(i % 10));
    writer->append(range);
    range.name = reference.intern("name " + std::to_string(i % 10));
    reference.append(range);
  }
  EXPECT_TRUE(writer->finish().ok());
  auto store = Store::open(file.path());
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *store : nullptr;
}

using Key = std::tuple<TimeNs, TimeNs>;

TEST(LcnStore, ColumnsAreInTimeOrderWhenBlocksOverlap) {
  const test::TempFile file(".lcn");
  StoreBuilder reference;
  const auto store = overlapping(file, 5000, reference);
  const auto expected = reference.build();
  ASSERT_EQ(store->rows<Range>(), 5000U);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(store->row<Range>(i).startNs, expected->row<Range>(i).startNs);
    ASSERT_EQ(store->row<Range>(i).durNs, expected->row<Range>(i).durNs);
  }
  EXPECT_EQ(store->text(store->find("name 3")), "name 3");
  EXPECT_EQ(store->find("name 33"), prof::StringId());
}

/// Read from the beginning of its block each, these rows would take the test's time.
TEST(LcnStore, RowsOfALargeTableThatAreAskedForOneByOneAreThoseOfColumn) {
  constexpr std::uint64_t kRows = test::kThreadSanitized ? 70'000 : 200'000;
  const test::TempFile file(".lcn");
  auto writer = *prof::Writer::create(file.path());
  std::mt19937 random(3);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto startNs = static_cast<TimeNs>(100 * i + random() % 5000);
    writer.append(
        Range{.startNs = startNs, .durNs = 50, .thread = prof::ThreadId(1), .correlation = i});
  }
  ASSERT_TRUE(writer.finish());
  const auto store = *Store::open(file.path());
  const auto same = [&](std::uint64_t row) {
    const Range range = store->row<Range>(row);
    return range.startNs == store->column<&Range::startNs>()[row] &&
           range.correlation == store->column<&Range::correlation>()[row];
  };
  for (std::uint64_t row = 0; row < kRows; ++row) ASSERT_TRUE(same(row)) << row;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(same(random() % kRows));
}

/// Which rows a scan of that window gives; each must be the row of `column` that has its number.
std::vector<bool> rowsOfScan(const Store& store, prof::TimeWindow window) {
  const auto starts = store.column<&Range::startNs>();
  const auto ids = store.column<&Range::correlation>();
  std::vector<bool> seen(starts.size());
  std::uint64_t next = 0;
  const auto status = store.scan<&Range::startNs, &Range::correlation>(
      window,
      [&](std::uint64_t firstRow, std::span<const TimeNs> s, std::span<const std::uint64_t> c) {
        ASSERT_GE(firstRow, next);
        for (std::size_t i = 0; i < s.size(); ++i) {
          ASSERT_EQ(s[i], starts[firstRow + i]);
          ASSERT_EQ(c[i], ids[firstRow + i]);
          seen[firstRow + i] = true;
        }
        next = firstRow + s.size();
      });
  EXPECT_TRUE(status.ok());
  return seen;
}

void expectAllInside(const Store& store, prof::TimeWindow window, const std::vector<bool>& seen) {
  const auto starts = store.column<&Range::startNs>();
  const auto lengths = store.column<&Range::durNs>();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool inside = starts[i] < window.endNs && starts[i] + lengths[i] > window.startNs;
    ASSERT_TRUE(seen[i] || !inside) << i;
  }
}

TEST(LcnStore, AScanGivesTheRowsOfColumnUnderTheSameNumbers) {
  const test::TempFile file(".lcn");
  StoreBuilder reference;
  const auto store = overlapping(file, 5000, reference);
  for (const prof::TimeWindow window :
       {prof::TimeWindow{}, prof::TimeWindow{3000, 3001}, prof::TimeWindow{0, 10},
        prof::TimeWindow{12000, 14000}, prof::TimeWindow{16000, INT64_MAX}}) {
    const std::vector<bool> seen = rowsOfScan(*store, window);
    expectAllInside(*store, window, seen);
    if (window.startNs == 3000) {
      EXPECT_LT(std::ranges::count(seen, true), 4000);
    }
  }
}

/// Put in order again at each block, the rows of this file would take minutes.
TEST(LcnStore, AScanOfBlocksThatAllOverlapGivesTheRowsOfColumn) {
  constexpr std::uint64_t kRows = test::kThreadSanitized ? 100'000 : 500'000;
  const test::TempFile file(".lcn");
  prof::WriterOptions options;
  options.blockRows = 64;
  auto writer = *prof::Writer::create(file.path(), options);
  std::mt19937 random(5);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto startNs = i % 64 == 0 ? TimeNs{0} : static_cast<TimeNs>(random() % 100'000);
    writer.append(
        Range{.startNs = startNs, .durNs = static_cast<TimeNs>(random() % 50), .correlation = i});
  }
  ASSERT_TRUE(writer.finish());
  const auto store = *Store::open(file.path());
  const std::vector<bool> seen = rowsOfScan(*store, {});
  EXPECT_EQ(std::ranges::count(seen, true), kRows);
}

/// Rows of very different lengths, so that what a window shows lies among blocks that it only
/// counts.
TEST(LcnStore, RowsAreNumberedAcrossBlocksThatAWindowLeavesOut) {
  const test::TempFile file(".lcn");
  prof::WriterOptions options;
  options.blockRows = 32;
  auto writer = *prof::Writer::create(file.path(), options);
  std::mt19937 random(11);
  constexpr TimeNs kSpan = 40'000;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const auto startNs =
        static_cast<TimeNs>(10 * i + random() % 500) / 20 * 20;  // many start together
    const TimeNs reach = random() % 40 == 0 ? kSpan : random() % 10 == 0 ? 2000 : 30;
    writer.append(Range{
        .startNs = startNs, .durNs = static_cast<TimeNs>(random() % reach), .correlation = i});
  }
  ASSERT_TRUE(writer.finish());
  const auto store = *Store::open(file.path());
  for (int round = 0; round < 300; ++round) {
    const auto from = static_cast<TimeNs>(random() % kSpan);
    const prof::TimeWindow window{from, from + static_cast<TimeNs>(random() % 3000)};
    expectAllInside(*store, window, rowsOfScan(*store, window));
  }
}

TEST(LcnStore, AStoreWrittenAndOpenedAgainHasTheSameRows) {
  StoreBuilder builder;
  for (int i = 0; i < 1000; ++i) {
    Range range;
    range.startNs = 1000 - i;
    range.name = builder.intern("r" + std::to_string(i % 5));
    range.args.value = static_cast<std::uint32_t>(i % 2 == 0 ? i / 2 + 1 : 0);
    builder.append(range);
    if (i % 2 == 0) builder.append(prof::ArgSet{range.args, builder.intern("+k")});
  }
  for (int i = 0; i < 1000; i += 2) {
    builder.append(prof::Arg{prof::ArgSetId(static_cast<std::uint32_t>(i / 2 + 1)),
                             prof::ArgScope::Argument, builder.intern("k"), prof::ArgType::Text,
                             builder.intern("v" + std::to_string(i)).value});
  }
  const auto store = builder.build();
  const test::TempFile file(".lcn");
  ASSERT_TRUE(writeLcn(*store, file.path()).ok());
  const auto again = *Store::open(file.path());
  ASSERT_EQ(again->rows<Range>(), 1000U);
  EXPECT_TRUE(again->warnings().empty());
  const auto valueOf = [](const Store& of, std::uint64_t row) {
    const auto set = of.row<Range>(row).args;
    const auto sets = of.column<&prof::Arg::set>();
    const auto at = std::ranges::find(sets, set) - sets.begin();
    return set ? std::string(of.text(prof::StringId(static_cast<std::uint32_t>(
                     of.row<prof::Arg>(static_cast<std::uint64_t>(at)).value))))
               : "";
  };
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(again->text(again->row<Range>(i).name), store->text(store->row<Range>(i).name));
    ASSERT_EQ(valueOf(*again, i), valueOf(*store, i));
  }
}

TEST(LcnStore, LongTextsStayCompleteFromFileToFile) {
  const std::string text(2 * prof::kLongestText, 'n');
  StoreBuilder builder;
  builder.append(Range{.name = builder.intern(text)});
  const test::TempFile file(".lcn"), copy(".lcn");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Lcn));
  ASSERT_TRUE(exportTrace(**Store::open(file.path()), copy.path(), Format::Lcn));
  const auto store = *Store::open(copy.path());
  const prof::StringId name = store->row<Range>(0).name;
  EXPECT_EQ(store->wholeText(name), text);
  EXPECT_EQ(store->text(name), text.substr(0, prof::kLongestText));
  EXPECT_EQ(store->find(text), name);
}

TEST(LcnStore, ArgumentsOfAnyNumberAreWritten) {
  StoreBuilder builder;
  const prof::StringId key = builder.intern("k");
  std::uint64_t value = 0;
  for (const std::uint32_t id : {7U, UINT32_MAX}) {
    const prof::ArgSetId set(id);
    builder.append(Range{.startNs = static_cast<TimeNs>(++value), .args = set});
    builder.append(prof::ArgSet{set, builder.intern("+k")});
    builder.append(prof::Arg{set, prof::ArgScope::Argument, key, prof::ArgType::I64, value});
  }
  // A set that several events share is one.
  builder.append(Range{.startNs = 3, .args = prof::ArgSetId(7)});
  const test::TempFile file(".lcn");
  ASSERT_TRUE(writeLcn(*builder.build(), file.path()).ok());
  const auto store = *Store::open(file.path());
  const Args args(*store);
  ASSERT_EQ(store->rows<prof::ArgSet>(), 2U);
  ASSERT_EQ(store->rows<Range>(), 3U);
  for (const std::uint64_t row : {0U, 1U, 2U})
    EXPECT_EQ(args.integer(store->row<Range>(row).args, "k"), row == 1 ? 2 : 1) << row;
}

TEST(LcnStore, ManyArgumentsAreWrittenInTheOrderOfTheirEvents) {
  constexpr std::uint32_t kEvents = 150'000;  // several pieces
  StoreBuilder builder;
  // Sets are listed from the last event's to the first one's.
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    const prof::ArgSetId set(kEvents - i);
    builder.append(Range{.startNs = i, .args = set});
    builder.append(prof::ArgSet{prof::ArgSetId(i + 1), builder.intern("+k")});
    builder.append(prof::Arg{prof::ArgSetId(i + 1), prof::ArgScope::Argument, builder.intern("k"),
                             prof::ArgType::I64, kEvents - i - 1});
  }
  const test::TempFile file(".lcn");
  ASSERT_TRUE(exportTrace(builder.build(), file.path(), Format::Lcn).ok());
  const auto store = *Store::open(file.path());
  const auto sets = store->column<&prof::Arg::set>();
  const auto values = store->column<&prof::Arg::value>();
  ASSERT_EQ(sets.size(), kEvents);
  for (std::uint32_t i = 0; i < kEvents; ++i)
    ASSERT_TRUE(sets[i].value == i + 1 && values[i] == i) << i;
}

TEST(LcnStore, ADamagedColumnReadsAsZerosAndIsNamed) {
  const test::TempFile file(".lcn");
  StoreBuilder reference;
  overlapping(file, 5000, reference);
  std::string bytes(std::filesystem::file_size(file.path()), '\0');
  std::ifstream(file.path(), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (std::size_t at = bytes.size() / 3; at < bytes.size() / 3 + 40; ++at)
    bytes[at] = static_cast<char>(~bytes[at]);
  file.write(bytes);
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store.ok());
  const auto rows = (*store)->column<&Range::startNs>().size();
  EXPECT_GT(rows, 4000U);
  EXPECT_EQ((*store)->column<&Range::name>().size(), rows);
  EXPECT_FALSE((*store)->warnings().empty());
}

/// A file like those over 64 MiB, whose checksums are tested when a block is read; one block of
/// ranges is damaged.
class DamagedLcn : public testing::Test {
 protected:
  DamagedLcn() {
    StoreBuilder reference;
    overlapping(file_, 5000, reference);
    const auto reader = prof::Reader::open(file_.path());
    const prof::BlockInfo block = reader->table(Range::kTable)->blocks[40];
    std::fstream bytes(file_.path(), std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(static_cast<std::streamoff>(block.offset + block.bytes - 8));
    bytes.write("damaged!", 8);
  }
  [[nodiscard]] std::shared_ptr<const Store> store() const {
    auto reader = prof::Reader::open(file_.path(), {prof::ReaderOptions::Verify::Never});
    EXPECT_TRUE(reader);
    return std::make_shared<const Store>(std::make_shared<LcnBackend>(std::move(*reader)));
  }
  static prof::Status ask(Query& query, std::string_view sql) {
    return query.run(
        sql, [](const auto&) {}, [](const auto&) { return true; });
  }

  const test::TempFile file_{".lcn"};
};

TEST_F(DamagedLcn, AnAnswerFromWhatIsDamagedIsAnErrorAlsoTheSecondTime) {
  const std::string everything = "SELECT * FROM range";
  for (const std::uint64_t mostKept : {kMostKeptRows, std::uint64_t{100}}) {
    Query query(store(), mostKept);
    EXPECT_TRUE(ask(query, "SELECT count(*) FROM kernel"));
    for (int i = 0; i < 2; ++i) {
      const auto status = ask(query, everything);
      ASSERT_FALSE(status) << mostKept;
      EXPECT_NE(status.error().message.find("lacuna recover"), std::string::npos)
          << status.error().message;
      EXPECT_NE(status.error().message.find(i == 0 ? "byte " : "found damaged before"),
                std::string::npos)
          << status.error().message;
    }
    EXPECT_TRUE(ask(query, "SELECT count(*) FROM kernel")) << "nothing of it is damaged";
  }
}

TEST_F(DamagedLcn, IsNotConvertedAndLeavesNoFile) {
  for (const Format format : {Format::Lcn, Format::Chrome, Format::Perfetto, Format::Nsys}) {
    const test::TempFile out(".out");
    const auto status = exportTrace(*store(), out.path(), format);
    ASSERT_FALSE(status) << static_cast<int>(format);
    EXPECT_NE(status.error().message.find("byte "), std::string::npos) << status.error().message;
    EXPECT_FALSE(std::filesystem::exists(out.path())) << static_cast<int>(format);
  }
}

TEST_F(DamagedLcn, IsNotMerged) {
  const test::TempFile full(".lcn");
  StoreBuilder reference;
  const std::vector<std::shared_ptr<const Store>> inputs{overlapping(full, 5000, reference),
                                                         store()};
  const auto merged = mergeTraces(inputs);
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().message.find(file_.path().string()), std::string::npos)
      << merged.error().message;
}

}  // namespace
}  // namespace lacuna::analyzer
