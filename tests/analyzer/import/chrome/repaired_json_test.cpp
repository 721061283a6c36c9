// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/chrome/json_walker.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RepairedJson, ReplacesWhatNoParserTakes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"{\"a\":\n\"\xc3\xbc\\n\"}", "{\"a\":\n\"\xc3\xbc\\n\"}"},
      {"\"\xff\"", "\"?\""},
      {"\"\xc3\"", "\"?\""},
      {"\"\xed\xa0\x80\"", "\"???\""},
      {"\xfe", "?"},
      {"\"a\tb\"\t", "\"a b\"\t"},
      {"\"a\\\"\x01\"", "\"a\\\" \""},
      {"\"\\\\\"\x01", "\"\\\\\"\x01"},
      {"\"\\\xff\"", "\" ?\""},
      {"{\"name\":\"abc, {\"ph\":\"X\"}", "{\"name\":\"abc,\"{\"ph\":\"X\"}"},
      {"{\"name\":\"{\"ph\":\"X\"}", "{\"name\": {\"ph\":\"X\"}"},
      {"\"a {\\\"ph\\\" b\"", "\"a {\\\"ph\\\" b\""}};
  for (const auto& [given, repaired] : cases) EXPECT_EQ(repairedJson(given), repaired) << given;
}

/// The bytes inside the strings of a text whose quotes are sound.
void expectSound(std::string_view text) {
  bool inString = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8SequenceLength(text.substr(at));
    ASSERT_NE(length, 0U) << at << " of " << testing::PrintToString(text);
    ASSERT_TRUE(!inString || static_cast<unsigned char>(text[at]) >= 0x20) << at;
    if (inString && text[at] == '\\' && at + 1 < text.size() &&
        static_cast<unsigned char>(text[at + 1]) < 0x80) {
      ++at;
    } else if (text[at] == '"') {
      inString = !inString;
    }
    at += length;
  }
}

TEST(RepairedJson, OfAnyBytesIsSoundAndAsLong) {
  constexpr std::string_view kBytes = "\"\"\\a\x01\n\xff\xc3\xbc\xe2\x82\xac\xf0\x9f";
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string given;
    for (std::size_t i = random() % 40; i > 0; --i) given += kBytes[random() % kBytes.size()];
    const std::string repaired = repairedJson(given);
    ASSERT_EQ(repaired.size(), given.size());
    expectSound(repaired);
    ASSERT_EQ(repairedJson(repaired), repaired) << testing::PrintToString(given);
  }
}

TEST(RepairedJson, ClosesAStringBehindACompleteCharacter) {
  expectSound(repairedJson("{\"name\":\"\xc3\xbc{\"ph\":\"X\"}"));
}

struct RepairedWalk {
  JsonWalker::Outcome outcome;
  std::vector<std::string> names;
};

RepairedWalk walkRepaired(std::string text, std::uint64_t fileOffset) {
  const std::size_t size = text.size();
  text.append(JsonWalker::kPadding, ' ');
  RepairedWalk walk;
  JsonWalker walker;
  walk.outcome = walker.walk(std::string_view(text).substr(0, size), fileOffset,
                             [&](const RawEvent& event) { walk.names.emplace_back(event.name); });
  return walk;
}

TEST(RepairedEvents, AreReadAndNamedByTheirFirstBadByte) {
  const std::string text =
      "{\"ph\":\"X\",\"name\":\"a\xff\"}, {\"ph\":\"X\",\"name\":\"fine\"}, "
      "{\"ph\":\"X\",\"name\":\"c\\\x02\"}]";
  const RepairedWalk walk = walkRepaired(text, 90);
  EXPECT_THAT(walk.names, ElementsAre(R"("a?")", R"("fine")", R"("c  ")"));
  EXPECT_EQ(walk.outcome.repairedEvents, 2U);
  ASSERT_EQ(walk.outcome.repaired.size(), 2U);
  EXPECT_EQ(walk.outcome.repaired[0].offset, 90 + text.find('\xff'));
  EXPECT_EQ(walk.outcome.repaired[0].what,
            "0xff is no UTF-8: its event was read with '?' in its place");
  EXPECT_EQ(walk.outcome.repaired[1].offset, 90 + text.find('\\'));
  EXPECT_THAT(walk.outcome.repaired[1].what, HasSubstr("0x02 is bare inside a string"));
  EXPECT_THAT(walk.outcome.problems, IsEmpty());
}

TEST(RepairedEvents, AreAllCountedAndTheFirstAreNamed) {
  std::string text;
  for (int i = 0; i < 10; ++i)
    text += std::string(i > 0 ? "," : "") + "{\"ph\":\"X\",\"name\":\"\x01\"}";
  const RepairedWalk walk = walkRepaired(text, 0);
  EXPECT_EQ(walk.names.size(), 10U);
  EXPECT_EQ(walk.outcome.repairedEvents, 10U);
  EXPECT_EQ(walk.outcome.repaired.size(), JsonWalker::kMostNamed);
}

TEST(EventStart, IsWhereAnObjectWithAKnownKeyFollowsAnother) {
  struct Case {
    std::string_view text;
    std::size_t first, last, lastGap;  ///< npos: none
  };
  constexpr std::size_t kNone = std::string_view::npos;
  const Case cases[] = {{"", kNone, kNone, 0},
                        {R"({"ph":1})", kNone, kNone, 0},
                        {R"({"ph":1},)", kNone, kNone, 0},
                        {R"({"ph":1},{"ph":2})", 9, 9, 8},
                        {R"(1} ,  { "name":{}}, {"ts": 1)", 6, 20, 18},
                        {R"(1} {"ph":2})", kNone, kNone, 0},
                        {R"(1},{"phase":2})", kNone, kNone, 0},
                        {R"(1},{"p":2})", kNone, kNone, 0},
                        {R"(1},{"ph)", kNone, kNone, 0},
                        {R"(1},{"ph")", 3, 3, 2},
                        {R"(1},{"cname":2},["ph"])", 3, 3, 2}};
  for (const Case& one : cases) {
    std::size_t gap = 99;
    EXPECT_EQ(nextEventStart(one.text, 0, gap), one.first) << one.text;
    EXPECT_EQ(lastEventStart(one.text, gap), one.last) << one.text;
    EXPECT_TRUE(one.last == kNone || gap == one.lastGap) << one.text;
  }
  std::size_t gap = 0;
  EXPECT_EQ(nextEventStart(R"(1},{"ph":{}},{"ph":2})", 2, gap), 13U);
  EXPECT_EQ(gap, 12U);
}

}  // namespace
}  // namespace lacuna::analyzer
