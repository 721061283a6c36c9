// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/work_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "import/chrome/chrome_categories.h"
#include "import/chrome/chrome_texts.h"
#include "import/chrome/same_text.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {
namespace {

TEST(WorkNames, GiveTheDirectionOfACopy) {
  using enum prof::CopyKind;
  const std::pair<std::string_view, prof::CopyKind> cases[] = {
      {"Memcpy HtoD (Pageable -> Device)", HostToDevice},
      {"Memcpy DtoH (Device -> Pinned)", DeviceToHost},
      {"Memcpy DtoD (Device -> Device)", DeviceToDevice},
      {"Memcpy PtoP (Device -> Device)", PeerToPeer},
      {"Memcpy HtoA", HostToArray},
      {"Memcpy AtoD", ArrayToDevice},
      {"Memcpy DtoA", DeviceToArray},
      {"CopyHostToDevice", HostToDevice},
      {"CopyDeviceToDevice", DeviceToDevice},
      {"CopyDeviceToHost", DeviceToHost},
      {"Memcpy", Unknown},
      {"htod", Unknown},
      {"", Unknown}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(copyKindOf(name), kind) << name;
}

TEST(WorkNames, GiveTheKindOfMemoryByItsLongestWord) {
  using enum prof::MemoryKind;
  const std::pair<std::string_view, prof::MemoryKind> cases[] = {
      {"Memset (Device)", Device},
      {"-> Device Static)", DeviceStatic},
      {"Managed Static", ManagedStatic},
      {"(Managed", Managed},
      {"Memcpy HtoD (Pageable ", Pageable},
      {"-> Pinned)", Pinned},
      {"-> Array)", Array},
      {"Memset (Unknown)", Unknown},
      {"", Unknown}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(memoryKindOf(name), kind) << name;
}

TEST(WorkNames, GiveThatForWhichIsWaited) {
  using enum prof::SyncKind;
  const std::pair<std::string_view, prof::SyncKind> cases[] = {
      {"Stream Wait Event", StreamWait}, {"Event Sync", Event},    {"Stream Sync", Stream},
      {"Context Sync", Context},         {"Device Sync", Context}, {"Sync", Unknown}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(syncKindOf(name), kind) << name;
}

TEST(ChromeCategories, AreKnownAgainAmongManyOthers) {
  StringPool strings;
  ChromeTexts texts(strings);
  ChromeCategories categories(texts);
  std::mt19937 random(47);
  for (int i = 0; i < 1'000; ++i) {
    const std::string name = "category" + std::to_string(random() % 30);
    const auto& category = categories.of('"' + name + '"');
    ASSERT_EQ(strings.text(category.id), name);
    ASSERT_EQ(category.kind, ChromeCategories::Kind::Range);
    ASSERT_EQ(categories.of("\"kernel\"").kind, ChromeCategories::Kind::Kernel);
  }
  EXPECT_EQ(strings.text(categories.of("").id), "") << "an event without a category";
  EXPECT_EQ(strings.text(categories.of("5").id), "5");
  EXPECT_EQ(categories.of("kernel").kind, ChromeCategories::Kind::Range)
      << "only a string names one";
}

TEST(ChromeTexts, AreWithoutQuotesAndEscapesOrWellFormed) {
  StringPool strings;
  ChromeTexts texts(strings);
  const auto text = [&](std::string_view token) { return strings.text(texts.textId(token)); };
  EXPECT_EQ(text(R"("a\u00fc\n")"), "a\xc3\xbc\n");
  EXPECT_EQ(text("1.50"), "1.50");
  EXPECT_FALSE(texts.textId(""));
  EXPECT_FALSE(texts.textId(R"("")"));
  const auto json = [&](std::string_view token) { return strings.text(texts.jsonId(token)); };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(json("[1, {\"a\":2}]"), "[1, {\"a\":2}]");
    EXPECT_EQ(json("[NaN, -Infinity]"), R"(["NaN", "-Infinity"])");
    EXPECT_EQ(json("[01]"), "\"[01]\"") << "no JSON has such a number";
  }
}

TEST(SameText, ComparesTextsOfEveryLengthWhereverTheyDiffer) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string text(size, 'x');
    EXPECT_TRUE(isSame(text, std::string(size, 'x'))) << size;
    EXPECT_FALSE(isSame(text, text + 'x')) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'y';
      EXPECT_FALSE(isSame(text, other)) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
