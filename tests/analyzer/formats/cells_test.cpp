// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

std::string csv(std::string_view text) {
  std::string out;
  appendCsvText(out, text);
  return out;
}

TEST(Cells, AFieldIsQuotedWhereItWouldBreak) {
  EXPECT_EQ(csv("plain"), "plain");
  EXPECT_EQ(csv("a,b"), "\"a,b\"");
  EXPECT_EQ(csv("a \"b\"\n"), "\"a \"\"b\"\"\n\"");
}

TEST(Cells, ATextIsNoFormula) {
  for (const auto& [text, field] : {std::pair("=1+1", "'=1+1"),
                                    {"+1+1", "'+1+1"},
                                    {"-1-1", "'-1-1"},
                                    {"@SUM(A1)", "'@SUM(A1)"},
                                    {"\t=1", "'\t=1"},
                                    {"\r=1", "\"'\r=1\""},
                                    {"=A(1,2)", "\"'=A(1,2)\""},
                                    {"-", "'-"}}) {
    EXPECT_EQ(csv(text), field) << text;
  }
}

TEST(Cells, NumbersStayNumbers) {
  for (const char* number : {"-5", "-0.25", "-1e-9", "7", "-Inf"}) EXPECT_EQ(csv(number), number);
  std::string out;
  appendCsvNumber(out, "-5");
  EXPECT_EQ(out, "-5");
}

TEST(Cells, AJsonTextShowsWhatATerminalObeys) {
  EXPECT_EQ(jsonText("a\x1b\x7f\xc2\x9b\u202e\"\xff\u00e9"),
            "\"a\\u001b\\u007f\\u009b\\u202e\\\"\uFFFD\u00e9\"");
}

}  // namespace
}  // namespace lacuna::analyzer
