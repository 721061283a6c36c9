// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/arg_shapes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "formats/json_text.h"
#include "import/chrome/same_text.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

using json::integerOf;
using json::isString;
using json::numberOf;
using json::textOf;

/// Ways on from a node that are found quicker without a table.
constexpr std::size_t kFewEdges = 16;

/// The name of an argument as it may stand between quotes: as the file wrote it where that is JSON.
std::string soundKey(std::string_view key) {
  std::string quoted = '"' + std::string(key) + '"';
  if (json::isValid(quoted)) return std::string(key);
  std::string scratch;
  const std::string text = validUtf8(textOf(quoted, scratch));
  quoted.clear();
  json::appendQuoted(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

/// The text of a shape's line after its first character.
std::string soundLine(char mode, std::string_view key) {
  if (mode != kShapeConstant || key == kShapeNoArgs) return soundKey(key);
  const std::size_t equals = key.find('=');
  std::string line = soundKey(key.substr(0, equals)) + '=';
  json::appendChecked(line, key.substr(equals + 1));
  return line;
}

}  // namespace

ArgShapes::ArgShapes(StringPool& strings, ChromeTexts& texts)
    : strings_(strings), texts_(texts), nodes_(kArgTables) {}

void ArgShapes::begin() {
  extras_.clear();
  source = {};
}

void ArgShapes::clearRows() {
  sets.clear();
  for (ArgStream& stream : streams) stream.values.clear();
}

bool ArgShapes::repeats(ArgRule rule, std::string_view token) {
  const auto same = [&](std::uint64_t value) {
    const auto number = integerOf(token);
    return number && *number >= 0 && static_cast<std::uint64_t>(*number) == value;
  };
  switch (rule) {
    case ArgRule::None:
      return false;
    case ArgRule::Correlation:
      return same(source.correlation);
    case ArgRule::Device:
      return same(source.deviceIndex);
    case ArgRule::Stream:
      return same(source.stream);
    case ArgRule::Bytes:
      return same(source.bytes);
    case ArgRule::SignedBytes: {
      const auto number = integerOf(token);
      return number && static_cast<std::uint64_t>(std::abs(*number)) == source.bytes &&
             (*number < 0) == source.freed;
    }
    case ArgRule::Address:
      return same(source.address);
    case ArgRule::Registers:
      return same(source.registers);
    case ArgRule::SharedBytes:
      return same(source.sharedBytes);
    case ArgRule::Payload: {
      const auto number = integerOf(token);
      return number && static_cast<std::uint64_t>(*number) == source.payload;
    }
    case ArgRule::EventId:
      return same(source.eventId);
    case ArgRule::GraphId:
      return same(source.graphId);
    case ArgRule::GraphNodeId:
      return same(source.graphNodeId);
    case ArgRule::Text:
      return !token.empty() && token == source.text;
    case ArgRule::Name:
      return isString(token) && token.substr(1, token.size() - 2) == source.name;
    case ArgRule::Grid:
    case ArgRule::Block: {
      std::uint32_t read[3];
      const auto& kept = rule == ArgRule::Grid ? source.grid : source.block;
      return json::tripleOf(token, read) && std::equal(read, read + 3, kept);
    }
    case ArgRule::Bandwidth:
    case ArgRule::BlocksPerSm:
    case ArgRule::WarpsPerSm: {
      scratch_.clear();
      renderArg(rule, source, scratch_);
      return scratch_ == token || (numberOf(token) && numberOf(token) == numberOf(scratch_));
    }
  }
  return false;
}

void ArgShapes::store(std::uint32_t number, std::string_view token) {
  using enum prof::ArgType;
  ArgStream::Value value{static_cast<std::uint32_t>(sets.id.size()) + 1, Json, 0};
  const char first = token.front();
  if (first == '"') {
    value.type = Text;
    value.bits = texts_.textId(token).value;
  } else if (first == '[' || first == '{') {
    value.bits = texts_.jsonId(token).value;
  } else if (const auto integer = integerOf(token)) {
    value.type = I64;
    value.bits = static_cast<std::uint64_t>(*integer);
  } else if (token == "true" || token == "false") {
    value.type = Bool;
    value.bits = static_cast<std::uint64_t>(first == 't');
  } else if (token == "null") {
    value.type = Null;
  } else if (const auto real = numberOf(token); real && token.size() < 18) {
    value.type = F64;
    value.bits = std::bit_cast<std::uint64_t>(*real);
  } else if (const auto named = json::namedNumberOf(token)) {
    std::string text;
    json::appendNumber(text, *named);
    value.type = Text;
    value.bits = texts_.textId(text).value;
  } else {
    value.bits = texts_.jsonId(token).value;
  }
  streams[number].values.push_back(value);
}

std::uint32_t ArgShapes::streamFor(prof::ArgScope scope, std::string_view key) {
  const auto [at, isNew] = streamNumbers_.try_emplace({scope, std::string(key)},
                                                      static_cast<std::uint32_t>(streams.size()));
  if (isNew) {
    std::string scratch;
    const std::string quoted = '"' + soundKey(key) + '"';
    streams.push_back({scope, strings_.intern(textOf(quoted, scratch)), {}});
  }
  return at->second;
}

/// The way on from a node; stays where it is until a node is added.
ArgShapes::Edge& ArgShapes::edgeFor(std::uint32_t number, char mode, std::string_view key,
                                    ArgTable table) {
  Node& node = nodes_[number];
  const auto matches = [&](const Edge& edge) { return edge.mode == mode && isSame(edge.key, key); };
  if (node.last < node.edges.size() && matches(node.edges[node.last])) return node.edges[node.last];
  const auto few =
      node.edges.begin() + static_cast<std::ptrdiff_t>(std::min(node.edges.size(), kFewEdges));
  const auto at = std::find_if(node.edges.begin(), few, matches);
  node.last = static_cast<std::uint32_t>(at - node.edges.begin());
  if (at != few) return *at;
  if (node.edges.size() >= kFewEdges) {
    const auto [other, isNew] = node.many.try_emplace(mode + std::string(key), node.edges.size());
    node.last = other->second;
    if (!isNew) return node.edges[node.last];
  }
  Edge edge;
  edge.mode = mode;
  edge.key = key;
  if (mode == kShapeStored) edge.rule = argRule(table, key);
  if (mode != kShapeConstant) {
    edge.stream =
        streamFor(mode == kShapeField ? prof::ArgScope::Field : prof::ArgScope::Argument, key);
  }
  return node.edges.emplace_back(std::move(edge));
}

/// Follows one argument down the tree of shapes, keeping its value where no column does.
std::uint32_t ArgShapes::step(std::uint32_t number, char mode, std::string_view key, ArgTable table,
                              std::string_view value) {
  Edge& edge = edgeFor(number, mode, key, table);
  const bool repeated = edge.rule != ArgRule::None && repeats(edge.rule, value);
  if (!repeated && mode != kShapeConstant) store(edge.stream, value);
  std::uint32_t& child = edge.child[static_cast<std::size_t>(repeated)];
  if (child != 0) return child;
  const auto made = child = static_cast<std::uint32_t>(nodes_.size());
  Node node;
  node.parent = number;
  node.line = repeated ? kShapeRepeated : mode;
  node.line += soundLine(repeated ? kShapeRepeated : mode, key);
  nodes_.push_back(std::move(node));
  return made;
}

prof::ArgSetId ArgShapes::keep(ArgTable table, const RawEvent& event) {
  std::uint32_t node = static_cast<std::uint32_t>(table);
  const auto field = [&](std::string_view key, std::string_view value) {
    const bool isShort =
        value.size() <= 24 && (key == "bp" || key == "s" || key == "cat" || key == "ph");
    if (isShort) {
      scratch_.assign(key).append("=").append(value);
      node = step(node, kShapeConstant, scratch_, table, value);
    } else {
      node = step(node, kShapeField, key, table, value);
    }
  };
  for (const Extra& extra : extras_) field(extra.key, extra.value.empty() ? "null" : extra.value);
  for (const auto& member : event.fields) field(member.key, member.value);
  for (const auto& member : event.args)
    node = step(node, kShapeStored, member.key, table, member.value);
  if (event.hasArgs && event.args.empty())
    node = step(node, kShapeConstant, kShapeNoArgs, table, {});
  return node == static_cast<std::uint32_t>(table) ? prof::ArgSetId() : setOf(node);
}

prof::ArgSetId ArgShapes::keepEnd(const RawEvent& event) {
  auto node = static_cast<std::uint32_t>(ArgTable::Range);
  for (const auto& member : event.args)
    node = step(node, kShapeStored, member.key, ArgTable::Range, member.value);
  return event.args.empty() ? prof::ArgSetId() : setOf(node);
}

/// The lines from where a set begins to this node, one argument each.
std::string ArgShapes::linesTo(std::uint32_t node) const {
  std::vector<const std::string*> lines;
  for (; !nodes_[node].line.empty(); node = nodes_[node].parent)
    lines.push_back(&nodes_[node].line);
  std::string out;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!out.empty()) out += '\n';
    out += **line;
  }
  return out;
}

/// A new set of the shape that ends at this node.
prof::ArgSetId ArgShapes::setOf(std::uint32_t node) {
  Node& shape = nodes_[node];
  if (!shape.text) shape.text = strings_.intern(linesTo(node));
  const prof::ArgSetId id(static_cast<std::uint32_t>(sets.id.size()) + 1);
  sets.push({id, shape.text});
  return id;
}

}  // namespace lacuna::analyzer
