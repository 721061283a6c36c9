// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_assembly.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <future>

#include "formats/json_text.h"
#include "formats/own_columns.h"
#include "import/chrome/allocation_operators.h"
#include "import/chrome/chrome_lives.h"
#include "import/chrome/column_appending.h"
#include "import/chrome/flow_folding.h"
#include "import/chrome/host_device.h"
#include "import/chrome/metadata_events.h"
#include "import/snapshot/memory_roles.h"
#include "import/trace_places.h"
#include "links/range_launches.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {

void ChromeAssembly::learn(const ChromeRows& rows, Mapping& mapping) {
  for (auto id = static_cast<std::uint32_t>(mapping.strings.size()); id < rows.strings.size();
       ++id) {
    mapping.strings.push_back(builder_.intern(rows.strings.text(prof::StringId(id))));
  }
  if (mapping.locations.empty()) mapping.locations.push_back(0);
  for (std::size_t i = 1; i < rows.locations.size(); ++i) {
    if (i == mapping.locations.size())
      mapping.locations.push_back(places_.locationFor(rows.locations[i]));
    ChromeLocation& known = places_.location(mapping.locations[i]);
    known.usedByHost |= rows.locations[i].usedByHost;
    known.usedByDevice |= rows.locations[i].usedByDevice;
  }
  for (std::size_t i = mapping.streams.size(); i < rows.args.streams.size(); ++i) {
    const prof::StringId key = mapping.strings[rows.args.streams[i].key.value];
    const auto [at, isNew] = streamNumbers_.try_emplace(
        {rows.args.streams[i].scope, key}, static_cast<std::uint32_t>(streams_.size()));
    if (isNew) streams_.push_back({rows.args.streams[i].scope, key, {}});
    mapping.streams.push_back(at->second);
  }
}

void ChromeAssembly::mergeArgs(const ChromeRows& rows, const Mapping& mapping, double share) {
  for (std::size_t i = 0; i < rows.args.streams.size(); ++i) {
    const auto& from = rows.args.streams[i].values;
    auto& to = streams_[mapping.streams[i]].values;
    makeRoom(to, from.size(), share);
    for (ArgStream::Value value : from) {
      value.set += sets_;
      if (value.type == prof::ArgType::Text || value.type == prof::ArgType::Json) {
        value.bits = mapping.strings[value.bits].value;
      }
      to.push_back(value);
    }
  }
}

void ChromeAssembly::merge(const ChromeRows& rows, Mapping& mapping, double share) {
  learn(rows, mapping);
  mergeArgs(rows, mapping, share);
  const auto change = [&]<class T>(T& value) {
    if constexpr (std::is_same_v<T, prof::StringId>) {
      value = mapping.strings[value.value];
    } else if constexpr (std::is_same_v<T, prof::ThreadId> || std::is_same_v<T, prof::QueueId>) {
      value.value = mapping.locations[value.value];
    } else if constexpr (std::is_same_v<T, prof::ArgSetId>) {
      if (value.value != 0) value.value += sets_;
    }
  };
  appendColumns(builder_.columns<prof::Range>(), rows.ranges, share, change);
  appendColumns(builder_.columns<prof::Mark>(), rows.marks, share, change);
  appendColumns(builder_.columns<prof::ApiCall>(), rows.calls, share, change);
  appendColumns(builder_.columns<prof::Kernel>(), rows.kernels, share, change);
  appendColumns(builder_.columns<prof::Memcpy>(), rows.copies, share, change);
  appendColumns(builder_.columns<prof::Memset>(), rows.memsets, share, change);
  appendColumns(builder_.columns<prof::Sync>(), rows.syncs, share, change);
  appendColumns(builder_.columns<prof::Allocation>(), rows.allocations, share, change);
  memoryTotals_.insert(memoryTotals_.end(), rows.memoryTotals.begin(), rows.memoryTotals.end());
  appendColumns(builder_.columns<prof::Flow>(), rows.flows, share, change);
  appendColumns(builder_.columns<prof::Overhead>(), rows.overheads, share, change);
  appendColumns(builder_.columns<prof::ArgSet>(), rows.args.sets, share, change);
  mergeLoose(rows, mapping, sets_);
  sets_ += static_cast<std::uint32_t>(rows.args.sets.id.size());
  metadata_.insert(metadata_.end(), rows.metadata.begin(), rows.metadata.end());
  for (const std::string& text : rows.others) addEnvironment("chrome.event", text);
  for (const auto& problem : rows.problems) {
    builder_.addWarning(fmt::format("byte {}: {}", problem.offset, problem.what));
  }
  events_ += rows.events;
  countUnread(rows);
}

void ChromeAssembly::countUnread(const ChromeRows& rows) {
  if (unreadSamples_ == 0) firstUnreadSample_ = rows.firstUnreadSample;
  unreadSamples_ += rows.unreadSamples;
  for (const auto& [phase, count] : rows.unreadPhases) unreadPhases_[phase] += count;
}

void ChromeAssembly::warnOfUnread(std::uint64_t unmatchedEnds) {
  if (unmatchedEnds > 0) {
    builder_.addWarning(
        fmt::format("{} ends of ranges have no begin and were left out", unmatchedEnds));
  }
  if (unreadSamples_ > 0) {
    builder_.addWarning(
        fmt::format("{} values of counters are no numbers (NaN, Infinity, a text) and were left "
                    "out, the first in the event at byte {}",
                    unreadSamples_, firstUnreadSample_));
  }
  std::string phases;
  for (const auto& [phase, count] : unreadPhases_) {
    phases += fmt::format("{}{} ({})", phases.empty() ? "" : ", ",
                          phase == 0 ? "none" : std::string(1, phase), count);
  }
  if (!phases.empty()) {
    builder_.addWarning("events of phases that lacuna does not read are kept as text only: " +
                        phases);
  }
}

prof::TrackId ChromeAssembly::trackFor(std::uint32_t location, prof::StringId name,
                                       prof::StringId series) {
  const auto [at, isNew] = tracks_.try_emplace(
      {location, name, series}, prof::TrackId(static_cast<std::uint32_t>(tracks_.size()) + 1));
  if (isNew) {
    prof::CounterTrack track;
    track.id = at->second;
    track.thread.value = location;
    track.name = name;
    track.unit = series;
    builder_.append(track);
  }
  return at->second;
}

void ChromeAssembly::mergeLoose(const ChromeRows& rows, const Mapping& mapping,
                                std::uint32_t setBase) {
  auto& ranges = builder_.columns<prof::Range>();
  for (const LooseEvent& event : rows.loose) {
    const std::uint32_t location = mapping.locations[event.location];
    const prof::StringId name = mapping.strings[event.name.value];
    if (event.phase == 'C') {
      const prof::TrackId track = trackFor(location, name, mapping.strings[event.series.value]);
      builder_.append(prof::CounterSample{event.timeNs, track, event.value});
      continue;
    }
    const bool isAsync = event.phase == 'b' || event.phase == 'e';
    const prof::StringId category = mapping.strings[event.category.value];
    const prof::ArgSetId args(event.args == 0 ? 0 : event.args + setBase);
    RangeEdges::Edge edge;
    edge.timeNs = event.timeNs;
    edge.location = location;
    edge.isAsync = isAsync;
    edge.key = isAsync ? std::uint64_t{category.value} << 32 | mapping.strings[event.id.value].value
                       : location;
    if (event.phase == 'B' || event.phase == 'b') {
      prof::Range range;
      range.startNs = event.timeNs;
      range.durNs = -1;
      range.thread.value = location;
      range.name = name;
      range.category = category;
      range.kind = isAsync ? prof::RangeKind::StartEnd : prof::RangeKind::PushPop;
      range.flags = prof::kUnfinished;
      range.args = args;
      edge.row = ranges.startNs.size();
      ranges.push(range);
    } else {
      edge.args = args;
    }
    edges_.add(edge);
  }
}

void ChromeAssembly::addEnvironment(std::string_view key, std::string_view value) {
  builder_.append(prof::Environment{{}, builder_.intern(key), builder_.intern(value)});
}

void ChromeAssembly::addMember(std::string_view key, std::string_view json) {
  addEnvironment(fmt::format("chrome.{}", key), json);
  if (key == "baseTimeNanoseconds") {
    baseNs_ = json::integerOf(json).value_or(
        json.size() < 20 ? std::llround(json::numberOf(json).value_or(0)) : 0);
    if (const auto wide = json::numberOf(json); wide && !json::integerOf(json)) {
      std::from_chars(json.data(), json.data() + json.size(), baseNs_);
    }
    baseNs_ = std::clamp(baseNs_, -json::kFarthestNs, json::kFarthestNs);
    return;
  }
  if (key != "deviceProperties" && key != "distributedInfo" && key != kOwnChromeMember) return;
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(simdjson::padded_string(json)).get(value) != simdjson::SUCCESS) return;
  if (key == kOwnChromeMember) {
    simdjson::dom::object environment;
    if (value["environment"].get(environment) != simdjson::SUCCESS) return;
    for (const auto row : environment) {
      std::string_view text;
      if (row.value.get(text) == simdjson::SUCCESS) addEnvironment(row.key, text);
    }
    return;
  }
  const auto number = [](simdjson::dom::element of, const char* member) -> std::uint64_t {
    std::uint64_t out = 0;
    return of[member].get(out) == simdjson::SUCCESS ? out : 0;
  };
  if (key == "distributedInfo") {
    std::int64_t rank = -1;
    if (value["rank"].get(rank) == simdjson::SUCCESS)
      places_.setRank(static_cast<std::int32_t>(rank));
    return;
  }
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element device : list) {
    ImportedPlaces::DeviceInfo& info =
        places_.device(static_cast<std::uint32_t>(number(device, "id")));
    std::string_view name;
    if (device["name"].get(name) == simdjson::SUCCESS) info.name = name;
    info.memoryBytes = number(device, "totalGlobalMem");
    info.multiprocessors = static_cast<std::uint32_t>(number(device, "numSms"));
    info.major = static_cast<std::uint16_t>(number(device, "computeMajor"));
    info.minor = static_cast<std::uint16_t>(number(device, "computeMinor"));
  }
}

/// Nesting depths, and the first and last moments of threads and processes. Needs the ranges in
/// time order.
void ChromeAssembly::nest() {
  auto& ranges = builder_.columns<prof::Range>();
  auto& threads = builder_.columns<prof::Thread>();
  auto& processes = builder_.columns<prof::Process>();
  sortByTime<prof::Range>(ranges);
  sortByTime<prof::ApiCall>(builder_.columns<prof::ApiCall>());
  std::vector<std::vector<prof::TimeNs>> open(threads.id.size() + places_.locations() + 1);
  std::ranges::fill(threads.startNs, INT64_MAX);
  std::ranges::fill(threads.endNs, INT64_MIN);
  const auto see = [&](prof::ThreadId thread, prof::TimeNs startNs, prof::TimeNs endNs) {
    if (!thread) return;
    threads.startNs[thread.value - 1] = std::min(threads.startNs[thread.value - 1], startNs);
    threads.endNs[thread.value - 1] = std::max(threads.endNs[thread.value - 1], endNs);
  };
  std::ranges::fill(processes.startNs, INT64_MAX);
  std::ranges::fill(processes.endNs, INT64_MIN);
  for (std::size_t i = 0; i < ranges.startNs.size(); ++i) {
    const prof::TimeNs endNs = ranges.startNs[i] + ranges.durNs[i];
    see(ranges.thread[i], ranges.startNs[i], endNs);
    if (ranges.kind[i] != prof::RangeKind::PushPop) continue;
    auto& stack =
        open[ranges.thread[i] ? ranges.thread[i].value : threads.id.size() + ranges.queue[i].value];
    while (!stack.empty() && stack.back() <= ranges.startNs[i]) stack.pop_back();
    ranges.depth[i] = static_cast<std::uint16_t>(std::min<std::size_t>(stack.size(), UINT16_MAX));
    stack.push_back(endNs);
  }
  const auto& calls = builder_.columns<prof::ApiCall>();
  for (std::size_t i = 0; i < calls.startNs.size(); ++i) {
    see(calls.thread[i], calls.startNs[i], calls.startNs[i] + calls.durNs[i]);
  }
  const prof::TimeNs first = ranges.startNs.empty() ? 0 : ranges.startNs.front();
  const auto& marks = builder_.columns<prof::Mark>();
  for (std::size_t i = 0; i < marks.timeNs.size(); ++i)
    see(marks.thread[i], marks.timeNs[i], marks.timeNs[i]);
  for (std::size_t i = 0; i < threads.id.size(); ++i) {
    if (threads.startNs[i] > threads.endNs[i]) threads.startNs[i] = threads.endNs[i] = first;
    const std::size_t process = threads.process[i].value - 1;
    processes.startNs[process] = std::min(processes.startNs[process], threads.startNs[i]);
    processes.endNs[process] = std::max(processes.endNs[process], threads.endNs[i]);
  }
  for (std::size_t i = 0; i < processes.id.size(); ++i) {
    if (processes.startNs[i] > processes.endNs[i])
      processes.startNs[i] = processes.endNs[i] = first;
  }
}

void ChromeAssembly::readLivesOf() {
  const auto process = [&](const std::string& pid) { return places_.findProcess(pid); };
  const auto thread = [&](const std::string& pid, const std::string& tid) {
    return places_.findThread(pid, tid);
  };
  readLives(metadata_, {process, thread}, builder_);
}

/// One run of rows for each name, so that the values of a name lie together.
void ChromeAssembly::flattenArgs() {
  auto& args = builder_.columns<prof::Arg>();
  std::size_t rows = 0;
  for (const ArgStream& stream : streams_) rows += stream.values.size();
  args.forEach([&](auto& values) { values.resize(rows); });
  std::size_t at = 0;
  for (ArgStream& stream : streams_) {
    for (const ArgStream::Value& value : stream.values) {
      args.set[at].value = value.set;
      args.scope[at] = stream.scope;
      args.key[at] = stream.key;
      args.type[at] = value.type;
      args.value[at++] = value.bits;
    }
    stream = {};
  }
}

std::shared_ptr<const Store> ChromeAssembly::finish(const std::filesystem::path& path,
                                                    unsigned threads) {
  // Arguments are a table that nothing else here touches.
  auto flattened = std::async(threads > 1 ? std::launch::async : std::launch::deferred,
                              [this] { flattenArgs(); });
  addEnvironment("source.format", "kineto");
  warnOfUnread(edges_.pair(builder_.columns<prof::Range>(), joins_));
  const auto isOpen = [](prof::TimeNs lengthNs) { return lengthNs < 0; };
  if (std::ranges::any_of(builder_.columns<prof::Range>().durNs, isOpen)) closeUnfinished(builder_);
  places_.make();
  places_.placeRows();
  addMemoryOfTotals(builder_, memoryTotals_);
  readMetadata(metadata_, places_, builder_);
  describeByCalls(places_, builder_);
  // Operators of a machine with GPUs only launch what was not recorded.
  if (!places_.hasDevices()) addHostDevice(builder_);
  auto& ids = builder_.columns<prof::ArgSet>().id;
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i].value = static_cast<std::uint32_t>(i) + 1;
  foldFlows(builder_);
  nest();
  readLivesOf();
  addAllocationOperators(builder_);
  addMemoryRoles(builder_);
  flattened.get();
  joinArgs(builder_, joins_);
  const auto& starts = builder_.columns<prof::Range>().startNs;
  const prof::TimeNs first = starts.empty() ? 0 : starts.front();
  builder_.append(prof::Clock{first, first + baseNs_, 0, {}});
  builder_.setPath(path);
  return builder_.build();
}

}  // namespace lacuna::analyzer
