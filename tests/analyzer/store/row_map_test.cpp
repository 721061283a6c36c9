// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/row_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_map>

#include "links/correlation_map.h"

namespace lacuna::analyzer {
namespace {

TEST(RowMap, TheFirstRowOfANumberWins) {
  RowMap map;
  EXPECT_EQ(map.find(7), RowMap::kNone);
  map.add(7, 1);
  map.add(7, 2);
  map.add(0, 3);
  EXPECT_EQ(map.find(7), 1U);
  EXPECT_EQ(map.find(0), 3U);
  EXPECT_EQ(map.find(8), RowMap::kNone);
}

TEST(RowMap, NumbersThatDifferOnlyInTheirHighPartAreKeptApart) {
  RowMap map;
  for (std::uint32_t i = 0; i < 1000; ++i) map.add(std::uint64_t{i} << 32 | 5, i);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(map.find(std::uint64_t{i} << 32 | 5), i);
  EXPECT_EQ(map.find(std::uint64_t{1000} << 32 | 5), RowMap::kNone);
}

TEST(RowMap, HoldsWhatAMapOfTheLibraryHoldsWhateverWasExpected) {
  for (const std::size_t expected : {0U, 10U, 5000U}) {
    std::mt19937_64 random(expected);
    RowMap map(expected);
    std::unordered_map<std::uint64_t, std::uint32_t> reference;
    for (std::uint32_t row = 0; row < 4000; ++row) {
      const std::uint64_t key = row % 3 == 0 ? random() : random() % 2000;
      map.add(key, row);
      reference.emplace(key, row);
    }
    for (const auto& [key, row] : reference) ASSERT_EQ(map.find(key), row) << expected;
    for (std::uint64_t key = 0; key < 3000; ++key) {
      ASSERT_EQ(map.find(key) != RowMap::kNone, reference.contains(key)) << key;
    }
  }
}

/// Rows by id in a map of the library; the last one of an id wins in a CorrelationMap.
void expectSame(const CorrelationMap& map,
                const std::unordered_map<std::uint64_t, std::uint32_t>& reference) {
  for (const auto& [id, row] : reference) ASSERT_EQ(map.find(id), row) << id;
  for (std::uint64_t id = 0; id < 3000; ++id)
    ASSERT_EQ(map.find(id) != CorrelationMap::kNone, reference.contains(id));
}

TEST(CorrelationMapOrder, TheLastRowOfANumberWinsAlsoWhereNumbersAreScattered) {
  std::mt19937_64 random(1);
  CorrelationMap map;
  std::unordered_map<std::uint64_t, std::uint32_t> reference;
  std::uint32_t row = 0;
  const auto set = [&](std::uint64_t id) { map.set(id, reference[id] = row++); };
  for (int i = 0; i < 3000; ++i) set(random() % 2000);
  expectSame(map, reference);
  for (int i = 0; i < 2000; ++i) set(random());  // more pages than numbers
  expectSame(map, reference);
  for (int i = 0; i < 3000; ++i) set(random() % 2000);
  expectSame(map, reference);
}

TEST(CorrelationMapOrder, HoldsTheFirstAndTheLastNumber) {
  CorrelationMap map;
  EXPECT_EQ(map.find(0), CorrelationMap::kNone);
  map.set(UINT64_MAX, 1);
  EXPECT_EQ(map.find(0), CorrelationMap::kNone);
  EXPECT_EQ(map.find(UINT64_MAX - 1), CorrelationMap::kNone);
  map.set(0, 2);
  EXPECT_EQ(map.find(UINT64_MAX), 1U);
  EXPECT_EQ(map.find(0), 2U);
}

}  // namespace
}  // namespace lacuna::analyzer
