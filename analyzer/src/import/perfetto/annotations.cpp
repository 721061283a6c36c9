// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/annotations.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "formats/arg_rules.h"
#include "formats/json_text.h"

namespace lacuna::analyzer {
namespace {

using proto::Field;

constexpr int kMaxDepth = 64;

std::string jsonString(std::string_view text) {
  std::string json;
  json::appendQuoted(json, text);
  return json;
}

/// A nested value as JSON text.
bool nestedJson(std::string_view bytes, std::string& out, int depth) {
  if (depth > kMaxDepth) return false;
  std::uint64_t type = 0;
  std::vector<std::string_view> keys, values, items;
  std::string leaf = "null";
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) type = field.value;
    if (field.number == 2) keys.push_back(field.bytes);
    if (field.number == 3) values.push_back(field.bytes);
    if (field.number == 4) items.push_back(field.bytes);
    if (field.number == 5) leaf = std::to_string(field.signedValue());
    if (field.number == 6)
      leaf = std::isfinite(field.real()) ? fmt::format("{}", field.real()) : "null";
    if (field.number == 7) leaf = field.value != 0 ? "true" : "false";
    if (field.number == 8) {
      leaf.clear();
      json::appendQuoted(leaf, field.bytes);
    }
  }
  if (reader.malformed()) return false;
  if (type == 0) return out += leaf, true;
  out += type == 1 ? '{' : '[';
  const auto& list = type == 1 ? values : items;
  for (std::size_t i = 0; i < list.size() && (type != 1 || i < keys.size()); ++i) {
    if (i > 0) out += ", ";
    if (type == 1) {
      json::appendQuoted(out, keys[i]);
      out += ": ";
    }
    if (!nestedJson(list[i], out, depth + 1)) return false;
  }
  out += type == 1 ? '}' : ']';
  return true;
}

}  // namespace

prof::ArgSetId PerfettoAnnotations::add(const std::vector<std::string_view>& annotations,
                                        const Interned& interned) {
  if (annotations.empty()) return {};
  const prof::ArgSetId set(sets_ + 1);
  std::string shape;
  for (const std::string_view annotation : annotations) {
    if (!addArg(annotation, interned, set, shape)) ++unread_;
  }
  if (shape.empty()) return {};
  ++sets_;
  builder_.append(prof::ArgSet{set, builder_.intern(shape)});
  return set;
}

bool PerfettoAnnotations::addArg(std::string_view annotation, const Interned& interned,
                                 prof::ArgSetId set, std::string& shape) {
  prof::Arg arg;
  arg.set = set;
  arg.scope = prof::ArgScope::Argument;
  std::string json;
  bool isCompound = false, hasValue = false;
  proto::Reader reader(annotation);
  for (Field field; reader.next(field);) {
    takeName(field, interned, arg);
    takeValue(field, interned, arg, json);
    isCompound |= field.number == 11 || field.number == 12;
    // 1 and 10 are the name; 13 and 16 are names of types, which do not matter to the value.
    hasValue |= field.number != 1 && field.number != 10 && field.number != 13 && field.number != 16;
  }
  if (reader.malformed() || !arg.key) return false;
  if (isCompound) {
    if (annotationJson(annotation, interned, json, 0)) {
      setText(arg, json, prof::ArgType::Json);
    } else {
      ++unread_;
    }
  } else if (hasValue && arg.type == prof::ArgType::Null) {
    ++unread_;
  }
  builder_.append(arg);
  appendToShape(shape, arg.key);
  return true;
}

void PerfettoAnnotations::takeName(const Field& field, const Interned& interned, prof::Arg& arg) {
  if (field.number == 10) arg.key = builder_.intern(field.bytes);
  if (field.number != 1) return;
  if (const auto name = interned.names.find(field.value); name != interned.names.end())
    arg.key = name->second;
}

void PerfettoAnnotations::takeValue(const Field& field, const Interned& interned, prof::Arg& arg,
                                    std::string& json) {
  switch (field.number) {
    case 2:
      arg.type = prof::ArgType::Bool;
      arg.value = field.value != 0 ? 1 : 0;
      break;
    case 3:
    case 7:
      // Arguments have no unsigned numbers; as JSON a large one is not taken for a negative one.
      if (field.signedValue() < 0) {
        setText(arg, std::to_string(field.value), prof::ArgType::Json);
        break;
      }
      [[fallthrough]];
    case 4:
      arg.type = prof::ArgType::I64;
      arg.value = field.value;
      break;
    case 5:
      arg.type = prof::ArgType::F64;
      arg.value = std::bit_cast<std::uint64_t>(field.real());
      break;
    case 6:
      setText(arg, field.bytes, prof::ArgType::Text);
      break;
    case 17:
      if (const auto known = interned.texts.find(field.value); known != interned.texts.end()) {
        arg.type = prof::ArgType::Text;
        arg.value = known->second.value;
      }
      break;
    case 8:
      if (nestedJson(field.bytes, json, 0)) setText(arg, json, prof::ArgType::Json);
      break;
    case 9:
      setText(arg, field.bytes,
              json::isValid(field.bytes) ? prof::ArgType::Json : prof::ArgType::Text);
      break;
    default:
      break;
  }
}

void PerfettoAnnotations::setText(prof::Arg& arg, std::string_view value, prof::ArgType type) {
  arg.type = type;
  arg.value = builder_.intern(value).value;
}

void PerfettoAnnotations::appendToShape(std::string& shape, prof::StringId key) const {
  if (!shape.empty()) shape += '\n';
  shape += kShapeStored;
  const std::string text = jsonString(builder_.text(key));
  shape.append(text, 1, text.size() - 2);
}

/// The value of an annotation as JSON text, its entries or items included; `key` gets its name.
bool PerfettoAnnotations::annotationJson(std::string_view annotation, const Interned& interned,
                                         std::string& out, int depth, std::string* key) const {
  if (depth > kMaxDepth) return false;
  std::string leaf = "null", entries, items;
  bool isDictionary = false, isList = false;
  proto::Reader reader(annotation);
  for (Field field; reader.next(field);) {
    std::string name, value;
    switch (field.number) {
      case 1:
        if (key != nullptr) {
          const auto found = interned.names.find(field.value);
          *key = found == interned.names.end() ? std::string_view() : builder_.text(found->second);
        }
        break;
      case 10:
        if (key != nullptr) *key = field.bytes;
        break;
      case 11:
        isDictionary = true;
        if (!annotationJson(field.bytes, interned, value, depth + 1, &name)) return false;
        entries += (entries.empty() ? "" : ", ") + jsonString(name) + ": " + value;
        break;
      case 12:
        isList = true;
        if (!annotationJson(field.bytes, interned, value, depth + 1)) return false;
        items += (items.empty() ? "" : ", ") + value;
        break;
      default:
        if (!leafJson(field, interned, depth, leaf)) return false;
    }
  }
  out += isDictionary ? "{" + entries + "}" : isList ? "[" + items + "]" : leaf;
  return !reader.malformed();
}

/// A value that has no entries or items, as JSON text. False where it is nested and not readable.
bool PerfettoAnnotations::leafJson(const Field& field, const Interned& interned, int depth,
                                   std::string& leaf) const {
  switch (field.number) {
    case 2:
      leaf = field.value != 0 ? "true" : "false";
      break;
    case 3:
    case 7:
      leaf = std::to_string(field.value);
      break;
    case 4:
      leaf = std::to_string(field.signedValue());
      break;
    case 5:
      leaf = std::isfinite(field.real()) ? fmt::format("{}", field.real()) : "null";
      break;
    case 6:
      leaf = jsonString(field.bytes);
      break;
    case 8:
      leaf.clear();
      if (!nestedJson(field.bytes, leaf, depth + 1)) return false;
      break;
    case 9:
      leaf = json::isValid(field.bytes) ? std::string(field.bytes) : jsonString(field.bytes);
      break;
    case 17: {
      const auto found = interned.texts.find(field.value);
      leaf = jsonString(found == interned.texts.end() ? std::string_view()
                                                      : builder_.text(found->second));
      break;
    }
    default:
      break;
  }
  return true;
}

}  // namespace lacuna::analyzer
