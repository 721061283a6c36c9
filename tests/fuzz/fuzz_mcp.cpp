// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/json_text.h"
#include "mcp/message.h"
#include "mcp/reply.h"
#include "mcp/tools.h"

/// Any bytes as a message to `lacuna mcp`. Every answer is one line of JSON. A call that passes the
/// checks becomes a command line whose files are no options.
namespace {

using namespace lacuna;
using namespace lacuna::cli;

void must(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_mcp: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void mustBeReply(const std::string& reply) {
  must(analyzer::json::isValid(reply), "a reply is no JSON");
  must(reply.find('\n') == std::string::npos, "a reply has several lines");
}

void mustBeCommand(const std::vector<std::string>& words, const mcp::Tool& tool) {
  must(!words.empty() && words.front() == (tool.name == "findings" ? "query" : tool.name),
       "another command");
  bool isBehindDashes = false;
  for (const std::string& word : words) {
    must(word.find('\0') == std::string::npos, "a word ends early");
    if (word == "--" && !isBehindDashes) {
      isBehindDashes = true;
      must(!(&word + 1)->starts_with('-'), "a file may be taken for an option");
    }
  }
  must(isBehindDashes, "nothing ends the options");
}

void call(const mcp::Message& message) {
  const mcp::Tool* tool = mcp::findTool(message.tool);
  if (tool == nullptr) return;
  if (const auto fits = mcp::checkArguments(*tool, message.arguments); !fits)
    return must(!fits.error().message.empty(), "a refusal has no words");
  if (tool->words != nullptr)
    return mustBeCommand(tool->words(message.arguments, std::chrono::milliseconds(1000)), *tool);
  const auto text = tool->text(message.arguments);
  must(text.ok() ? !text->empty() : !text.error().message.empty(), "a call has no answer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static mcp::MessageParser parser;
  const mcp::Message message = parser.parse({reinterpret_cast<const char*>(data), size});
  must(message.id.empty() || analyzer::json::isValid(message.id), "an id is no JSON");
  must(message.cancelled.empty() || analyzer::json::isValid(message.cancelled),
       "a cancelled id is no JSON");
  if (message.refusal) {
    mustBeReply(mcp::errorReply(message, *message.refusal));
    return 0;
  }
  mustBeReply(mcp::resultReply(message, "", mcp::Caching::AsLongAsItRuns));
  mustBeReply(mcp::resultReply(message, R"("text": [])"));
  must(!mcp::agreedVersion(message.version).empty(), "no version is agreed on");
  if (message.method == "tools/call") call(message);
  return 0;
}
