// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
// clang-format on
LACUNA_TABLE(OldThing, 901, "thing", LACUNA_TEST_OLD_COLUMNS)
LACUNA_TABLE(NewThing, 901, "thing", LACUNA_TEST_NEW_COLUMNS)
LACUNA_TABLE(WideThing, 901, "thing", LACUNA_TEST_WIDE_COLUMNS)

namespace {

template <class Row>
Reader written(const std::filesystem::path& path, const Row& row) {
  auto writer = Writer::create(path);
  for (int i = 0; i < 10; ++i) writer->append(row);
  EXPECT_TRUE(writer->finish().ok());
  return *Reader::open(path);
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
  ASSERT_TRUE(
      reader
          .scanColumns(901, {}, std::span(spec.columns, spec.columnCount),
                       [&](std::size_t, const void* const* data) { weight = static_cast<const double*>(data[2])[3]; })
          .ok());
  EXPECT_EQ(weight, 0.5);
}

}  // namespace
}  // namespace lacuna::prof
