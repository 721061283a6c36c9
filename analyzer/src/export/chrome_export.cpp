// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "export/export_meter.h"
#include "export/exporters.h"
#include "export/unique_names.h"
#include "lacuna/analyzer/args.h"
#include "store/arg_rules.h"
#include "store/json_text.h"
#include "store/own_columns.h"
#include "store/range_launches.h"

namespace lacuna::analyzer {
namespace {

/// The row is what the totals in its neighbours' events say.
bool isOfTotals(std::string_view op) {
  return op == kHeldBefore || op == kReservedTotal;
}

using prof::TimeNs;

/// Nanoseconds as microseconds, with three decimals where there are any.
void appendMicroseconds(TimeNs ns, std::string& out) {
  const bool negative = ns < 0;
  const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (negative) out += '-';
  fmt::format_to(std::back_inserter(out), "{}", magnitude / 1000);
  if (magnitude % 1000 != 0) fmt::format_to(std::back_inserter(out), ".{:03}", magnitude % 1000);
}

/// The arguments that a row without a shape of its own is given, so that reading the file again gives the same row.
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

constexpr std::array<std::string_view, 4> kDeviceNames = {"device", "cpu", "cuda", "rocm"};

/// -1 where it says none.
std::int32_t rankIn(std::string_view distributedInfo) {
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  std::int64_t rank = -1;
  if (parser.parse(simdjson::padded_string(distributedInfo)).get(value) != simdjson::SUCCESS) return -1;
  return value["rank"].get(rank) == simdjson::SUCCESS ? static_cast<std::int32_t>(rank) : -1;
}

class ChromeExport {
 public:
  ChromeExport(const Store& store, ByteSink& sink, const ExportOptions& options)
      : store_(store), sink_(sink), warn_(options.warn), meter_(store, options.progress), args_(store) {}

  prof::Status run() {
    readPlaces();
    tellOfOthers();
    writeHead();
    meter_.eachRow<prof::Range>([this](const prof::Range& row) { range(row); });
    meter_.eachRow<prof::ApiCall>([this](const prof::ApiCall& row) { call(row); });
    meter_.eachRow<prof::Kernel>([this](const prof::Kernel& row) { kernel(row); });
    meter_.eachRow<prof::Memcpy>([this](const prof::Memcpy& row) { copy(row); });
    meter_.eachRow<prof::Memset>([this](const prof::Memset& row) { memset(row); });
    meter_.eachRow<prof::Sync>([this](const prof::Sync& row) { sync(row); });
    meter_.eachRow<prof::Overhead>([this](const prof::Overhead& row) { overhead(row); });
    meter_.eachRow<prof::Mark>([this](const prof::Mark& row) { mark(row); });
    meter_.eachRow<prof::Allocation>([this](const prof::Allocation& row) { allocation(row); });
    meter_.eachRow<prof::CounterSample>([this](const prof::CounterSample& row) { counter(row); });
    meter_.eachRow<prof::Flow>([this](const prof::Flow& row) { flow(row); });
    sink_.write("\n]" + tail_ + "}\n");
    tellOfSamples();
    return meter_.status();
  }

 private:
  struct Place {
    std::string pid, tid;
    std::uint32_t device = 0;
    std::uint32_t multiprocessors = 0;
    std::uint64_t stream = 0;
    std::uint64_t flowShift = 0;  ///< on the ids of flows that repeat a correlation, in a merged trace
  };

  /// Rows of tables that Chrome JSON has no events for.
  void tellOfOthers() {
    std::string lost;
    const auto count = [&]<class Row>() {
      if (store_.rows<Row>() == 0) return;
      lost += fmt::format("{}{} rows of {}", lost.empty() ? "" : ", ", store_.rows<Row>(), Row::kName);
    };
    count.operator()<prof::CpuSample>();
    count.operator()<prof::ThreadSpan>();
    count.operator()<prof::LogLine>();
    count.operator()<prof::Drop>();
    count.operator()<prof::StackFrame>();
    if (!lost.empty() && warn_)
      warn_(fmt::format("Chrome JSON has no place for {}; .lcn, .pftrace and .sqlite hold them", lost));
  }

  void tellOfSamples() const {
    if (lostSamples_ > 0 && warn_) {
      warn_(fmt::format("Chrome JSON has no place for {} samples of counters that are no numbers (NaN, Infinity)",
                        lostSamples_));
    }
  }

  std::string_view environment(const std::string& key) const {
    const auto found = environment_.find(key);
    return found == environment_.end() ? std::string_view() : found->second;
  }
  /// A pid or tid as its file wrote it.
  std::string token(std::string_view what, std::uint32_t id, std::uint64_t number) const {
    const std::string key = fmt::format("chrome.{}.{}", what, id);
    const auto found = environment_.find(key);
    if (found == environment_.end()) return std::to_string(number);
    const bool isPlain = json::isString(found->second) || json::isNumber(found->second);
    if (isPlain && json::isValid(found->second)) return std::string(found->second);
    std::string quoted;
    json::appendQuoted(quoted, found->second);
    return quoted;
  }

  /// A device as a pid: the number alone is a GPU, as Kineto has it; others of ours say what they are, such as
  /// "cpu:0@1234" for the CPU device of a process. Of merged ranks each device has the process that fills it in its
  /// name, and where that tells no difference "cuda:0#2" is the second.
  void nameDevice(const prof::Device& device) {
    const std::string given = givenDevice(device);
    const bool isShared = owners_.size() > 1 && ownerOf(device) != pids_.end();
    const std::string quoted = quotedDevice(device, "");
    deviceTokens_[device.id] =
        deviceTokensTaken_.take(given.empty() || isShared ? quoted : given, quoted,
                                [&](int copy) { return quotedDevice(device, fmt::format("#{}", copy)); });
  }
  /// The pid that a device has in its file, or would have in Kineto's; empty where neither is so.
  std::string givenDevice(const prof::Device& device) const {
    const bool isNumber = device.kind == prof::DeviceKind::Cuda || (isKineto_ && device.kind == prof::DeviceKind::Rocm);
    const bool isGiven = environment_.contains(fmt::format("chrome.device.{}", device.id.value));
    return isNumber || isGiven ? token("device", device.id.value, device.index) : std::string();
  }
  /// The pid of the one process that fills a device's queues; the end where that is not one.
  std::unordered_map<prof::ProcessId, std::string>::const_iterator ownerOf(const prof::Device& device) const {
    if (const auto owner = pids_.find(device.process); owner != pids_.end()) return owner;
    const auto filling = filling_.find(device.id);
    return filling == filling_.end() || filling->second.size() != 1 ? pids_.end()
                                                                    : pids_.find(*filling->second.begin());
  }
  std::string quotedDevice(const prof::Device& device, std::string_view suffix) const {
    const auto kind = static_cast<std::size_t>(device.kind);
    const auto owner = ownerOf(device);
    return fmt::format("\"{}:{}{}{}\"", kDeviceNames[std::min(kind, kDeviceNames.size() - 1)], device.index,
                       owner == pids_.end() ? "" : fmt::format("@{}", unquoted(owner->second)), suffix);
  }
  static std::string_view unquoted(std::string_view token) {
    return json::isString(token) ? token.substr(1, token.size() - 2) : token;
  }

  /// A process as a pid. Ranks in containers may have the same one: the second process that is 7 is "7#2".
  void nameProcess(const prof::Process& process) {
    const std::string given = token("pid", process.id.value, process.osPid);
    const std::string name =
        pidsTaken_.take(given, given, [&](int copy) { return fmt::format("\"{}#{}\"", unquoted(given), copy); });
    if (name != given) renamed_.insert(process.id);
    pids_[process.id] = name;
  }

  /// A place as the tid of its pid. Tracks of other tools have no numbers, the system gives those of threads that are
  /// gone to others, and processes that share a device number their streams alike: the second thread that is 7 is
  /// "7#2".
  std::string tidFor(std::string_view kind, const std::string& pid, const std::string& given) {
    UniqueNames& taken = tidsTaken_[fmt::format("{}\n{}", kind, pid)];
    return taken.take(given, given, [&](int copy) { return fmt::format("\"{}#{}\"", unquoted(given), copy); });
  }

  /// How far the flows of a merged trace's inputs are moved, by the last row of each: inputs follow each other.
  std::map<std::uint64_t, std::uint64_t> flowShifts(std::string_view what) const {
    std::map<std::uint64_t, std::uint64_t> shifts;
    const auto stride = json::integerOf(environment("merge.flow_stride"));
    for (std::uint64_t input = 0; stride; ++input) {
      const auto last = json::integerOf(environment(fmt::format("merge.input{}.{}", input, what)));
      if (!last) break;
      const auto row = static_cast<std::uint64_t>(*last);
      if (shifts.empty() || row > shifts.rbegin()->first) shifts[row] = input * static_cast<std::uint64_t>(*stride);
    }
    return shifts;
  }
  static std::uint64_t flowShift(const std::map<std::uint64_t, std::uint64_t>& shifts, std::uint32_t id) {
    const auto found = shifts.lower_bound(id);
    return found == shifts.end() ? 0 : found->second;
  }
  /// A place that a row refers to; nowhere where the trace does not have it.
  template <class Id>
  static const Place& placeIn(const std::unordered_map<Id, Place>& places, Id id) {
    static const Place kNowhere;
    const auto found = places.find(id);
    return found == places.end() ? kNowhere : found->second;
  }
  std::string deviceToken(const prof::Device& device) const {
    const auto found = deviceTokens_.find(device.id);
    return found == deviceTokens_.end() ? token("device", device.id.value, device.index) : found->second;
  }

  void readPlaces() {
    for (std::uint64_t i = 0; i < store_.rows<prof::Environment>(); ++i) {
      const auto row = store_.row<prof::Environment>(i);
      environment_.try_emplace(std::string(store_.text(row.key)), store_.text(row.value));
    }
    isKineto_ = environment("source.format") == "kineto";
    hasLoose_ = isKineto_ && !environment_.contains(fmt::format("chrome.{}", kOwnChromeMember));
    for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
      nameProcess(store_.row<prof::Process>(i));
    }
    const auto threadShifts = flowShifts("threads");
    for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
      const auto row = store_.row<prof::Thread>(i);
      const auto pid = pids_.find(row.process);
      Place& place = threads_[row.id];
      place.pid = pid == pids_.end() ? "0" : pid->second;
      place.tid = tidFor("thread", place.pid, token("tid", row.id.value, row.osTid));
      place.flowShift = flowShift(threadShifts, row.id.value);
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
      const auto row = store_.row<prof::Queue>(i);
      filling_[row.device].insert(row.process);
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::Device>(); ++i) {
      const auto row = store_.row<prof::Device>(i);
      devices_[row.id] = row;
      if (const auto owner = ownerOf(row); owner != pids_.end()) owners_.insert(owner->first);
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::Device>(); ++i) nameDevice(store_.row<prof::Device>(i));
    const auto queueShifts = flowShifts("queues");
    for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
      const auto row = store_.row<prof::Queue>(i);
      const prof::Device& device = devices_[row.device];
      const std::string_view name = store_.text(row.name);
      if (name == kOperatorQueue || name == kCollectiveQueue) operatorQueues_.insert(row.id);
      Place& place = queues_[row.id];
      place.pid = deviceToken(device);
      place.tid = tidFor("queue", place.pid, token("stream", row.id.value, row.nativeId));
      place.device = device.index;
      place.multiprocessors = device.multiprocessors;
      place.stream = row.nativeId;
      place.flowShift = flowShift(queueShifts, row.id.value);
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::CounterTrack>(); ++i) {
      const auto row = store_.row<prof::CounterTrack>(i);
      tracks_[row.id] = row;
    }
  }

  /// A member that the file had beside its events; the first of a name counts, and the events are ours.
  void addHead(std::string_view key, std::string_view value, std::string& head) {
    if (key == "traceEvents" || !members_.insert(std::string(key)).second) return;
    json::appendQuoted(head, key);
    head += ": ";
    json::appendChecked(head, value);
    head += ",\n";
  }
  /// A member of ours, unless the file had one of that name.
  void addTail(std::string_view key, std::string_view json) {
    if (members_.insert(std::string(key)).second) tail_ += fmt::format(",\n\"{}\": {}", key, json);
  }

  void writeHead() {
    std::string head = "{";
    std::string metadata;
    for (std::uint64_t i = 0; i < store_.rows<prof::Environment>(); ++i) {
      const auto row = store_.row<prof::Environment>(i);
      const std::string_view key = store_.text(row.key);
      const std::string_view value = store_.text(row.value);
      if (key == "chrome.metadata" || key == "chrome.event") {
        metadata += metadata.empty() ? "\n" : ",\n";
        metadata += metadataOf(row);
      } else if (key.starts_with("chrome.") && key.find('.', 7) == std::string_view::npos) {
        addHead(key.substr(7), value, head);
      }
    }
    head += "\"traceEvents\": [";
    sink_.write(head);
    if (!metadata.empty()) sink_.write(metadata);
    first_ = metadata.empty();
    if (!isKineto_) describeOwnTrace();
    describeRanks();
  }

  /// Ranks that a reader does not know from what the head says.
  void describeRanks() {
    const std::int32_t headRank = rankIn(environment("chrome.distributedInfo"));
    for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
      const auto row = store_.row<prof::Process>(i);
      const std::string& pid = pids_[row.id];
      const auto number = json::integerOf(pid);
      const bool isNumber = number && *number >= 0 && *number <= std::int64_t{UINT32_MAX};
      if (row.rank == (isNumber ? headRank : -1)) continue;
      out_ = fmt::format(
          "{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": 0, \"ts\": 0, \"args\": {{\"rank\": {}}}}}",
          kRankEvent, pid, row.rank);
      give();
    }
  }

  /// The time of day at moment 0 of the trace.
  void describeClock() {
    if (store_.rows<prof::Clock>() == 0 || environment_.contains("chrome.baseTimeNanoseconds")) return;
    const auto clock = store_.row<prof::Clock>(0);
    std::int64_t baseNs = 0;
    if (__builtin_sub_overflow(clock.realtimeNs, clock.timeNs, &baseNs) || baseNs == 0) return;
    addTail("baseTimeNanoseconds", std::to_string(baseNs));
  }

  /// A metadata event as its file wrote it, but for the pid of a process that has another one here.
  std::string metadataOf(const prof::Environment& row) const {
    std::string text = withOwnPid(row);
    std::string sound;
    json::appendChecked(sound, text);
    if (sound.starts_with('{')) return sound;
    std::string unreadable =
        "{\"ph\": \"M\", \"name\": \"unreadable\", \"pid\": 0, \"tid\": 0, \"ts\": 0, \"args\": {\"text\": ";
    json::appendQuoted(unreadable, text);
    return unreadable + "}}";
  }
  std::string withOwnPid(const prof::Environment& row) const {
    std::string text(store_.text(row.value));
    if (!renamed_.contains(row.process)) return text;
    constexpr std::string_view kKey = "\"pid\"";
    const std::size_t key = text.find(kKey);
    const std::size_t colon = key == std::string::npos ? key : text.find_first_not_of(" \t\r\n", key + kKey.size());
    if (colon == std::string::npos || text[colon] != ':') return text;
    const std::size_t from = text.find_first_not_of(" \t\r\n", colon + 1);
    if (from == std::string::npos) return text;
    const std::size_t quote = text[from] == '"' ? text.find('"', from + 1) : std::string::npos;
    const std::size_t to = text[from] != '"'            ? text.find_first_of(",} \t\r\n", from)
                           : quote == std::string::npos ? quote
                                                        : quote + 1;
    if (to == std::string::npos) return text;
    return text.replace(from, to - from, pids_.at(row.process));
  }

  /// What a file of ours says about processes and devices, in Kineto's words, and of itself.
  void describeOwnTrace() {
    for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
      const auto row = store_.row<prof::Process>(i);
      name("process_name", pids_[row.id], "0", store_.text(row.name));
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
      const auto row = store_.row<prof::Thread>(i);
      name("thread_name", placeIn(threads_, row.id).pid, placeIn(threads_, row.id).tid, store_.text(row.name));
    }
    describeLives();
    for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
      const auto row = store_.row<prof::Queue>(i);
      name("thread_name", placeIn(queues_, row.id).pid, placeIn(queues_, row.id).tid, store_.text(row.name));
    }
    std::string list;
    for (const auto& [id, device] : devices_) {
      if (device.kind != prof::DeviceKind::Cuda) {
        name("process_name", deviceToken(device), "0", store_.text(device.name));
        continue;
      }
      list += list.empty() ? "" : ", ";
      list += fmt::format("{{\"id\": {}, \"name\": ", device.index);
      json::appendQuoted(list, store_.text(device.name));
      list += fmt::format(", \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, \"numSms\": {}}}",
                          device.memoryBytes, device.computeMajor, device.computeMinor, device.multiprocessors);
    }
    if (!list.empty()) addTail("deviceProperties", "[" + list + "]");
    addTail(kOwnChromeMember,
            fmt::format("{{\"externalId\": \"correlation\", \"environment\": {{{}}}}}", ownEnvironment()));
    addTail("displayTimeUnit", "\"ms\"");
    describeClock();
  }

  /// What the recording says of its machine and program; what a file said of itself is said elsewhere.
  std::string ownEnvironment() const {
    std::string out;
    for (const auto& [key, value] : environment_) {
      if (key.starts_with("chrome.") || key.starts_with("merge.") || key.starts_with("input") || key == "source.format")
        continue;
      out += out.empty() ? "\n" : ",\n";
      json::appendQuoted(out, key);
      out += ": ";
      json::appendQuoted(out, value);
    }
    return out;
  }

  void describeLives() {
    for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
      const auto row = store_.row<prof::Process>(i);
      std::string more = fmt::format(", \"exit_code\": {}", row.exitCode);
      if (row.parent && pids_.contains(row.parent)) more += fmt::format(", \"parent\": {}", pids_.at(row.parent));
      if (row.commandLine) json::appendQuoted(more += ", \"command_line\": ", store_.text(row.commandLine));
      life(kLifeOfProcess, pids_[row.id], "0", row, more);
    }
    for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
      const auto row = store_.row<prof::Thread>(i);
      life(kLifeOfThread, placeIn(threads_, row.id).pid, placeIn(threads_, row.id).tid, row, "");
    }
  }
  template <class Row>
  void life(std::string_view what, const std::string& pid, const std::string& tid, const Row& row,
            std::string_view more) {
    out_ = fmt::format(
        "{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \"args\": {{\"start_ns\": {}, "
        "\"end_ns\": {}{}}}}}",
        what, pid, tid, row.startNs, row.endNs, more);
    give();
  }
  void name(std::string_view what, const std::string& pid, const std::string& tid, std::string_view text) {
    if (text.empty()) return;
    out_.clear();
    out_ += fmt::format(
        "{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \"args\": {{\"name\": ", what, pid,
        tid);
    json::appendQuoted(out_, text);
    out_ += "}}";
    give();
  }

  void give() {
    sink_.write(first_ ? "\n" : ",\n");
    first_ = false;
    sink_.write(out_);
  }

  void put(std::string_view key, std::string_view json) {
    out_ += out_.back() == '{' ? "\"" : ", \"";
    out_ += key;
    out_ += "\": ";
    out_ += json;
  }
  void putText(std::string_view key, std::string_view text) {
    put(key, "");
    json::appendQuoted(out_, text);
  }
  void putPlace(const Place& place) {
    if (!place.pid.empty()) put("pid", place.pid);
    if (!place.tid.empty()) put("tid", place.tid);
  }
  /// A field for which the shape has no value of its own.
  void putUnlessGiven(std::string_view key, std::string_view json) {
    if (!given(key)) put(key, json);
  }
  [[nodiscard]] bool given(std::string_view key) const {
    for (const std::string_view line : lines_) {
      if (line.empty() || (line[0] != kShapeField && line[0] != kShapeConstant)) continue;
      const std::string_view field =
          line.substr(1, line[0] == kShapeConstant ? line.find('=') - 1 : std::string_view::npos);
      if (field == key) return true;
    }
    return false;
  }

  void readShape(prof::ArgSetId set, ArgTable table) {
    set_ = set;
    lines_.clear();
    if (set) addLines(soundShape(args_.shape(set)));
    // The shapes of a Chrome trace name all arguments; others only those that no column holds.
    if (!set || !isKineto_) addLines(defaultShape(table));
  }
  /// A shape without the lines that would not be JSON in the event: names and constants stand in it as a file wrote
  /// them.
  std::string_view soundShape(prof::StringId shape) {
    const auto [at, isNew] = soundShapes_.try_emplace(shape);
    if (isNew) {
      std::string_view rest = store_.text(shape);
      std::set<std::string> members{"field pid", "field tid", "field name", "field args"};  // columns have them
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
  /// What a line gives a value to: an event, and its arguments, have one of each name. Flow points may be many.
  static std::string memberOf(std::string_view line) {
    if (line.empty() || (line[0] == kShapeFlow && !line.starts_with("~\""))) return std::string(line);
    const bool isField = line[0] == kShapeField || line[0] == kShapeConstant;
    const std::string_view name = line[0] == kShapeConstant ? line.substr(1, line.find('=') - 1)
                                  : line[0] == kShapeFlow   ? line.substr(2, line.find('"', 2) - 2)
                                                            : line.substr(1);
    return fmt::format("{} {}", isField ? "field" : "argument", name);
  }
  static bool isSoundLine(std::string_view line) {
    if (line.size() < 2) return line.empty() || line[0] == kShapeRepeated || line[0] == kShapeStored;
    const std::string_view rest = line.substr(1);
    const auto isMember = [](std::string_view key, std::string_view value) {
      return json::isValid(fmt::format("{{\"{}\": {}}}", key, value)) && json::isValid(fmt::format("\"{}\"", key));
    };
    const auto isConstant = [&](std::string_view text) {
      const std::size_t equals = text.find('=');
      return equals != std::string_view::npos && isMember(text.substr(0, equals), text.substr(equals + 1));
    };
    switch (line[0]) {
      case kShapeConstant:
        return rest == kShapeNoArgs || isConstant(rest);
      case kShapeFlow: {
        if (rest.starts_with('"')) return json::isValid(fmt::format("{{{}}}", rest));
        std::size_t bar = 0;
        for (int i = 0; i < 3 && bar != std::string_view::npos; ++i) bar = rest.find('|', bar + 1);
        if (bar == std::string_view::npos || (rest[0] != 's' && rest[0] != 't' && rest[0] != 'f')) return false;
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
  void addLines(std::string_view shape) {
    while (!shape.empty()) {
      const std::size_t end = shape.find('\n');
      const std::string_view line = shape.substr(0, end);
      if (std::ranges::find(lines_, line) == lines_.end()) lines_.push_back(line);
      if (end == std::string_view::npos) break;
      shape.remove_prefix(end + 1);
    }
  }

  void begin(char phase, ArgTable table, prof::ArgSetId set, std::string_view category, prof::StringId name,
             const Place& place, TimeNs startNs) {
    readShape(set, table);
    out_ = "{";
    putUnlessGiven("ph", std::string{'"', phase, '"'});
    if (!category.empty() && !given("cat")) putText("cat", category);
    putText("name", store_.text(name));
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
  void length(TimeNs durNs) {
    number_.clear();
    appendMicroseconds(durNs, number_);
    putUnlessGiven("dur", number_);
    source_.durNs = durNs;
  }

  void value(std::string_view key, prof::ArgScope scope) {
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

  /// Writes what the shape says beyond the columns, and ends the event.
  void end(ArgTable table) {
    std::string arguments;
    bool hasArgs = false;
    std::swap(arguments, out_);
    out_ = "{";
    for (const std::string_view line : lines_) {
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
    out_ += '}';
    std::swap(arguments, out_);
    for (const std::string_view line : lines_) {
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
    out_ += '}';
    give();
    impliedFlows();
  }

  void impliedFlows() {
    for (const std::string_view line : lines_) {
      if (line.size() < 3 || line[0] != kShapeFlow || line[1] == '"') continue;
      const std::size_t first = line.find('|');
      const std::size_t second = line.find('|', first + 1);
      const std::size_t third = line.find('|', second + 1);
      out_ = "{";
      put("ph", std::string{'"', line[1], '"'});
      putText("cat", line.substr(first + 1, second - first - 1));
      putText("name", line.substr(second + 1, third - second - 1));
      put("id", std::to_string(source_.correlation + place_->flowShift));
      putPlace(*place_);
      number_.clear();
      appendMicroseconds(startNs_, number_);
      put("ts", number_);
      const std::string_view constant = line.substr(third + 1);
      if (!constant.empty()) put(constant.substr(1, constant.find('=') - 1), constant.substr(constant.find('=') + 1));
      out_ += '}';
      give();
    }
  }

  /// Columns of recordings that Kineto has no words for, as an argument of ours.
  template <class Row>
  void putOwnColumns(const Row& row) {
    if (isKineto_) return;  // shapes name all that its file said
    if (std::ranges::find(lines_, "+lacuna") != lines_.end()) return;
    own_.clear();
    forEachOwnColumn(row, [&]<class T>(const T& value, std::string_view column) {
      if (value == T{} || saysOtherwise(row, column)) return;
      own_ += own_.empty() ? "~\"lacuna\": {" : ", ";
      json::appendQuoted(own_, column);
      own_ += ": ";
      if constexpr (std::is_same_v<T, prof::StringId>) {
        json::appendQuoted(own_, store_.text(value));
      } else {
        own_ += fmt::format("{}", static_cast<std::int64_t>(value));
      }
    });
    if (own_.empty()) return;
    own_ += '}';
    lines_.emplace_back(own_);
  }
  /// Whether the event says a column in Kineto's words.
  template <class Row>
  bool saysOtherwise(const Row& row, std::string_view column) const {
    if constexpr (std::is_same_v<Row, prof::Range>) {
      // Readers take numbers of up to 18 digits.
      constexpr std::int64_t kMost = 999'999'999'999'999'999;
      const auto payload = static_cast<std::int64_t>(row.payload);
      const bool isPlain = row.payloadType == prof::PayloadType::I64 && payload >= -kMost && payload <= kMost;
      if (column == "payload" || column == "payloadType") return isPlain;
      return column == "text" && isShapes(source_.text);
    } else if constexpr (std::is_same_v<Row, prof::Allocation>) {
      return column == "action" && row.action == prof::MemoryAction::Free;
    }
    return false;
  }
  static bool isShapes(std::string_view text) { return text.starts_with('[') && json::isValid(text); }

  void range(const prof::Range& row) {
    const bool isAsync = hasLoose_ && row.kind == prof::RangeKind::StartEnd;
    const bool isOpen = hasLoose_ && (row.flags & prof::kUnfinished) != 0;
    const char phase = isAsync ? 'b' : isOpen ? 'B' : 'X';
    begin(phase, ArgTable::Range, row.args, store_.text(row.category), row.name,
          row.queue ? placeIn(queues_, row.queue) : placeIn(threads_, row.thread), row.startNs);
    if (!isAsync && !isOpen) length(row.durNs);
    source_.correlation = row.correlation;
    source_.payload = row.payload;
    source_.text = store_.text(row.text);
    if (!isKineto_) ownRangeArgs(row);
    end(ArgTable::Range);
    if (isAsync && !isOpen) asyncEnd(row);
  }
  /// The end of a range that begins and ends anywhere; their id, however it is written, joins the two.
  void asyncEnd(const prof::Range& row) {
    const Place& place = placeIn(threads_, row.endThread ? row.endThread : row.thread);
    out_ = "{";
    put("ph", "\"e\"");
    if (row.category) putText("cat", store_.text(row.category));
    putText("name", store_.text(row.name));
    putPlace(place);
    number_.clear();
    appendMicroseconds(row.startNs + row.durNs, number_);
    put("ts", number_);
    for (const char* key : {"id", "id2", "scope"}) {
      if (given(key)) value(key, prof::ArgScope::Field);
    }
    out_ += '}';
    give();
  }
  /// Ranges of our own recordings have columns that Kineto knows no words for, and no shape that could name them.
  void ownRangeArgs(const prof::Range& row) {
    if (row.correlation != 0) lines_.emplace_back("=External id");
    if (row.payloadType == prof::PayloadType::I64 || row.payloadType == prof::PayloadType::U64) {
      lines_.emplace_back("=Sequence number");
    }
    if (isShapes(source_.text)) lines_.emplace_back("=Input Dims");
    putOwnColumns(row);
  }
  void call(const prof::ApiCall& row) {
    if (!operatorQueues_.empty() && store_.text(row.name) == kOperatorCall) return;
    begin('X', ArgTable::ApiCall, row.args, row.kind == prof::ApiKind::Driver ? "cuda_driver" : "cuda_runtime",
          row.name, placeIn(threads_, row.thread), row.startNs);
    length(row.durNs);
    source_.correlation = row.correlation;
    putOwnColumns(row);
    end(ArgTable::ApiCall);
  }
  void kernel(const prof::Kernel& row) {
    if (operatorQueues_.contains(row.queue)) return;
    begin('X', ArgTable::Kernel, row.args, "kernel", row.name, placeIn(queues_, row.queue), row.startNs);
    length(row.durNs);
    source_.correlation = row.correlation;
    source_.registers = row.registersPerThread;
    source_.sharedBytes = std::uint64_t{row.staticSharedBytes} + row.dynamicSharedBytes;
    const std::uint32_t grid[] = {row.gridX, row.gridY, row.gridZ};
    const std::uint32_t block[] = {row.blockX, row.blockY, row.blockZ};
    std::copy(grid, grid + 3, source_.grid);
    std::copy(block, block + 3, source_.block);
    putOwnColumns(row);
    end(ArgTable::Kernel);
  }
  void copy(const prof::Memcpy& row) {
    begin('X', ArgTable::Memcpy, row.args, "gpu_memcpy", row.name, placeIn(queues_, row.queue), row.startNs);
    length(row.durNs);
    source_.correlation = row.correlation;
    source_.bytes = row.bytes;
    putOwnColumns(row);
    end(ArgTable::Memcpy);
  }
  void memset(const prof::Memset& row) {
    begin('X', ArgTable::Memset, row.args, "gpu_memset", row.name, placeIn(queues_, row.queue), row.startNs);
    length(row.durNs);
    source_.correlation = row.correlation;
    source_.bytes = row.bytes;
    putOwnColumns(row);
    end(ArgTable::Memset);
  }
  void sync(const prof::Sync& row) {
    begin('X', ArgTable::Sync, row.args, "cuda_sync", row.name,
          row.queue ? placeIn(queues_, row.queue) : placeIn(threads_, row.thread), row.startNs);
    length(row.durNs);
    source_.correlation = row.correlation;
    source_.eventId = row.eventId;
    source_.name = store_.text(row.name);
    putOwnColumns(row);
    end(ArgTable::Sync);
  }
  void overhead(const prof::Overhead& row) {
    begin('X', ArgTable::Overhead, row.args, "overhead", row.name, placeIn(threads_, row.thread), row.startNs);
    length(row.durNs);
    end(ArgTable::Overhead);
  }
  void mark(const prof::Mark& row) {
    begin('i', ArgTable::Mark, row.args, store_.text(row.category), row.name, placeIn(threads_, row.thread),
          row.timeNs);
    if (!row.args || !isKineto_) putUnlessGiven("s", "\"t\"");
    putOwnColumns(row);
    end(ArgTable::Mark);
  }
  void allocation(const prof::Allocation& row) {
    if (isKineto_ && !row.args && isOfTotals(store_.text(row.op))) return;
    static const Place kNowhere{"0", "0"};
    const auto thread = threads_.find(row.thread);
    const bool isSegment = row.action == prof::MemoryAction::Reserve || row.action == prof::MemoryAction::Release;
    begin('i', ArgTable::Allocation, row.args, "cpu_instant_event", {},
          thread == threads_.end() ? kNowhere : thread->second, row.timeNs);
    out_.replace(out_.find("\"name\": \"\""), 10,
                 fmt::format("\"name\": \"{}\"", isSegment ? kReservedMemory : "[memory]"));
    if (!row.args || !isKineto_) putUnlessGiven("s", "\"t\"");
    source_.bytes = row.bytes;
    source_.freed = row.action == prof::MemoryAction::Free || row.action == prof::MemoryAction::ExternalFree ||
                    row.action == prof::MemoryAction::Release;
    source_.address = row.address;
    source_.deviceIndex = devices_[row.device].index;
    if (!isKineto_) ownAllocationArgs(row);
    end(ArgTable::Allocation);
  }
  /// Which queue's memory it is, in the words that the queue itself has as pid and tid.
  void ownAllocationArgs(const prof::Allocation& row) {
    constants_ = row.device ? "~\"Device Type\": 1" : "~\"Device Type\": 0";
    const auto queue = queues_.find(row.queue);
    if (queue != queues_.end())
      constants_ += ", \"Device\": " + queue->second.pid + ", \"Stream\": " + queue->second.tid;
    lines_.emplace_back(constants_);
    putOwnColumns(row);
  }
  /// The pid of what a counter belongs to, the narrowest that is known.
  std::string ownerOf(const prof::CounterTrack& track) const {
    if (const auto thread = threads_.find(track.thread); thread != threads_.end() && !thread->second.pid.empty()) {
      return thread->second.pid;
    }
    if (const auto pid = pids_.find(track.process); pid != pids_.end() && !pid->second.empty()) return pid->second;
    const auto device = deviceTokens_.find(track.device);
    return device == deviceTokens_.end() ? "0" : device->second;
  }
  void counter(const prof::CounterSample& row) {
    if (!std::isfinite(row.value)) {
      ++lostSamples_;
      return;
    }
    const prof::CounterTrack& track = tracks_[row.track];
    const auto thread = threads_.find(track.thread);
    out_ = "{";
    put("ph", "\"C\"");
    putText("name", store_.text(track.name));
    put("pid", ownerOf(track));
    put("tid", thread == threads_.end() || thread->second.tid.empty() ? "0" : thread->second.tid);
    number_.clear();
    appendMicroseconds(row.timeNs, number_);
    put("ts", number_);
    put("args", "{");
    json::appendQuoted(out_, store_.text(track.unit).empty() ? "value" : store_.text(track.unit));
    out_ += fmt::format(": {}}}}}", row.value);
    give();
  }
  void flow(const prof::Flow& row) {
    const char phase = row.phase == prof::FlowPhase::Begin ? 's' : row.phase == prof::FlowPhase::Step ? 't' : 'f';
    begin(phase, ArgTable::Flow, row.args, store_.text(row.category), row.name,
          row.queue ? placeIn(queues_, row.queue) : placeIn(threads_, row.thread), row.timeNs);
    // Points of a flow are joined by category, name and id, so the format wants all three.
    if (!row.category && !isKineto_) putUnlessGiven("cat", "\"\"");
    putUnlessGiven("id", std::to_string(row.id));
    end(ArgTable::Flow);
  }

  const Store& store_;
  ByteSink& sink_;
  const std::function<void(const std::string&)>& warn_;
  ExportMeter meter_;
  Args args_;
  std::map<std::string, std::string_view, std::less<>> environment_;
  std::unordered_map<prof::ThreadId, Place> threads_;
  std::unordered_map<prof::QueueId, Place> queues_;
  std::set<prof::QueueId> operatorQueues_;  ///< whose executions stand for no event of their own
  std::map<prof::DeviceId, prof::Device> devices_;
  std::map<prof::DeviceId, std::string> deviceTokens_;
  std::set<prof::ProcessId> owners_;                             ///< that fill a device alone
  std::map<prof::DeviceId, std::set<prof::ProcessId>> filling_;  ///< who fills the queues of each
  UniqueNames deviceTokensTaken_;
  std::unordered_map<prof::TrackId, prof::CounterTrack> tracks_;

  std::unordered_map<prof::ProcessId, std::string> pids_;
  UniqueNames pidsTaken_;
  std::unordered_map<std::string, UniqueNames> tidsTaken_;  ///< by kind and pid
  std::set<prof::ProcessId> renamed_;
  std::set<std::string> members_;  ///< beside the events
  std::unordered_map<prof::StringId, std::string> soundShapes_;
  bool isKineto_ = false;
  /// Whether ranges may have been pairs of events; those of ours say in an argument what they are.
  bool hasLoose_ = false;
  std::uint64_t lostSamples_ = 0;

  std::string out_, number_, tail_, constants_, own_;
  std::vector<std::string_view> lines_;
  prof::ArgSetId set_;
  ArgSource source_;
  const Place* place_ = nullptr;
  TimeNs startNs_ = 0;
  bool first_ = true;
};

}  // namespace

prof::Status exportChrome(const Store& store, ByteSink& sink, const ExportOptions& options) {
  return ChromeExport(store, sink, options).run();
}

}  // namespace lacuna::analyzer
