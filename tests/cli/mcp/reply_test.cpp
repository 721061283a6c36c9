// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using namespace lacuna::cli::mcp;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(McpReply, AgreesOnTheNewestVersionThatTheClientCanKnow) {
  EXPECT_EQ(agreedVersion("2025-06-18"), "2025-06-18");
  EXPECT_EQ(agreedVersion("2024-11-05"), "2024-11-05");
  EXPECT_EQ(agreedVersion("2026-07-28"), "2025-11-25");
  EXPECT_EQ(agreedVersion("2025-03-26"), "2024-11-05") << "it demands batches";
  EXPECT_EQ(agreedVersion("2020-01-01"), "2025-11-25");
  EXPECT_EQ(agreedVersion(""), "2025-11-25");
}

TEST(McpReply, RequestsThatStateTheirVersionGetItsMembers) {
  Message request;
  request.id = "1";
  EXPECT_EQ(resultReply(request, ""), R"({"jsonrpc": "2.0", "id": 1, "result": {}})");
  EXPECT_EQ(resultReply(request, R"("a": 1)", Caching::AsLongAsItRuns),
            R"({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}})");
  request.statedVersion = "2026-07-28";
  EXPECT_THAT(resultReply(request, ""), HasSubstr(R"("resultType": "complete")"));
  EXPECT_THAT(resultReply(request, ""), Not(HasSubstr("ttlMs")));
  EXPECT_THAT(resultReply(request, R"("a": 1)", Caching::AsLongAsItRuns),
              AllOf(HasSubstr("\"ttlMs\": "), EndsWith(R"(, "a": 1}})")));
}

TEST(McpReply, AnErrorWithoutAnIdHasNull) {
  EXPECT_EQ(errorReply({}, {Fault::NoJson, "a \"b\""}),
            R"({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "a \"b\""}})");
  Message request;
  request.id = R"("x")";
  EXPECT_THAT(errorReply(request, {Fault::UnknownVersion, "m"}, "[1]"),
              EndsWith(R"("message": "m", "data": [1]}})"));
}

TEST(McpReply, ATextThatFitsStaysAsItIs) {
  EXPECT_EQ(textWithin("one\ntwo", 7, 7, "less"), "one\ntwo");
  EXPECT_EQ(textWithin("", 0, 10, "less"), "");
}

TEST(McpReply, ALongTextIsCutAfterALineAndNamesTheWayToLess) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string cut = textWithin(text, text.size(), 500, "name a table");
  EXPECT_LE(cut.size(), 500U);
  EXPECT_GT(cut.size(), 400U);
  EXPECT_THAT(cut, StartsWith("line 0\n"));
  EXPECT_THAT(cut, EndsWith(" left out; name a table]\n"));
  EXPECT_THAT(cut, testing::ContainsRegex("line [0-9]+\n\\["));
}

TEST(McpReply, OneLongLineIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "é";
  const std::string cut = textWithin(text, text.size(), 301, "less");
  EXPECT_LE(cut.size(), 301U);
  EXPECT_THAT(cut, StartsWith("éé"));
  EXPECT_THAT(cut, testing::ContainsRegex("é\n\\["));
}

TEST(McpReply, TheHeadOfALongStreamIsCutToo) {
  const std::string cut = textWithin(std::string(64, 'a') + "\n", 10'000'000, 200, "less");
  EXPECT_THAT(cut, HasSubstr("9.54 MiB left out"));
}

}  // namespace
