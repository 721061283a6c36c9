// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {

// clang-format off
#define LACUNA_TEST_OLD_COLUMNS(COLUMN)                \
  COLUMN(TimeNs, timeNs, Time, "when")                 \
  COLUMN(std::uint32_t, size, Plain, "how much")
#define LACUNA_TEST_NEW_COLUMNS(COLUMN)                \
  LACUNA_TEST_OLD_COLUMNS(COLUMN)                      \
  COLUMN(double, weight, Plain, "the one line that adds a column")
#define LACUNA_TEST_WIDE_COLUMNS(COLUMN)               \
  COLUMN(TimeNs, timeNs, Time, "when")                 \
  COLUMN(std::uint64_t, size, Plain, "grown from 32 to 64 bits")
#define LACUNA_TEST_KERNEL_COLUMNS(COLUMN)             \
  LACUNA_KERNEL_COLUMNS(COLUMN)                        \
  COLUMN(double, oneMore, Plain, "added to a table of events")
#define LACUNA_TEST_PROCESS_COLUMNS(COLUMN)            \
  LACUNA_PROCESS_COLUMNS(COLUMN)                       \
  COLUMN(double, oneMore, Plain, "added to a table of things")
#define LACUNA_TEST_ARG_SET_COLUMNS(COLUMN)            \
  LACUNA_ARG_SET_COLUMNS(COLUMN)                       \
  COLUMN(double, oneMore, Plain, "added to a table without times")
// clang-format on
LACUNA_TABLE(OldThing, 901, "thing", LACUNA_TEST_OLD_COLUMNS)
LACUNA_TABLE(NewThing, 901, "thing", LACUNA_TEST_NEW_COLUMNS)
LACUNA_TABLE(WideThing, 901, "thing", LACUNA_TEST_WIDE_COLUMNS)
LACUNA_TABLE(WiderKernel, Kernel::kTable, Kernel::kName, LACUNA_TEST_KERNEL_COLUMNS)
LACUNA_TABLE(WiderProcess, Process::kTable, Process::kName, LACUNA_TEST_PROCESS_COLUMNS)
LACUNA_TABLE(WiderArgSet, ArgSet::kTable, ArgSet::kName, LACUNA_TEST_ARG_SET_COLUMNS)

namespace {

template <class Row>
Reader written(const std::filesystem::path& path, const Row& row) {
  auto writer = Writer::create(path);
  for (int i = 0; i < 10; ++i) writer->append(row);
  EXPECT_TRUE(writer->finish().ok());
  return *Reader::open(path);
}

constexpr std::uint32_t kRows = 100;

/// Every column of every row has another number, as far as its type goes.
template <class Row>
typename Row::Columns numberedColumns() {
  typename Row::Columns columns;
  std::uint32_t column = 0;
  columns.forEach([&]<class T>(std::vector<T>& values) {
    ++column;
    for (std::uint32_t row = 0; row < kRows; ++row)
      values.push_back(static_cast<T>(column * 1000 + row));
  });
  return columns;
}

template <class Row>
Reader writtenAtOnce(const std::filesystem::path& path, const typename Row::Columns& columns) {
  auto writer = Writer::create(path, {.blockRows = 30});
  writer->append<Row>(columns);
  EXPECT_TRUE(writer->finish().ok());
  return *Reader::open(path);
}

template <class Row>
void expectRows(const Reader& reader, const typename Row::Columns& columns) {
  ASSERT_EQ(reader.rows<Row>(), kRows) << Row::kName;
  const auto found = reader.table<Row>();
  ASSERT_TRUE(found.ok()) << found.error().message;
  for (std::size_t i = 0; i < kRows; ++i)
    EXPECT_EQ(found->row(i), columns.row(i)) << Row::kName << " " << i;
}

/// `Wider` is declared as `Row` and one column more.
template <class Row, class Wider>
void expectThatAllFollows() {
  const test::TempDir dir;
  const auto columns = numberedColumns<Row>();
  auto wider = numberedColumns<Wider>();
  const TableSpec& spec = tableSpec<Wider>();
  ASSERT_EQ(spec.columnCount, tableSpec<Row>().columnCount + 1);
  EXPECT_EQ(spec.columns[spec.columnCount - 1].name, "oneMore");

  const Reader newer = writtenAtOnce<Wider>(dir / "newer.lcn", wider);
  expectRows<Wider>(newer, wider);
  expectRows<Row>(newer, columns);
  const auto alone = newer.column<&Wider::oneMore>();
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(*alone, wider.oneMore);

  const Reader older = writtenAtOnce<Row>(dir / "older.lcn", columns);
  wider.oneMore.assign(kRows, 0.0);
  expectRows<Wider>(older, wider);
}

TEST(Evolution, AColumnAddedToADeclaredTableIsWrittenAndReadAndMissedByNobody) {
  expectThatAllFollows<Kernel, WiderKernel>();
  expectThatAllFollows<Process, WiderProcess>();
  expectThatAllFollows<ArgSet, WiderArgSet>();
}

TEST(Evolution, AColumnAddedByOneLineIsWrittenAndRead) {
  const test::TempDir dir;
  const NewThing thing{.timeNs = 5, .size = 7, .weight = 0.5};
  EXPECT_EQ(written(dir / "a.lcn", thing).table<NewThing>()->row(9), thing);
}

TEST(Evolution, AnOlderReaderIgnoresTheColumnItDoesNotKnow) {
  const test::TempDir dir;
  const Reader reader = written(dir / "a.lcn", NewThing{.timeNs = 5, .size = 7, .weight = 0.5});
  EXPECT_EQ(reader.table<OldThing>()->row(9), (OldThing{.timeNs = 5, .size = 7}));
}

TEST(Evolution, AColumnThatAnOlderFileLacksReadsAsZero) {
  const test::TempDir dir;
  const Reader reader = written(dir / "a.lcn", OldThing{.timeNs = 5, .size = 7});
  EXPECT_EQ(reader.table<NewThing>()->row(9), (NewThing{.timeNs = 5, .size = 7, .weight = 0}));
}

TEST(Evolution, AColumnThatBecameWiderReadsFromOlderFiles) {
  const test::TempDir dir;
  const Reader reader = written(dir / "a.lcn", OldThing{.timeNs = 5, .size = UINT32_MAX});
  EXPECT_EQ(reader.table<WideThing>()->row(0), (WideThing{.timeNs = 5, .size = UINT32_MAX}));
}

TEST(Evolution, AColumnOfZerosIsLeftOutOfItsBlock) {
  const test::TempDir dir;
  WriterOptions options;
  options.blockRows = 100;
  auto writer = Writer::create(dir / "a.lcn", options);
  for (int i = 0; i < 300; ++i) {
    const bool second = i >= 100 && i < 200;
    writer->append(Kernel{
        .startNs = 10 * i, .durNs = 3, .gridX = second ? 1U + static_cast<std::uint32_t>(i) : 0});
  }
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok());
  const auto& blocks = reader->table(Kernel::kTable)->blocks;
  ASSERT_EQ(blocks.size(), 3u);
  const auto namesOf = [&](const BlockInfo& block) {
    std::string names;
    const auto columns = reader->storedColumns(block);
    for (const StoredColumn& column : *columns) names += std::string(column.name) + ' ';
    return names;
  };
  EXPECT_EQ(namesOf(blocks[0]), "startNs durNs ");
  EXPECT_EQ(namesOf(blocks[1]), "startNs durNs gridX ") << "named, though the first block has none";
  const auto rows = reader->table<Kernel>();
  ASSERT_EQ(rows->startNs.size(), 300u);
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(rows->gridX[i], i >= 100 && i < 200 ? 1 + i : 0);
    EXPECT_EQ(rows->registersPerThread[i], 0);
  }
}

TEST(Evolution, TablesUnknownAtCompileTimeAreDescribedAndReadable) {
  const test::TempDir dir;
  const Reader reader = written(dir / "a.lcn", NewThing{.timeNs = 5, .size = 7, .weight = 0.5});
  ASSERT_EQ(reader.tables().size(), 1u);
  const TableSpec& spec = reader.tables()[0].spec;
  EXPECT_EQ(spec.name, "thing");
  ASSERT_EQ(spec.columnCount, 3u);
  EXPECT_EQ(spec.columns[2].name, "weight");
  EXPECT_EQ(spec.columns[2].type, ColumnType::F64);
  double weight = 0;
  ASSERT_TRUE(reader
                  .scanColumns(901, {}, std::span(spec.columns, spec.columnCount),
                               [&](std::size_t, const void* const* data) {
                                 weight = static_cast<const double*>(data[2])[3];
                               })
                  .ok());
  EXPECT_EQ(weight, 0.5);
}

}  // namespace
}  // namespace lacuna::prof
