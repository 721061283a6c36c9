// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/chrome_event.h"

#include <iterator>
#include <utility>

namespace lacuna::analyzer {

using prof::TimeNs;

namespace {

/// Nanoseconds as microseconds, with three decimals where there are any.
void appendMicroseconds(TimeNs ns, std::string& out) {
  const bool negative = ns < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (negative) out += '-';
  fmt::format_to(std::back_inserter(out), "{}", magnitude / 1000);
  if (magnitude % 1000 != 0) fmt::format_to(std::back_inserter(out), ".{:03}", magnitude % 1000);
}

}  // namespace

void ChromeEvent::give(std::string_view json) {
  sink_.write(first_ ? "\n" : ",\n");
  first_ = false;
  sink_.write(json);
}

void ChromeEvent::giveFirst(std::string_view events) {
  if (!events.empty()) sink_.write(events);
  first_ = events.empty();
}

void ChromeEvent::close() {
  out_ += '}';
  give(out_);
}

void ChromeEvent::put(std::string_view key, std::string_view json) {
  out_ += out_.back() == '{' ? "\"" : ", \"";
  out_ += key;
  out_ += "\": ";
  out_ += json;
}

void ChromeEvent::putText(std::string_view key, std::string_view text) {
  put(key, "");
  json::appendQuoted(out_, text);
}

void ChromeEvent::putUnlessGiven(std::string_view key, std::string_view json) {
  if (!given(key)) put(key, json);
}

void ChromeEvent::putTime(std::string_view key, TimeNs ns) {
  number_.clear();
  appendMicroseconds(ns, number_);
  put(key, number_);
}

void ChromeEvent::putPlace(const ChromePlaces::Place& place) {
  if (!place.pid.empty()) put("pid", place.pid);
  if (!place.tid.empty()) put("tid", place.tid);
}

void ChromeEvent::begin(char phase, ArgTable table, prof::ArgSetId set, std::string_view category,
                        prof::StringId name, const ChromePlaces::Place& place, TimeNs startNs) {
  beginNamed(phase, table, set, category, store_.text(name), place, startNs);
}

void ChromeEvent::beginNamed(char phase, ArgTable table, prof::ArgSetId set,
                             std::string_view category, std::string_view name,
                             const ChromePlaces::Place& place, TimeNs startNs) {
  set_ = set;
  shape_.read(set, table);
  out_ = "{";
  putUnlessGiven("ph", std::string{'"', phase, '"'});
  if (!category.empty() && !given("cat")) putText("cat", category);
  putText("name", name);
  putPlace(place);
  number_.clear();
  appendMicroseconds(startNs, number_);
  putUnlessGiven("ts", number_);
  place_ = &place;
  startNs_ = startNs;
  source_ = {};
  source_.deviceIndex = place.device;
  source_.stream = place.stream;
  source_.multiprocessors = place.multiprocessors;
}

void ChromeEvent::length(TimeNs durNs) {
  number_.clear();
  appendMicroseconds(durNs, number_);
  putUnlessGiven("dur", number_);
  source_.durNs = durNs;
}

void ChromeEvent::value(std::string_view key, prof::ArgScope scope) {
  std::string scratch;
  const std::string quoted = '"' + std::string(key) + '"';
  const auto found = args_.find(set_, store_.find(json::textOf(quoted, scratch)), scope);
  number_.clear();
  if (found) {
    args_.appendJson(*found, number_);
  } else {
    number_ = "null";
  }
  put(key, number_);
}

bool ChromeEvent::putArguments(ArgTable table) {
  bool hasArgs = false;
  for (const std::string_view line : shape_.lines()) {
    if (line.empty()) continue;
    const std::string_view key = line.substr(1);
    if (line[0] == kShapeStored) {
      value(key, prof::ArgScope::Argument);
    } else if (line[0] == kShapeRepeated) {
      number_.clear();
      renderArg(argRule(table, key), source_, number_);
      put(key, number_);
    } else if (line[0] == kShapeFlow && key.starts_with('"')) {
      out_ += out_.back() == '{' ? "" : ", ";
      out_ += key;
    } else {
      continue;
    }
    hasArgs = true;
  }
  return hasArgs;
}

void ChromeEvent::end(ArgTable table) {
  std::string arguments = std::exchange(out_, "{");
  bool hasArgs = putArguments(table);
  out_ += '}';
  std::swap(arguments, out_);
  for (const std::string_view line : shape_.lines()) {
    if (line.empty()) continue;
    const std::string_view key = line.substr(1);
    if (line[0] == kShapeField) {
      value(key, prof::ArgScope::Field);
    } else if (line[0] == kShapeConstant && key == kShapeNoArgs) {
      hasArgs = true;
    } else if (line[0] == kShapeConstant) {
      put(key.substr(0, key.find('=')), key.substr(key.find('=') + 1));
    }
  }
  if (hasArgs) put("args", arguments);
  close();
  impliedFlows();
}

void ChromeEvent::impliedFlows() {
  for (const std::string_view line : shape_.lines()) {
    if (line.size() < 3 || line[0] != kShapeFlow || line[1] == '"') continue;
    const std::size_t first = line.find('|');
    const std::size_t second = line.find('|', first + 1);
    const std::size_t third = line.find('|', second + 1);
    open();
    put("ph", std::string{'"', line[1], '"'});
    putText("cat", line.substr(first + 1, second - first - 1));
    putText("name", line.substr(second + 1, third - second - 1));
    put("id", std::to_string(source_.correlation + place_->flowShift));
    putPlace(*place_);
    putTime("ts", startNs_);
    const std::string_view constant = line.substr(third + 1);
    if (!constant.empty())
      put(constant.substr(1, constant.find('=') - 1), constant.substr(constant.find('=') + 1));
    close();
  }
}

}  // namespace lacuna::analyzer
