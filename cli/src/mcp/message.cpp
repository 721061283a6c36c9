// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/message.h"

#include <simdjson.h>

#include <cmath>
#include <utility>

#include "lacuna/analyzer/text.h"

namespace lacuna::cli::mcp {
namespace {

using simdjson::SUCCESS;
using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

/// Integers up to here are exact in a double.
constexpr double kMostExact = 9007199254740992.0;

/// A request's id as JSON; empty where it is neither a text nor an integer.
std::string idText(JsonElement value) {
  std::string_view text;
  if (value.get(text) == SUCCESS) return analyzer::jsonText(text);
  std::int64_t number = 0;
  if (value.get(number) == SUCCESS) return std::to_string(number);
  std::uint64_t large = 0;
  return value.get(large) == SUCCESS ? std::to_string(large) : std::string();
}

/// The text of a member; empty where there is none.
std::string memberText(JsonObject object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == SUCCESS ? std::string(text) : std::string();
}

Argument listOf(simdjson::dom::array values) {
  std::vector<std::string> texts;
  for (const JsonElement value : values) {
    std::string_view text;
    if (value.get(text) != SUCCESS) return {};
    texts.emplace_back(text);
  }
  return texts;
}

Argument argumentOf(JsonElement value) {
  std::string_view text;
  if (value.get(text) == SUCCESS) return std::string(text);
  simdjson::dom::array values;
  if (value.get(values) == SUCCESS) return listOf(values);
  std::int64_t number = 0;
  if (value.get(number) == SUCCESS) return number;
  double real = 0;  // 20.0 is an integer in JSON Schema
  if (value.get(real) == SUCCESS && std::abs(real) <= kMostExact && std::trunc(real) == real)
    return static_cast<std::int64_t>(real);
  return {};
}

Arguments argumentsOf(JsonObject members) {
  Arguments arguments;
  for (const auto [key, value] : members) {
    if (!value.is_null()) arguments.emplace(std::string(key), argumentOf(value));
  }
  return arguments;
}

void readMeta(JsonObject parameters, Message& out) {
  JsonObject meta;
  JsonObject capabilities;
  if (parameters["_meta"].get(meta) != SUCCESS) return;
  std::string_view version;
  if (meta["io.modelcontextprotocol/protocolVersion"].get(version) == SUCCESS)
    out.statedVersion = std::string(version);
  out.statesCapabilities =
      meta["io.modelcontextprotocol/clientCapabilities"].get(capabilities) == SUCCESS;
}

void readParameters(JsonObject parameters, Message& out) {
  readMeta(parameters, out);
  out.version = memberText(parameters, "protocolVersion");
  out.tool = memberText(parameters, "name");
  JsonElement request;
  if (parameters["requestId"].get(request) == SUCCESS) out.cancelled = idText(request);
  JsonElement given;
  if (parameters["arguments"].get(given) != SUCCESS || given.is_null()) return;
  JsonObject arguments;
  if (given.get(arguments) == SUCCESS)
    out.arguments = argumentsOf(arguments);
  else if (!out.id.empty())
    out.refusal = {Fault::WrongParameters, "\"arguments\" is not an object"};
}

void readRequest(JsonObject object, Message& out) {
  JsonElement id;
  const bool hasId = object["id"].get(id) == SUCCESS;
  if (hasId) out.id = idText(id);
  std::string_view method;
  if (object["method"].get(method) != SUCCESS) {
    const bool isResponse =
        object["result"].error() == SUCCESS || object["error"].error() == SUCCESS;
    if (isResponse)
      out.id.clear();
    else
      out.refusal = {Fault::NoRequest, "a request has a text \"method\""};
    return;
  }
  if (hasId && out.id.empty()) {
    out.refusal = {Fault::NoRequest, "the id of a request is a text or an integer"};
    return;
  }
  if (memberText(object, "jsonrpc") != "2.0") {
    out.refusal = {Fault::NoRequest, "a message of JSON-RPC 2.0 has \"jsonrpc\": \"2.0\""};
    return;
  }
  out.method = method;
  JsonElement given;
  if (object["params"].get(given) != SUCCESS) return;
  JsonObject parameters;
  if (given.get(parameters) == SUCCESS)
    readParameters(parameters, out);
  else if (!out.id.empty())
    out.refusal = {Fault::WrongParameters, "\"params\" is not an object"};
}

}  // namespace

MessageParser::MessageParser() : parser_(std::make_unique<simdjson::dom::parser>()) {}
MessageParser::~MessageParser() = default;

Message MessageParser::parse(std::string_view line) {
  Message out;
  JsonElement root;
  if (const auto error = parser_->parse(line.data(), line.size()).get(root); error != SUCCESS) {
    out.refusal = {Fault::NoJson,
                   std::string("the message is no JSON: ") + simdjson::error_message(error)};
    return out;
  }
  JsonObject object;
  if (root.get(object) != SUCCESS) {
    out.refusal = {Fault::NoRequest, "a message is one JSON object on a line of its own"};
    return out;
  }
  readRequest(object, out);
  return out;
}

}  // namespace lacuna::cli::mcp
