// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace std::string_literals;
using Type = Pickle::Type;

prof::Result<Pickle> unpickled(std::string_view bytes) {
  const test::TempFile file(".pickle", bytes);
  const auto source = ByteSource::open(file.path());
  return Pickle::read(**source, 1'000'000);
}

/// The value as Python shows it, but "<…>" for a container inside itself.
std::string shown(const Pickle& pickle, Pickle::Ref value, int depth = 0) {
  if (depth > 5) return "<…>";
  switch (pickle.type(value)) {
    case Type::None:
      return "None";
    case Type::Bool:
      return pickle.integer(value) != 0 ? "True" : "False";
    case Type::Integer:
      return std::to_string(pickle.integer(value));
    case Type::Real:
      return std::to_string(pickle.real(value));
    case Type::Text:
      return "'" + std::string(pickle.text(value)) + "'";
    case Type::Bytes:
      return "b'" + std::string(pickle.text(value)) + "'";
    case Type::List:
    case Type::Dict:
      break;
  }
  const bool isDict = pickle.type(value) == Type::Dict;
  std::string out;
  const auto& items = pickle.items(value);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += isDict && i % 2 == 1 ? ": " : ", ";
    out += shown(pickle, items[i], depth + 1);
  }
  return isDict ? "{" + out + "}" : "[" + out + "]";
}

/// The value that opcodes between the protocol and STOP make.
std::string madeBy(const std::string& opcodes) {
  const auto pickle = unpickled("\x80\x04" + opcodes + ".");
  return pickle.ok() ? shown(*pickle, pickle->root()) : pickle.error().message;
}

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string keyOp(std::string_view text) {
  return "X" + little(text.size(), 4) + std::string(text);
}

TEST(Pickle, ReadsNumbersOfEveryWidth) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"N", "None"},
      {"\x88", "True"},
      {"\x89", "False"},
      {"K\xff", "255"},
      {"M\xff\xff", "65535"},
      {"J\xfe\xff\xff\xff", "-2"},
      {"J\xff\xff\xff\x7f", "2147483647"},
      {"\x8a\x00"s, "0"},
      {"\x8a\x01\x80", "-128"},
      {"\x8a\x02\x80\x00"s, "128"},
      {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s, "-9223372036854775808"},
      {"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00"s, "9223372036854775807"},
      {"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff", "-9223372036854775808"},
      {"\x8b\x03\x00\x00\x00\x01\x00\x01"s, "65537"},
      {"G\x3f\xf8\x00\x00\x00\x00\x00\x00"s, "1.500000"},
      {"G\xc0\x00\x00\x00\x00\x00\x00\x00"s, "-2.000000"}};
  for (const auto& [opcodes, value] : cases)
    EXPECT_EQ(madeBy(opcodes), value) << testing::PrintToString(opcodes);
}

TEST(Pickle, ReadsTextsAndBytesWithLengthsOfEveryWidth) {
  struct Case {
    std::string_view opcode;
    int width;
    std::string_view value;
  };
  const Case cases[] = {{"\x8c", 1, "'abc'"}, {"X", 4, "'abc'"},     {"\x8d", 8, "'abc'"},
                        {"U", 1, "'abc'"},    {"T", 4, "'abc'"},     {"C", 1, "b'abc'"},
                        {"B", 4, "b'abc'"},   {"\x8e", 8, "b'abc'"}, {"\x96", 8, "b'abc'"}};
  for (const Case& one : cases) {
    EXPECT_EQ(madeBy(std::string(one.opcode) + little(3, one.width) + "abc"), one.value)
        << one.opcode;
  }
  EXPECT_EQ(madeBy("\x8c\x00"s), "''");
  EXPECT_EQ(madeBy("X" + little(300'000, 4) + std::string(300'000, 'x')),
            "'" + std::string(300'000, 'x') + "'");
}

TEST(Pickle, BuildsContainersInEveryWay) {
  const std::pair<std::string, std::string_view> cases[] = {
      {")", "[]"},
      {"]", "[]"},
      {"}", "{}"},
      {"\x8f", "[]"},
      {"K\x01\x85", "[1]"},
      {"K\x01K\x02\x86", "[1, 2]"},
      {"K\x01K\x02K\x03\x87", "[1, 2, 3]"},
      {"(t", "[]"},
      {"(K\x01K\x02t", "[1, 2]"},
      {"(K\x01K\x02l", "[1, 2]"},
      {"(K\x01\x91", "[1]"},
      {"(K\x01K\x02K\x03Nd", "{1: 2, 3: None}"},
      {"](NtaNa", "[[None], None]"},
      {"](K\x01NeNa(e", "[1, None, None]"},
      {"\x8f(K\x01\x90", "[1]"},
      {"}K\x01K\x02s(K\x03K\x04u", "{1: 2, 3: 4}"},
      {"](](Ne)e", "[[None], []]"}};
  for (const auto& [opcodes, value] : cases)
    EXPECT_EQ(madeBy(opcodes), value) << testing::PrintToString(opcodes);
}

TEST(Pickle, TheStackCanBeDroppedCopiedAndFramed) {
  EXPECT_EQ(madeBy("K\x01N0"), "1");
  EXPECT_EQ(madeBy("K\x01(K\x02N1"), "1");
  EXPECT_EQ(madeBy("N2\x86"), "[None, None]");
  EXPECT_EQ(madeBy("\x95" + little(2, 8) + "K\x01"), "1");
}

TEST(Pickle, TheMemoGivesBackTheSameValue) {
  EXPECT_EQ(madeBy("K\x07q\x05K\x01h\x05\x87"), "[7, 1, 7]");
  EXPECT_EQ(madeBy("K\x07r" + little(70'000, 4) + "j" + little(70'000, 4) + "\x86"), "[7, 7]");
  EXPECT_EQ(madeBy("K\x07\x94K\x08\x94h\x00h\x01\x86\x86\x86"s), "[7, [8, [7, 8]]]")
      << "slots count up";
  EXPECT_EQ(madeBy("K\x07q\x01K\x08q\x01h\x01\x86\x86"), "[7, [8, 8]]")
      << "the last value of a slot";
  const auto pickle = unpickled(
      "\x80\x04]\x94(h\x00K\x01"s
      "eh\x00\x86."s);
  ASSERT_TRUE(pickle.ok()) << pickle.error().message;
  const auto& pair = pickle->items(pickle->root());
  EXPECT_EQ(pair[0], pair[1]);
  EXPECT_EQ(pickle->items(pair[0]).at(0), pair[0]) << "a list that contains itself";
  EXPECT_EQ(pickle->items(pair[0]).size(), 2U);
}

TEST(Pickle, DictionariesFindTheLastValueOfATextKey) {
  for (const int others : {0, 10, 500}) {
    std::string pickle = "\x80\x04}(" + keyOp("a") + "K\x01" + keyOp("b") + "K\x02" + "K\x07K\x03";
    for (int i = 0; i < others; ++i) pickle += keyOp("key " + std::to_string(i)) + "N";
    // As bytes it is another key.
    const auto read = unpickled(pickle + keyOp("a") + "K\x05" + "C\x01zK\x09" + "u.");
    ASSERT_TRUE(read.ok()) << read.error().message;
    const auto valueOf = [&](std::string_view key) {
      const auto found = read->find(read->root(), key);
      return found ? read->integer(*found) : -1;
    };
    EXPECT_EQ(valueOf("a"), 5) << others;
    EXPECT_EQ(valueOf("b"), 2) << others;
    EXPECT_EQ(valueOf("z"), -1) << others;
    EXPECT_EQ(valueOf("c"), -1) << others;
    EXPECT_FALSE(read->find(*read->find(read->root(), "a"), "a")) << "a number has no keys";
  }
}

TEST(Pickle, AnEmptyKeyIsNotFoundByTheNameOfAKeyThatIsNotThere) {
  for (const int others : {0, 500}) {
    std::string pickle = "\x80\x04}(" + keyOp("") + "K\x01";
    for (int i = 0; i < others; ++i) pickle += keyOp("key " + std::to_string(i)) + "N";
    const auto read = unpickled(pickle + "u.");
    EXPECT_TRUE(read->find(read->root(), ""));
    EXPECT_FALSE(read->find(read->root(), "action")) << others;
  }
}

TEST(Pickle, AValueOfAnotherTypeReadsAsNothing) {
  const auto pickle =
      unpickled("\x80\x04(NK\x05" + keyOp("t") + "C\x01tG\x40\x0a\x66\x66\x66\x66\x66\x66" +
                "G\x44\x00\x00\x00\x00\x00\x00\x00"s + "\x88]" + keyOp("") + "t.");
  ASSERT_TRUE(pickle.ok()) << pickle.error().message;
  const auto& items = pickle->items(pickle->root());
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> texts;
  for (const auto item : items) {
    integers.push_back(pickle->integer(item));
    reals.push_back(pickle->real(item));
    texts.push_back(pickle->text(item));
  }
  // 3.3, and 2^65, which is beyond the integers.
  EXPECT_THAT(integers, testing::ElementsAre(0, 5, 0, 0, 3, 0, 1, 0, 0));
  EXPECT_THAT(reals, testing::ElementsAre(0, 5, 0, 0, 3.3, 36893488147419103232.0, 1, 0, 0));
  EXPECT_THAT(texts, testing::ElementsAre("", "", "t", "t", "", "", "", "", ""));
  EXPECT_EQ(pickle->textNumber(items[2]), pickle->textNumber(items[3]));
  EXPECT_NE(pickle->textNumber(items[2]), 0U);
  for (const std::size_t i : {0, 1, 7, 8}) EXPECT_EQ(pickle->textNumber(items[i]), 0U) << i;
  for (std::size_t i = 0; i < 7; ++i) EXPECT_TRUE(pickle->items(items[i]).empty()) << i;
}

/// A random value's opcodes, and how it is shown.
std::pair<std::string, std::string> randomPickle(std::mt19937& random, int depth) {
  const auto small = static_cast<unsigned char>(random() % 256);
  switch (random() % (depth > 0 ? 6 : 3)) {
    case 0:
      return {"K" + std::string(1, static_cast<char>(small)), std::to_string(small)};
    case 1:
      return {"N", "None"};
    case 2:
      return {keyOp(std::to_string(small)), "'" + std::to_string(small) + "'"};
    default:
      break;
  }
  const bool isDict = random() % 2 == 0;
  std::string opcodes = isDict ? "}(" : "](", text = isDict ? "{" : "[";
  for (std::size_t i = random() % 4; i > 0; --i) {
    if (text.size() > 1) text += ", ";
    if (isDict) {
      opcodes += keyOp("k" + std::to_string(i));
      text += "'k" + std::to_string(i) + "': ";
    }
    const auto [inside, shownInside] = randomPickle(random, depth - 1);
    opcodes += inside;
    text += shownInside;
  }
  return {opcodes + (isDict ? "u" : "e"), text + (isDict ? "}" : "]")};
}

TEST(Pickle, RandomValuesAreReadAsTheyWereWritten) {
  std::mt19937 random(43);
  for (int round = 0; round < 200; ++round) {
    const auto [opcodes, text] = randomPickle(random, 5);
    EXPECT_EQ(madeBy(opcodes), text);
  }
}

}  // namespace
}  // namespace lacuna::analyzer
