// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace simdjson::dom {
class parser;
}

namespace lacuna::cli::mcp {

/// An argument of a tool. Values of any other kind, which no tool takes, are monostate.
using Argument = std::variant<std::monostate, std::string, std::vector<std::string>, std::int64_t>;
/// Without those that are null: they stand for nothing.
using Arguments = std::map<std::string, Argument, std::less<>>;

/// JSON-RPC's codes of errors, and one of MCP's.
enum class Fault : std::int32_t {
  NoJson = -32700,
  NoRequest = -32600,
  UnknownMethod = -32601,
  WrongParameters = -32602,
  UnknownVersion = -32022,
};

struct Refusal {
  Fault fault = Fault::NoRequest;
  std::string message;
};

/// A message of the client, as far as the server reads it.
struct Message {
  std::string id;  ///< as JSON (`7`, `"a"`); empty: no answer is expected, or the id is unusable
  std::string method;   ///< empty of a response: the server sends no requests, so it ignores those
  std::string version;  ///< protocolVersion of `initialize`
  std::string tool;     ///< name of `tools/call`
  Arguments arguments;  ///< arguments of `tools/call`
  std::string cancelled;  ///< requestId of `notifications/cancelled`, as JSON
  /// The protocol version in the request itself, which replaced the handshake in 2026-07-28.
  std::optional<std::string> statedVersion;
  bool statesCapabilities = false;  ///< of the client, as that version demands beside it
  /// Nothing else but the id is filled in then.
  std::optional<Refusal> refusal;

  /// A notification and a response get no answer.
  [[nodiscard]] bool isAnswered() const { return refusal || !id.empty(); }
};

/// Reads messages of JSON-RPC 2.0 from bytes that may be anything.
class MessageParser {
 public:
  MessageParser();
  ~MessageParser();
  MessageParser(const MessageParser&) = delete;
  MessageParser& operator=(const MessageParser&) = delete;

  Message parse(std::string_view line);

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace lacuna::cli::mcp
