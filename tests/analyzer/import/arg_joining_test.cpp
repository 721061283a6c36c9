// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/arg_joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Sets of arguments, and their values with those of each name in one run, as importers leave them.
class JoinedArgs {
 public:
  std::uint32_t set(std::string_view shape) {
    const auto id = static_cast<std::uint32_t>(builder.columns<prof::ArgSet>().id.size()) + 1;
    builder.append(prof::ArgSet{prof::ArgSetId(id), builder.intern(shape)});
    return id;
  }
  void value(std::string_view key, std::uint32_t set, std::uint64_t number,
             prof::ArgScope scope = prof::ArgScope::Argument) {
    builder.append(
        prof::Arg{prof::ArgSetId(set), scope, builder.intern(key), prof::ArgType::I64, number});
  }
  void join(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    std::vector<ArgJoin> joins;
    for (const auto& [from, to] : pairs)
      joins.push_back({prof::ArgSetId(from), prof::ArgSetId(to)});
    joinArgs(builder, joins);
  }
  /// "1: +a +b" of each set.
  std::vector<std::string> sets() {
    std::vector<std::string> out;
    const auto& sets = builder.columns<prof::ArgSet>();
    for (std::size_t i = 0; i < sets.id.size(); ++i) {
      std::string shape(builder.text(sets.shape[i]));
      std::ranges::replace(shape, '\n', ' ');
      out.push_back(std::to_string(sets.id[i].value) + ": " + shape);
    }
    return out;
  }
  /// "a 1=5" of each value: name, set and number.
  std::vector<std::string> values() {
    std::vector<std::string> out;
    const auto& args = builder.columns<prof::Arg>();
    for (std::size_t i = 0; i < args.set.size(); ++i) {
      out.push_back((args.scope[i] == prof::ArgScope::Field ? "." : "") +
                    std::string(builder.text(args.key[i])) + " " +
                    std::to_string(args.set[i].value) + "=" + std::to_string(args.value[i]));
    }
    return out;
  }

  StoreBuilder builder;
};

TEST(ArgJoining, AnEndsArgumentsFollowThoseOfItsBegin) {
  JoinedArgs args;
  args.set("+a\n+b");
  args.set("+c");
  args.set("+c");
  args.value("a", 1, 5);
  args.value("b", 1, 6);
  args.value("c", 2, 7);
  args.value("c", 3, 8);
  args.join({{2, 1}});
  EXPECT_THAT(args.sets(), ElementsAre("1: +a +b +c", "3: +c"));
  EXPECT_THAT(args.values(), ElementsAre("a 1=5", "b 1=6", "c 1=7", "c 3=8"));
}

TEST(ArgJoining, OfOneNameTheEndsValueStays) {
  JoinedArgs args;
  args.set("+a\n+b\n+c");
  args.set("+b\n+d");
  args.value("a", 1, 1);
  args.value("b", 1, 2);
  args.value("b", 2, 20);
  args.value("c", 1, 3);
  args.value("d", 2, 40);
  args.join({{2, 1}});
  EXPECT_THAT(args.sets(), ElementsAre("1: +a +c +b +d"));
  EXPECT_THAT(args.values(), ElementsAre("a 1=1", "b 1=20", "c 1=3", "d 1=40"));
}

TEST(ArgJoining, TheEndsValueStaysAlsoWhenTheFileHasItFirst) {
  JoinedArgs args;
  args.set("+a");
  args.set("+a");
  args.value("a", 1, 10);
  args.value("a", 2, 20);
  args.join({{1, 2}});
  EXPECT_THAT(args.sets(), ElementsAre("2: +a"));
  EXPECT_THAT(args.values(), ElementsAre("a 2=10"));
}

TEST(ArgJoining, LinesOfTheShapeAreReplacedByTheirNames) {
  struct Case {
    std::string_view begin, end, joined;
  };
  const Case cases[] = {{"=a", "+a", "1: +a"},
                        {"+a", "=a", "1: =a"},
                        {"!{}", "+a", "1: +a"},
                        {"!bp=\"e\"\n!{}", "+a", "1: !bp=\"e\" +a"},
                        {".a\n+a", "+a", "1: .a +a"},
                        {"!a=1\n+b", "+a", "1: !a=1 +b +a"},
                        {"~s|c|a|", "+a", "1: ~s|c|a| +a"},
                        {"+ab", "+a", "1: +ab +a"},
                        {"+", "+a", "1: + +a"},
                        {"+", "+", "1: +"}};
  for (const Case& one : cases) {
    JoinedArgs args;
    args.set(one.begin);
    args.set(one.end);
    args.join({{2, 1}});
    EXPECT_THAT(args.sets(), ElementsAre(one.joined)) << one.begin << " and " << one.end;
  }
}

TEST(ArgJoining, FieldsOfTheNameOfAnArgumentStay) {
  JoinedArgs args;
  args.set(".a\n+a");
  args.set("+a");
  args.value("a", 1, 1, prof::ArgScope::Field);
  args.value("a", 1, 2);
  args.value("a", 2, 3);
  args.join({{2, 1}});
  EXPECT_THAT(args.values(), ElementsAre(".a 1=1", "a 1=3"));
}

TEST(ArgJoining, ArgumentsOfAnEndWithoutABeginGo) {
  JoinedArgs args;
  args.set("+a");
  args.set("+a\n+b");
  args.value("a", 1, 1);
  args.value("a", 2, 2);
  args.value("b", 2, 3);
  args.join({{2, 0}});
  EXPECT_THAT(args.sets(), ElementsAre("1: +a"));
  EXPECT_THAT(args.values(), ElementsAre("a 1=1"));
  args.join({{1, 0}});
  EXPECT_THAT(args.sets(), IsEmpty());
  EXPECT_THAT(args.values(), IsEmpty());
}

TEST(ArgJoining, WithoutJoinsNothingChanges) {
  JoinedArgs args;
  args.set("!{}");
  args.value("a", 1, 1);
  args.join({});
  EXPECT_THAT(args.sets(), ElementsAre("1: !{}"));
  EXPECT_THAT(args.values(), ElementsAre("a 1=1"));
}

TEST(ArgJoining, RandomSetsJoinAsTheirNamesDo) {
  std::mt19937 random(29);
  for (int round = 0; round < 50; ++round) {
    JoinedArgs args;
    std::vector<std::map<std::string, std::uint64_t>> sets(1);
    for (int i = 0; i < 20; ++i) {
      auto& set = sets.emplace_back();
      std::string shape;
      for (const char* key : {"a", "b", "c", "d"}) {
        if (random() % 2 == 0) continue;
        set[key] = random() % 1000;
        shape += std::string(shape.empty() ? "+" : "\n+") + key;
      }
      args.set(shape.empty() ? "!{}" : shape);
    }
    for (const char* key : {"a", "b", "c", "d"}) {
      for (std::uint32_t set = 1; set < sets.size(); ++set) {
        if (sets[set].contains(key)) args.value(key, set, sets[set][key]);
      }
    }
    // Each end lies after its begin; set 0 takes what ends nothing.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> joins;
    for (std::uint32_t end = 11; end <= 20; ++end) {
      const std::uint32_t begin = random() % 3 == 0 ? 0 : end - 10;
      joins.emplace_back(end, begin);
      for (const auto& [key, value] : sets[end]) sets[begin][key] = value;
      sets[end].clear();
    }
    std::ranges::shuffle(joins, random);
    args.join(joins);
    std::vector<std::string> expected;
    for (const char* key : {"a", "b", "c", "d"}) {
      for (std::uint32_t set = 1; set <= 10; ++set) {
        if (!sets[set].contains(key)) continue;
        expected.push_back(key + (" " + std::to_string(set)) + "=" +
                           std::to_string(sets[set][key]));
      }
    }
    EXPECT_EQ(args.values(), expected);
    EXPECT_EQ(args.sets().size(), 10U);
  }
}

}  // namespace
}  // namespace lacuna::analyzer
