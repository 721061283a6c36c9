// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/encoding.h"

#include <gtest/gtest.h>

#include <random>

namespace lacuna::prof::format {
namespace {

/// Columns of one type; column 0 is the one under test, the others are what it may be predicted
/// from.
struct Columns : ColumnSource {
  ColumnType type = ColumnType::U64;
  std::size_t rows = 0;
  std::vector<Bytes> values;

  Columns(ColumnType columnType, std::size_t rowCount, std::mt19937_64& random)
      : type(columnType), rows(rowCount) {
    values.resize(4, Bytes(rows * widthOf(type)));
    for (Bytes& column : values) {
      const unsigned style = random() % 4;
      std::uint64_t value = random();
      for (std::size_t i = 0; i < rows; ++i) {
        if (style == 0) value = random();
        if (style == 1) value = random() % 5;
        if (style == 2) value += random() % 1000;
        if (style == 3)
          value = random() % 3 == 0 ? UINT64_MAX - random() % 2 : std::uint64_t{1} << 63;
        std::memcpy(column.data() + i * widthOf(type), &value, widthOf(type));
      }
    }
  }
  [[nodiscard]] std::vector<ColumnView> views() const {
    std::vector<ColumnView> views;
    for (const Bytes& column : values) views.push_back({type, column.data()});
    return views;
  }
  const void* decoded(std::uint8_t column, ColumnType& columnType) override {
    columnType = type;
    return column < values.size() ? values[column].data() : nullptr;
  }
};

std::vector<Plan> everyPlan() {
  std::vector<Plan> plans{Plan{.scheme = Scheme::Dictionary}};
  for (const Base base : {Base::None, Base::Previous, Base::PreviousEnd, Base::Column}) {
    for (const std::uint8_t group : {kNoColumn, std::uint8_t{2}}) {
      for (const std::uint8_t context : {kNoColumn, std::uint8_t{3}}) {
        for (const std::uint8_t shift : {std::uint8_t{0}, std::uint8_t{2}}) {
          const bool linked = base == Base::PreviousEnd || base == Base::Column;
          plans.push_back({Scheme::Predicted, base, linked ? std::uint8_t{1} : kNoColumn, group,
                           context, shift});
        }
      }
    }
  }
  return plans;
}

constexpr ColumnType kTypes[] = {ColumnType::I64, ColumnType::U64, ColumnType::I32, ColumnType::U32,
                                 ColumnType::U16, ColumnType::U8,  ColumnType::F64};

TEST(Encoding, EveryPlanGivesBackEveryType) {
  std::mt19937_64 random(11);
  Encoder encoder(1);
  for (int round = 0; round < 12; ++round) {
    for (const ColumnType type : kTypes) {
      Columns columns(type, 1 + random() % 700, random);
      for (const Plan& plan : everyPlan()) {
        encoder.begin(columns.views(), columns.rows);
        Section section;
        section.type = type;
        Bytes stored;
        section.encoding = encoder.encode(plan, 0, stored);
        Bytes back(columns.values[0].size());
        ASSERT_TRUE(decodeColumn(section, stored, columns.rows, columns, back.data()));
        ASSERT_TRUE(back == columns.values[0])
            << "type " << int(type) << ", base " << int(plan.base);
      }
    }
  }
}

TEST(Encoding, BytesThatContradictTheirDescriptionAreRefusedOrHarmless) {
  std::mt19937_64 random(13);
  Encoder encoder(1);
  for (int round = 0; round < 4000; ++round) {
    Columns columns(kTypes[random() % 7], 1 + random() % 200, random);
    const auto plans = everyPlan();
    encoder.begin(columns.views(), columns.rows);
    Section section;
    section.type = columns.type;
    Bytes stored;
    section.encoding = encoder.encode(plans[random() % plans.size()], 0, stored);
    Encoding& e = section.encoding;
    if (random() % 2 == 0) stored.resize(random() % (stored.size() + 1));
    if (random() % 2 == 0 && !stored.empty()) stored[random() % stored.size()] ^= std::byte{0x41};
    if (random() % 3 == 0)
      e.planes[random() % 3].storedBytes = static_cast<std::uint32_t>(random());
    if (random() % 3 == 0) e.entries = static_cast<std::uint32_t>(random() % 300);
    if (random() % 3 == 0) e.planeCount = static_cast<std::uint8_t>(random() % 17);
    if (random() % 3 == 0) e.baseColumn = e.groupColumn = static_cast<std::uint8_t>(random());
    if (random() % 3 == 0) e.shift = static_cast<std::uint8_t>(random() % 64);
    Bytes back(columns.values[0].size());
    (void)decodeColumn(section, stored, columns.rows, columns, back.data());
  }
}

TEST(Bounds, ATinyBlockCannotClaimManyRows) {
  BlockEntry entry{.bodyBytes = 100, .headerBytes = 100, .rows = kMaxBlockRows};
  EXPECT_FALSE(entry.plausible(1 << 30));
  entry.rows = 3200;
  EXPECT_TRUE(entry.plausible(1 << 30));
  EXPECT_FALSE(entry.plausible(199));
}

}  // namespace
}  // namespace lacuna::prof::format
