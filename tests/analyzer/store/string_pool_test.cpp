// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/string_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna::analyzer {
namespace {

using prof::StringId;

std::string poolText(int number) {
  return "text number " + std::to_string(number);
}

TEST(StringPool, IdsCountUpFromTheEmptyText) {
  StringPool pool;
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_EQ(pool.intern(""), StringId());
  EXPECT_EQ(pool.intern("a"), StringId(1));
  EXPECT_EQ(pool.intern("b"), StringId(2));
  EXPECT_EQ(pool.intern("a"), StringId(1));
  EXPECT_EQ(pool.size(), 3U);
  EXPECT_EQ(pool.text(StringId()), "");
  EXPECT_EQ(pool.text(StringId(2)), "b");
  EXPECT_EQ(pool.text(StringId(3)), "") << "an id that it has not given";
  EXPECT_EQ(pool.find("a"), StringId(1));
  EXPECT_EQ(pool.find(""), StringId());
  EXPECT_EQ(pool.find("A"), StringId());
  EXPECT_EQ(pool.size(), 3U) << "finding keeps nothing";
}

TEST(StringPool, TextsAreWholeBytesNotWords) {
  StringPool pool;
  const StringId first = pool.intern(std::string_view("a\0b", 3));
  const StringId second = pool.intern(std::string_view("a\0c", 3));
  const StringId third = pool.intern("a");
  EXPECT_TRUE(first != second && first != third && second != third);
  EXPECT_EQ(pool.text(first), std::string_view("a\0b", 3));
  EXPECT_EQ(pool.bytes(), 7U);
}

TEST(StringPool, GrowingKeepsIdsAndViews) {
  constexpr int kTexts = 5000;  // the first table has room for some 500
  StringPool pool;
  std::vector<std::string_view> views;
  std::uint64_t bytes = 0;
  for (int i = 0; i < kTexts; ++i) {
    const StringId id = pool.intern(poolText(i));
    ASSERT_EQ(id, StringId(static_cast<std::uint32_t>(i + 1)));
    views.push_back(pool.text(id));
    bytes += poolText(i).size();
  }
  const StringPool moved = std::move(pool);
  for (int i = 0; i < kTexts; ++i) {
    const StringId id = moved.find(poolText(i));
    ASSERT_EQ(id, StringId(static_cast<std::uint32_t>(i + 1)));
    ASSERT_EQ(moved.text(id).data(), views[static_cast<std::size_t>(i)].data())
        << "a text stays where it is";
    ASSERT_EQ(views[static_cast<std::size_t>(i)], poolText(i));
  }
  EXPECT_EQ(moved.find(poolText(kTexts)), StringId());
  EXPECT_EQ(moved.bytes(), bytes);
}

TEST(StringPool, TextsLongerThanAPageStandAmongShortOnes) {
  StringPool pool;
  std::vector<std::string> texts;
  for (const std::size_t length : {3U, 65535U, 65536U, 65537U, 5U, 200'000U, 1U})
    texts.emplace_back(length, static_cast<char>('a' + texts.size()));
  std::vector<StringId> ids;
  for (const std::string& text : texts) ids.push_back(pool.intern(text));
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_TRUE(pool.text(ids[i]) == texts[i]) << texts[i].size();
}

TEST(StringPool, TextsThatShareAHashAreTwo) {
  StringPool pool;
  constexpr std::uint64_t kHash = 0x1234'5678'0000'0001;
  const StringId first = pool.intern("one", kHash);
  EXPECT_EQ(pool.intern("two", kHash), StringId(2));
  EXPECT_EQ(pool.intern("one", kHash), first);
  EXPECT_EQ(pool.text(StringId(2)), "two");
  EXPECT_EQ(pool.intern("plain", StringPool::hashOf("plain")), pool.intern("plain"));
}

}  // namespace
}  // namespace lacuna::analyzer
