// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

constexpr std::uint32_t kLastCode = 0x10ffff;

bool isSurrogate(std::uint32_t code) {
  return code >= 0xd800 && code < 0xe000;
}

/// RFC 3629, by division; also of numbers that have no place in UTF-8.
std::string sequenceOf(std::uint32_t code) {
  const auto more = [](std::uint32_t part) { return static_cast<char>(128 + part % 64); };
  if (code < 128) return {static_cast<char>(code)};
  if (code < 2048) return {static_cast<char>(192 + code / 64), more(code)};
  if (code < 65536) return {static_cast<char>(224 + code / 4096), more(code / 64), more(code)};
  return {static_cast<char>(240 + code / 262144), more(code / 4096), more(code / 64), more(code)};
}

/// Characters in any order, some of them cut.
std::string randomBytes(std::mt19937& random) {
  std::string bytes;
  for (std::uint32_t i = random() % 8; i > 0; --i) {
    const std::uint32_t code = random() % 3 == 0 ? random() % 0x2100 : random() % (kLastCode + 1);
    const std::string full = sequenceOf(code);
    bytes += random() % 3 == 0 ? full.substr(random() % full.size())
                               : full.substr(0, 1 + random() % full.size());
  }
  return bytes;
}

TEST(Utf8, EveryCharacterHasItsLengthAndItsNumber) {
  // Every one of up to three bytes, and every 255th of four.
  for (std::uint32_t code = 0; code <= kLastCode; code += code < 0x10100 ? 1 : 0xff) {
    const std::string text = sequenceOf(code);
    ASSERT_EQ(utf8SequenceLength(text), isSurrogate(code) ? 0 : text.size()) << code;
    if (!isSurrogate(code)) {
      ASSERT_EQ(codeOf(text), code);
    }
  }
}

TEST(Utf8, TwoBytesAreACharacterOnlyInTheirRanges) {
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      const char text[] = {static_cast<char>(first), static_cast<char>(second)};
      const bool isPair = first >= 0xc2 && first <= 0xdf && second >= 0x80 && second <= 0xbf;
      ASSERT_EQ(utf8SequenceLength({text, 2}), first < 0x80 ? 1U
                                               : isPair     ? 2U
                                                            : 0U)
          << first << " " << second;
    }
  }
}

TEST(Utf8, LongWaysToWriteACharacterAndWhatIsBehindTheLastOneAreNone) {
  for (const char* text :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(utf8SequenceLength(text), 0U) << text;
  }
  for (const char* text : {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xef\xbf\xbf"})
    EXPECT_EQ(utf8SequenceLength(text), 3U);
  for (const char* text : {"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(utf8SequenceLength(text), 4U);
  EXPECT_EQ(codeOf("\xf4\x8f\xbf\xbf"), kLastCode);
}

TEST(Utf8, ACharacterThatIsCutOffOrGoesOnWronglyIsNone) {
  for (const std::uint32_t code : {0xe9U, 0x20acU, 0x1f600U}) {
    const std::string full = sequenceOf(code);
    for (std::size_t length = 1; length < full.size(); ++length) {
      EXPECT_EQ(utf8SequenceLength(full.substr(0, length)), 0U) << code;
      std::string wrong = full;
      wrong[length] = 'a';
      EXPECT_EQ(utf8SequenceLength(wrong), 0U) << code << " at " << length;
    }
    EXPECT_EQ(utf8SequenceLength(full + full), full.size()) << "only the first counts";
  }
}

TEST(Utf8, EachByteOfNoCharacterBecomesOneReplacement) {
  EXPECT_EQ(validUtf8(""), "");
  EXPECT_EQ(validUtf8("é€\U0001F600 plain"), "é€\U0001F600 plain");
  EXPECT_EQ(validUtf8("a\xe2\x82z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(validUtf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(validUtf8("\xc3"), "\uFFFD");
  EXPECT_EQ(validUtf8(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

/// The Unicode property Bidi_Control, the two separators, and the control characters of ISO 6429.
TEST(Utf8, UnseenAreControlsMarksOfDirectionAndLineSeparators) {
  std::vector<std::uint32_t> unseen;
  for (std::uint32_t code = 0; code < 32; ++code) unseen.push_back(code);
  for (std::uint32_t code = 127; code < 160; ++code) unseen.push_back(code);
  for (const std::uint32_t code : {0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c,
                                   0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069})
    unseen.push_back(code);
  std::vector<std::uint32_t> found;
  for (std::uint32_t code = 0; code <= kLastCode; ++code) {
    if (isUnseen(code)) found.push_back(code);
  }
  EXPECT_EQ(found, unseen);
}

TEST(Utf8, EscapesHaveTwoDigitsForBytesAndFourForCharacters) {
  EXPECT_EQ(visibleText("\x1b[2J\x7f"), R"(\x1b[2J\x7f)");
  EXPECT_EQ(visibleText("\xc2\x9b"), R"(\x9b)") << "a control character of two bytes";
  EXPECT_EQ(visibleText("\x9b"), R"(\x9b)") << "a byte of no character";
  EXPECT_EQ(visibleText("\u061c|\u202e|\u2028"), R"(\u061c|\u202e|\u2028)");
  EXPECT_EQ(visibleText("a\nb\tc"), R"(a\x0ab\x09c)");
  EXPECT_EQ(oneLine("a\nb\tc\r"), "a b c ");
}

TEST(Utf8, AfterwardsAnyTextIsValidAndSeen) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = randomBytes(random);
    for (const std::string& text : {validUtf8(bytes), visibleText(bytes), oneLine(bytes)}) {
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = utf8SequenceLength(rest);
        ASSERT_GT(length, 0U) << text;
        rest.remove_prefix(length);
      }
      ASSERT_EQ(validUtf8(text), text);
    }
    ASSERT_EQ(visibleText(visibleText(bytes)), visibleText(bytes));
  }
}

TEST(Utf8, AHeadHoldsAsManyCompleteCharactersAsFit) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    std::vector<std::size_t> ends{0};
    for (std::uint32_t i = random() % 12; i > 0; --i) {
      std::uint32_t code = random() % 4 == 0 ? random() % 0x800 : random() % (kLastCode + 1);
      if (isSurrogate(code)) code = 'x';
      text += sequenceOf(code);
      ends.push_back(text.size());
    }
    for (std::size_t bytes = 0; bytes <= text.size() + 2; ++bytes) {
      std::size_t expected = 0;
      for (const std::size_t end : ends) expected = end <= bytes ? end : expected;
      ASSERT_EQ(headOf(text, bytes), text.substr(0, expected)) << text << " in " << bytes;
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
