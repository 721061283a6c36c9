// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "lacuna/analyzer/text.h"
#include "mcp/child.h"
#include "mcp/inbox.h"
#include "mcp/reply.h"
#include "mcp/tools.h"

namespace lacuna::cli {
namespace {

using mcp::ChildResult;
using mcp::Fault;
using mcp::Message;

constexpr int kLeastBytes = 1024;
constexpr int kMostBytes = 16 << 20;
/// One of so many parts of a reply may be warnings.
constexpr std::size_t kPartsOfReply = 4;
/// The longest limit that can be set; a day.
constexpr double kMostLimitSeconds = 24.0 * 3600;

constexpr std::string_view kInstructions =
    "Lacuna analyses recordings of neural-network training: where time and memory go, what to "
    "change, and what that gains. Start with `report` or `findings` on a trace, test a fix with "
    "`whatif`, look closer with `query` (tables: `schema`), and compare two recordings with "
    "`diff`. `lacuna run -o run.lcn -- python train.py` in a shell records a program, and PyTorch "
    "in it.";

struct McpOptions {
  double timeLimit = 300;
  int maxBytes = 24 << 10;
};

std::string textBlock(std::string_view text) {
  return fmt::format(R"({{"type": "text", "text": {}}})", jsonString(text));
}

std::string contentOf(std::string_view text, bool isError, std::string_view warnings = {}) {
  const std::string second = warnings.empty() ? "" : ", " + textBlock(warnings);
  return fmt::format(R"("content": [{}{}], "isError": {})", textBlock(text), second, isError);
}

/// Answers the client's messages one after another.
class McpServer {
 public:
  explicit McpServer(const McpOptions& options) : options_(options) {}

  /// Returns at the end of the input, or when the client reads no more answers.
  void serve() {
    while (const auto message = inbox_.next()) {
      if (!message->isAnswered()) continue;
      const std::string reply = answer(*message);
      if (reply.empty()) continue;
      fmt::print("{}\n", reply);
      if (std::fflush(stdout) != 0) return;
    }
  }

 private:
  std::string answer(const Message& request) {
    if (request.refusal) return errorReply(request, *request.refusal);
    if (request.method == "initialize") return initialised(request);
    if (request.statedVersion && *request.statedVersion != mcp::kStatedVersion)
      return unknownVersion(request);
    if (request.statedVersion && !request.statesCapabilities)
      return errorReply(request, {Fault::WrongParameters,
                                  "_meta lacks io.modelcontextprotocol/clientCapabilities"});
    if (request.method == "server/discover") return discovered(request);
    if (request.method == "ping") return resultReply(request, "");
    if (request.method == "tools/list")
      return resultReply(request, mcp::toolList(), mcp::Caching::AsLongAsItRuns);
    if (request.method == "tools/call") return called(request);
    return errorReply(
        request, {Fault::UnknownMethod, fmt::format("there is no method '{}'", request.method)});
  }

  static std::string initialised(const Message& request) {
    return resultReply(
        request,
        fmt::format(
            R"("protocolVersion": "{}", "capabilities": {{"tools": {{}}}}, "serverInfo": {}, )"
            R"("instructions": {})",
            mcp::agreedVersion(request.version), mcp::serverInfo(), jsonString(kInstructions)));
  }

  static std::string unknownVersion(const Message& request) {
    return errorReply(request, {Fault::UnknownVersion, "Unsupported protocol version"},
                      fmt::format(R"({{"supported": {}, "requested": {}}})", mcp::versionList(),
                                  jsonString(*request.statedVersion)));
  }

  static std::string discovered(const Message& request) {
    if (!request.statedVersion)
      return errorReply(
          request, {Fault::WrongParameters, "_meta lacks io.modelcontextprotocol/protocolVersion"});
    return resultReply(
        request,
        fmt::format(
            R"("supportedVersions": {}, "capabilities": {{"tools": {{}}}}, "instructions": {})",
            mcp::versionList(), jsonString(kInstructions)),
        mcp::Caching::AsLongAsItRuns);
  }

  std::string called(const Message& request) {
    const mcp::Tool* tool = mcp::findTool(request.tool);
    if (tool == nullptr) {
      return errorReply(request,
                        {Fault::WrongParameters,
                         fmt::format("there is no tool '{}'; tools/list names all", request.tool)});
    }
    if (const auto fits = checkArguments(*tool, request.arguments); !fits)
      return resultReply(request, contentOf(fits.error().message, true));
    if (tool->text != nullptr) return answeredAtOnce(request, *tool);
    // A limit of less than a millisecond is no wish for none.
    const std::chrono::milliseconds limit(
        static_cast<std::int64_t>(std::ceil(options_.timeLimit * 1000)));
    inbox_.begin(request);
    const ChildResult result =
        runSelf(tool->words(request.arguments, limit), {limit, mostBytes()}, inbox_);
    if (result.end == ChildResult::End::Cancelled) return {};
    return resultReply(request, content(*tool, result));
  }

  [[nodiscard]] std::string answeredAtOnce(const Message& request, const mcp::Tool& tool) const {
    const auto text = tool.text(request.arguments);
    if (!text) return resultReply(request, contentOf(text.error().message, true));
    return resultReply(
        request,
        contentOf(mcp::textWithin(*text, text->size(), mostBytes(), tool.askForLess), false));
  }

  [[nodiscard]] std::string content(const mcp::Tool& tool, const ChildResult& result) const {
    if (result.end != ChildResult::End::Exited || result.code != kOk)
      return contentOf(failureOf(tool, result), true);
    const std::string warnings = messagesOf(result, mostBytes() / kPartsOfReply);
    const std::size_t left = mostBytes() - std::min(warnings.size(), mostBytes());
    return contentOf(mcp::textWithin(result.out.text, result.out.bytes, left, tool.askForLess),
                     false, warnings);
  }

  static std::string messagesOf(const ChildResult& result, std::size_t most) {
    return mcp::textWithin(result.err.text, result.err.bytes, most,
                           "run the command in a shell for all");
  }

  [[nodiscard]] std::string failureOf(const mcp::Tool& tool, const ChildResult& result) const {
    switch (result.end) {
      case ChildResult::End::TookTooLong:
        return fmt::format(
            "{}: ended after {:g} s, the time limit of a call; ask for less, or start the server "
            "with a longer --time-limit",
            tool.name, options_.timeLimit);
      case ChildResult::End::Crashed:
        return fmt::format("{}: the command was ended by signal {} ({}); the server goes on",
                           tool.name, result.code, ::strsignal(result.code));
      case ChildResult::End::NotStarted:
        return fmt::format("{}: the command cannot be started: {}", tool.name,
                           std::strerror(result.code));
      case ChildResult::End::Exited:
      case ChildResult::End::Cancelled:
        break;
    }
    if (result.err.bytes == 0)
      return fmt::format("{}: the command failed with exit code {}", tool.name, result.code);
    return messagesOf(result, mostBytes());
  }

  [[nodiscard]] std::size_t mostBytes() const {
    return static_cast<std::size_t>(options_.maxBytes);
  }

  McpOptions options_;
  mcp::Inbox inbox_{STDIN_FILENO};
};

int run(const McpOptions& options) {
  if (!(options.timeLimit >= 0 && options.timeLimit <= kMostLimitSeconds))
    return printMisuse("--time-limit: expected seconds from 0 (no limit) to 86400");
  if (::isatty(STDIN_FILENO) != 0) {
    std::fputs(
        "lacuna mcp: waits for messages of a coding agent; agents start it themselves "
        "(docs/mcp.md); Ctrl-D ends it\n",
        stderr);
  }
  // `diff` shows names in the columns that the numbers leave.
  ::setenv("COLUMNS", "200", 1);
  // A client may ignore this signal, and then no child's end could be read.
  std::signal(SIGCHLD, SIG_DFL);
  McpServer(options).serve();
  return kOk;
}

}  // namespace

void addMcp(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<McpOptions>();
  Command command(app, "mcp", "Answer coding agents about traces, over the Model Context Protocol");
  command.option("--time-limit", options->timeLimit, "end a call that takes longer; 0 is no limit")
      .typeName("SECONDS")
      .notNegative()
      .showDefault();
  command.option("--max-bytes", options->maxBytes, "cut a reply that is longer")
      .typeName("BYTES")
      .between(kLeastBytes, kMostBytes)
      .showDefault();
  command.footnote(
      "Reads messages from standard input and answers on standard output until the input ends. "
      "Agents start it themselves, as after `claude mcp add lacuna -- lacuna mcp`; docs/mcp.md has "
      "the lines for others.");
  command.example("lacuna mcp --time-limit 60");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
