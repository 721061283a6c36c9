// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/line_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace lacuna::collector::python {
namespace {

using testing::ElementsAreArray;

std::vector<std::byte> bytesOf(std::string_view digits) {
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
  }
  return bytes;
}

/// The lines of the first `count` instructions of a function that begins in line 1.
std::vector<std::uint32_t> linesOf(LineTable kind, std::string_view digits, std::size_t count) {
  const std::vector<std::byte> table = bytesOf(digits);
  std::vector<std::uint32_t> lines;
  for (std::size_t i = 0; i < count; ++i)
    lines.push_back(lineOf(kind, table, 1, 2 * i).value_or(0));
  return lines;
}

// The same function, as several versions of CPython compile it; the lines are those that their own
// dis names.
TEST(LineTable, PairsOf39) {
  EXPECT_THAT(linesOf(LineTable::Pairs, "0001020202fe04030c010a02020102fe047f007f0033080102ff", 25),
              ElementsAreArray({2, 4, 2, 2, 5, 5, 5,   5,   5,   5,   6,   6,  6,
                                6, 6, 8, 9, 7, 7, 312, 312, 312, 312, 313, 312}));
}

TEST(LineTable, RangesOf310) {
  EXPECT_THAT(
      linesOf(LineTable::Ranges, "0201020204fe0c030a010202020104fe007f007f0833020102ff", 25),
      ElementsAreArray(
          {2, 4, 2, 2, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 8, 9, 7, 7, 312, 312, 312, 312, 313, 312}));
}

TEST(LineTable, LocationsOf311) {
  EXPECT_THAT(
      linesOf(
          LineTable::Locations,
          "8000d8090ae0090af105020a0b8041f506000e13903189588c58f00001050ff00001050f8801d80809885189"
          "0688018801e00809d80809f0050309068041f06209001112f000010c0a88318831d80809f00301050a",
          39),
      ElementsAreArray({1, 2, 4, 2, 2, 2, 5, 5, 5, 5, 5, 5, 5, 5,   5,   5,   5,   5,   5,  5,
                        5, 5, 5, 6, 6, 6, 6, 6, 6, 8, 9, 7, 7, 312, 312, 312, 312, 313, 312}));
}

TEST(LineTable, LocationsOf313) {
  EXPECT_THAT(linesOf(LineTable::Locations,
                      "8000d8090ae0090af105020a0b8041f406000e1390318e588801d8080989068a01f103000e16"
                      "f00600090ad80809f0050309068041f662090011128831f00001050ad80809f00301050a",
                      43),
              ElementsAreArray({1, 2, 4,   2,   2,   2,   5,   5,   5,   5,   5,   5,   5,  5, 5,
                                5, 5, 5,   5,   5,   6,   6,   6,   6,   6,   6,   5,   5,  8, 9,
                                7, 7, 312, 312, 312, 312, 312, 312, 312, 312, 312, 313, 312}));
}

TEST(LineTable, BehindItsEndThereIsNoLine) {
  EXPECT_EQ(lineOf(LineTable::Ranges, bytesOf("0201"), 1, 2), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("8000"), 1, 2), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Ranges, {}, 1, 0), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Locations, {}, 1, 0), std::nullopt);
}

TEST(LineTable, InstructionsWithoutALineHaveNone) {
  EXPECT_EQ(lineOf(LineTable::Ranges, bytesOf("02800205"), 1, 0), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Ranges, bytesOf("02800205"), 1, 2), 6u);
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("f8e802"), 1, 0), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("f8e802"), 1, 2), 2u);
}

TEST(LineTable, LinesThatAreNoneAreLeftOut) {
  EXPECT_EQ(lineOf(LineTable::Pairs, bytesOf("0080"), 1, 0), std::nullopt) << "line -127";
  // Numbers of many bytes, and a number that its table cuts.
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("e87f7f7f7f7f7f7f7f7f7f"), 1, 0), std::nullopt);
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("e87f"), 100, 0), 69u);
  EXPECT_EQ(lineOf(LineTable::Locations, bytesOf("00"), 1, 0), std::nullopt)
      << "no entry begins there";
}

TEST(LineTable, AnyBytesHaveAnEnd) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> table(random() % 64);
    for (std::byte& byte : table) byte = static_cast<std::byte>(random());
    for (const LineTable kind : {LineTable::Pairs, LineTable::Ranges, LineTable::Locations}) {
      const auto line = lineOf(kind, table, static_cast<std::int32_t>(random()), random() % 300);
      EXPECT_NE(line, 0u);
    }
  }
}

}  // namespace
}  // namespace lacuna::collector::python
