// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/message.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace lacuna::cli::mcp;

Message parsed(std::string_view line) {
  MessageParser parser;
  return parser.parse(line);
}

Fault faultOf(std::string_view line) {
  const Message message = parsed(line);
  EXPECT_TRUE(message.refusal.has_value()) << line;
  return message.refusal ? message.refusal->fault : Fault::UnknownMethod;
}

Argument argument(const std::string& json) {
  const Message message = parsed(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":)" +
      json + "}}}");
  const auto found = message.arguments.find("a");
  return found == message.arguments.end() ? Argument(std::string("absent")) : found->second;
}

TEST(McpMessage, IdsAreAnsweredAsTheyCame) {
  EXPECT_EQ(parsed(R"({"jsonrpc":"2.0","id":7,"method":"ping"})").id, "7");
  EXPECT_EQ(parsed(R"({"jsonrpc":"2.0","id":-1,"method":"ping"})").id, "-1");
  EXPECT_EQ(parsed(R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"})").id,
            "18446744073709551615");
  EXPECT_EQ(parsed(R"({"jsonrpc":"2.0","id":"a\"b","method":"ping"})").id, R"("a\"b")");
}

TEST(McpMessage, WhatIsNoRequestIsRefused) {
  EXPECT_EQ(faultOf("{"), Fault::NoJson);
  EXPECT_EQ(faultOf(""), Fault::NoJson);
  EXPECT_EQ(faultOf("{} {}"), Fault::NoJson);
  EXPECT_EQ(faultOf("\"\xff\""), Fault::NoJson);
  EXPECT_EQ(faultOf(std::string(100'000, '[')), Fault::NoJson);
  EXPECT_EQ(faultOf("[]"), Fault::NoRequest);
  EXPECT_EQ(faultOf("{}"), Fault::NoRequest);
  EXPECT_EQ(faultOf(R"({"jsonrpc":"2.0","id":1,"method":1})"), Fault::NoRequest);
  EXPECT_EQ(faultOf(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"), Fault::NoRequest);
  EXPECT_EQ(faultOf(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), Fault::NoRequest);
  EXPECT_EQ(faultOf(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), Fault::NoRequest);
  EXPECT_EQ(faultOf(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})"),
            Fault::WrongParameters);
  EXPECT_EQ(
      faultOf(
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":[]}})"),
      Fault::WrongParameters);
}

TEST(McpMessage, NotificationsAndResponsesGetNoAnswer) {
  EXPECT_FALSE(parsed(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").isAnswered());
  EXPECT_FALSE(
      parsed(R"({"jsonrpc":"2.0","method":"notifications/progress","params":[]})").isAnswered());
  EXPECT_FALSE(parsed(R"({"jsonrpc":"2.0","id":1,"result":{}})").isAnswered());
  EXPECT_FALSE(parsed(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}})").isAnswered());
  EXPECT_TRUE(parsed(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").isAnswered());
}

TEST(McpMessage, ArgumentsKeepTheirKind) {
  EXPECT_EQ(argument(R"("a\u00e9")"), Argument(std::string("a\u00e9")));
  EXPECT_EQ(argument(R"(["a","b"])"), Argument(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(argument("[]"), Argument(std::vector<std::string>{}));
  EXPECT_EQ(argument("20"), Argument(std::int64_t{20}));
  EXPECT_EQ(argument("20.0"), Argument(std::int64_t{20}));
  for (const char* json : {"20.5", "1e300", "true", "{}", "[1]", R"(["a",null])"})
    EXPECT_EQ(argument(json), Argument()) << json;
  EXPECT_EQ(argument("null"), Argument(std::string("absent")));
}

TEST(McpMessage, ReadsWhatEachMethodNeeds) {
  EXPECT_EQ(
      parsed(
          R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})")
          .version,
      "2025-06-18");
  EXPECT_EQ(
      parsed(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}})")
          .cancelled,
      R"("x")");
  const Message stated = parsed(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":)"
      R"("2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})");
  EXPECT_EQ(stated.statedVersion, "2026-07-28");
  EXPECT_TRUE(stated.statesCapabilities);
  EXPECT_FALSE(parsed(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}})")
                   .statedVersion);
}

}  // namespace
