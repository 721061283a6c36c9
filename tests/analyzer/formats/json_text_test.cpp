// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/json_text.h"

#include <gtest/gtest.h>

namespace lacuna::analyzer::json {
namespace {

std::int64_t ns(std::string_view token) {
  return nanosecondsOf(token).value().value;
}

TEST(JsonText, MicrosecondsBecomeNanosecondsExactly) {
  EXPECT_EQ(ns("1695835543008415"), 1695835543008415000);
  EXPECT_EQ(ns("4203669604595.407"), 4203669604595407);
  EXPECT_EQ(ns("1735632364203669.001"),
            1735632364203669001);  // a double would lose the last digits
  EXPECT_EQ(ns("68.0"), 68000);
  EXPECT_EQ(ns("0.5"), 500);
  EXPECT_EQ(ns("-1.25"), -1250);
  EXPECT_EQ(ns("1e3"), 1000000);
  EXPECT_EQ(ns("\"12.5\""), 12500);
}

TEST(JsonText, AFinerFractionIsReported) {
  EXPECT_TRUE(nanosecondsOf("1.2345")->value == 1234 && !nanosecondsOf("1.2345")->exact);
  EXPECT_TRUE(nanosecondsOf("1.2340")->exact);
  EXPECT_FALSE(nanosecondsOf("soon").has_value());
  EXPECT_FALSE(nanosecondsOf("1e300").has_value());
  EXPECT_FALSE(nanosecondsOf("").has_value());
}

TEST(JsonText, AMomentThatNoClockShowsIsNone) {
  EXPECT_EQ(nanosecondsOf("2305843009213693.952")->value, kFarthestNs);
  for (const auto* far : {"2305843009213693.953", "2305843009213694", "9999999999999999",
                          "-9223372036854775", "3e15"}) {
    EXPECT_FALSE(nanosecondsOf(far).has_value()) << far;
  }
}

TEST(JsonText, EscapesAreResolvedAndWritten) {
  std::string scratch;
  EXPECT_EQ(textOf(R"("a\"b\\c\n\u00e9\ud83d\ude00")", scratch),
            "a\"b\\c\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(textOf(R"("\ud83d")", scratch), "\xef\xbf\xbd");
  std::string quoted;
  appendQuoted(quoted, "a\"b\\c\n\x01");
  EXPECT_EQ(quoted, "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(textOf(quoted, scratch), "a\"b\\c\n\x01");
}

TEST(JsonText, SeparatesJsonFromOtherText) {
  for (const auto* good :
       {"[]", "[[64, 3], [], -1.5e3]", R"({"a": {"b": [true, null]}})", "\"x\""}) {
    EXPECT_TRUE(isValid(good)) << good;
  }
  for (const auto* bad : {"", "[1 2]", "{\"a\" 1}", "[1,]", "{a: 1}", "tru", "[\"x]", "[1]]"}) {
    EXPECT_FALSE(isValid(bad)) << bad;
  }
  EXPECT_FALSE(isValid(std::string(5000, '[') + std::string(5000, ']')));
}

TEST(JsonText, AValueIsJsonByTheStandard) {
  for (const auto* good : {"0", "-0.5", "1e5", "1E+05", "[1.5, \"\\u00e9\\/\"]", "\"é\""})
    EXPECT_TRUE(isValid(good)) << good;
  for (const auto* bad :
       {"1.", "+7", "007", "-01", ".5", "-", "1e", "0x1F", "NaN", "[1.]", "\"\\x\"", "\"\\u12\"",
        "\"a\nb\"", "\"\xff\"", "\"\xc3\"", "{\"\xff\": 1}"}) {
    EXPECT_FALSE(isValid(bad)) << bad;
  }
}

TEST(JsonText, WhatIsNoJsonIsWrittenAsJson) {
  const auto checked = [](std::string_view from) {
    std::string out;
    appendChecked(out, from);
    return out;
  };
  EXPECT_EQ(checked("[1, {\"a\": 2.5}]"), "[1, {\"a\": 2.5}]");
  EXPECT_EQ(checked("[NaN, -Infinity]"), "[\"NaN\", \"-Infinity\"]");
  EXPECT_EQ(checked("1."), "\"1.\"");
  EXPECT_EQ(checked("{\"a\": \"\xff\"}"), "\"{\\\"a\\\": \\\"\uFFFD\\\"}\"");
}

TEST(JsonText, ReadsTriplesOnly) {
  std::uint32_t out[3];
  EXPECT_TRUE(tripleOf("[64, 1, 2]", out));
  EXPECT_EQ(out[2], 2U);
  EXPECT_FALSE(tripleOf("[64, 1]", out));
  EXPECT_FALSE(tripleOf("[64, 1, 2, 3]", out));
  EXPECT_FALSE(tripleOf("[64, 1, -2]", out));
}

}  // namespace
}  // namespace lacuna::analyzer::json
