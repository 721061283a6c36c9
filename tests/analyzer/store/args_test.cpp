// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::ArgScope, prof::ArgSetId, prof::ArgType;

/// Sets with arguments in the order in which they are added.
class ArgsTest : public testing::Test {
 protected:
  void arg(std::uint32_t set, std::string_view key, ArgType type, std::uint64_t value,
           ArgScope scope = ArgScope::Argument) {
    trace_.append(prof::Arg{.set = ArgSetId(set),
                            .scope = scope,
                            .key = trace_.intern(key),
                            .type = type,
                            .value = value});
  }
  void text(std::uint32_t set, std::string_view key, std::string_view value,
            ArgType type = ArgType::Text) {
    arg(set, key, type, trace_.intern(value).value);
  }
  Args build() {
    store_ = trace_.build();
    return Args(*store_);
  }

  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
};

TEST_F(ArgsTest, AValueIsFoundByEventNameAndScope) {
  arg(1, "size", ArgType::I64, 10);
  arg(2, "size", ArgType::I64, 20);
  arg(2, "size", ArgType::I64, 30, ArgScope::Field);
  arg(2, "other", ArgType::Bool, 1);
  const Args args = build();
  const prof::StringId size = store_->find("size");
  EXPECT_EQ(args.integer(ArgSetId(1), "size"), 10);
  EXPECT_EQ(args.integer(ArgSetId(2), "size"), 20);
  EXPECT_EQ(args.find(ArgSetId(2), size, ArgScope::Field)->bits, 30U);
  EXPECT_FALSE(args.find(ArgSetId(1), size, ArgScope::Field));
  EXPECT_EQ(args.find(ArgSetId(2), "other")->type, ArgType::Bool);
  EXPECT_FALSE(args.find(ArgSetId(1), "other"));
  EXPECT_FALSE(args.find(ArgSetId(3), "size"));
  EXPECT_FALSE(args.find(ArgSetId(), "size")) << "an event without arguments";
  EXPECT_FALSE(args.find(ArgSetId(1), "never mentioned"));
}

/// The empty id stands for a text that the trace never mentions, and for the empty text.
TEST_F(ArgsTest, AnArgumentWithoutANameIsNotTakenForEveryMissingOne) {
  arg(1, "", ArgType::I64, 10);
  const Args args = build();
  EXPECT_EQ(args.integer(ArgSetId(1), ""), 10);
  EXPECT_FALSE(args.integer(ArgSetId(1), "never mentioned"));
}

TEST_F(ArgsTest, ATypeIsNotTakenForAnother) {
  text(1, "name", "seven");
  text(1, "list", "[1, 2]", ArgType::Json);
  arg(1, "count", ArgType::I64, static_cast<std::uint64_t>(-7));
  arg(1, "share", ArgType::F64, std::bit_cast<std::uint64_t>(7.0));
  arg(1, "on", ArgType::Bool, 1);
  arg(1, "nothing", ArgType::Null, 0);
  const Args args = build();
  const ArgSetId set(1);
  EXPECT_EQ(args.text(set, "name"), "seven");
  EXPECT_EQ(args.text(set, "list"), "[1, 2]");
  EXPECT_EQ(args.integer(set, "count"), -7);
  for (const char* key : {"name", "list", "share", "on", "nothing"})
    EXPECT_EQ(args.integer(set, key), std::nullopt);
  for (const char* key : {"count", "share", "on", "nothing"})
    EXPECT_EQ(args.text(set, key), std::nullopt);
}

TEST_F(ArgsTest, ShapesAreFoundByTheirSet) {
  for (const auto& [id, shape] : {std::pair(3U, "+a"), {7U, "+b"}, {UINT32_MAX, "+c"}})
    trace_.append(prof::ArgSet{ArgSetId(id), trace_.intern(shape)});
  const Args args = build();
  EXPECT_EQ(store_->text(args.shape(ArgSetId(3))), "+a");
  EXPECT_EQ(store_->text(args.shape(ArgSetId(7))), "+b");
  EXPECT_EQ(store_->text(args.shape(ArgSetId(UINT32_MAX))), "+c");
  for (const std::uint32_t id : {0U, 1U, 5U, 8U})
    EXPECT_EQ(args.shape(ArgSetId(id)), prof::StringId()) << id;
}

/// Files list arguments event by event or name by name, and hostile ones in any order.
TEST_F(ArgsTest, ValuesAreTheSameInWhateverOrderTheyAreListed) {
  using Entry = std::tuple<std::uint32_t, std::string, std::uint64_t>;
  std::mt19937 random(1);
  std::vector<Entry> entries;
  for (std::uint32_t set = 1; set <= 60; ++set) {
    for (const char* key : {"a", "b", "c"}) {
      if (random() % 3 != 0) entries.emplace_back(set, key, random());
    }
  }
  for (int layout = 0; layout < 4; ++layout) {
    if (layout == 1)
      std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return std::get<1>(entry); });
    if (layout == 2) std::ranges::reverse(entries);
    if (layout == 3) std::ranges::shuffle(entries, random);
    std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> expected;
    for (const auto& [set, key, value] : entries) {
      arg(set, key, ArgType::I64, value);
      expected[{set, key}] = value;
    }
    const Args args = build();
    for (std::uint32_t set = 0; set <= 61; ++set) {
      for (const char* key : {"a", "b", "c"}) {
        const auto found = expected.find({set, key});
        const auto value = args.find(ArgSetId(set), key);
        ASSERT_EQ(value.has_value(), found != expected.end()) << layout << ": " << set << key;
        if (value) {
          ASSERT_EQ(value->bits, found->second) << layout << ": " << set << key;
        }
      }
    }
  }
}

TEST_F(ArgsTest, ValuesAreWrittenAsJson) {
  const auto number = [](double value) {
    return Args::Value{ArgType::F64, std::bit_cast<std::uint64_t>(value)};
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto id = [&](std::string_view value) { return std::uint64_t{trace_.intern(value).value}; };
  const std::pair<Args::Value, std::string_view> cases[] = {
      {{}, "null"},
      {{ArgType::Null, 5}, "null"},
      {{ArgType::Bool, 0}, "false"},
      {{ArgType::Bool, 2}, "true"},
      {{ArgType::I64, static_cast<std::uint64_t>(INT64_MIN)}, "-9223372036854775808"},
      {number(0.5), "0.5"},
      {number(-kInfinity), "\"-Infinity\""},
      {number(std::numeric_limits<double>::quiet_NaN()), "\"NaN\""},
      {{ArgType::Text, id("a \"b\"")}, R"("a \"b\"")"},
      {{ArgType::Text, id("[1]")}, R"("[1]")"},
      {{ArgType::Text, 999}, R"("")"},
      {{ArgType::Json, id("[1]")}, "[1]"},
      {{ArgType::Json, id("[NaN]")}, R"(["NaN"])"},
      {{ArgType::Json, id("[1,")}, R"("[1,")"},
      {{static_cast<ArgType>(200), 1}, "null"},
  };
  const Args args = build();
  for (const auto& [value, json] : cases) {
    std::string out = "x: ";
    args.appendJson(value, out);
    EXPECT_EQ(out, "x: " + std::string(json));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
