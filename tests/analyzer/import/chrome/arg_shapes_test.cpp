// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/arg_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "formats/arg_rules.h"
#include "import/chrome/chrome_texts.h"
#include "import/chrome/json_walker.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {
namespace {

using prof::ArgScope;
using prof::ArgType;
using testing::ElementsAre;
using testing::IsEmpty;

using Members = std::vector<RawEvent::Member>;

RawEvent eventWith(const Members& args, const Members& fields = {}) {
  RawEvent event;
  event.args = args;
  event.fields = fields;
  event.hasArgs = !args.empty();
  return event;
}

class ArgShapesTest : public testing::Test {
 protected:
  /// The shape of an event without extra fields.
  std::string shapeOf(ArgTable table, const RawEvent& event, const ArgSource& source = {}) {
    shapes_.begin();
    shapes_.source = source;
    return lines(shapes_.keep(table, event));
  }
  [[nodiscard]] std::string lines(prof::ArgSetId set) const {
    return set ? std::string(strings_.text(shapes_.sets.shape[set.value - 1])) : "(no set)";
  }
  [[nodiscard]] const ArgStream* stream(std::string_view key,
                                        ArgScope scope = ArgScope::Argument) const {
    for (const ArgStream& one : shapes_.streams) {
      if (one.scope == scope && strings_.text(one.key) == key) return &one;
    }
    return nullptr;
  }
  /// The value that an argument of this token is kept as.
  ArgStream::Value valueOf(std::string_view token) {
    shapeOf(ArgTable::Mark, eventWith({{"k", token}}));
    return stream("k")->values.back();
  }

  StringPool strings_;
  ChromeTexts texts_{strings_};
  ArgShapes shapes_{strings_, texts_};
};

TEST_F(ArgShapesTest, NumbersAndWordsKeepTheirType) {
  struct Case {
    std::string_view token;
    ArgType type;
    std::uint64_t bits;
  };
  const Case cases[] = {{"12", ArgType::I64, 12},
                        {"-7", ArgType::I64, static_cast<std::uint64_t>(-7)},
                        {"999999999999999999", ArgType::I64, 999999999999999999U},
                        {"true", ArgType::Bool, 1},
                        {"false", ArgType::Bool, 0},
                        {"null", ArgType::Null, 0},
                        {"1.5", ArgType::F64, std::bit_cast<std::uint64_t>(1.5)},
                        {"-2e3", ArgType::F64, std::bit_cast<std::uint64_t>(-2000.0)}};
  for (const Case& one : cases) {
    const auto value = valueOf(one.token);
    EXPECT_EQ(value.type, one.type) << one.token;
    EXPECT_EQ(value.bits, one.bits) << one.token;
  }
}

TEST_F(ArgShapesTest, TextsAndWhatNoNumberHoldsAreKeptAsText) {
  struct Case {
    std::string_view token;
    ArgType type;
    std::string_view text;
  };
  const Case cases[] = {{R"("")", ArgType::Text, ""},
                        {R"("a\nb")", ArgType::Text, "a\nb"},
                        {"[1, 2]", ArgType::Json, "[1, 2]"},
                        {R"({"a": [NaN]})", ArgType::Json, R"({"a": ["NaN"]})"},
                        {"NaN", ArgType::Text, "NaN"},
                        {"inf", ArgType::Text, "Infinity"},
                        {"-Infinity", ArgType::Text, "-Infinity"},
                        {"1234567890123456789", ArgType::Json, "1234567890123456789"},
                        {"3.14159265358979323846", ArgType::Json, "3.14159265358979323846"}};
  for (const Case& one : cases) {
    const auto value = valueOf(one.token);
    EXPECT_EQ(value.type, one.type) << one.token;
    EXPECT_EQ(strings_.text(prof::StringId(static_cast<std::uint32_t>(value.bits))), one.text)
        << one.token;
  }
}

TEST_F(ArgShapesTest, AnArgumentThatAColumnRepeatsIsALineWithoutAValue) {
  const ArgSource source{.correlation = 7,
                         .deviceIndex = 1,
                         .multiprocessors = 128,
                         .stream = 20,
                         .bytes = 1000,
                         .freed = true,
                         .address = 4096,
                         .registers = 90,
                         .sharedBytes = 512,
                         .grid = {64, 1, 1},
                         .block = {128, 1, 1},
                         .durNs = 500,
                         .payload = static_cast<std::uint64_t>(-1),
                         .eventId = 3,
                         .text = "[[2, 3]]",
                         .name = "Stream Sync"};
  struct Case {
    ArgTable table;
    std::string_view key, repeated, stored;
  };
  const Case cases[] = {{ArgTable::Kernel, "correlation", "7", "8"},
                        {ArgTable::Kernel, "correlation", "7", "7.5"},
                        {ArgTable::Kernel, "correlation", "7", "\"7\""},
                        {ArgTable::ApiCall, "External id", "7", "-7"},
                        {ArgTable::Memset, "device", "1", "0"},
                        {ArgTable::Sync, "stream", "20", "2"},
                        {ArgTable::Memcpy, "bytes", "1000", "-1000"},
                        {ArgTable::Allocation, "Bytes", "-1000", "1000"},
                        {ArgTable::Allocation, "Addr", "4096", "4095"},
                        {ArgTable::Allocation, "Device Id", "1", "null"},
                        {ArgTable::Kernel, "registers per thread", "90", "91"},
                        {ArgTable::Kernel, "shared memory", "512", "0"},
                        {ArgTable::Kernel, "grid", "[64, 1, 1]", "[64, 1, 2]"},
                        {ArgTable::Kernel, "block", "[128, 1, 1]", "[128, 1]"},
                        {ArgTable::Memcpy, "memory bandwidth (GB/s)", "2.0", "2.5"},
                        {ArgTable::Kernel, "blocks per SM", "0.50", "0.51"},
                        {ArgTable::Kernel, "warps per SM", "2", "3"},
                        {ArgTable::Range, "Sequence number", "-1", "1"},
                        {ArgTable::Range, "Input Dims", "[[2, 3]]", "[[2,3]]"},
                        {ArgTable::Sync, "cuda_sync_kind", "\"Stream Sync\"", "\"Event Sync\""},
                        {ArgTable::Sync, "wait_on_cuda_event_id", "3", "4"}};
  for (const Case& one : cases) {
    const std::string key(one.key);
    shapes_.clearRows();
    EXPECT_EQ(shapeOf(one.table, eventWith({{one.key, one.repeated}}), source), "=" + key)
        << one.repeated;
    EXPECT_THAT(stream(key)->values, IsEmpty()) << key << " " << one.repeated;
    EXPECT_EQ(shapeOf(one.table, eventWith({{one.key, one.stored}}), source), "+" + key)
        << one.stored;
    EXPECT_EQ(stream(key)->values.size(), 1U) << key << " " << one.stored;
    EXPECT_EQ(shapeOf(ArgTable::Overhead, eventWith({{one.key, one.repeated}}), source), "+" + key);
  }
}

TEST_F(ArgShapesTest, FieldsComeBeforeArgumentsAndShortOnesAreConstants) {
  const std::string longCategory = "\"" + std::string(30, 'c') + "\"";
  shapes_.begin();
  shapes_.addField("id", "\"0x1\"");
  shapes_.addField("ts", "");
  shapes_.addField("cat", longCategory);
  const auto set = shapes_.keep(
      ArgTable::Mark, eventWith({{"a", "1"}, {"bp", "2"}}, {{"bp", "\"e\""}, {"s", "\"t\""}}));
  EXPECT_EQ(lines(set), ".id\n.ts\n.cat\n!bp=\"e\"\n!s=\"t\"\n+a\n+bp");
  EXPECT_EQ(stream("ts", ArgScope::Field)->values.at(0).type, ArgType::Null);
  EXPECT_EQ(stream("cat", ArgScope::Field)->values.size(), 1U);
  EXPECT_EQ(stream("bp", ArgScope::Field), nullptr) << "a constant has no value";
  EXPECT_EQ(stream("bp")->values.at(0).bits, 2U);
  shapes_.begin();
  EXPECT_EQ(lines(shapes_.keep(ArgTable::Mark, eventWith({{"a", "1"}}))), "+a")
      << "begin() forgets extra fields";
}

TEST_F(ArgShapesTest, AnEmptyListOfArgumentsIsALineAndNoListIsNoSet) {
  RawEvent event;
  EXPECT_EQ(shapeOf(ArgTable::Range, event), "(no set)");
  event.hasArgs = true;
  EXPECT_EQ(shapeOf(ArgTable::Range, event), "!{}");
  event.fields = {{"bp", "NaN"}};
  EXPECT_EQ(shapeOf(ArgTable::Range, event), "!bp=\"NaN\"\n!{}") << "a constant is JSON";
  EXPECT_THAT(shapes_.streams, IsEmpty());
}

TEST_F(ArgShapesTest, SetsOfOneShapeShareItsTextAndCountFromOne) {
  for (int i = 0; i < 3; ++i) shapeOf(ArgTable::Mark, eventWith({{"a", "1"}, {"b", "2"}}));
  shapeOf(ArgTable::Flow, eventWith({{"b", "3"}, {"a", "4"}}));
  ASSERT_EQ(shapes_.sets.id.size(), 4U);
  EXPECT_EQ(shapes_.sets.id[3].value, 4U);
  EXPECT_EQ(shapes_.sets.shape[0], shapes_.sets.shape[2]);
  EXPECT_EQ(strings_.text(shapes_.sets.shape[3]), "+b\n+a");
  EXPECT_EQ(shapes_.streams.size(), 2U) << "a name has one stream in all tables";
  std::vector<std::uint64_t> values;
  for (const auto& value : stream("a")->values) values.push_back(value.set * 10 + value.bits);
  EXPECT_THAT(values, ElementsAre(11, 21, 31, 44));
}

TEST_F(ArgShapesTest, AnEndKeepsItsArgumentsAndNoFields) {
  shapes_.begin();
  shapes_.addField("id", "1");
  EXPECT_EQ(lines(shapes_.keepEnd(eventWith({{"a", "1"}}, {{"bp", "\"e\""}}))), "+a");
  RawEvent bare = eventWith({}, {{"bp", "\"e\""}});
  bare.hasArgs = true;
  EXPECT_FALSE(shapes_.keepEnd(bare));
}

TEST_F(ArgShapesTest, ClearedRowsLeaveShapesAndStreams) {
  shapeOf(ArgTable::Mark, eventWith({{"a", "1"}}));
  const auto shape = shapes_.sets.shape[0];
  shapes_.clearRows();
  EXPECT_THAT(shapes_.sets.id, IsEmpty());
  ASSERT_EQ(shapes_.streams.size(), 1U);
  EXPECT_THAT(shapes_.streams[0].values, IsEmpty());
  shapeOf(ArgTable::Mark, eventWith({{"a", "5"}}));
  EXPECT_EQ(shapes_.sets.shape[0], shape);
  EXPECT_EQ(stream("a")->values.at(0).set, 1U) << "sets count anew";
}

TEST_F(ArgShapesTest, NamesAreJsonInTheShapeAndPlainInTheStream) {
  EXPECT_EQ(shapeOf(ArgTable::Mark, eventWith({{R"(a\tb)", "1"}})), R"(+a\tb)");
  EXPECT_NE(stream("a\tb"), nullptr);
  EXPECT_EQ(shapeOf(ArgTable::Mark, eventWith({{"c\xff", "1"}})), "+c\xef\xbf\xbd");
  EXPECT_NE(stream("c\xef\xbf\xbd"), nullptr);
  EXPECT_EQ(shapeOf(ArgTable::Mark, eventWith({{"", "1"}})), "+");
}

TEST_F(ArgShapesTest, ARepeatedAndAStoredArgumentGoOnApart) {
  ArgSource source;
  source.correlation = 5;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(shapeOf(ArgTable::Kernel, eventWith({{"correlation", "5"}, {"x", "1"}}), source),
              "=correlation\n+x");
    EXPECT_EQ(shapeOf(ArgTable::Kernel, eventWith({{"correlation", "6"}, {"x", "1"}}), source),
              "+correlation\n+x");
  }
  EXPECT_EQ(stream("correlation")->values.size(), 2U);
  EXPECT_EQ(stream("x")->values.size(), 4U);
}

TEST_F(ArgShapesTest, HundredsOfNamesBehindOneStayApart) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "key" + std::to_string(random() % 300);
    const std::size_t before = stream(key) == nullptr ? 0 : stream(key)->values.size();
    ASSERT_EQ(shapeOf(ArgTable::Mark, eventWith({{"first", "0"}, {key, "1"}})), "+first\n+" + key);
    ASSERT_EQ(stream(key)->values.size(), before + 1);
  }
  EXPECT_EQ(stream("first")->values.size(), 2000U);
}

}  // namespace
}  // namespace lacuna::analyzer
