// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "formats/json_text.h"
#include "formats/own_columns.h"
#include "import/chrome/same_text.h"
#include "import/chrome/work_names.h"

namespace lacuna::analyzer {
namespace {

using json::integerOf;
using json::numberOf;
using json::textOf;

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
  if (value && *value >= 0 && std::cmp_less_equal(*value, std::numeric_limits<T>::max()))
    out = static_cast<T>(*value);
}

}  // namespace

ChromeRows::ChromeRows(const DeviceSizes& sizes)
    : args(strings, texts_), sizes_(sizes), texts_(strings), categories_(texts_) {
  locations.emplace_back();
}

void ChromeRows::clearRows() {
  for (auto clear :
       {+[](ChromeRows& r) { r.ranges.clear(); }, +[](ChromeRows& r) { r.marks.clear(); },
        +[](ChromeRows& r) { r.calls.clear(); }, +[](ChromeRows& r) { r.kernels.clear(); },
        +[](ChromeRows& r) { r.copies.clear(); }, +[](ChromeRows& r) { r.memsets.clear(); },
        +[](ChromeRows& r) { r.syncs.clear(); }, +[](ChromeRows& r) { r.allocations.clear(); },
        +[](ChromeRows& r) { r.flows.clear(); }, +[](ChromeRows& r) { r.overheads.clear(); }}) {
    clear(*this);
  }
  args.clearRows();
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
  args.begin();
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
  if (!start->exact) args.addField("ts", event.ts);
  durNs_ = 0;
  if (event.dur.empty()) return true;
  const auto length = json::nanosecondsOf(event.dur);
  if (!length || length->value < 0 || startNs_ > INT64_MAX - length->value) {
    return problem(event, "an event without a usable \"dur\" is kept as text only"), false;
  }
  durNs_ = length->value;
  if (!length->exact) args.addField("dur", event.dur);
  return true;
}

std::uint32_t ChromeRows::locate(const RawEvent& event, Use use) {
  const auto isHere = [&](std::uint32_t number) {
    return number != 0 && isSame(locations[number].tid, event.tid) &&
           isSame(locations[number].pid, event.pid);
  };
  const std::uint32_t* recent = recentLocations_.find(isHere);
  std::uint32_t number = recent == nullptr ? 0 : *recent;
  if (recent == nullptr) {
    scratch_.assign(event.pid);
    scratch_ += '\n';
    scratch_ += event.tid;
    const auto [at, isNew] =
        locationNumbers_.try_emplace(scratch_, static_cast<std::uint32_t>(locations.size()));
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
  args.source.deviceIndex =
      device && *device >= 0 ? static_cast<std::uint32_t>(*device) : UINT32_MAX;
  args.source.stream = stream && *stream >= 0 ? static_cast<std::uint64_t>(*stream) : UINT64_MAX;
  const auto size = sizes_.find(args.source.deviceIndex);
  args.source.multiprocessors = size == sizes_.end() ? 0 : size->second;
}

/// Columns that exports of ours keep in an argument of their own. It stays an argument too, so that
/// what is written again is the same.
template <class Row>
void ChromeRows::readOwnColumns(const RawEvent& event, Row& row) {
  const auto* own = find(event, kOwnArgument);
  simdjson::dom::object columns;
  if (own == nullptr ||
      ownParser_.parse(simdjson::padded_string(own->value)).get(columns) != simdjson::SUCCESS)
    return;
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
  if (!event.id.empty()) args.addField("id", event.id);
  const Kind kind = categories_.of(event.cat).kind;
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
  row.category = categories_.of(event.cat).id;
  row.name = texts_.textId(event.name);
  for (const auto& member : event.args) {
    if (isSame(member.key, "External id") || isSame(member.key, "External Id")) {
      if (const auto id = integerOf(member.value); id && *id >= 0)
        row.correlation = static_cast<std::uint64_t>(*id);
    } else if (isSame(member.key, "Sequence number")) {
      if (const auto number = integerOf(member.value)) {
        row.payload = static_cast<std::uint64_t>(*number);
        row.payloadType = prof::PayloadType::I64;
      }
    } else if (isSame(member.key, "Input Dims") && member.value.front() == '[') {
      row.text = texts_.jsonId(member.value);
    }
  }
  readOwnColumns(event, row);
  args.source.correlation = row.correlation;
  args.source.payload = row.payload;
  args.source.text = strings.text(row.text);
  row.args = args.keep(ArgTable::Range, event);
  ranges.push(row);
}

void ChromeRows::addCall(const RawEvent& event, Kind kind) {
  prof::ApiCall row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.thread.value = locate(event, Use::Host);
  row.kind = kind == Kind::Runtime ? prof::ApiKind::Runtime : prof::ApiKind::Driver;
  row.name = texts_.textId(event.name);
  readInteger(event, "correlation", row.correlation);
  args.source.correlation = row.correlation;
  if (event.cat != (kind == Kind::Runtime ? "\"cuda_runtime\"" : "\"cuda_driver\""))
    args.addField("cat", event.cat);
  readOwnColumns(event, row);
  row.args = args.keep(ArgTable::ApiCall, event);
  calls.push(row);
}

/// The beginning that all work of a device shares.
template <class Row>
Row ChromeRows::openWork(const RawEvent& event) {
  Row row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.queue.value = locate(event, Use::Device);
  row.name = texts_.textId(event.name);
  readInteger(event, "correlation", row.correlation);
  describeStream(event);
  args.source.correlation = row.correlation;
  if constexpr (requires { row.graphId; }) {
    readInteger(event, "graph id", row.graphId);
    readInteger(event, "graph node id", row.graphNodeId);
    args.source.graphId = row.graphId;
    args.source.graphNodeId = row.graphNodeId;
  }
  return row;
}

/// The end that copies and memsets share: the size, what the bandwidth follows from, and what is
/// left of the event. `category`: what such events have as a rule.
template <class Row>
void ChromeRows::closeTransfer(const RawEvent& event, std::string_view category, ArgTable table,
                               Row& row) {
  readInteger(event, "bytes", row.bytes);
  args.source.bytes = row.bytes;
  args.source.durNs = durNs_;
  if (event.cat != category) args.addField("cat", event.cat);
  readOwnColumns(event, row);
  row.args = args.keep(table, event);
}

void ChromeRows::addKernel(const RawEvent& event) {
  auto row = openWork<prof::Kernel>(event);
  std::uint32_t shared = 0;
  for (const auto& member : event.args) {
    if (isSame(member.key, "grid")) {
      json::tripleOf(member.value, args.source.grid);
    } else if (isSame(member.key, "block")) {
      json::tripleOf(member.value, args.source.block);
    }
  }
  readInteger(event, "registers per thread", row.registersPerThread);
  readInteger(event, "shared memory", shared);
  row.staticSharedBytes = shared;
  std::tie(row.gridX, row.gridY, row.gridZ) =
      std::tie(args.source.grid[0], args.source.grid[1], args.source.grid[2]);
  std::tie(row.blockX, row.blockY, row.blockZ) =
      std::tie(args.source.block[0], args.source.block[1], args.source.block[2]);
  args.source.registers = row.registersPerThread;
  args.source.sharedBytes = shared;
  if (event.cat != "\"kernel\"") args.addField("cat", event.cat);
  readOwnColumns(event, row);
  row.staticSharedBytes -= std::min(row.staticSharedBytes, row.dynamicSharedBytes);
  row.args = args.keep(ArgTable::Kernel, event);
  kernels.push(row);
}

void ChromeRows::addCopy(const RawEvent& event) {
  auto row = openWork<prof::Memcpy>(event);
  const std::string_view name = strings.text(row.name);
  row.copyKind = copyKindOf(name);
  const std::size_t arrow = name.find("->");
  if (arrow != std::string_view::npos) {
    row.sourceKind = memoryKindOf(name.substr(0, arrow));
    row.targetKind = memoryKindOf(name.substr(arrow));
  }
  closeTransfer(event, "\"gpu_memcpy\"", ArgTable::Memcpy, row);
  copies.push(row);
}

void ChromeRows::addMemset(const RawEvent& event) {
  auto row = openWork<prof::Memset>(event);
  row.memoryKind = memoryKindOf(strings.text(row.name));
  closeTransfer(event, "\"gpu_memset\"", ArgTable::Memset, row);
  memsets.push(row);
}

void ChromeRows::addSync(const RawEvent& event) {
  auto row = openWork<prof::Sync>(event);
  row.kind = syncKindOf(strings.text(row.name));
  readInteger(event, "wait_on_cuda_event_id", row.eventId);
  args.source.eventId = row.eventId;
  args.source.name = strings.text(row.name);
  readOwnColumns(event, row);
  row.args = args.keep(ArgTable::Sync, event);
  syncs.push(row);
}

void ChromeRows::addOverhead(const RawEvent& event) {
  prof::Overhead row;
  row.startNs = startNs_;
  row.durNs = durNs_;
  row.thread.value = locate(event, Use::Host);
  row.name = texts_.textId(event.name);
  row.args = args.keep(ArgTable::Overhead, event);
  overheads.push(row);
}

/// PyTorch writes an allocation as an instant named [memory], with what is allocated and reserved
/// after it.
bool ChromeRows::addAllocation(const RawEvent& event) {
  const auto* bytes = find(event, "Bytes");
  const auto* address = find(event, "Addr");
  const auto* device = find(event, "Device Id");
  const bool isSegment =
      json::isString(event.name) && event.name.substr(1, event.name.size() - 2) == kReservedMemory;
  if ((event.name != "\"[memory]\"" && !isSegment) || bytes == nullptr || address == nullptr ||
      device == nullptr) {
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
  args.source.bytes = row.bytes;
  args.source.freed = *size < 0;
  args.source.address = row.address;
  args.source.deviceIndex = onDevice ? static_cast<std::uint32_t>(*index) : UINT32_MAX;
  if (event.cat != "\"cpu_instant_event\"") args.addField("cat", event.cat);
  readOwnColumns(event, row);
  row.args = args.keep(ArgTable::Allocation, event);
  allocations.push(row);
  MemoryTotals& totals = memoryTotals.emplace_back();
  readInteger(event, "Total Allocated", totals.allocated);
  readInteger(event, "Total Reserved", totals.reserved);
  return true;
}

void ChromeRows::addInstant(const RawEvent& event) {
  if (!readTime(event)) return;
  if (event.phase == 'I') args.addField("ph", "\"I\"");
  if (!addAllocation(event)) addMark(event);
}

void ChromeRows::addMark(const RawEvent& event) {
  prof::Mark row;
  row.timeNs = startNs_;
  row.thread.value = locate(event, Use::Host);
  row.category = texts_.textId(event.cat);
  row.name = texts_.textId(event.name);
  if (!event.id.empty()) args.addField("id", event.id);
  readOwnColumns(event, row);
  row.args = args.keep(ArgTable::Mark, event);
  marks.push(row);
}

void ChromeRows::addFlow(const RawEvent& event) {
  if (!readTime(event)) return;
  prof::Flow row;
  row.timeNs = startNs_;
  // Only when all events have been seen is it known if this is a thread or a stream.
  row.thread.value = locate(event, Use::Unknown);
  row.phase = event.phase == 's'   ? prof::FlowPhase::Begin
              : event.phase == 't' ? prof::FlowPhase::Step
                                   : prof::FlowPhase::End;
  const auto id = integerOf(event.id);
  if (id && *id >= 0) {
    row.id = static_cast<std::uint64_t>(*id);
  } else {
    row.id = StringPool::hashOf(event.id);
    args.addField("id", event.id);
  }
  row.name = texts_.textId(event.name);
  row.category = categories_.of(event.cat).id;
  row.args = args.keep(ArgTable::Flow, event);
  flows.push(row);
}

void ChromeRows::addCounter(const RawEvent& event) {
  if (!readTime(event)) return;
  LooseEvent sample;
  sample.phase = 'C';
  sample.timeNs = startNs_;
  sample.location = locate(event, Use::Host);
  sample.name = texts_.textId(event.name);
  // Counters of one name that have ids are several.
  if (!event.id.empty())
    sample.name = strings.intern(
        fmt::format("{}[{}]", strings.text(sample.name), textOf(event.id, scratch_)));
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

/// The id that an asynchronous event shares with its counterpart, which in the older form has the
/// same name, too.
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
  edge.name = texts_.textId(event.name);
  edge.category = texts_.textId(event.cat);
  if (isAsync) edge.id = asyncId(event);
  if (isAsync && !event.id.empty()) args.addField("id", event.id);
  edge.args = (isEnd ? args.keepEnd(event) : args.keep(ArgTable::Range, event)).value;
  loose.push_back(edge);
}

/// A moment of an asynchronous range; its phase and id are kept beside its arguments.
void ChromeRows::addAsyncMark(const RawEvent& event) {
  static constexpr std::string_view kPhases[] = {"\"n\"", "\"T\"", "\"p\""};
  if (!readTime(event)) return;
  args.addField("ph", kPhases[event.phase == 'n' ? 0 : event.phase == 'T' ? 1 : 2]);
  addMark(event);
}

}  // namespace lacuna::analyzer
