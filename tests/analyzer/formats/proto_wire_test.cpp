// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/proto_wire.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna::analyzer::proto {
namespace {

using std::string_view_literals::operator""sv;

std::string varint(std::uint64_t value) {
  std::string out;
  putVarint(out, value);
  return out;
}

/// The fields of a message, as "1=150 2=testing", and how reading it ended.
struct Content {
  std::string fields;
  bool malformed = false;
};
Content readAll(std::string_view message) {
  Content content;
  Reader reader(message);
  Field field;
  while (reader.next(field)) {
    if (!content.fields.empty()) content.fields += ' ';
    content.fields += std::to_string(field.number) + '=';
    content.fields +=
        field.wire == Wire::Bytes ? std::string(field.bytes) : std::to_string(field.value);
  }
  content.malformed = reader.malformed();
  EXPECT_FALSE(reader.next(field)) << "an end is for good";
  EXPECT_EQ(reader.malformed(), content.malformed);
  return content;
}

TEST(ProtoWire, VarintsAreWrittenAsTheSpecificationHasThem) {
  EXPECT_EQ(varint(0), "\0"sv);
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(150), "\x96\x01");
  EXPECT_EQ(varint(16384), "\x80\x80\x01");
  EXPECT_EQ(varint(UINT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(ProtoWire, VarintsOfEveryLengthComeBackAndLeaveWhatFollows) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (const std::uint64_t noise : {std::uint64_t{0}, UINT64_MAX, std::uint64_t{random()}}) {
      const std::uint64_t value =
          bits == 0 ? 0 : (noise >> 1 | std::uint64_t{1} << 63) >> (64 - bits);
      const std::string bytes = varint(value) + "rest";
      std::string_view from = bytes;
      std::uint64_t read = 99;
      ASSERT_TRUE(takeVarint(from, read));
      ASSERT_EQ(read, value);
      ASSERT_EQ(from, "rest");
    }
  }
}

TEST(ProtoWire, AVarintThatDoesNotEndIsNone) {
  std::uint64_t value = 0;
  for (const std::string& bytes : {std::string(), std::string("\x80"), std::string("\xff\xff"),
                                   std::string(9, '\xff'), std::string(10, '\xff') + '\x01'}) {
    std::string_view from = bytes;
    EXPECT_FALSE(takeVarint(from, value)) << bytes.size();
    EXPECT_EQ(from.size(), bytes.size()) << "nothing is taken";
  }
}

/// The examples of protobuf.dev/programming-guides/encoding.
TEST(ProtoWire, ReadsTheExamplesOfTheSpecification) {
  EXPECT_EQ(readAll("\x08\x96\x01").fields, "1=150");
  EXPECT_EQ(readAll("\x12\x07testing").fields, "2=testing");
  EXPECT_EQ(readAll("\x1a\x03\x08\x96\x01").fields, "3=\x08\x96\x01");
  EXPECT_EQ(readAll("\x0d\x01\x00\x00\x00"sv).fields, "1=1");
  EXPECT_EQ(readAll("\x09\x01\x00\x00\x00\x00\x00\x00\x80"sv).fields, "1=9223372036854775809");
  EXPECT_EQ(readAll("").fields, "");
  EXPECT_FALSE(readAll("").malformed);
}

TEST(ProtoWire, FieldsComeBackAsTheyWereWrittenAndInOrder) {
  std::string message;
  putNumber(message, 15, 1);
  putNumber(message, 16, UINT64_MAX);  // a tag of two bytes
  putBytes(message, 2047, "text");
  putFixed(message, (1U << 29) - 1, 7);
  putBytes(message, 1, "");
  EXPECT_EQ(readAll(message).fields, "15=1 16=18446744073709551615 2047=text 536870911=7 1=");
  EXPECT_FALSE(readAll(message).malformed);
}

TEST(ProtoWire, ANumberHasNoBytesOfTheFieldBefore) {
  std::string message;
  putBytes(message, 1, "text");
  putNumber(message, 2, 3);
  Reader reader(message);
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.bytes, "text");
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.bytes.empty());
}

/// However a message is cut, the fields before the cut are there, and only a cut between fields is
/// a whole message.
TEST(ProtoWire, AMessageThatIsCutOffGivesItsCompleteFieldsAndIsMalformed) {
  std::string message;
  std::vector<std::pair<std::size_t, std::string>> boundaries{{0, ""}};
  const auto end = [&](const std::string& field) {
    boundaries.emplace_back(message.size(),
                            boundaries.back().second + (boundaries.size() > 1 ? " " : "") + field);
  };
  putNumber(message, 300, 70'000);
  end("300=70000");
  putFixed(message, 2, 5);
  end("2=5");
  putBytes(message, 3, std::string(130, 'x'));  // its length takes two bytes
  end("3=" + std::string(130, 'x'));
  message += "\x25\x01\x02\x00\x00"sv;  // field 4, 32 bits
  end("4=513");
  for (std::size_t length = 0; length <= message.size(); ++length) {
    std::size_t last = 0;
    while (last + 1 < boundaries.size() && boundaries[last + 1].first <= length) ++last;
    const Content content = readAll(std::string_view(message).substr(0, length));
    ASSERT_EQ(content.fields, boundaries[last].second) << length;
    ASSERT_EQ(content.malformed, boundaries[last].first != length) << length;
  }
}

TEST(ProtoWire, BytesThatAreNoMessageAreMalformed) {
  const std::string tooLong = std::string("\x0a") + varint(UINT64_MAX) + "x";
  const std::string tagTooLarge = varint(std::uint64_t{1} << 32 | 8) + "\x01";
  for (const std::string_view message :
       {"\x00\x01"sv,  // number 0
        "\x07\x01"sv, "\x0b\x0c"sv, "\x0c"sv, "\x0e\x01"sv,
        "\x0f\x01"sv,  // wire types 7 of number 0, then 3, 4, 6 and 7
        "\x0a\x02x"sv, std::string_view(tooLong), std::string_view(tagTooLarge)}) {
    const Content content = readAll(message);
    EXPECT_TRUE(content.malformed) << static_cast<int>(message[0]);
    EXPECT_EQ(content.fields, "");
  }
}

TEST(ProtoWire, RealNumbersAreReadByTheirWidth) {
  Field field{.number = 1,
              .wire = Wire::Fixed32,
              .value = std::bit_cast<std::uint32_t>(-1.5F),
              .bytes = {}};
  EXPECT_EQ(field.real(), -1.5);
  field = {
      .number = 1, .wire = Wire::Fixed64, .value = std::bit_cast<std::uint64_t>(0.1), .bytes = {}};
  EXPECT_EQ(field.real(), 0.1);
  field = {.number = 1, .wire = Wire::Varint, .value = UINT64_MAX, .bytes = {}};
  EXPECT_EQ(field.signedValue(), -1);
}

TEST(ProtoWire, ZigzagGivesSmallNumbersOfEitherSignFewBits) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::pair<std::int64_t, std::uint64_t> cases[] = {
      {0, 0}, {-1, 1}, {1, 2}, {-2, 3}, {2, 4}, {INT64_MAX, UINT64_MAX - 1}, {kLeast, UINT64_MAX}};
  for (const auto& [plain, coded] : cases) {
    EXPECT_EQ(zigzag(plain), coded);
    EXPECT_EQ(unzigzag(coded), plain);
  }
}

}  // namespace
}  // namespace lacuna::analyzer::proto
