// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "formats/json_text.h"

namespace lacuna::analyzer::json {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// As integerOf() is described, one digit after the other.
std::optional<std::int64_t> slowInteger(std::string_view token) {
  const bool isNegative = token.starts_with('-');
  if (isNegative) token.remove_prefix(1);
  if (token.empty() || token.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return isNegative ? -value : value;
}

std::string digits(std::mt19937_64& random, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>('0' + random() % 10);
  return out;
}

TEST(JsonNumbers, IntegersOfEveryLengthAreReadDigitByDigit) {
  std::mt19937_64 random(1);
  for (std::size_t length = 0; length <= 20; ++length) {
    for (int round = 0; round < 50; ++round) {
      const std::string token = digits(random, length);
      ASSERT_EQ(integerOf(token), slowInteger(token)) << token;
      ASSERT_EQ(integerOf("-" + token), slowInteger("-" + token)) << token;
    }
    for (const char digit : {'0', '9'}) {
      const std::string token(length, digit);
      ASSERT_EQ(integerOf(token), slowInteger(token)) << token;
    }
  }
}

/// Digits are read eight at a time, so that a byte that is none must be seen wherever it stands.
TEST(JsonNumbers, AnyOtherByteAtAnyPlaceMakesNoInteger) {
  for (std::size_t length = 1; length <= 18; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string token(length, '7');
        token[at] = static_cast<char>(byte);
        ASSERT_EQ(integerOf(token), slowInteger(token)) << length << " at " << at << ": " << byte;
      }
    }
  }
}

TEST(JsonNumbers, RealNumbersAreThoseOfJson) {
  for (const auto& [token, value] :
       {std::pair("0", 0.0), {"-1.5", -1.5}, {"1e5", 1e5}, {"2.5E-3", 2.5e-3}}) {
    EXPECT_EQ(numberOf(token), value) << token;
  }
  for (const char* token : {"", "-", "+1", ".5", "-.5", "inf", "-inf", "nan", "-nan", "Infinity",
                            "0x10", "1.5x", "1 ", " 1", "1e999"}) {
    EXPECT_EQ(numberOf(token), std::nullopt) << token;
  }
}

TEST(JsonNumbers, NamesOfWhatJsonHasNoNumberForAreKnown) {
  EXPECT_EQ(namedNumberOf("Infinity"), kInfinity);
  EXPECT_EQ(namedNumberOf("inf"), kInfinity);
  EXPECT_EQ(namedNumberOf("-Infinity"), -kInfinity);
  for (const char* token : {"NaN", "nan", "-NaN"}) {
    const auto number = namedNumberOf(token);
    ASSERT_TRUE(number) << token;
    EXPECT_TRUE(std::isnan(*number)) << token;
  }
  for (const char* token : {"", "-", "--inf", "+inf", "infinity", "NAN", "NaN ", "1"})
    EXPECT_EQ(namedNumberOf(token), std::nullopt) << token;
}

TEST(JsonNumbers, AreWrittenSoThatTheyComeBack) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const double number =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 2000) - 1060);
    std::string out;
    appendNumber(out, number);
    ASSERT_EQ(numberOf(out), number) << out;
    ASSERT_TRUE(isNumber(out)) << out;
  }
  std::string out;
  for (const double number : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
    appendNumber(out, number);
    out += ' ';
  }
  EXPECT_EQ(out, R"("NaN" "Infinity" "-Infinity" )");
}

TEST(JsonNumbers, BareNamesBecomeTextsOutsideOfTextsOnly) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"[1, -5, 1e-5, true, null]", "[1, -5, 1e-5, true, null]"},
      {"[NaN,-inf,Infinity]", R"(["NaN","-Infinity","Infinity"])"},
      {R"({"NaN": NaN})", R"({"NaN": "NaN"})"},
      {R"(["a\"NaN", nan])", R"(["a\"NaN", "NaN"])"},
      {R"(["a\\", nan])", R"(["a\\", "NaN"])"},
      {"[NaNs, xinf]", "[NaNs, xinf]"},
      {"\"inf", "\"inf"},
      {"\"\\", "\"\\"},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(withNumbersAsTexts(json), expected) << json;
}

/// Whole microseconds and their fraction, as text and as nanoseconds.
TEST(JsonNumbers, MicrosecondsOfAnyLengthAreCutAtTheNanosecond) {
  std::mt19937_64 random(3);
  for (std::size_t whole = 1; whole <= 16; ++whole) {
    for (std::size_t fraction = 0; fraction <= 7; ++fraction) {
      for (int round = 0; round < 20; ++round) {
        const std::string before = digits(random, whole);
        const std::string behind = digits(random, fraction);
        const std::string token = before + (fraction > 0 ? "." + behind : "");
        std::uint64_t expected = 0;  // of at most 19 digits
        for (const char c : before + (behind + "000").substr(0, 3))
          expected = 10 * expected + static_cast<std::uint64_t>(c - '0');
        const bool isExact = fraction <= 3 || behind.find_first_not_of('0', 3) == std::string::npos;
        for (const bool isNegative : {false, true}) {
          const auto read = nanosecondsOf((isNegative ? "-" : "") + token);
          ASSERT_EQ(read.has_value(), expected <= std::uint64_t{kFarthestNs}) << token;
          if (!read) continue;
          const auto value = static_cast<std::int64_t>(expected);
          ASSERT_EQ(read->value, isNegative ? -value : value) << token;
          ASSERT_EQ(read->exact, isExact) << token;
        }
      }
    }
  }
}

TEST(JsonNumbers, AMomentThatIsNoNumberIsNone) {
  for (const char* token : {"", "-", ".5", "1.2.3", "1,5", "1.5x", "\"\"", "\"1", "abc.def",
                            "12a.456", "123.4 6", "--1.000", "NaN", "null"}) {
    EXPECT_FALSE(nanosecondsOf(token).has_value()) << token;
  }
  EXPECT_EQ(nanosecondsOf("1.5e3")->value, 1'500'000);
  EXPECT_EQ(nanosecondsOf("-2e-3")->value, -2);
}

TEST(JsonNumbers, TriplesMayHaveSpacesAndHoldNothingElse) {
  for (const char* token : {"[1,2,3]", "[ 1 ,\n2,\t3\r]"}) {
    std::uint32_t out[3] = {};
    EXPECT_TRUE(tripleOf(token, out)) << token;
    EXPECT_TRUE(out[0] == 1 && out[1] == 2 && out[2] == 3) << token;
  }
  std::uint32_t out[3] = {};
  EXPECT_TRUE(tripleOf("[0, 4294967295, 0]", out));
  EXPECT_EQ(out[1], UINT32_MAX);
  for (const char* token : {"", "[", "[]", "1,2,3", "[1,2,3", "[1,2,3] ", "[1,2,3]]", "[1 2 3]",
                            "[1,2,3,]", "[,,]", "[1,2,4294967296]", "[1.5,2,3]", "[\"1\",2,3]"}) {
    EXPECT_FALSE(tripleOf(token, out)) << token;
  }
}

}  // namespace
}  // namespace lacuna::analyzer::json
