// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/chrome_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/json_text.h"

namespace lacuna::analyzer {
namespace {

/// The arguments that a row without a shape of its own is given, so that reading the file again
/// gives the same row.
std::string_view defaultShape(ArgTable table) {
  switch (table) {
    case ArgTable::Kernel:
      return "=device\n=stream\n=correlation\n=registers per thread\n=shared memory\n=grid\n=block";
    case ArgTable::Memcpy:
    case ArgTable::Memset:
      return "=device\n=stream\n=correlation\n=bytes";
    case ArgTable::Sync:
      return "=correlation";
    case ArgTable::ApiCall:
      return "=correlation";
    case ArgTable::Allocation:
      return "=Bytes\n=Addr\n=Device Id";
    default:
      return "";
  }
}

/// The target of a line's value. An event has one of each name, and so have its arguments; flow
/// points may be many.
std::string memberOf(std::string_view line) {
  if (line.empty() || (line[0] == kShapeFlow && !line.starts_with("~\""))) return std::string(line);
  const bool isField = line[0] == kShapeField || line[0] == kShapeConstant;
  const std::string_view name = line[0] == kShapeConstant ? line.substr(1, line.find('=') - 1)
                                : line[0] == kShapeFlow   ? line.substr(2, line.find('"', 2) - 2)
                                                          : line.substr(1);
  return fmt::format("{} {}", isField ? "field" : "argument", name);
}

bool isSoundLine(std::string_view line) {
  if (line.size() < 2) return line.empty() || line[0] == kShapeRepeated || line[0] == kShapeStored;
  const std::string_view rest = line.substr(1);
  const auto isMember = [](std::string_view key, std::string_view value) {
    return json::isValid(fmt::format("{{\"{}\": {}}}", key, value)) &&
           json::isValid(fmt::format("\"{}\"", key));
  };
  const auto isConstant = [&](std::string_view text) {
    const std::size_t equals = text.find('=');
    return equals != std::string_view::npos &&
           isMember(text.substr(0, equals), text.substr(equals + 1));
  };
  switch (line[0]) {
    case kShapeConstant:
      return rest == kShapeNoArgs || isConstant(rest);
    case kShapeFlow: {
      if (rest.starts_with('"')) return json::isValid(fmt::format("{{{}}}", rest));
      std::size_t bar = 0;
      for (int i = 0; i < 3 && bar != std::string_view::npos; ++i) bar = rest.find('|', bar + 1);
      if (bar == std::string_view::npos || (rest[0] != 's' && rest[0] != 't' && rest[0] != 'f'))
        return false;
      const std::string_view constant = rest.substr(bar + 1);
      return constant.empty() || (constant[0] == kShapeConstant && isConstant(constant.substr(1)));
    }
    case kShapeStored:
    case kShapeRepeated:
    case kShapeField:
      return isMember(rest, "0");
    default:
      return true;  // not for JSON
  }
}

}  // namespace

void ChromeShape::read(prof::ArgSetId set, ArgTable table) {
  lines_.clear();
  if (set) addLines(soundShape(args_.shape(set)));
  // The shapes of a Chrome trace name all arguments; others only those that no column holds.
  if (!set || !isComplete_) addLines(defaultShape(table));
}

bool ChromeShape::has(std::string_view line) const {
  return std::ranges::find(lines_, line) != lines_.end();
}

bool ChromeShape::given(std::string_view key) const {
  for (const std::string_view line : lines_) {
    if (line.empty() || (line[0] != kShapeField && line[0] != kShapeConstant)) continue;
    const std::string_view field =
        line.substr(1, line[0] == kShapeConstant ? line.find('=') - 1 : std::string_view::npos);
    if (field == key) return true;
  }
  return false;
}

std::string_view ChromeShape::soundShape(prof::StringId shape) {
  const auto [at, isNew] = soundShapes_.try_emplace(shape);
  if (isNew) {
    std::string_view rest = store_.wholeText(shape);
    std::set<std::string> members{"field pid", "field tid", "field name",
                                  "field args"};  // columns have them
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (isSoundLine(line) && members.insert(memberOf(line)).second) {
        at->second += at->second.empty() ? "" : "\n";
        at->second += line;
      }
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
  }
  return at->second;
}

void ChromeShape::addLines(std::string_view shape) {
  while (!shape.empty()) {
    const std::size_t end = shape.find('\n');
    const std::string_view line = shape.substr(0, end);
    if (!has(line)) add(line);
    if (end == std::string_view::npos) break;
    shape.remove_prefix(end + 1);
  }
}

}  // namespace lacuna::analyzer
