// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "formats/own_columns.h"
#include "lacuna/analyzer/utf8.h"

namespace lacuna::analyzer {
namespace {

/// Ways on from a node that are found quicker without a table.
constexpr std::size_t kFewEdges = 16;

using json::integerOf;
using json::isString;
using json::numberOf;
using json::textOf;

template <class Word>
bool startAndEndAlike(std::string_view a, std::string_view b) {
  Word start[2], end[2];
  std::memcpy(&start[0], a.data(), sizeof(Word));
  std::memcpy(&start[1], b.data(), sizeof(Word));
  std::memcpy(&end[0], a.data() + a.size() - sizeof(Word), sizeof(Word));
  std::memcpy(&end[1], b.data() + b.size() - sizeof(Word), sizeof(Word));
  return ((start[0] ^ start[1]) | (end[0] ^ end[1])) == 0;
}

/// Whether two names are the same, without a call for the short ones, of which every event has a dozen.
bool isSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() > 16) return startAndEndAlike<std::uint64_t>(a, b) && std::memcmp(a.data(), b.data(), a.size()) == 0;
  if (a.size() >= 8) return startAndEndAlike<std::uint64_t>(a, b);
  if (a.size() >= 4) return startAndEndAlike<std::uint32_t>(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

const RawEvent::Member* find(const RawEvent& event, std::string_view key) {
  for (const auto& member : event.args) {
    if (isSame(member.key, key)) return &member;
  }
  return nullptr;
}

template <class T>
void readInteger(const RawEvent& event, std::string_view key, T& out) {
  const auto* member = find(event, key);
  if (member == nullptr) return;
  const auto value = integerOf(member->value);
  if (value && *value >= 0 && std::cmp_less_equal(*value, std::numeric_limits<T>::max())) out = static_cast<T>(*value);
}

prof::CopyKind copyKindOf(std::string_view name) {
  using prof::CopyKind;
  static constexpr std::pair<std::string_view, CopyKind> kKinds[] = {{"HtoD", CopyKind::HostToDevice},
                                                                     {"DtoH", CopyKind::DeviceToHost},
                                                                     {"DtoD", CopyKind::DeviceToDevice},
                                                                     {"HtoH", CopyKind::HostToHost},
                                                                     {"PtoP", CopyKind::PeerToPeer},
                                                                     {"HtoA", CopyKind::HostToArray},
                                                                     {"AtoH", CopyKind::ArrayToHost},
                                                                     {"AtoA", CopyKind::ArrayToArray},
                                                                     {"AtoD", CopyKind::ArrayToDevice},
                                                                     {"DtoA", CopyKind::DeviceToArray},
                                                                     {"HostToDevice", CopyKind::HostToDevice},
                                                                     {"DeviceToHost", CopyKind::DeviceToHost},
                                                                     {"DeviceToDevice", CopyKind::DeviceToDevice}};
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) return kind;
  }
  return CopyKind::Unknown;
}

prof::MemoryKind memoryKindOf(std::string_view name) {
  using prof::MemoryKind;
  static constexpr std::pair<std::string_view, MemoryKind> kKinds[] = {{"Pageable", MemoryKind::Pageable},
                                                                       {"Pinned", MemoryKind::Pinned},
                                                                       {"Device Static", MemoryKind::DeviceStatic},
                                                                       {"Managed Static", MemoryKind::ManagedStatic},
                                                                       {"Device", MemoryKind::Device},
                                                                       {"Array", MemoryKind::Array},
                                                                       {"Managed", MemoryKind::Managed}};
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) return kind;
  }
  return MemoryKind::Unknown;
}

prof::SyncKind syncKindOf(std::string_view name) {
  using prof::SyncKind;
  if (name.find("Wait Event") != std::string_view::npos) return SyncKind::StreamWait;
  if (name.find("Event") != std::string_view::npos) return SyncKind::Event;
  if (name.find("Stream") != std::string_view::npos) return SyncKind::Stream;
  if (name.find("Context") != std::string_view::npos || name.find("Device") != std::string_view::npos) {
    return SyncKind::Context;
  }
  return SyncKind::Unknown;
}

}  // namespace

ChromeRows::ChromeRows(const DeviceSizes& sizes) : sizes_(sizes), nodes_(kArgTables) {
  locations.emplace_back();
}

void ChromeRows::clearRows() {
  for (auto clear : {+[](ChromeRows& r) { r.ranges.clear(); }, +[](ChromeRows& r) { r.marks.clear(); },
                     +[](ChromeRows& r) { r.calls.clear(); }, +[](ChromeRows& r) { r.kernels.clear(); },
                     +[](ChromeRows& r) { r.copies.clear(); }, +[](ChromeRows& r) { r.memsets.clear(); },
                     +[](ChromeRows& r) { r.syncs.clear(); }, +[](ChromeRows& r) { r.allocations.clear(); },
                     +[](ChromeRows& r) { r.flows.clear(); }, +[](ChromeRows& r) { r.overheads.clear(); },
                     +[](ChromeRows& r) { r.sets.clear(); }}) {
    clear(*this);
  }
  for (ArgStream& stream : streams) stream.values.clear();
  memoryTotals.clear();
  loose.clear();
  metadata.clear();
  others.clear();
  problems.clear();
  events = 0;
  unreadSamples = 0;
  unreadPhases.clear();
}

void ChromeRows::add(const RawEvent& event) {
  ++events;
  extras_.clear();
  source_ = {};
  switch (event.phase) {
    case 'X':
      return addComplete(event);
    case 's':
    case 't':
    case 'f':
      return addFlow(event);
    case 'i':
    case 'I':
      return addInstant(event);
    case 'C':
      return addCounter(event);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      return addLoose(event);
    case 'n':
    case 'T':
    case 'p':
      return addAsyncMark(event);
    case 'M':
      metadata.push_back(json::withNumbersAsTexts(event.text));
      return;
    default:
      ++unreadPhases[event.phase];
      others.push_back(json::withNumbersAsTexts(event.text));
  }
}

void ChromeRows::problem(const RawEvent& event, std::string_view what) {
  problems.push_back({event.offset, std::string(what)});
  others.push_back(json::withNumbersAsTexts(event.text));
}

bool ChromeRows::readTime(const RawEvent& event) {
  const auto start = json::nanosecondsOf(event.ts);
  if (!start) return problem(event, "an event without a usable \"ts\" is kept as text only"), false;
  startNs_ = start->value;
  if (!start->exact) extras_.push_back({"ts", event.ts});
  durNs_ = 0;
  if (event.dur.empty()) return true;
  const auto length = json::nanosecondsOf(event.dur);
  if (!length || length->value < 0 || startNs_ > INT64_MAX - length->value) {
    return problem(event, "an event without a usable \"dur\" is kept as text only"), false;
  }
  durNs_ = length->value;
  if (!length->exact) extras_.push_back({"dur", event.dur});
  return true;
}

std::uint32_t ChromeRows::locate(const RawEvent& event, Use use) {
  const auto isHere = [&](std::uint32_t number) {
    return number != 0 && isSame(locations[number].tid, event.tid) && isSame(locations[number].pid, event.pid);
  };
  const std::uint32_t* recent = recentLocations_.find(isHere);
  std::uint32_t number = recent == nullptr ? 0 : *recent;
  if (recent == nullptr) {
    scratch_.assign(event.pid);
    scratch_ += '\n';
    scratch_ += event.tid;
    const auto [at, isNew] = locationNumbers_.try_emplace(scratch_, static_cast<std::uint32_t>(locations.size()));
    if (isNew) locations.push_back({std::string(event.pid), std::string(event.tid)});
    number = at->second;
    recentLocations_.add(number);
  }
  locations[number].usedByDevice |= use == Use::Device;
  locations[number].usedByHost |= use == Use::Host;
  return number;
}

/// Reads what the rules compare the arguments device and stream with: the event's own pid and tid.
void ChromeRows::describeStream(const RawEvent& event) {
  const auto device = integerOf(event.pid);
  const auto stream = integerOf(event.tid);
  source_.deviceIndex = device && *device >= 0 ? static_cast<std::uint32_t>(*device) : UINT32_MAX;
  source_.stream = stream && *stream >= 0 ? static_cast<std::uint64_t>(*stream) : UINT64_MAX;
  const auto size = sizes_.find(source_.deviceIndex);
  source_.multiprocessors = size == sizes_.end() ? 0 : size->second;
}

const ChromeRows::Category& ChromeRows::categoryOf(std::string_view cat) {
  const auto isIt = [&](std::uint32_t number) { return isSame(categories_[number].token, cat); };
  if (const std::uint32_t* recent = recentCategories_.find(isIt)) return categories_[*recent];
  static const std::unordered_map<std::string_view, Kind> kKinds = {{"\"gpu_user_annotation\"", Kind::DeviceRange},
                                                                    {"\"cuda_runtime\"", Kind::Runtime},
                                                                    {"\"hip_runtime\"", Kind::Runtime},
                                                                    {"\"privateuse1_runtime\"", Kind::Runtime},
                                                                    {"\"xpu_runtime\"", Kind::Runtime},
                                                                    {"\"cuda_driver\"", Kind::Driver},
                                                                    {"\"privateuse1_driver\"", Kind::Driver},
                                                                    {"\"xpu_driver\"", Kind::Driver},
                                                                    {"\"kernel\"", Kind::Kernel},
                                                                    {"\"gpu_memcpy\"", Kind::Memcpy},
                                                                    {"\"gpu_memset\"", Kind::Memset},
                                                                    {"\"cuda_sync\"", Kind::Sync},
                                                                    {"\"overhead\"", Kind::Overhead},
                                                                    {"\"Kernel\"", Kind::Kernel},
                                                                    {"\"Runtime\"", Kind::Runtime},
                                                                    {"\"Memcpy\"", Kind::Memcpy},
                                                                    {"\"Memset\"", Kind::Memset}};
  const auto [at, isNew] =
      categoryNumbers_.try_emplace(std::string(cat), static_cast<std::uint32_t>(categories_.size()));
  recentCategories_.add(at->second);
  if (isNew) {
    const auto kind = kKinds.find(cat);
    categories_.push_back({at->first, kind == kKinds.end() ? Kind::Range : kind->second, textId(cat)});
  }
  return categories_[at->second];
}

prof::StringId ChromeRows::textId(std::string_view token) {
  return token.empty() ? prof::StringId() : strings.intern(textOf(token, scratch_));
}

/// A list or an object as text. NaN and the like in it become texts, and what is not well-formed one JSON string, so
/// that what we write later is JSON.
prof::StringId ChromeRows::jsonId(std::string_view token) {
  const prof::StringId known = strings.find(token);
  if (known.value < isJson_.size() && isJson_[known.value]) return known;
  std::string sound;
  json::appendChecked(sound, token);
  const prof::StringId id = strings.intern(sound);
  isJson_.resize(std::max<std::size_t>(isJson_.size(), id.value + 1));
  isJson_[id.value] = true;
  return id;
}

/// Columns that exports of ours keep in an argument of their own. It stays an argument too, so that what is written
/// again is the same.
template <class Row>
void ChromeRows::readOwnColumns(const RawEvent& event, Row& row) {
  const auto* own = find(event, kOwnArgument);
  simdjson::dom::object columns;
  if (own == nullptr || ownParser_.parse(simdjson::padded_string(own->value)).get(columns) != simdjson::SUCCESS) return;
  forEachOwnColumn(row, [&]<class T>(T& value, std::string_view column) {
    simdjson::dom::element given;
    if (columns[column].get(given) != simdjson::SUCCESS) return;
    std::string_view text;
    std::int64_t number = 0;
    if constexpr (std::is_same_v<T, prof::StringId>) {
      if (given.get(text) == simdjson::SUCCESS) value = strings.intern(text);
    } else if (given.get(number) == simdjson::SUCCESS) {
      value = static_cast<T>(number);
    }
  });
}

void ChromeRows::addComplete(const RawEvent& event) {
  if (!readTime(event)) return;
  if (!event.id.empty()) extras_.push_back({"id", event.id});
  const Kind kind = categoryOf(event.cat).kind;
  switch (kind) {
    case Kind::Range:
    case Kind::DeviceRange:
      return addRange(event, kind);
    case Kind::Runtime:
    case Kind::Driver:
      return addCall(event, kind);
    case Kind::Kernel:
      return addKernel(event);
    case Kind::Memcpy:
      return addCopy(event);
    case Kind::Memset:
      return addMemset(event);
    case Kind::Sync:
      return addSync(event);
    case Kind::Overhead:
      return addOverhead(event);
  }
}

void ChromeRows::addRange(const RawEvent& event, Kind kind) {
  prof::Range row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  const std::uint32_t location = locate(event, kind == Kind::DeviceRange ? Use::Device : Use::Host);
  (kind == Kind::DeviceRange ? row.queue.value : row.thread.value) = location;
  row.category = categoryOf(event.cat).id;
  row.name = textId(event.name);
  for (const auto& member : event.args) {
    if (isSame(member.key, "External id") || isSame(member.key, "External Id")) {
      if (const auto id = integerOf(member.value); id && *id >= 0) row.correlation = static_cast<std::uint64_t>(*id);
    } else if (isSame(member.key, "Sequence number")) {
      if (const auto number = integerOf(member.value)) {
        row.payload = static_cast<std::uint64_t>(*number);
        row.payloadType = prof::PayloadType::I64;
      }
    } else if (isSame(member.key, "Input Dims") && member.value.front() == '[') {
      row.text = jsonId(member.value);
    }
  }
  readOwnColumns(event, row);
  source_.correlation = row.correlation;
  source_.payload = row.payload;
  source_.text = strings.text(row.text);
  row.args = keepArgs(ArgTable::Range, event);
  ranges.push(row);
}

void ChromeRows::addCall(const RawEvent& event, Kind kind) {
  prof::ApiCall row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.thread.value = locate(event, Use::Host);
  row.kind = kind == Kind::Runtime ? prof::ApiKind::Runtime : prof::ApiKind::Driver;
  row.name = textId(event.name);
  readInteger(event, "correlation", row.correlation);
  source_.correlation = row.correlation;
  if (event.cat != (kind == Kind::Runtime ? "\"cuda_runtime\"" : "\"cuda_driver\""))
    extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::ApiCall, event);
  calls.push(row);
}

void ChromeRows::addKernel(const RawEvent& event) {
  prof::Kernel row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.queue.value = locate(event, Use::Device);
  row.name = textId(event.name);
  describeStream(event);
  std::uint32_t shared = 0;
  for (const auto& member : event.args) {
    if (isSame(member.key, "grid")) {
      json::tripleOf(member.value, source_.grid);
    } else if (isSame(member.key, "block")) {
      json::tripleOf(member.value, source_.block);
    }
  }
  readInteger(event, "correlation", row.correlation);
  readInteger(event, "registers per thread", row.registersPerThread);
  readInteger(event, "shared memory", shared);
  row.staticSharedBytes = shared;
  std::tie(row.gridX, row.gridY, row.gridZ) = std::tie(source_.grid[0], source_.grid[1], source_.grid[2]);
  std::tie(row.blockX, row.blockY, row.blockZ) = std::tie(source_.block[0], source_.block[1], source_.block[2]);
  source_.correlation = row.correlation;
  source_.registers = row.registersPerThread;
  source_.sharedBytes = shared;
  if (event.cat != "\"kernel\"") extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.staticSharedBytes -= std::min(row.staticSharedBytes, row.dynamicSharedBytes);
  row.args = keepArgs(ArgTable::Kernel, event);
  kernels.push(row);
}

void ChromeRows::addCopy(const RawEvent& event) {
  prof::Memcpy row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.queue.value = locate(event, Use::Device);
  row.name = textId(event.name);
  const std::string_view name = strings.text(row.name);
  row.copyKind = copyKindOf(name);
  const std::size_t arrow = name.find("->");
  if (arrow != std::string_view::npos) {
    row.sourceKind = memoryKindOf(name.substr(0, arrow));
    row.targetKind = memoryKindOf(name.substr(arrow));
  }
  readInteger(event, "correlation", row.correlation);
  readInteger(event, "bytes", row.bytes);
  describeStream(event);
  source_.correlation = row.correlation;
  source_.bytes = row.bytes;
  source_.durNs = durNs_;
  if (event.cat != "\"gpu_memcpy\"") extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Memcpy, event);
  copies.push(row);
}

void ChromeRows::addMemset(const RawEvent& event) {
  prof::Memset row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.queue.value = locate(event, Use::Device);
  row.name = textId(event.name);
  row.memoryKind = memoryKindOf(strings.text(row.name));
  readInteger(event, "correlation", row.correlation);
  readInteger(event, "bytes", row.bytes);
  describeStream(event);
  source_.correlation = row.correlation;
  source_.bytes = row.bytes;
  source_.durNs = durNs_;
  if (event.cat != "\"gpu_memset\"") extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Memset, event);
  memsets.push(row);
}

void ChromeRows::addSync(const RawEvent& event) {
  prof::Sync row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.queue.value = locate(event, Use::Device);
  row.name = textId(event.name);
  row.kind = syncKindOf(strings.text(row.name));
  readInteger(event, "correlation", row.correlation);
  readInteger(event, "wait_on_cuda_event_id", row.eventId);
  describeStream(event);
  source_.correlation = row.correlation;
  source_.eventId = row.eventId;
  source_.name = strings.text(row.name);
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Sync, event);
  syncs.push(row);
}

void ChromeRows::addOverhead(const RawEvent& event) {
  prof::Overhead row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.thread.value = locate(event, Use::Host);
  row.name = textId(event.name);
  row.args = keepArgs(ArgTable::Overhead, event);
  overheads.push(row);
}

/// PyTorch writes an allocation as an instant named [memory], with what is allocated and reserved behind it.
bool ChromeRows::addAllocation(const RawEvent& event) {
  const auto* bytes = find(event, "Bytes");
  const auto* address = find(event, "Addr");
  const auto* device = find(event, "Device Id");
  const bool isSegment = json::isString(event.name) && event.name.substr(1, event.name.size() - 2) == kReservedMemory;
  if ((event.name != "\"[memory]\"" && !isSegment) || bytes == nullptr || address == nullptr || device == nullptr) {
    return false;
  }
  const auto size = integerOf(bytes->value);
  if (!size) return false;
  prof::Allocation row;
  row.timeNs = startNs_;
  row.thread.value = locate(event, Use::Host);
  using enum prof::MemoryAction;
  row.action = *size < 0 ? (isSegment ? Release : Free) : isSegment ? Reserve : Allocate;
  row.bytes = static_cast<std::uint64_t>(*size < 0 ? -*size : *size);
  readInteger(event, "Addr", row.address);
  const auto* type = find(event, "Device Type");
  const auto index = integerOf(device->value);
  const bool onDevice = type != nullptr && type->value != "0" && index && *index >= 0;
  // The number of a physical device plus one; the host's memory is 0.
  row.device.value = onDevice ? static_cast<std::uint32_t>(*index) + 1 : 0;
  // Our own exports name the queue as they name it elsewhere.
  const auto* owner = find(event, "Device");
  const auto* stream = find(event, "Stream");
  if (owner != nullptr && stream != nullptr) {
    RawEvent place;
    place.pid = owner->value;
    place.tid = stream->value;
    row.queue.value = locate(place, Use::Device);
    row.device.value = 0;
  }
  source_.bytes = row.bytes;
  source_.freed = *size < 0;
  source_.address = row.address;
  source_.deviceIndex = onDevice ? static_cast<std::uint32_t>(*index) : UINT32_MAX;
  if (event.cat != "\"cpu_instant_event\"") extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Allocation, event);
  allocations.push(row);
  MemoryTotals& totals = memoryTotals.emplace_back();
  readInteger(event, "Total Allocated", totals.allocated);
  readInteger(event, "Total Reserved", totals.reserved);
  return true;
}

void ChromeRows::addInstant(const RawEvent& event) {
  if (!readTime(event)) return;
  if (event.phase == 'I') extras_.push_back({"ph", "\"I\""});
  if (!addAllocation(event)) addMark(event);
}

void ChromeRows::addMark(const RawEvent& event) {
  prof::Mark row;
  row.timeNs = startNs_;
  row.thread.value = locate(event, Use::Host);
  row.category = textId(event.cat);
  row.name = textId(event.name);
  if (!event.id.empty()) extras_.push_back({"id", event.id});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Mark, event);
  marks.push(row);
}

void ChromeRows::addFlow(const RawEvent& event) {
  if (!readTime(event)) return;
  prof::Flow row;
  row.timeNs = startNs_;
  // Whether this is a thread or a stream is known when all events have been seen.
  row.thread.value = locate(event, Use::Unknown);
  row.phase = event.phase == 's'   ? prof::FlowPhase::Begin
              : event.phase == 't' ? prof::FlowPhase::Step
                                   : prof::FlowPhase::End;
  const auto id = integerOf(event.id);
  if (id && *id >= 0) {
    row.id = static_cast<std::uint64_t>(*id);
  } else {
    row.id = StringPool::hashOf(event.id);
    extras_.push_back({"id", event.id});
  }
  row.name = textId(event.name);
  row.category = categoryOf(event.cat).id;
  row.args = keepArgs(ArgTable::Flow, event);
  flows.push(row);
}

void ChromeRows::addCounter(const RawEvent& event) {
  if (!readTime(event)) return;
  LooseEvent sample;
  sample.phase = 'C';
  sample.timeNs = startNs_;
  sample.location = locate(event, Use::Host);
  sample.name = textId(event.name);
  // Counters of one name that have ids are several.
  if (!event.id.empty())
    sample.name = strings.intern(fmt::format("{}[{}]", strings.text(sample.name), textOf(event.id, scratch_)));
  for (const auto& member : event.args) {
    const auto value = numberOf(member.value);
    if (!value) {
      if (unreadSamples++ == 0) firstUnreadSample = event.offset;
      continue;
    }
    sample.value = *value;
    sample.series = strings.intern(member.key);
    loose.push_back(sample);
  }
}

/// What an asynchronous event shares with its counterpart, which in the older form has the same name, too.
prof::StringId ChromeRows::asyncId(const RawEvent& event) {
  std::string id(textOf(event.id, scratch_));
  for (const auto& field : event.fields) {
    if (field.key == "scope") id += field.value;
    if (!event.id.empty() || field.key != "id2") continue;
    id += field.value;
    // {"local": "0x1"} counts within its process, {"global": "0x1"} does not.
    if (field.value.find("\"local\"") != std::string_view::npos) id += event.pid;
  }
  if (event.phase == 'S' || event.phase == 'F') id.append(1, '\n').append(event.name);
  return strings.intern(id);
}

void ChromeRows::addLoose(const RawEvent& event) {
  if (!readTime(event)) return;
  LooseEvent edge;
  const bool isEnd = event.phase == 'E' || event.phase == 'e' || event.phase == 'F';
  const bool isAsync = event.phase != 'B' && event.phase != 'E';
  edge.phase = !isAsync ? event.phase : isEnd ? 'e' : 'b';
  edge.timeNs = startNs_;
  edge.location = locate(event, Use::Host);
  edge.name = textId(event.name);
  edge.category = textId(event.cat);
  if (isAsync) edge.id = asyncId(event);
  if (isAsync && !event.id.empty()) extras_.push_back({"id", event.id});
  edge.args = (isEnd ? keepEndArgs(event) : keepArgs(ArgTable::Range, event)).value;
  loose.push_back(edge);
}

/// A moment of an asynchronous range; its phase and id are kept beside its arguments.
void ChromeRows::addAsyncMark(const RawEvent& event) {
  static constexpr std::string_view kPhases[] = {"\"n\"", "\"T\"", "\"p\""};
  if (!readTime(event)) return;
  extras_.push_back({"ph", kPhases[event.phase == 'n' ? 0 : event.phase == 'T' ? 1 : 2]});
  addMark(event);
}

bool ChromeRows::repeats(ArgRule rule, std::string_view token) {
  const auto same = [&](std::uint64_t value) {
    const auto number = integerOf(token);
    return number && *number >= 0 && static_cast<std::uint64_t>(*number) == value;
  };
  switch (rule) {
    case ArgRule::None:
      return false;
    case ArgRule::Correlation:
      return same(source_.correlation);
    case ArgRule::Device:
      return same(source_.deviceIndex);
    case ArgRule::Stream:
      return same(source_.stream);
    case ArgRule::Bytes:
      return same(source_.bytes);
    case ArgRule::SignedBytes: {
      const auto number = integerOf(token);
      return number && static_cast<std::uint64_t>(std::abs(*number)) == source_.bytes && (*number < 0) == source_.freed;
    }
    case ArgRule::Address:
      return same(source_.address);
    case ArgRule::Registers:
      return same(source_.registers);
    case ArgRule::SharedBytes:
      return same(source_.sharedBytes);
    case ArgRule::Payload: {
      const auto number = integerOf(token);
      return number && static_cast<std::uint64_t>(*number) == source_.payload;
    }
    case ArgRule::EventId:
      return same(source_.eventId);
    case ArgRule::Text:
      return !token.empty() && token == source_.text;
    case ArgRule::Name:
      return isString(token) && token.substr(1, token.size() - 2) == source_.name;
    case ArgRule::Grid:
    case ArgRule::Block: {
      std::uint32_t read[3];
      const auto& kept = rule == ArgRule::Grid ? source_.grid : source_.block;
      return json::tripleOf(token, read) && std::equal(read, read + 3, kept);
    }
    case ArgRule::Bandwidth:
    case ArgRule::BlocksPerSm:
    case ArgRule::WarpsPerSm: {
      scratch2_.clear();
      renderArg(rule, source_, scratch2_);
      return scratch2_ == token || (numberOf(token) && numberOf(token) == numberOf(scratch2_));
    }
  }
  return false;
}

void ChromeRows::store(std::uint32_t number, std::string_view token) {
  using enum prof::ArgType;
  ArgStream::Value value{static_cast<std::uint32_t>(sets.id.size()) + 1, Json, 0};
  const char first = token.front();
  if (first == '"') {
    value.type = Text;
    value.bits = textId(token).value;
  } else if (first == '[' || first == '{') {
    value.bits = jsonId(token).value;
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
    value.bits = textId(text).value;
  } else {
    value.bits = jsonId(token).value;
  }
  streams[number].values.push_back(value);
}

namespace {

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

/// The text of a shape's line behind its first character.
std::string soundLine(char mode, std::string_view key) {
  if (mode != kShapeConstant || key == kShapeNoArgs) return soundKey(key);
  const std::size_t equals = key.find('=');
  std::string line = soundKey(key.substr(0, equals)) + '=';
  json::appendChecked(line, key.substr(equals + 1));
  return line;
}

}  // namespace

std::uint32_t ChromeRows::streamFor(prof::ArgScope scope, std::string_view key) {
  const auto [at, isNew] =
      streamNumbers_.try_emplace({scope, std::string(key)}, static_cast<std::uint32_t>(streams.size()));
  if (isNew) {
    std::string scratch;
    const std::string quoted = '"' + soundKey(key) + '"';
    streams.push_back({scope, strings.intern(textOf(quoted, scratch)), {}});
  }
  return at->second;
}

/// The way on from a node; stays where it is until a node is added.
ChromeRows::Edge& ChromeRows::edgeFor(std::uint32_t number, char mode, std::string_view key, ArgTable table) {
  Node& node = nodes_[number];
  const auto matches = [&](const Edge& edge) { return edge.mode == mode && isSame(edge.key, key); };
  if (node.last < node.edges.size() && matches(node.edges[node.last])) return node.edges[node.last];
  const auto few = node.edges.begin() + static_cast<std::ptrdiff_t>(std::min(node.edges.size(), kFewEdges));
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
    edge.stream = streamFor(mode == kShapeField ? prof::ArgScope::Field : prof::ArgScope::Argument, key);
  }
  return node.edges.emplace_back(std::move(edge));
}

/// Follows one argument down the tree of shapes, keeping its value where no column does.
std::uint32_t ChromeRows::step(std::uint32_t number, char mode, std::string_view key, ArgTable table,
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

prof::ArgSetId ChromeRows::keepArgs(ArgTable table, const RawEvent& event) {
  std::uint32_t node = static_cast<std::uint32_t>(table);
  const auto field = [&](std::string_view key, std::string_view value) {
    const bool isShort = value.size() <= 24 && (key == "bp" || key == "s" || key == "cat" || key == "ph");
    if (isShort) {
      scratch2_.assign(key).append("=").append(value);
      node = step(node, kShapeConstant, scratch2_, table, value);
    } else {
      node = step(node, kShapeField, key, table, value);
    }
  };
  for (const Extra& extra : extras_) field(extra.key, extra.value.empty() ? "null" : extra.value);
  for (const auto& member : event.fields) field(member.key, member.value);
  for (const auto& member : event.args) node = step(node, kShapeStored, member.key, table, member.value);
  if (event.hasArgs && event.args.empty()) node = step(node, kShapeConstant, kShapeNoArgs, table, {});
  return node == static_cast<std::uint32_t>(table) ? prof::ArgSetId() : setOf(node);
}

/// Those of an end, whose other fields say nothing that its begin does not.
prof::ArgSetId ChromeRows::keepEndArgs(const RawEvent& event) {
  auto node = static_cast<std::uint32_t>(ArgTable::Range);
  for (const auto& member : event.args) node = step(node, kShapeStored, member.key, ArgTable::Range, member.value);
  return event.args.empty() ? prof::ArgSetId() : setOf(node);
}

/// The lines from where a set begins to this node, one argument each.
std::string ChromeRows::linesTo(std::uint32_t node) const {
  std::vector<const std::string*> lines;
  for (; !nodes_[node].line.empty(); node = nodes_[node].parent) lines.push_back(&nodes_[node].line);
  std::string out;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!out.empty()) out += '\n';
    out += **line;
  }
  return out;
}

/// A new set of the shape that ends at this node.
prof::ArgSetId ChromeRows::setOf(std::uint32_t node) {
  Node& shape = nodes_[node];
  if (!shape.text) shape.text = strings.intern(linesTo(node));
  const prof::ArgSetId id(static_cast<std::uint32_t>(sets.id.size()) + 1);
  sets.push({id, shape.text});
  return id;
}

}  // namespace lacuna::analyzer
