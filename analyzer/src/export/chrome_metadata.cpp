// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/chrome_metadata.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "links/range_launches.h"

namespace lacuna::analyzer {
namespace {

/// -1 where it has none.
std::int32_t rankIn(std::string_view distributedInfo) {
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  std::int64_t rank = -1;
  if (parser.parse(simdjson::padded_string(distributedInfo)).get(value) != simdjson::SUCCESS)
    return -1;
  return value["rank"].get(rank) == simdjson::SUCCESS ? static_cast<std::int32_t>(rank) : -1;
}

}  // namespace

void ChromeMetadata::writeHead() {
  std::string head = "{";
  std::string metadata;
  for (std::uint64_t i = 0; i < store_.rows<prof::Environment>(); ++i) {
    const auto row = store_.row<prof::Environment>(i);
    const std::string_view key = store_.text(row.key);
    const std::string_view value = store_.wholeText(row.value);
    if (key == "chrome.metadata" || key == "chrome.event") {
      metadata += metadata.empty() ? "\n" : ",\n";
      metadata += metadataOf(row);
    } else if (key.starts_with("chrome.") && key.find('.', 7) == std::string_view::npos) {
      addHead(key.substr(7), value, head);
    }
  }
  head += "\"traceEvents\": [";
  sink_.write(head);
  event_.giveFirst(metadata);
  if (!places_.isKineto()) describeOwnTrace();
  describeRanks();
}

void ChromeMetadata::writeTail() {
  sink_.write("\n]" + tail_ + "}\n");
}

void ChromeMetadata::addHead(std::string_view key, std::string_view value, std::string& head) {
  if (key == "traceEvents" || !members_.insert(std::string(key)).second) return;
  json::appendQuoted(head, key);
  head += ": ";
  json::appendChecked(head, value);
  head += ",\n";
}

void ChromeMetadata::addTail(std::string_view key, std::string_view json) {
  if (members_.insert(std::string(key)).second) tail_ += fmt::format(",\n\"{}\": {}", key, json);
}

void ChromeMetadata::describeRanks() {
  const std::int32_t headRank = rankIn(places_.environment("chrome.distributedInfo"));
  for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
    const auto row = store_.row<prof::Process>(i);
    const std::string& pid = places_.pidOf(row.id);
    const auto number = json::integerOf(pid);
    const bool isNumber = number && *number >= 0 && *number <= std::int64_t{UINT32_MAX};
    if (row.rank == (isNumber ? headRank : -1)) continue;
    event_.give(
        fmt::format("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": 0, \"ts\": 0, "
                    "\"args\": {{\"rank\": {}}}}}",
                    kRankEvent, pid, row.rank));
  }
}

void ChromeMetadata::describeClock() {
  if (store_.rows<prof::Clock>() == 0 ||
      places_.environment().contains("chrome.baseTimeNanoseconds"))
    return;
  const auto clock = store_.row<prof::Clock>(0);
  std::int64_t baseNs = 0;
  if (__builtin_sub_overflow(clock.realtimeNs, clock.timeNs, &baseNs) || baseNs == 0) return;
  addTail("baseTimeNanoseconds", std::to_string(baseNs));
}

std::string ChromeMetadata::metadataOf(const prof::Environment& row) const {
  std::string text = withOwnPid(row);
  std::string sound;
  json::appendChecked(sound, text);
  if (sound.starts_with('{')) return sound;
  std::string unreadable =
      "{\"ph\": \"M\", \"name\": \"unreadable\", \"pid\": 0, \"tid\": 0, \"ts\": 0, \"args\": "
      "{\"text\": ";
  json::appendQuoted(unreadable, text);
  return unreadable + "}}";
}

std::string ChromeMetadata::withOwnPid(const prof::Environment& row) const {
  std::string text(store_.wholeText(row.value));
  if (!places_.isRenamed(row.process)) return text;
  constexpr std::string_view kKey = "\"pid\"";
  const std::size_t key = text.find(kKey);
  const std::size_t colon =
      key == std::string::npos ? key : text.find_first_not_of(" \t\r\n", key + kKey.size());
  if (colon == std::string::npos || text[colon] != ':') return text;
  const std::size_t from = text.find_first_not_of(" \t\r\n", colon + 1);
  if (from == std::string::npos) return text;
  const std::size_t quote = text[from] == '"' ? text.find('"', from + 1) : std::string::npos;
  const std::size_t to = text[from] != '"'            ? text.find_first_of(",} \t\r\n", from)
                         : quote == std::string::npos ? quote
                                                      : quote + 1;
  if (to == std::string::npos) return text;
  return text.replace(from, to - from, places_.pidOf(row.process));
}

void ChromeMetadata::describeOwnTrace() {
  for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
    const auto row = store_.row<prof::Process>(i);
    name("process_name", places_.pidOf(row.id), "0", store_.text(row.name));
  }
  for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
    const auto row = store_.row<prof::Thread>(i);
    name("thread_name", places_.of(row.id).pid, places_.of(row.id).tid, store_.text(row.name));
  }
  describeLives();
  for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
    const auto row = store_.row<prof::Queue>(i);
    name("thread_name", places_.of(row.id).pid, places_.of(row.id).tid, store_.text(row.name));
  }
  std::string list;
  for (const auto& [id, device] : places_.devices()) {
    if (device.kind != prof::DeviceKind::Cuda) {
      name("process_name", places_.pidOf(device), "0", store_.text(device.name));
      continue;
    }
    list += list.empty() ? "" : ", ";
    list += fmt::format("{{\"id\": {}, \"name\": ", device.index);
    json::appendQuoted(list, store_.text(device.name));
    list += fmt::format(
        ", \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, \"numSms\": {}}}",
        device.memoryBytes, device.computeMajor, device.computeMinor, device.multiprocessors);
  }
  if (!list.empty()) addTail("deviceProperties", "[" + list + "]");
  addTail(kOwnChromeMember,
          fmt::format("{{\"externalId\": \"correlation\", \"environment\": {{{}}}}}",
                      ownEnvironment()));
  addTail("displayTimeUnit", "\"ms\"");
  describeClock();
}

std::string ChromeMetadata::ownEnvironment() const {
  std::string out;
  for (const auto& [key, value] : places_.environment()) {
    if (key.starts_with("chrome.") || key.starts_with("merge.") || key.starts_with("input") ||
        key == "source.format")
      continue;
    out += out.empty() ? "\n" : ",\n";
    json::appendQuoted(out, key);
    out += ": ";
    json::appendQuoted(out, value);
  }
  return out;
}

void ChromeMetadata::describeLives() {
  for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
    const auto row = store_.row<prof::Process>(i);
    std::string more = fmt::format(", \"exit_code\": {}", row.exitCode);
    if (row.parent && places_.has(row.parent))
      more += fmt::format(", \"parent\": {}", places_.pidOf(row.parent));
    if (row.commandLine)
      json::appendQuoted(more += ", \"command_line\": ", store_.text(row.commandLine));
    life(kLifeOfProcess, places_.pidOf(row.id), "0", row, more);
  }
  for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
    const auto row = store_.row<prof::Thread>(i);
    life(kLifeOfThread, places_.of(row.id).pid, places_.of(row.id).tid, row, "");
  }
}

template <class Row>
void ChromeMetadata::life(std::string_view what, const std::string& pid, const std::string& tid,
                          const Row& row, std::string_view more) {
  event_.give(
      fmt::format("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": 0, "
                  "\"args\": {{\"start_ns\": {}, \"end_ns\": {}{}}}}}",
                  what, pid, tid, row.startNs, row.endNs, more));
}

void ChromeMetadata::name(std::string_view what, const std::string& pid, const std::string& tid,
                          std::string_view text) {
  if (text.empty()) return;
  std::string event = fmt::format(
      "{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \"args\": "
      "{{\"name\": ",
      what, pid, tid);
  json::appendQuoted(event, text);
  event += "}}";
  event_.give(event);
}

}  // namespace lacuna::analyzer
