// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/store.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lacuna::analyzer {
namespace {

using prof::Kernel;
using prof::Range;
using prof::StringId;
using prof::TimeNs;

void addRange(StoreBuilder& builder, TimeNs startNs, TimeNs durNs, std::string_view name) {
  Range range;
  range.startNs = startNs;
  range.durNs = durNs;
  range.name = builder.intern(name);
  builder.append(range);
}

TEST(Store, AnEmptyBuilderMakesAStoreWithoutRowsAndTime) {
  const auto store = StoreBuilder().build();
  EXPECT_EQ(store->rows<Range>(), 0U);
  EXPECT_TRUE(store->column<&Kernel::startNs>().empty());
  EXPECT_EQ(store->span().startNs, 0);
  EXPECT_EQ(store->span().endNs, 0);
  EXPECT_EQ(store->text(StringId()), "");
}

TEST(Store, RowsComeInTimeOrderAndStayComplete) {
  StoreBuilder builder;
  addRange(builder, 30, 5, "c");
  addRange(builder, 10, 100, "a");
  addRange(builder, 20, 1, "b");
  const auto store = builder.build();
  ASSERT_EQ(store->rows<Range>(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(store->column<&Range::startNs>()));
  EXPECT_EQ(store->text(store->row<Range>(0).name), "a");
  EXPECT_EQ(store->row<Range>(0).durNs, 100);
  EXPECT_EQ(store->text(store->row<Range>(2).name), "c");
  EXPECT_EQ(store->span().startNs, 10);
  EXPECT_EQ(store->span().endNs, 110);
}

TEST(Store, RowsOfTheSameTimeKeepTheirOrder) {
  StoreBuilder builder;
  addRange(builder, 5, 0, "late");
  for (const auto* name : {"x", "y", "z"}) addRange(builder, 1, 0, name);
  const auto store = builder.build();
  std::string names;
  for (const StringId name : store->column<&Range::name>()) names += store->text(name);
  EXPECT_EQ(names, "xyzlate");
}

TEST(Store, OfEqualStartsTheLongerComesFirst) {
  StoreBuilder builder;
  addRange(builder, 1, 2, "child");
  addRange(builder, 1, 9, "parent");
  const auto store = builder.build();
  EXPECT_EQ(store->text(store->row<Range>(0).name), "parent");
}

TEST(Store, TextsAreKeptOnceAndFound) {
  StoreBuilder builder;
  const StringId first = builder.intern("aten::mm");
  for (int i = 0; i < 10000; ++i) builder.intern("name " + std::to_string(i));
  EXPECT_EQ(builder.intern("aten::mm"), first);
  EXPECT_EQ(builder.intern(""), StringId());
  const auto store = builder.build();
  EXPECT_EQ(store->find("aten::mm"), first);
  EXPECT_EQ(store->text(store->find("name 9999")), "name 9999");
  EXPECT_EQ(store->find("never interned"), StringId());
  EXPECT_EQ(store->stringCount(), 10002U);
}

TEST(Store, AScanSeesEveryRowOfTheWindowAndSkipsBlocksOutsideIt) {
  StoreBuilder builder;
  addRange(builder, 0, 1'000'000, "long");
  for (int i = 1; i < 200'000; ++i) addRange(builder, i, 1, "short");
  const auto store = builder.build();
  std::uint64_t seen = 0;
  std::uint64_t inside = 0;
  const auto status = store->scan<&Range::startNs, &Range::durNs>(
      {150'000, 150'010},
      [&](std::uint64_t firstRow, std::span<const TimeNs> starts, std::span<const TimeNs> lengths) {
        EXPECT_EQ(starts[0], static_cast<TimeNs>(firstRow));
        seen += starts.size();
        for (std::size_t i = 0; i < starts.size(); ++i) {
          inside +=
              static_cast<std::uint64_t>(starts[i] < 150'010 && starts[i] + lengths[i] > 150'000);
        }
      });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(inside, 11U);
  EXPECT_LT(seen, 200'000U);
}

TEST(Store, AScanStopsWhenItsVisitorHasSeenEnough) {
  StoreBuilder builder;
  for (int i = 0; i < 200'000; ++i) addRange(builder, i, 1, "short");
  const auto store = builder.build();
  int calls = 0;
  ASSERT_TRUE(store
                  ->scan<&Range::name>(
                      {}, [&](std::uint64_t, std::span<const StringId>) { return ++calls < 2; })
                  .ok());
  EXPECT_EQ(calls, 2);
}

TEST(Store, TablesAreReachableByNumberForCodeThatTreatsThemAlike) {
  StoreBuilder builder;
  addRange(builder, 7, 3, "a");
  const auto store = builder.build();
  const std::size_t table = tableIndex<Range>();
  EXPECT_EQ(prof::allTables()[table].name, "range");
  EXPECT_EQ(store->rows(table), 1U);
  const ColumnView starts = store->column(table, prof::columnIndex<&Range::startNs>());
  EXPECT_EQ(starts.type, prof::ColumnType::I64);
  EXPECT_EQ(*reinterpret_cast<const TimeNs*>(starts.data), 7);
}

}  // namespace
}  // namespace lacuna::analyzer
