// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {

// Noise, which no column can be predicted from, and no column of it.
// clang-format off
#define LACUNA_TEST_NOISE_COLUMNS(COLUMN)              \
  COLUMN(TimeNs, timeNs, Time, "when")                 \
  COLUMN(std::uint64_t, first, Plain, "noise")         \
  COLUMN(std::uint64_t, second, Plain, "noise")        \
  COLUMN(std::uint32_t, third, Plain, "noise")         \
  COLUMN(std::uint64_t, fourth, Plain, "noise")
// clang-format on
LACUNA_TABLE(Noise, 902, "noise", LACUNA_TEST_NOISE_COLUMNS)

namespace {

/// A table of noise in many blocks, between two others.
class OneColumnTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kBlocks = 12;
  static constexpr std::uint32_t kBlockRows = 1000;

  void SetUp() override {
    auto writer = Writer::create(dir_ / "a.lcn", {.blockRows = kBlockRows});
    ASSERT_TRUE(writer.ok());
    std::mt19937_64 random(11);
    for (std::uint32_t i = 0; i < kBlocks * kBlockRows; ++i) {
      const TimeNs timeNs = std::int64_t{i} * 1000;
      writer->append(Mark{.timeNs = timeNs, .payload = random()});
      writer->append(Noise{.timeNs = timeNs,
                           .first = random(),
                           .second = random(),
                           .third = static_cast<std::uint32_t>(random()),
                           .fourth = random()});
      writer->append(CounterSample{.timeNs = timeNs, .value = static_cast<double>(random())});
    }
    ASSERT_TRUE(writer->finish().ok());
    reader_.emplace(*Reader::open(dir_ / "a.lcn", {ReaderOptions::Verify::Never}));
    ASSERT_EQ(blocks().size(), kBlocks);
  }
  [[nodiscard]] const std::vector<BlockInfo>& blocks() const {
    return reader_->table(Noise::kTable)->blocks;
  }

  [[nodiscard]] std::vector<StoredColumn> columnsOf(const BlockInfo& block) const {
    const auto columns = reader_->storedColumns(block);
    EXPECT_TRUE(columns.ok());
    return columns.ok() ? *columns : std::vector<StoredColumn>();
  }
  /// Bytes that a block has stored of one column.
  [[nodiscard]] std::uint64_t storedOf(const BlockInfo& block, std::string_view name) const {
    std::uint64_t bytes = 0;
    for (const StoredColumn& column : columnsOf(block))
      bytes += column.name == name ? column.storedBytes : 0;
    return bytes;
  }
  /// Bytes that it has besides columns.
  [[nodiscard]] std::uint64_t headerOf(const BlockInfo& block) const {
    std::uint64_t bytes = block.bytes;
    for (const StoredColumn& column : columnsOf(block)) bytes -= column.storedBytes;
    return bytes;
  }
  template <class Work>
  std::uint64_t bytesReadBy(Work&& work) const {
    const std::uint64_t before = reader_->bytesRead();
    work();
    return reader_->bytesRead() - before;
  }

  test::TempDir dir_;
  std::optional<Reader> reader_;
};

TEST_F(OneColumnTest, OpeningReadsTheIndexOnly) {
  EXPECT_LT(reader_->bytesRead(), reader_->fileBytes() / 50);
}

TEST_F(OneColumnTest, ReadingItReadsItAndHeadersOnly) {
  std::uint64_t stored = 0;
  std::uint64_t headers = 0;
  for (const BlockInfo& block : blocks()) {
    stored += storedOf(block, "second");
    headers += headerOf(block);
  }
  ASSERT_GE(stored, std::uint64_t{kBlocks} * kBlockRows * sizeof(std::uint64_t));
  const std::uint64_t read =
      bytesReadBy([&] { EXPECT_TRUE(reader_->column<&Noise::second>().ok()); });
  EXPECT_GE(read, stored);
  EXPECT_LE(read, stored + headers);
  EXPECT_LT(read, reader_->fileBytes() / 4);
}

TEST_F(OneColumnTest, InAWindowOnlyTheBlocksThatTouchItAreRead) {
  const BlockInfo& third = blocks()[2];
  const BlockInfo& fourth = blocks()[3];
  const std::uint64_t expected =
      storedOf(third, "third") + headerOf(third) + storedOf(fourth, "third") + headerOf(fourth);
  std::size_t rows = 0;
  const TimeWindow window{third.time.endNs - 10, fourth.time.startNs + 10};
  const std::uint64_t read =
      bytesReadBy([&] { rows = reader_->column<&Noise::third>(window)->size(); });
  EXPECT_EQ(rows, 2 * kBlockRows);
  EXPECT_LE(read, expected);
  const std::uint64_t all =
      bytesReadBy([&] { EXPECT_TRUE(reader_->column<&Noise::third>().ok()); });
  EXPECT_LT(read * (kBlocks / 3), all);
}

TEST_F(OneColumnTest, OutsideOfAllTimesNothingIsRead) {
  const TimeWindow window{blocks().back().time.endNs + 1, INT64_MAX};
  EXPECT_EQ(bytesReadBy([&] { EXPECT_TRUE(reader_->column<&Noise::first>(window)->empty()); }), 0u);
}

}  // namespace
}  // namespace lacuna::prof
