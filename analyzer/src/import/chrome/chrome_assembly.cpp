// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_assembly.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <future>

#include "formats/own_columns.h"
#include "import/chrome/allocation_operators.h"
#include "import/chrome/chrome_lives.h"
#include "import/chrome/flow_folding.h"
#include "import/chrome/host_device.h"
#include "import/snapshot/memory_roles.h"
#include "import/trace_places.h"
#include "links/range_launches.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {
namespace {

/// Room for `more` values, and for those to come, of which `share` of the file tells the number: memory that nobody
/// writes to costs nothing, while columns that grow by and by are copied again and again.
template <class T>
void makeRoom(std::vector<T>& values, std::size_t more, double share) {
  const std::size_t needed = values.size() + more;
  if (needed <= values.capacity()) return;
  const double factor = std::clamp(1.1 / std::max(share, 1e-9), 1.25, 128.0);
  values.reserve(static_cast<std::size_t>(static_cast<double>(needed) * factor));
}

/// Appends all columns, passing each value through change(value) where change says so for its type.
template <class Columns, class Change>
void appendColumns(Columns& to, const Columns& from, double share, Change&& change) {
  std::vector<const void*> sources;
  from.forEach([&](const auto& values) { sources.push_back(&values); });
  std::size_t at = 0;
  to.forEach([&]<class T>(std::vector<T>& values) {
    const auto& source = *static_cast<const std::vector<T>*>(sources[at++]);
    const std::size_t before = values.size();
    makeRoom(values, source.size(), share);
    values.insert(values.end(), source.begin(), source.end());
    if constexpr (std::is_class_v<T>) {
      for (std::size_t i = before; i < values.size(); ++i) change(values[i]);
    }
  });
}

}  // namespace

std::uint32_t ChromeAssembly::locationFor(const ChromeLocation& location) {
  const auto [at, isNew] =
      locationNumbers_.try_emplace(location.pid + '\n' + location.tid, static_cast<std::uint32_t>(locations_.size()));
  if (isNew) locations_.push_back(location);
  return at->second;
}

void ChromeAssembly::learn(const ChromeRows& rows, Mapping& mapping) {
  for (auto id = static_cast<std::uint32_t>(mapping.strings.size()); id < rows.strings.size(); ++id) {
    mapping.strings.push_back(builder_.intern(rows.strings.text(prof::StringId(id))));
  }
  if (mapping.locations.empty()) mapping.locations.push_back(0);
  for (std::size_t i = 1; i < rows.locations.size(); ++i) {
    if (i == mapping.locations.size()) mapping.locations.push_back(locationFor(rows.locations[i]));
    ChromeLocation& known = locations_[mapping.locations[i]];
    known.usedByHost |= rows.locations[i].usedByHost;
    known.usedByDevice |= rows.locations[i].usedByDevice;
  }
  for (std::size_t i = mapping.streams.size(); i < rows.args.streams.size(); ++i) {
    const prof::StringId key = mapping.strings[rows.args.streams[i].key.value];
    const auto [at, isNew] =
        streamNumbers_.try_emplace({rows.args.streams[i].scope, key}, static_cast<std::uint32_t>(streams_.size()));
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

void ChromeAssembly::warnOfUnread() {
  if (unmatchedEnds_ > 0) {
    builder_.addWarning(fmt::format("{} ends of ranges have no begin and were left out", unmatchedEnds_));
  }
  if (unreadSamples_ > 0) {
    builder_.addWarning(
        fmt::format("{} values of counters are no numbers (NaN, Infinity, a text) and were left out, the first in the "
                    "event at byte {}",
                    unreadSamples_, firstUnreadSample_));
  }
  std::string phases;
  for (const auto& [phase, count] : unreadPhases_) {
    phases += fmt::format("{}{} ({})", phases.empty() ? "" : ", ", phase == 0 ? "none" : std::string(1, phase), count);
  }
  if (!phases.empty()) {
    builder_.addWarning("events of phases that lacuna does not read are kept as text only: " + phases);
  }
}

prof::TrackId ChromeAssembly::trackFor(std::uint32_t location, prof::StringId name, prof::StringId series) {
  const auto [at, isNew] =
      tracks_.try_emplace({location, name, series}, prof::TrackId(static_cast<std::uint32_t>(tracks_.size()) + 1));
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

void ChromeAssembly::mergeLoose(const ChromeRows& rows, const Mapping& mapping, std::uint32_t setBase) {
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
    Edge edge;
    edge.timeNs = event.timeNs;
    edge.location = location;
    edge.isAsync = isAsync;
    edge.key = isAsync ? std::uint64_t{category.value} << 32 | mapping.strings[event.id.value].value : location;
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
    edges_.push_back(edge);
  }
}

/// The range that each end ends, kEnd where there is none, in the order of the edges; `isSound` becomes false where an
/// end comes before its begin, or alone.
std::vector<std::size_t> ChromeAssembly::matchEdges(bool& isSound) {
  const auto& starts = builder_.columns<prof::Range>().startNs;
  std::map<std::pair<bool, std::uint64_t>, std::vector<std::size_t>> open;
  std::vector<std::size_t> ended(edges_.size(), Edge::kEnd);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    auto& rows = open[{edge.isAsync, edge.key}];
    if (edge.row != Edge::kEnd) {
      rows.push_back(edge.row);
    } else if (rows.empty()) {
      isSound = false;
    } else {
      ended[i] = rows.back();
      rows.pop_back();
      isSound = isSound && starts[ended[i]] <= edge.timeNs;
    }
  }
  return ended;
}

/// As the file has them, or in the order of time where that makes no sense: writers' threads may hand over their events
/// by the piece.
void ChromeAssembly::pairEdges() {
  bool isSound = true;
  auto ended = matchEdges(isSound);
  if (!isSound) {
    std::ranges::stable_sort(edges_, {}, &Edge::timeNs);
    ended = matchEdges(isSound);
  }
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.row != Edge::kEnd) continue;
    if (ended[i] != Edge::kEnd) {
      endRange(ended[i], edge);
    } else {
      ++unmatchedEnds_;
      if (edge.args) joins_.push_back({edge.args, {}});
    }
  }
  edges_ = std::vector<Edge>();
}

void ChromeAssembly::endRange(std::size_t row, const Edge& end) {
  auto& ranges = builder_.columns<prof::Range>();
  ranges.durNs[row] = end.timeNs - ranges.startNs[row];
  ranges.flags[row] = 0;
  if (ranges.thread[row].value != end.location) ranges.endThread[row].value = end.location;
  if (!end.args) return;
  if (ranges.args[row]) {
    joins_.push_back({end.args, ranges.args[row]});
  } else {
    ranges.args[row] = end.args;
  }
}

void ChromeAssembly::addEnvironment(std::string_view key, std::string_view value) {
  builder_.append(prof::Environment{{}, builder_.intern(key), builder_.intern(value)});
}

void ChromeAssembly::addMember(std::string_view key, std::string_view json) {
  addEnvironment(fmt::format("chrome.{}", key), json);
  if (key == "baseTimeNanoseconds") {
    baseNs_ = json::integerOf(json).value_or(json.size() < 20 ? std::llround(json::numberOf(json).value_or(0)) : 0);
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
    if (value["rank"].get(rank) == simdjson::SUCCESS) rank_ = static_cast<std::int32_t>(rank);
    return;
  }
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element device : list) {
    DeviceInfo& info = deviceInfo_[static_cast<std::uint32_t>(number(device, "id"))];
    std::string_view name;
    if (device["name"].get(name) == simdjson::SUCCESS) info.name = name;
    info.memoryBytes = number(device, "totalGlobalMem");
    info.multiprocessors = static_cast<std::uint32_t>(number(device, "numSms"));
    info.major = static_cast<std::uint16_t>(number(device, "computeMajor"));
    info.minor = static_cast<std::uint16_t>(number(device, "computeMinor"));
  }
}

namespace {

std::optional<std::uint32_t> smallNumber(const std::string& token) {
  const auto number = json::integerOf(token);
  if (!number || *number < 0 || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

/// Our exports call the second process that is 7 "7#2", and threads and streams likewise.
std::optional<std::uint32_t> sharedNumber(std::string_view text) {
  const std::size_t copy = text.find('#');
  return copy == std::string_view::npos ? std::nullopt : smallNumber(std::string(text.substr(0, copy)));
}

}  // namespace

/// A pid or tid that is no small number is kept as it was written, under the number of its row.
prof::ProcessId ChromeAssembly::processFor(const std::string& pid) {
  const auto [at, isNew] =
      processes_.try_emplace(pid, prof::ProcessId(static_cast<std::uint32_t>(processes_.size()) + 1));
  if (!isNew) return at->second;
  prof::Process process;
  process.id = at->second;
  process.exitCode = -1;
  process.rank = rank_;
  if (const auto number = smallNumber(pid)) {
    process.osPid = *number;
  } else {
    std::string scratch;
    const std::string_view text = json::textOf(pid, scratch);
    process.rank = -1;
    addEnvironment(fmt::format("chrome.pid.{}", process.id.value), pid);
    if (const auto shared = sharedNumber(text)) {
      process.osPid = *shared;
    } else {
      process.name = builder_.intern(text);
    }
  }
  builder_.append(process);
  return at->second;
}

/// Our exports call the CPU device of process 1234 "cpu:0@1234", and the second device that is cuda:0 "cuda:0#2".
void ChromeAssembly::readDeviceName(std::string_view token, prof::Device& device) {
  static constexpr std::pair<std::string_view, prof::DeviceKind> kKinds[] = {{"\"device:", prof::DeviceKind::Other},
                                                                             {"\"cpu:", prof::DeviceKind::Cpu},
                                                                             {"\"cuda:", prof::DeviceKind::Cuda},
                                                                             {"\"rocm:", prof::DeviceKind::Rocm}};
  for (const auto& [prefix, kind] : kKinds) {
    if (!token.starts_with(prefix) || !token.ends_with('"')) continue;
    std::string_view rest = token.substr(prefix.size(), token.size() - prefix.size() - 1);
    const std::size_t at = rest.find('@');
    const auto index = smallNumber(std::string(rest.substr(0, std::min(at, rest.find('#')))));
    if (!index) return;
    device.kind = kind;
    device.index = *index;
    if (at != std::string_view::npos) device.process = processFor(ownerToken(rest.substr(at + 1)));
    return;
  }
}

/// The owner of a device: "7" as well as "7#2" may be a process, or the second device of process 7.
std::string ChromeAssembly::ownerToken(std::string_view owner) const {
  const auto isPid = [&](const std::string& token) {
    return std::ranges::any_of(locations_, [&](const ChromeLocation& place) { return place.pid == token; });
  };
  for (std::string_view name = owner;; name = name.substr(0, name.rfind('#'))) {
    std::string quoted = fmt::format("\"{}\"", name);
    if (isPid(quoted)) return quoted;
    if (name.find('#') == std::string_view::npos) return std::string(name);
  }
}

prof::DeviceId ChromeAssembly::deviceFor(const std::string& pid) {
  const auto [at, isNew] = devices_.try_emplace(pid, prof::DeviceId(static_cast<std::uint32_t>(devices_.size()) + 1));
  if (!isNew) return at->second;
  prof::Device device;
  device.id = at->second;
  device.kind = prof::DeviceKind::Cuda;
  if (const auto number = smallNumber(pid)) {
    device.index = *number;
  } else {
    addEnvironment(fmt::format("chrome.device.{}", device.id.value), pid);
    readDeviceName(pid, device);
  }
  const auto info = deviceInfo_.find(device.index);
  if (info != deviceInfo_.end() && device.kind == prof::DeviceKind::Cuda) {
    device.name = builder_.intern(info->second.name);
    device.memoryBytes = info->second.memoryBytes;
    device.multiprocessors = info->second.multiprocessors;
    device.computeMajor = info->second.major;
    device.computeMinor = info->second.minor;
  }
  builder_.append(device);
  return at->second;
}

void ChromeAssembly::makeThread(std::uint32_t location) {
  const ChromeLocation& place = locations_[location];
  prof::Thread thread;
  thread.id = prof::ThreadId(static_cast<std::uint32_t>(builder_.columns<prof::Thread>().id.size()) + 1);
  thread.process = processFor(place.pid);
  if (const auto number = smallNumber(place.tid)) {
    thread.osTid = *number;
  } else if (const auto cut = json::integerOf(place.tid); cut && *cut < 0 && *cut >= INT32_MIN) {
    // The lower half of a pthread_t, which its writer took for a signed number.
    thread.osTid = static_cast<std::uint32_t>(*cut);
    addEnvironment(fmt::format("chrome.tid.{}", thread.id.value), place.tid);
  } else {
    std::string scratch;
    const std::string_view text = json::textOf(place.tid, scratch);
    if (const auto shared = sharedNumber(text)) {
      thread.osTid = *shared;
    } else {
      thread.name = builder_.intern(text);
    }
    addEnvironment(fmt::format("chrome.tid.{}", thread.id.value), place.tid);
  }
  builder_.append(thread);
  threads_[location] = thread.id;
}

void ChromeAssembly::makeQueue(std::uint32_t location) {
  const ChromeLocation& place = locations_[location];
  prof::Queue queue;
  queue.id = prof::QueueId(static_cast<std::uint32_t>(builder_.columns<prof::Queue>().id.size()) + 1);
  queue.device = deviceFor(place.pid);
  const auto number = json::integerOf(place.tid);
  if (number && *number >= 0) {
    queue.nativeId = static_cast<std::uint64_t>(*number);
  } else {
    std::string scratch;
    queue.nativeId = sharedNumber(json::textOf(place.tid, scratch)).value_or(0);
    addEnvironment(fmt::format("chrome.stream.{}", queue.id.value), place.tid);
  }
  queue.process = builder_.columns<prof::Device>().process[queue.device.value - 1];
  builder_.append(queue);
  queues_[location] = queue.id;
}

void ChromeAssembly::makePlaces() {
  threads_.assign(locations_.size(), {});
  queues_.assign(locations_.size(), {});
  for (std::uint32_t i = 1; i < locations_.size(); ++i) {
    if (locations_[i].usedByDevice) makeQueue(i);
    if (locations_[i].usedByHost || !locations_[i].usedByDevice) makeThread(i);
  }
}

/// Devices that name the process that fills them, by it and their number: which of several with that number an
/// allocation means, its process tells.
ChromeAssembly::OwnDevices ChromeAssembly::ownDevices() {
  OwnDevices own;
  const auto& devices = builder_.columns<prof::Device>();
  for (std::size_t i = 0; i < devices.id.size(); ++i) {
    if (devices.process[i] && devices.kind[i] != prof::DeviceKind::Cpu)
      own.try_emplace({devices.process[i], devices.index[i]}, devices.id[i]);
  }
  return own;
}

void ChromeAssembly::placeRows() {
  const auto threadsOf = [&](std::vector<prof::ThreadId>& column) {
    for (prof::ThreadId& id : column) id = threads_[id.value];
  };
  const auto queuesOf = [&](std::vector<prof::QueueId>& column) {
    for (prof::QueueId& id : column) id = queues_[id.value];
  };
  auto& ranges = builder_.columns<prof::Range>();
  threadsOf(ranges.thread);
  threadsOf(ranges.endThread);
  queuesOf(ranges.queue);
  threadsOf(builder_.columns<prof::Mark>().thread);
  threadsOf(builder_.columns<prof::ApiCall>().thread);
  threadsOf(builder_.columns<prof::Overhead>().thread);
  threadsOf(builder_.columns<prof::Allocation>().thread);
  auto& tracks = builder_.columns<prof::CounterTrack>();
  for (std::size_t i = 0; i < tracks.id.size(); ++i) {
    const std::uint32_t location = tracks.thread[i].value;
    tracks.thread[i] = threads_[location];
    tracks.process[i] = processFor(locations_[location].pid);
  }
  auto& flows = builder_.columns<prof::Flow>();
  for (std::size_t i = 0; i < flows.id.size(); ++i) {
    const std::uint32_t location = flows.thread[i].value;
    flows.thread[i] = threads_[location];
    if (!flows.thread[i]) flows.queue[i] = queues_[location];
  }
  std::vector<prof::DeviceId> deviceOf(builder_.columns<prof::Queue>().id.size() + 1);
  const auto& queues = builder_.columns<prof::Queue>();
  for (std::size_t i = 0; i < queues.id.size(); ++i) deviceOf[queues.id[i].value] = queues.device[i];
  const auto onDevice = [&](auto& columns) {
    queuesOf(columns.queue);
    for (std::size_t i = 0; i < columns.queue.size(); ++i) columns.device[i] = deviceOf[columns.queue[i].value];
  };
  onDevice(builder_.columns<prof::Kernel>());
  onDevice(builder_.columns<prof::Memcpy>());
  onDevice(builder_.columns<prof::Memset>());
  onDevice(builder_.columns<prof::Sync>());
  auto& allocations = builder_.columns<prof::Allocation>();
  queuesOf(allocations.queue);
  const OwnDevices own = ownDevices();
  for (std::size_t i = 0; i < allocations.queue.size(); ++i) {
    prof::DeviceId& device = allocations.device[i];
    if (allocations.queue[i]) {
      device = deviceOf[allocations.queue[i].value];
    } else if (device) {
      const prof::ThreadId thread = allocations.thread[i];
      const auto process = thread ? builder_.columns<prof::Thread>().process[thread.value - 1] : prof::ProcessId();
      const auto found = own.find({process, device.value - 1});
      device = found != own.end() ? found->second : deviceFor(std::to_string(device.value - 1));
    }
  }
}

/// Takes the name that a metadata event gives; the process it is about, if there is one.
prof::ProcessId ChromeAssembly::nameFromMetadata(std::string_view event) {
  simdjson::dom::parser parser;
  simdjson::dom::element value, pid, tid;
  if (parser.parse(simdjson::padded_string(event)).get(value) != simdjson::SUCCESS) return {};
  if (value["pid"].get(pid) != simdjson::SUCCESS) return {};
  const std::string pidToken = simdjson::minify(pid);
  const auto process = processes_.find(pidToken);
  const prof::ProcessId id = process == processes_.end() ? prof::ProcessId() : process->second;
  std::string_view what;
  std::string_view name;
  if (value["name"].get(what) != simdjson::SUCCESS) return id;
  if (value["args"]["name"].get(name) != simdjson::SUCCESS || name.empty()) return id;
  if (what == "process_name") {
    if (id) builder_.columns<prof::Process>().name[id.value - 1] = builder_.intern(name);
    const auto device = devices_.find(pidToken);
    if (device != devices_.end() && pidToken.starts_with('"')) {
      builder_.columns<prof::Device>().name[device->second.value - 1] = builder_.intern(name);
    }
    return id;
  }
  if (what != "thread_name" || value["tid"].get(tid) != simdjson::SUCCESS) return id;
  const auto location = locationNumbers_.find(pidToken + '\n' + std::string(simdjson::minify(tid)));
  if (location == locationNumbers_.end()) return id;
  if (const prof::ThreadId thread = threads_[location->second]) {
    builder_.columns<prof::Thread>().name[thread.value - 1] = builder_.intern(name);
  }
  if (const prof::QueueId queue = queues_[location->second]) {
    builder_.columns<prof::Queue>().name[queue.value - 1] = builder_.intern(name);
  }
  return id;
}

/// Whether it is an event of ours that says a rank, which is no more than the column that it becomes.
bool ChromeAssembly::rankFromMetadata(std::string_view event) {
  if (event.find(kRankEvent) == std::string_view::npos) return false;
  simdjson::dom::parser parser;
  simdjson::dom::element value, pid;
  std::string_view what;
  std::int64_t rank = -1;
  if (parser.parse(simdjson::padded_string(event)).get(value) != simdjson::SUCCESS) return false;
  if (value["name"].get(what) != simdjson::SUCCESS || what != kRankEvent) return false;
  if (value["pid"].get(pid) != simdjson::SUCCESS || value["args"]["rank"].get(rank) != simdjson::SUCCESS) return false;
  if (rank < -1 || rank > INT32_MAX) return false;
  const auto process = processes_.find(simdjson::minify(pid));
  if (process != processes_.end())
    builder_.columns<prof::Process>().rank[process->second.value - 1] = static_cast<std::int32_t>(rank);
  return true;
}

void ChromeAssembly::readMetadata() {
  const prof::StringId key = metadata_.empty() ? prof::StringId() : builder_.intern("chrome.metadata");
  for (const std::string& event : metadata_) {
    if (rankFromMetadata(event)) continue;
    builder_.append(prof::Environment{nameFromMetadata(event), key, builder_.intern(event)});
  }
  auto& calls = builder_.columns<prof::ApiCall>();
  auto& threads = builder_.columns<prof::Thread>();
  std::vector<bool> calling(processes_.size() + 1);
  bool isRocm = false;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < calls.name.size(); ++i) {
    calling[threads.process[calls.thread[i].value - 1].value] = true;
    if (calls.name[i].value >= seen.size()) seen.resize(calls.name[i].value + 1);
    if (!seen[calls.name[i].value]) isRocm |= builder_.text(calls.name[i]).substr(0, 3) == "hip";
    seen[calls.name[i].value] = true;
  }
  if (isRocm) {
    std::ranges::replace(builder_.columns<prof::Device>().kind, prof::DeviceKind::Cuda, prof::DeviceKind::Rocm);
  }
  // With one process that calls the driver, its are all the queues.
  if (std::ranges::count(calling, true) != 1) return;
  const auto process = static_cast<std::uint32_t>(std::ranges::find(calling, true) - calling.begin());
  auto& queues = builder_.columns<prof::Queue>();
  for (prof::ProcessId& owner : queues.process) owner = owner ? owner : prof::ProcessId(process);
}

/// Nesting depths, and the first and last moments of threads and processes. Needs the ranges in time order.
void ChromeAssembly::nest() {
  auto& ranges = builder_.columns<prof::Range>();
  auto& threads = builder_.columns<prof::Thread>();
  auto& processes = builder_.columns<prof::Process>();
  sortByTime<prof::Range>(ranges);
  sortByTime<prof::ApiCall>(builder_.columns<prof::ApiCall>());
  std::vector<std::vector<prof::TimeNs>> open(threads.id.size() + queues_.size() + 1);
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
    auto& stack = open[ranges.thread[i] ? ranges.thread[i].value : threads.id.size() + ranges.queue[i].value];
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
  for (std::size_t i = 0; i < marks.timeNs.size(); ++i) see(marks.thread[i], marks.timeNs[i], marks.timeNs[i]);
  for (std::size_t i = 0; i < threads.id.size(); ++i) {
    if (threads.startNs[i] > threads.endNs[i]) threads.startNs[i] = threads.endNs[i] = first;
    const std::size_t process = threads.process[i].value - 1;
    processes.startNs[process] = std::min(processes.startNs[process], threads.startNs[i]);
    processes.endNs[process] = std::max(processes.endNs[process], threads.endNs[i]);
  }
  for (std::size_t i = 0; i < processes.id.size(); ++i) {
    if (processes.startNs[i] > processes.endNs[i]) processes.startNs[i] = processes.endNs[i] = first;
  }
}

void ChromeAssembly::readLivesOf() {
  const auto process = [&](const std::string& pid) {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? prof::ProcessId() : found->second;
  };
  const auto thread = [&](const std::string& pid, const std::string& tid) {
    const auto found = locationNumbers_.find(pid + '\n' + tid);
    return found == locationNumbers_.end() ? prof::ThreadId() : threads_[found->second];
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

std::shared_ptr<const Store> ChromeAssembly::finish(const std::filesystem::path& path, unsigned threads) {
  // Arguments are a table that nothing else here touches.
  auto flattened = std::async(threads > 1 ? std::launch::async : std::launch::deferred, [this] { flattenArgs(); });
  addEnvironment("source.format", "kineto");
  pairEdges();
  warnOfUnread();
  const auto isOpen = [](prof::TimeNs lengthNs) { return lengthNs < 0; };
  if (std::ranges::any_of(builder_.columns<prof::Range>().durNs, isOpen)) closeUnfinished(builder_);
  makePlaces();
  placeRows();
  addMemoryOfTotals(builder_, memoryTotals_);
  readMetadata();
  // Operators of a machine with GPUs only launch what was not recorded.
  if (deviceInfo_.empty()) addHostDevice(builder_);
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
