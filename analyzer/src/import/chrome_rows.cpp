// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "store/own_columns.h"

namespace lacuna::analyzer {
namespace {

using json::integerOf;
using json::isString;
using json::numberOf;
using json::textOf;

const RawEvent::Member* find(const RawEvent& event, std::string_view key) {
  for (const auto& member : event.args) {
    if (member.key == key) return &member;
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
  for (ArgStream& stream : streams) {
    stream.set.clear();
    stream.type.clear();
    stream.value.clear();
  }
  loose.clear();
  metadata.clear();
  others.clear();
  problems.clear();
  events = 0;
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
      return addLoose(event);
    case 'M':
      metadata.emplace_back(event.text);
      return;
    default:
      others.emplace_back(event.text);
  }
}

void ChromeRows::problem(const RawEvent& event, std::string_view what) {
  problems.push_back({event.offset, std::string(what)});
  others.emplace_back(event.text);
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
  ChromeLocation* last = &locations[lastLocation_];
  if (lastLocation_ == 0 || last->pid != event.pid || last->tid != event.tid) {
    scratch_.assign(event.pid);
    scratch_ += '\n';
    scratch_ += event.tid;
    const auto [at, isNew] = locationNumbers_.try_emplace(scratch_, static_cast<std::uint32_t>(locations.size()));
    if (isNew) locations.push_back({std::string(event.pid), std::string(event.tid)});
    lastLocation_ = at->second;
    last = &locations[lastLocation_];
  }
  last->usedByDevice |= use == Use::Device;
  last->usedByHost |= use == Use::Host;
  return lastLocation_;
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

ChromeRows::Kind ChromeRows::kindOf(std::string_view cat) {
  if (cat == lastCat_) return lastKind_;
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
  const auto found = kKinds.find(cat);
  lastKind_ = found == kKinds.end() ? Kind::Range : found->second;
  lastCat_ = cat;
  lastCatId_ = textId(cat);
  return lastKind_;
}

prof::StringId ChromeRows::textId(std::string_view token) {
  return token.empty() ? prof::StringId() : strings.intern(textOf(token, scratch_));
}

/// A list or an object as text. What is not well-formed becomes a JSON string, so that what we write later is JSON.
prof::StringId ChromeRows::jsonId(std::string_view token) {
  const std::uint32_t before = strings.size();
  const prof::StringId id = strings.intern(token);
  if (strings.size() == before || json::isValid(token)) return id;
  std::string quoted;
  json::appendQuoted(quoted, token);
  return strings.intern(quoted);
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
  const Kind kind = kindOf(event.cat);
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
  row.category = lastCatId_;
  row.name = textId(event.name);
  for (const auto& member : event.args) {
    if (member.key == "External id" || member.key == "External Id") {
      if (const auto id = integerOf(member.value); id && *id >= 0) row.correlation = static_cast<std::uint64_t>(*id);
    } else if (member.key == "Sequence number") {
      if (const auto number = integerOf(member.value)) {
        row.payload = static_cast<std::uint64_t>(*number);
        row.payloadType = prof::PayloadType::I64;
      }
    } else if (member.key == "Input Dims" && member.value.front() == '[') {
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
  if (lastCat_ != (kind == Kind::Runtime ? "\"cuda_runtime\"" : "\"cuda_driver\""))
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
    if (member.key == "grid") {
      json::tripleOf(member.value, source_.grid);
    } else if (member.key == "block") {
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
  if (lastCat_ != "\"kernel\"") extras_.push_back({"cat", event.cat});
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
  if (lastCat_ != "\"gpu_memcpy\"") extras_.push_back({"cat", event.cat});
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
  if (lastCat_ != "\"gpu_memset\"") extras_.push_back({"cat", event.cat});
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

/// PyTorch writes an allocation as an instant named [memory].
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
  if (lastCat_ != event.cat) kindOf(event.cat);
  if (event.cat != "\"cpu_instant_event\"") extras_.push_back({"cat", event.cat});
  readOwnColumns(event, row);
  row.args = keepArgs(ArgTable::Allocation, event);
  allocations.push(row);
  return true;
}

void ChromeRows::addInstant(const RawEvent& event) {
  if (!readTime(event)) return;
  if (event.phase == 'I') extras_.push_back({"ph", "\"I\""});
  if (addAllocation(event)) return;
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
  kindOf(event.cat);
  row.category = lastCatId_;
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
  for (const auto& member : event.args) {
    const auto value = numberOf(member.value);
    if (!value) continue;
    sample.value = *value;
    sample.series = strings.intern(member.key);
    loose.push_back(sample);
  }
}

/// An id of the form {"local": "0x1"}, which counts within its process, or {"global": "0x1"}.
prof::StringId ChromeRows::ownId(const RawEvent& event) {
  for (const auto& field : event.fields) {
    if (field.key != "id2") continue;
    const bool isLocal = field.value.find("\"local\"") != std::string_view::npos;
    return strings.intern(std::string(field.value) + (isLocal ? std::string(event.pid) : ""));
  }
  return {};
}

void ChromeRows::addLoose(const RawEvent& event) {
  if (!readTime(event)) return;
  LooseEvent begin;
  begin.phase = event.phase;
  begin.timeNs = startNs_;
  begin.location = locate(event, Use::Host);
  begin.name = textId(event.name);
  begin.category = textId(event.cat);
  begin.id = event.id.empty() ? ownId(event) : textId(event.id);
  begin.args = keepArgs(ArgTable::Range, event).value;
  loose.push_back(begin);
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
  ArgStream& stream = streams[number];
  prof::ArgType type = prof::ArgType::Json;
  std::uint64_t value = 0;
  const char first = token.front();
  if (first == '"') {
    type = prof::ArgType::Text;
    value = textId(token).value;
  } else if (const auto integer = integerOf(token)) {
    type = prof::ArgType::I64;
    value = static_cast<std::uint64_t>(*integer);
  } else if (token == "true" || token == "false") {
    type = prof::ArgType::Bool;
    value = static_cast<std::uint64_t>(first == 't');
  } else if (token == "null") {
    type = prof::ArgType::Null;
  } else if (const auto number = numberOf(token); number && token.size() < 18) {
    type = prof::ArgType::F64;
    value = std::bit_cast<std::uint64_t>(*number);
  } else {
    value = jsonId(token).value;
  }
  stream.set.push_back(static_cast<std::uint32_t>(sets.id.size()) + 1);
  stream.type.push_back(type);
  stream.value.push_back(value);
}

std::uint32_t ChromeRows::streamFor(prof::ArgScope scope, std::string_view key) {
  const auto [at, isNew] =
      streamNumbers_.try_emplace({scope, std::string(key)}, static_cast<std::uint32_t>(streams.size()));
  if (isNew) {
    std::string scratch;
    const std::string quoted = '"' + std::string(key) + '"';
    streams.push_back({scope, strings.intern(textOf(quoted, scratch)), {}, {}, {}});
  }
  return at->second;
}

std::uint32_t ChromeRows::edgeFor(std::uint32_t number, char mode, std::string_view key, ArgTable table) {
  Node& node = nodes_[number];
  const auto matches = [&](const Edge& edge) { return edge.key == key && edge.mode == mode; };
  if (node.last < node.edges.size() && matches(node.edges[node.last])) return node.last;
  const auto at = std::find_if(node.edges.begin(), node.edges.end(), matches);
  node.last = static_cast<std::uint32_t>(at - node.edges.begin());
  if (at == node.edges.end()) {
    Edge edge;
    edge.mode = mode;
    edge.key = key;
    if (mode == kShapeStored) edge.rule = argRule(table, key);
    if (mode != kShapeConstant) {
      edge.stream = streamFor(mode == kShapeField ? prof::ArgScope::Field : prof::ArgScope::Argument, key);
    }
    nodes_[number].edges.push_back(std::move(edge));
  }
  return nodes_[number].last;
}

/// Follows one argument down the tree of shapes, keeping its value where no column does.
std::uint32_t ChromeRows::step(std::uint32_t number, char mode, std::string_view key, ArgTable table,
                               std::string_view value) {
  const std::uint32_t at = edgeFor(number, mode, key, table);
  const bool repeated = mode == kShapeStored && repeats(nodes_[number].edges[at].rule, value);
  if (!repeated && mode != kShapeConstant) store(nodes_[number].edges[at].stream, value);
  std::uint32_t child = nodes_[number].edges[at].child[static_cast<std::size_t>(repeated)];
  if (child == 0) {
    child = static_cast<std::uint32_t>(nodes_.size());
    Node node;
    node.lines = nodes_[number].lines;
    if (!node.lines.empty()) node.lines += '\n';
    node.lines += repeated ? kShapeRepeated : mode;
    node.lines += key;
    nodes_.push_back(std::move(node));
    nodes_[number].edges[at].child[static_cast<std::size_t>(repeated)] = child;
  }
  return child;
}

prof::ArgSetId ChromeRows::keepArgs(ArgTable table, const RawEvent& event) {
  std::uint32_t node = static_cast<std::uint32_t>(table);
  const std::uint32_t root = node;
  std::string constant;
  const auto field = [&](std::string_view key, std::string_view value) {
    const bool isShort = value.size() <= 24 && (key == "bp" || key == "s" || key == "cat" || key == "ph");
    if (isShort) {
      constant.assign(key).append("=").append(value);
      node = step(node, kShapeConstant, constant, table, value);
    } else {
      node = step(node, kShapeField, key, table, value);
    }
  };
  for (const Extra& extra : extras_) field(extra.key, extra.value.empty() ? "null" : extra.value);
  for (const auto& member : event.fields) field(member.key, member.value);
  for (const auto& member : event.args) node = step(node, kShapeStored, member.key, table, member.value);
  if (event.hasArgs && event.args.empty()) node = step(node, kShapeConstant, kShapeNoArgs, table, {});
  if (node == root) return {};
  Node& shape = nodes_[node];
  if (!shape.text) shape.text = strings.intern(shape.lines);
  const prof::ArgSetId id(static_cast<std::uint32_t>(sets.id.size()) + 1);
  sets.push({id, shape.text});
  return id;
}

}  // namespace lacuna::analyzer
