// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/json_walker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The events of a text, which point into it.
struct Walk {
  std::shared_ptr<std::string> text;
  JsonWalker::Outcome outcome;
  std::vector<RawEvent> events;
  [[nodiscard]] std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (const RawEvent& event : events) out.push_back(event.name);
    return out;
  }
};

Walk walkOver(JsonWalker& walker, std::string_view text, std::uint64_t fileOffset = 0) {
  Walk walk;
  walk.text =
      std::make_shared<std::string>(std::string(text) + std::string(JsonWalker::kPadding, ' '));
  walk.outcome = walker.walk(std::string_view(*walk.text).substr(0, text.size()), fileOffset,
                             [&](const RawEvent& event) { walk.events.push_back(event); });
  return walk;
}

Walk walkOver(std::string_view text, std::uint64_t fileOffset = 0) {
  JsonWalker walker;
  return walkOver(walker, text, fileOffset);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairsOf(const std::vector<RawEvent::Member>& members) {
  Pairs out;
  for (const auto& [key, value] : members) out.emplace_back(key, value);
  return out;
}

TEST(JsonWalker, GivesEveryTokenAsItIsWritten) {
  const std::string text =
      R"({ "ph":"X","cat" : "c,d", "name":"n\"}]","pid": -1 ,"tid":"t","ts":1.50,"dur":2e3,"id":"0x1","bp":"e",)"
      R"("args":{"a": [1, {"name": 2}] ,"b":null,"c":{}}})";
  const Walk walk = walkOver(text, 1000);
  ASSERT_EQ(walk.events.size(), 1U);
  const RawEvent& event = walk.events[0];
  EXPECT_EQ(event.phase, 'X');
  EXPECT_EQ(event.cat, R"("c,d")");
  EXPECT_EQ(event.name, R"("n\"}]")");
  EXPECT_EQ(event.pid, "-1");
  EXPECT_EQ(event.tid, R"("t")");
  EXPECT_EQ(event.ts, "1.50");
  EXPECT_EQ(event.dur, "2e3");
  EXPECT_EQ(event.id, R"("0x1")");
  EXPECT_EQ(pairsOf(event.fields), (Pairs{{"bp", R"("e")"}}));
  EXPECT_EQ(pairsOf(event.args), (Pairs{{"a", R"([1, {"name": 2}])"}, {"b", "null"}, {"c", "{}"}}));
  EXPECT_TRUE(event.hasArgs);
  EXPECT_EQ(event.text, text);
  EXPECT_EQ(event.offset, 1000U);
  EXPECT_EQ(walk.outcome.endOffset, text.size());
  EXPECT_FALSE(walk.outcome.listEnded || walk.outcome.incomplete);
  EXPECT_THAT(walk.outcome.problems, IsEmpty());
}

TEST(JsonWalker, TakesEveryKindOfValueWithAnySpaceAroundIt) {
  for (const std::string value :
       {"0", "-1.5E+3", "true", "null", "NaN", "-Infinity", "-inf", R"("")", R"("a\\")", "[]",
        R"(["]", "}"])", R"({"x": [[], {}]})"}) {
    for (const std::string space : {"", " ", "\r\n\t "}) {
      const std::string args = "{" + space + R"("k")" + space + ":" + space + value + space + "}";
      const Walk walk = walkOver(R"({"args":)" + args + R"(,"ph":"i"})");
      ASSERT_EQ(walk.events.size(), 1U) << args;
      EXPECT_EQ(pairsOf(walk.events[0].args), (Pairs{{"k", value}})) << args;
      EXPECT_EQ(walk.events[0].phase, 'i');
    }
  }
}

TEST(JsonWalker, APhaseIsOneCharacterAndArgsAreAnObject) {
  const Walk walk = walkOver(
      R"({"ph":"XX","args":[1]},{"ph":1,"args":{}},{"ph":"","args":"a"},{"longer than eight":2})");
  ASSERT_EQ(walk.events.size(), 4U);
  EXPECT_EQ(pairsOf(walk.events[0].fields), (Pairs{{"ph", R"("XX")"}, {"args", "[1]"}}));
  EXPECT_FALSE(walk.events[0].hasArgs);
  EXPECT_EQ(pairsOf(walk.events[1].fields), (Pairs{{"ph", "1"}}));
  EXPECT_TRUE(walk.events[1].hasArgs);
  EXPECT_THAT(walk.events[1].args, IsEmpty());
  EXPECT_EQ(pairsOf(walk.events[2].fields), (Pairs{{"ph", R"("")"}, {"args", R"("a")"}}));
  EXPECT_EQ(pairsOf(walk.events[3].fields), (Pairs{{"longer than eight", "2"}}));
  for (const RawEvent& event : walk.events) EXPECT_EQ(event.phase, 0);
}

TEST(JsonWalker, AnEventHasNothingOfTheOneBefore) {
  const Walk walk = walkOver(
      R"({"ph":"X","cat":"c","name":"n","pid":1,"tid":2,"ts":3,"dur":4,"id":5,"s":"t","args":{"a":1}},{})");
  ASSERT_EQ(walk.events.size(), 2U);
  const RawEvent& event = walk.events[1];
  EXPECT_EQ(event.phase, 0);
  for (const auto token :
       {event.cat, event.name, event.pid, event.tid, event.ts, event.dur, event.id})
    EXPECT_EQ(token, "");
  EXPECT_TRUE(event.args.empty() && event.fields.empty() && !event.hasArgs);
  EXPECT_EQ(event.text, "{}");
}

TEST(JsonWalker, EndsBehindTheBracketOfTheList) {
  const std::pair<std::string_view, std::size_t> cases[] = {
      {"]", 1},
      {" ] ", 2},
      {R"({"ph":"X"}])", 11},
      {R"({"ph":"X"} , ] , "more": [{"ph":"X"}]})", 14}};
  for (const auto& [text, end] : cases) {
    const Walk walk = walkOver(text);
    EXPECT_TRUE(walk.outcome.listEnded) << text;
    EXPECT_FALSE(walk.outcome.incomplete) << text;
    EXPECT_EQ(walk.outcome.endOffset, end) << text;
    EXPECT_EQ(walk.events.size(), text.size() > 3 ? 1U : 0U) << text;
  }
}

/// The text that ends at `cut`, and what is left of it from where reading ended, give the events of
/// the whole text.
void expectTakenUp(JsonWalker& walker, const std::string& text, std::size_t cut,
                   std::string_view events) {
  const Walk first = walkOver(walker, text.substr(0, cut));
  EXPECT_FALSE(first.outcome.listEnded) << cut;
  EXPECT_THAT(first.outcome.problems, IsEmpty()) << cut;
  std::size_t from = first.outcome.endOffset;
  EXPECT_TRUE(!first.outcome.incomplete || text[from] == '{') << cut;
  while (text[from] == ',' || text[from] == ' ' || text[from] == '\n') ++from;
  const Walk second = walkOver(walker, text.substr(from), from);
  EXPECT_TRUE(second.outcome.listEnded) << cut;
  std::string joined;
  for (const Walk* walk : {&first, &second}) {
    for (const RawEvent& event : walk->events) {
      EXPECT_EQ(text.substr(event.offset, event.text.size()), event.text) << cut;
      joined.append(event.name) += event.phase;
    }
  }
  EXPECT_EQ(joined, events) << cut;
}

TEST(JsonWalker, ATextThatEndsAnywhereIsTakenUpWhereReadingEnded) {
  const std::string text =
      R"({"ph":"X","name":"a}, {","args":{"k":[1,2]}}, {"name":"b\\","ph":"i","ts":1.5},
  {"ph":"X","name":"c","args":{}} , {"ph":"E"}])";
  JsonWalker walker;
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    const bool isBehindKey = text[cut - 1] == '"' && text[cut] == ':';
    if (!isBehindKey) expectTakenUp(walker, text, cut, R"("a}, {"X"b\\"i"c"XE)");
  }
}

TEST(JsonWalker, ATextThatEndsBehindAKeyOrInAWordOfAListIsTakenUp) {
  const std::string text = R"({"ph":"X","name":"a"}, {"ph":"i","args":{"k":[1,true]}}])";
  JsonWalker walker;
  for (const std::string_view end : {R"(}, {"ph")", R"("args")", R"("k")", "[1,tr"}) {
    expectTakenUp(walker, text, text.find(end) + end.size(), R"("a"Xi)");
  }
}

TEST(JsonWalker, LeavesOutAnEventThatIsNotWellFormedAndNamesItsStart) {
  const std::string first = R"({"ph":"X","name":"a"}, )";
  for (const std::string bad : {R"({"ph":"X" "name":1})", R"({"ph"})", R"({"ph":})", "{,}",
                                R"({"ph":"X",})", R"({"ph":"X","args":{"k" 1}})", R"({ph:"X"})"}) {
    const Walk walk = walkOver(first + bad + R"(, {"ph":"X","name":"b"}])", 500);
    EXPECT_THAT(walk.names(), ElementsAre(R"("a")", R"("b")")) << bad;
    ASSERT_EQ(walk.outcome.problems.size(), 1U) << bad;
    EXPECT_EQ(walk.outcome.problems[0].offset, 500 + first.size()) << bad;
    EXPECT_EQ(walk.outcome.problems[0].what, "an event that is not well-formed JSON was left out")
        << bad;
    EXPECT_TRUE(walk.outcome.listEnded) << bad;
  }
}

TEST(JsonWalker, ObjectsInsideALostEventAreNoEvents) {
  const Walk walk = walkOver(
      R"({"ph":"X","oops" 1,"list":[{"x":1}, {"name":"inner"}, {"name":"other"}]}, {"ph":"X","name":"next"}])");
  EXPECT_THAT(walk.names(), ElementsAre(R"("next")"));
  EXPECT_EQ(walk.outcome.problems.size(), 1U);
}

TEST(JsonWalker, ShowsTheBeginningOfALongBareWordOnly) {
  const std::string head = R"({"ph":"X","name":)";
  const Walk walk = walkOver(head + std::string(60, 'x') + R"(}, {"ph":"X","name":1}])", 7);
  ASSERT_EQ(walk.outcome.problems.size(), 1U);
  EXPECT_EQ(walk.outcome.problems[0].offset, 7 + head.size());
  EXPECT_THAT(walk.outcome.problems[0].what,
              testing::StartsWith("'" + std::string(40, 'x') + "' is neither"));
  EXPECT_THAT(walk.names(), ElementsAre("1"));
}

/// A random JSON value, and a chance of every character that means something outside a string.
std::string randomValue(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 6 : 4)) {
    case 0:
      return std::to_string(static_cast<int>(random() % 2001) - 1000);
    case 1:
      return random() % 2 == 0 ? "true" : "-1.25e-3";
    case 2: {
      std::string text = "\"";
      for (std::size_t i = random() % 80; i > 0; --i)
        text += std::string_view(R"({}[],: abcdefgh)")[random() % 15];
      return text + (random() % 3 == 0 ? R"(\\\"")" : R"(")");
    }
    case 3:
      return random() % 2 == 0 ? "{}" : "[]";
    case 4:
      return "[" + randomValue(random, depth - 1) + ", " + randomValue(random, depth - 1) + "]";
    default:
      return R"({"ph": )" + randomValue(random, depth - 1) + "}";
  }
}

TEST(JsonWalker, GivesBackWhatRandomEventsWereMadeOf) {
  std::mt19937 random(11);
  JsonWalker walker;
  for (int round = 0; round < 60; ++round) {
    std::string text;
    std::vector<Pairs> made;
    for (std::size_t events = 1 + random() % 20; events > 0; --events) {
      Pairs& args = made.emplace_back();
      std::string inside;
      for (std::size_t i = random() % 5; i > 0; --i) {
        args.emplace_back("key" + std::to_string(i), randomValue(random, 3));
        inside += (inside.empty() ? "\"" : ",\"") + args.back().first + "\" :" + args.back().second;
      }
      text += (text.empty() ? "" : "\n, ") + (R"({"args":{)" + inside) + R"(},"ph":"X"})";
    }
    const Walk walk = walkOver(walker, text + "]");
    EXPECT_TRUE(walk.outcome.listEnded);
    ASSERT_EQ(walk.events.size(), made.size());
    for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(pairsOf(walk.events[i].args), made[i]);
  }
}

}  // namespace
}  // namespace lacuna::analyzer
