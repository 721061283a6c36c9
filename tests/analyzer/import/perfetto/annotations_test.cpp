// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/proto_wire.h"
#include "support/proto_message.h"

namespace lacuna::analyzer {
namespace {

using prof::ArgType;
using testing::ElementsAre;
using testing::IsEmpty;
/// An annotation, or a value inside one.
using Fields = test::ProtoMessage;

Fields named(std::string_view name) {
  return Fields().set(10, name);
}

class PerfettoAnnotationsTest : public testing::Test {
 protected:
  prof::ArgSetId add(const std::vector<Fields>& fields) {
    std::vector<std::string_view> views;
    for (const Fields& one : fields) views.push_back(one.bytes);
    return annotations_.add(views, interned_);
  }
  /// The only argument of a set of one annotation.
  prof::Arg argOf(const Fields& fields) {
    const auto before = args().set.size();
    EXPECT_TRUE(add({fields}));
    EXPECT_EQ(args().set.size(), before + 1);
    return args().row(before);
  }
  std::string jsonOf(const Fields& fields) {
    const prof::Arg arg = argOf(fields);
    return arg.type == ArgType::Json ? textOf(arg) : "(no JSON)";
  }
  [[nodiscard]] std::string textOf(const prof::Arg& arg) const {
    return std::string(builder_.text(prof::StringId(static_cast<std::uint32_t>(arg.value))));
  }
  prof::Arg::Columns& args() { return builder_.columns<prof::Arg>(); }

  StoreBuilder builder_;
  PerfettoAnnotations annotations_{builder_};
  PerfettoAnnotations::Interned interned_;
};

TEST_F(PerfettoAnnotationsTest, NumbersKeepTheirType) {
  struct Case {
    Fields fields;
    ArgType type;
    std::uint64_t value;
  };
  const auto minus3 = static_cast<std::uint64_t>(-3);
  const Case cases[] = {
      {named("k"), ArgType::Null, 0},
      {named("k").set(2, 0), ArgType::Bool, 0},
      {named("k").set(2, 5), ArgType::Bool, 1},
      {named("k").set(3, 7), ArgType::I64, 7},
      {named("k").set(4, minus3), ArgType::I64, minus3},
      {named("k").set(7, INT64_MAX), ArgType::I64, INT64_MAX},
      {named("k").real(5, -0.5), ArgType::F64, std::bit_cast<std::uint64_t>(-0.5)},
      {Fields().set(4, 9).set(10, "k"), ArgType::I64, 9}};
  for (const Case& one : cases) {
    const prof::Arg arg = argOf(one.fields);
    EXPECT_EQ(arg.type, one.type);
    EXPECT_EQ(arg.value, one.value);
    EXPECT_EQ(builder_.text(arg.key), "k");
    EXPECT_EQ(arg.scope, prof::ArgScope::Argument);
  }
  EXPECT_EQ(annotations_.unread(), 0U);
}

TEST_F(PerfettoAnnotationsTest, TextsAndLargeNumbersAreTexts) {
  interned_.texts[4] = builder_.intern("kept elsewhere");
  struct Case {
    Fields fields;
    ArgType type;
    std::string_view text;
  };
  const Case cases[] = {
      {named("k").set(6, "a\"b"), ArgType::Text, "a\"b"},
      {named("k").set(6, ""), ArgType::Text, ""},
      {named("k").set(17, 4), ArgType::Text, "kept elsewhere"},
      {named("k").set(3, UINT64_MAX), ArgType::Json, "18446744073709551615"},
      {named("k").set(7, std::uint64_t{1} << 63), ArgType::Json, "9223372036854775808"},
      {named("k").set(9, "{\"a\": [1]}"), ArgType::Json, "{\"a\": [1]}"},
      {named("k").set(9, "{a"), ArgType::Text, "{a"},
      {named("k").set(4, 1).set(6, "the last counts"), ArgType::Text, "the last counts"}};
  for (const Case& one : cases) {
    const prof::Arg arg = argOf(one.fields);
    EXPECT_EQ(arg.type, one.type) << one.text;
    EXPECT_EQ(textOf(arg), one.text);
  }
}

TEST_F(PerfettoAnnotationsTest, SetsCountFromOneAndHaveAShapeOfTheirNames) {
  interned_.names[3] = builder_.intern("in\nterned");
  EXPECT_FALSE(add({}));
  EXPECT_FALSE(add({Fields().set(4, 1)})) << "without a name";
  EXPECT_EQ(add({named("a").set(4, 1), Fields().set(1, 3).set(4, 2), named("a").set(4, 3)}),
            prof::ArgSetId(1));
  EXPECT_EQ(add({Fields().set(1, 99).set(4, 1), named("q\"")}), prof::ArgSetId(2));
  const auto& sets = builder_.columns<prof::ArgSet>();
  EXPECT_THAT(sets.id, ElementsAre(prof::ArgSetId(1), prof::ArgSetId(2)));
  EXPECT_EQ(builder_.text(sets.shape[0]), "+a\n+in\\nterned\n+a");
  EXPECT_EQ(builder_.text(sets.shape[1]), "+q\\\"");
  EXPECT_THAT(args().set, ElementsAre(sets.id[0], sets.id[0], sets.id[0], sets.id[1]));
  EXPECT_EQ(annotations_.unread(), 2U) << "one without a name, one whose name is not known";
}

TEST_F(PerfettoAnnotationsTest, DictionariesAndListsBecomeJson) {
  interned_.names[3] = builder_.intern("three");
  interned_.texts[4] = builder_.intern("four");
  const auto item = [](std::uint64_t value) { return Fields().set(4, value); };
  EXPECT_EQ(jsonOf(named("k").set(11, named("a").set(4, 1)).set(11, Fields().set(1, 3).set(17, 4))),
            R"({"a": 1, "three": "four"})");
  EXPECT_EQ(jsonOf(named("k").set(12, item(1)).set(12, Fields()).set(12, Fields().set(2, 1))),
            "[1, null, true]");
  EXPECT_EQ(jsonOf(named("k")
                       .set(12, Fields().set(12, item(1)).set(12, item(2)))
                       .set(12, Fields().set(11, named("").set(6, "\n")))),
            R"([[1, 2], {"": "\n"}])");
  EXPECT_EQ(jsonOf(named("k")
                       .set(12, Fields().set(3, UINT64_MAX))
                       .set(12, item(static_cast<std::uint64_t>(-1)))
                       .set(12, Fields().real(5, 0.25))
                       .set(12, Fields().real(5, std::numeric_limits<double>::infinity()))
                       .set(12, Fields().set(9, "[2]"))
                       .set(12, Fields().set(9, "[2"))),
            R"([18446744073709551615, -1, 0.25, null, [2], "[2"])");
  EXPECT_EQ(annotations_.unread(), 0U);
}

TEST_F(PerfettoAnnotationsTest, NestedValuesOfTheOlderFormBecomeJson) {
  const auto integerOf = [](std::uint64_t value) { return Fields().set(5, value); };
  EXPECT_EQ(jsonOf(named("k").set(8, integerOf(7))), "7");
  EXPECT_EQ(jsonOf(named("k").set(8, Fields())), "null");
  EXPECT_EQ(jsonOf(named("k").set(8, Fields()
                                         .set(1, 1)
                                         .set(2, "a")
                                         .set(2, "b\"")
                                         .set(3, integerOf(1))
                                         .set(3, Fields().set(7, 1)))),
            R"({"a": 1, "b\"": true})");
  EXPECT_EQ(jsonOf(named("k").set(
                8, Fields()
                       .set(1, 2)
                       .set(4, Fields().real(6, 1.5))
                       .set(4, Fields().real(6, std::numeric_limits<double>::quiet_NaN()))
                       .set(4, Fields().set(8, "t"))
                       .set(4, Fields().set(1, 1)))),
            R"([1.5, null, "t", {}])");
  EXPECT_EQ(jsonOf(named("k").set(
                8, Fields().set(1, 1).set(2, "a").set(3, integerOf(1)).set(3, integerOf(2)))),
            R"({"a": 1})")
      << "a value without a key";
  EXPECT_EQ(jsonOf(named("k").set(12, Fields().set(8, integerOf(7)))), "[7]");
}

/// A value inside so many lists.
Fields deep(int lists) {
  Fields value = Fields().set(4, 1);
  for (int i = 0; i < lists; ++i) value = Fields().set(12, value);
  return value;
}

TEST_F(PerfettoAnnotationsTest, ValuesThatAreTooDeepAreLeftOutAndCounted) {
  EXPECT_EQ(jsonOf(named("k").set(12, deep(63))),
            std::string(64, '[') + "1" + std::string(64, ']'));
  EXPECT_EQ(annotations_.unread(), 0U);
  const prof::Arg arg = argOf(named("k").set(12, deep(64)));
  EXPECT_EQ(arg.type, ArgType::Null);
  EXPECT_EQ(annotations_.unread(), 1U);
}

TEST_F(PerfettoAnnotationsTest, DamagedAnnotationsAreLeftOutAndCounted) {
  Fields cut = named("k").set(6, "some text");
  cut.bytes.pop_back();
  EXPECT_FALSE(add({cut}));
  EXPECT_THAT(args().set, IsEmpty());
  EXPECT_EQ(annotations_.unread(), 1U);
  Fields list = named("k").set(12, cut);
  EXPECT_EQ(argOf(list).type, ArgType::Null) << "the name stays";
  EXPECT_EQ(annotations_.unread(), 2U);
}

TEST_F(PerfettoAnnotationsTest, AValueOfAnUnknownFormIsCountedUnlessAnotherIsThere) {
  EXPECT_EQ(argOf(named("k").set(14, "proto")).type, ArgType::Null);
  EXPECT_EQ(annotations_.unread(), 1U);
  EXPECT_EQ(argOf(named("k").set(14, "proto").set(4, 1)).type, ArgType::I64);
  EXPECT_EQ(argOf(named("k").set(16, "type.Name").set(13, 5)).type, ArgType::Null)
      << "names of types alone";
  EXPECT_EQ(annotations_.unread(), 1U);
}

TEST_F(PerfettoAnnotationsTest, NestedValuesAndTextsThatAreNotReadAreCounted) {
  argOf(named("k").set(8, "\xff"));
  EXPECT_EQ(annotations_.unread(), 1U);
  argOf(named("k").set(17, 99));
  EXPECT_EQ(annotations_.unread(), 2U);
}

}  // namespace
}  // namespace lacuna::analyzer
