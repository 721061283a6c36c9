// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {
namespace {

using Random = std::mt19937_64;

/// The shape of a column's numbers; each shape suits another encoding.
enum class Shape { Anything, Constant, Few, Rising, Linear, Small, Extremes };
constexpr int kShapes = 7;

template <class T>
T fromBits(std::uint64_t bits) {
  T value{};
  std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

std::uint64_t shaped(Shape shape, std::size_t row, std::uint64_t seed, Random& random) {
  constexpr std::uint64_t kExtremes[] = {0,         1,         UINT64_MAX, std::uint64_t{1} << 63,
                                         INT64_MAX, INT32_MAX, UINT32_MAX};
  switch (shape) {
    case Shape::Anything:
      return random();
    case Shape::Constant:
      return seed;
    case Shape::Few:
      return seed * (1 + random() % 9);
    case Shape::Rising:
      return seed + row * 1000 + random() % 5000;
    case Shape::Linear:
      return seed + row * 512;
    case Shape::Small:
      return random() % 40;
    case Shape::Extremes:
      return kExtremes[random() % std::size(kExtremes)];
  }
  return 0;
}

template <class Row>
typename Row::Columns randomColumns(std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  typename Row::Columns columns;
  columns.forEach([&]<class T>(std::vector<T>& values) {
    const auto shape = static_cast<Shape>(random() % kShapes);
    const std::uint64_t start = random();
    for (std::size_t row = 0; row < rows; ++row)
      values.push_back(fromBits<T>(shaped(shape, row, start, random)));
  });
  return columns;
}

/// Bit by bit, as NaN is a value too.
template <class Columns>
std::vector<std::string> bytesOf(const Columns& columns) {
  std::vector<std::string> all;
  columns.forEach([&]<class T>(const std::vector<T>& values) {
    all.emplace_back(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  });
  return all;
}

/// The tables that keep their order: without a length no row is ever long.
template <class Row>
void expectRoundTrip(std::size_t rows, std::uint64_t seed, std::uint32_t blockRows) {
  const test::TempDir dir;
  const auto columns = randomColumns<Row>(rows, seed);
  auto writer = Writer::create(dir / "a.lcn", {.blockRows = blockRows});
  ASSERT_TRUE(writer.ok());
  writer->append<Row>(columns);
  ASSERT_TRUE(writer->finish().ok());
  auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_TRUE(reader->damage().empty());
  const auto back = reader->table<Row>();
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(bytesOf(*back) == bytesOf(columns)) << Row::kName << ", " << rows << " rows,"
                                                  << "seed " << seed;
}

TEST(RoundTrip, RandomTablesComeBackBitForBit) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    expectRoundTrip<Allocation>(seed * 37 % 3000 + 1, seed, 1000);
    expectRoundTrip<Mark>(seed * 71 % 3000 + 1, seed, 700);
    expectRoundTrip<CounterSample>(seed * 53 % 3000 + 1, seed, 4096);
    expectRoundTrip<Device>(seed * 31 % 300 + 1, seed, 50);
    expectRoundTrip<Process>(seed, seed, 1);
  }
}

TEST(RoundTrip, RowsAppendedOneByOneEqualRowsAppendedAtOnce) {
  const test::TempDir dir;
  const auto columns = randomColumns<CounterSample>(5000, 7);
  auto writer = Writer::create(dir / "a.lcn", {.blockRows = 512});
  ASSERT_TRUE(writer.ok());
  for (std::size_t i = 0; i < 5000; ++i) writer->append(columns.row(i));
  EXPECT_EQ(writer->rowsAppended(), 5000u);
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(bytesOf(*Reader::open(dir / "a.lcn")->table<CounterSample>()) == bytesOf(columns));
}

TEST(RoundTrip, OneColumnComesAloneAndInBlocks) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn", {.blockRows = 100});
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 1000; ++i)
    writer->append(Mark{.timeNs = i * 10, .payload = static_cast<std::uint64_t>(i)});
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->rows<Mark>(), 1000u);
  EXPECT_EQ(reader->column<&Mark::payload>()->at(999), 999u);
  std::size_t blocks = 0;
  const Status status =
      reader->scan<&Mark::payload, &Mark::timeNs>({}, [&](auto payloads, auto times) {
        EXPECT_EQ(times[5], TimeNs(payloads[5] * 10));
        ++blocks;
      });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(blocks, 10u);
}

TEST(RoundTrip, AWindowReadsOnlyTheBlocksThatTouchIt) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn", {.blockRows = 100});
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 1000; ++i) writer->append(Mark{.timeNs = i * 10});
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  const auto times = reader->column<&Mark::timeNs>({2500, 2510});
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->size(), 100u);
  EXPECT_EQ(times->front(), 2000);
  EXPECT_EQ(reader->span().startNs, 0);
  EXPECT_EQ(reader->span().endNs, 9991);
}

TEST(RoundTrip, LongRangesDoNotWidenTheBlocksOfShortOnes) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn", {.blockRows = 100});
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 1000; ++i) {
    writer->append(Range{.startNs = i * 100, .durNs = i % 100 == 7 ? 90'000 : 50, .payload = 1});
  }
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  const TableInfo* table = reader->table(Range::kTable);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows, 1000u);
  std::uint32_t longRows = 0;
  for (const BlockInfo& block : table->blocks) {
    if (block.longRows) longRows += block.rows;
    EXPECT_TRUE(block.longRows || block.time.endNs - block.time.startNs < 20'000);
  }
  EXPECT_EQ(longRows, 10u);
}

TEST(RoundTrip, TextsComeBackAndRepeatTheirIds) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn");
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->intern("").value, 0u);
  std::vector<StringId> ids;
  for (int i = 0; i < 10'000; ++i) ids.push_back(writer->intern("text " + std::to_string(i)));
  const StringId big = writer->intern(std::string(3 << 20, 'x'));
  EXPECT_EQ(writer->intern("text 17"), ids[17]);
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  EXPECT_EQ(reader->stringCount(), 10'002u);
  EXPECT_EQ(reader->text(ids[9'999]), "text 9999");
  EXPECT_EQ(reader->text(big).size(), std::size_t{3} << 20);
  EXPECT_EQ(reader->text(StringId(77'777)), "");
}

}  // namespace
}  // namespace lacuna::prof
