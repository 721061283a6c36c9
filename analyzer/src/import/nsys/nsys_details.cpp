// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The rest of an export of Nsight Systems, beside CUDA's activity: who and what took part, NVTX,
// samples, metrics.
#include <fmt/format.h>

#include <bit>

#include "import/nsys/nsys_import.h"

namespace lacuna::analyzer {

using namespace prof;

void NsysImport::readTarget() {
  if (!isOwn_) readDevices();
  for (const char* table : {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "PROCESSES",
                            "ThreadNames", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT",
                            "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"}) {
    read_.insert(table);
  }
  if (!isOwn_) readSystem();
}

void NsysImport::readDevices() {
  SqliteRows gpus(file_, "TARGET_INFO_GPU",
                  {"id", "name", "uuid", "totalMemory", "memoryBandwidth", "smCount", "clockRate",
                   "computeMajor", "computeMinor", "cuDevice", "smMajor", "smMinor"});
  while (gpus.next()) {
    Device& device = gpus_[gpus.hasColumn(0) ? gpus.integer(0) : gpus.integer(9)];
    device.name = builder_.intern(gpus.text(1));
    device.uuid = builder_.intern(gpus.text(2));
    device.memoryBytes = static_cast<std::uint64_t>(gpus.integer(3));
    device.memoryBandwidth = static_cast<std::uint64_t>(gpus.integer(4));
    device.multiprocessors = static_cast<std::uint32_t>(gpus.integer(5));
    // The schema counts in hertz.
    device.clockKhz = static_cast<std::uint32_t>(gpus.integer(6) / 1000);
    device.computeMajor =
        static_cast<std::uint16_t>(gpus.isNull(7) ? gpus.integer(10) : gpus.integer(7));
    device.computeMinor =
        static_cast<std::uint16_t>(gpus.isNull(8) ? gpus.integer(11) : gpus.integer(8));
  }
  finishRows(gpus);
  SqliteRows seen(file_, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
  while (seen.next()) {
    if (!seen.isNull(0))
      gpuOf_[{static_cast<std::uint32_t>(seen.integer(2)), seen.integer(1)}] = seen.integer(0);
  }
  finishRows(seen);
}

void NsysImport::readSystem() {
  const auto environment = [&](std::string_view prefix, std::string_view key,
                               std::string_view value) {
    builder_.append(Environment{
        {}, builder_.intern(std::string(prefix) + std::string(key)), builder_.intern(value)});
  };
  environment("source.", "format", "nsys");
  for (const char* table : {"META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"}) {
    SqliteRows rows(file_, table, {"name", "value"});
    while (rows.next()) environment("nsys.", rows.text(0), rows.text(1));
    finishRows(rows);
  }
  SqliteRows start(file_, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
  if (start.next() && !start.isNull(0)) builder_.append(Clock{0, start.integer(0), 0, {}});
  finishRows(start);
}

/// Only of processes and threads that did something.
void NsysImport::readNames() {
  if (isOwn_) return;
  const std::size_t known = builder_.columns<Process>().id.size();
  SqliteRows processes(file_, "PROCESSES", {"globalPid", "name"});
  while (processes.next()) {
    const StringId name =
        processes.isText(1) ? builder_.intern(processes.text(1)) : textOrId(processes, 1);
    const auto global = nsys::processOf(static_cast<std::uint64_t>(processes.integer(0)));
    if (const ProcessId id = places_.findProcess(global); id && id.value <= known) {
      builder_.columns<Process>().name[id.value - 1] = name;
    }
  }
  finishRows(processes);
  SqliteRows threads(file_, "ThreadNames", {"globalTid", "nameId"});
  while (threads.next()) {
    if (const ThreadId id = thread(threads, 0))
      places_.name(id, builder_.text(textOrId(threads, 1)));
  }
  finishRows(threads);
}

void NsysImport::readLibraryRanges(const char* table, std::string_view domain) {
  each<Range>(table, {"start", "end", "globalTid", "nameId"},
              [&](const SqliteRows& rows, Range& row) {
                setTimes(rows, row);
                row.thread = thread(rows, 2);
                row.name = textOrId(rows, 3);
                row.domain = builder_.intern(domain);
                return true;
              });
}

/// Very old exports have no types; all of their events are ranges.
bool NsysImport::hasNvtxTypes() const {
  return file_.has("NVTX_EVENTS") && file_.tables().at("NVTX_EVENTS").contains("eventType");
}

namespace {

std::uint64_t processOf(const SqliteRows& rows, int column) {
  return rows.isNull(column) ? 0
                             : nsys::processOf(static_cast<std::uint64_t>(rows.integer(column)));
}

/// The name that a process gives something, or that a row without a process gives it.
template <class Names, class... Key>
const std::string* nameOf(const Names& names, std::uint64_t process, Key... key) {
  auto found = names.find({process, key...});
  if (found == names.end()) found = names.find({0, key...});
  return found == names.end() ? nullptr : &found->second;
}

}  // namespace

void NsysImport::readNvtxNames() {
  SqliteRows rows(file_, "NVTX_EVENTS",
                  {"eventType", "domainId", "category", "text", "textId", "globalTid"},
                  "WHERE eventType IN (33, 39, 75)");
  while (rows.next()) {
    const std::string name(rows.isNull(3) ? builder_.text(text(rows.integer(4))) : rows.text(3));
    switch (static_cast<nsys::NvtxType>(rows.integer(0))) {
      case nsys::NvtxType::Category:
        categories_[{processOf(rows, 5), rows.integer(1), rows.integer(2)}] = name;
        break;
      case nsys::NvtxType::Domain:
        domains_[{processOf(rows, 5), rows.integer(1)}] = name;
        break;
      default:
        if (const ThreadId id = thread(rows, 5)) places_.name(id, name);
    }
  }
  finishRows(rows);
}

namespace {

/// The payload is in the column of its type.
template <class Row>
void readPayload(const SqliteRows& rows, int first, Row& row) {
  static constexpr std::array kTypes = {PayloadType::U64, PayloadType::I64, PayloadType::F64,
                                        PayloadType::U32, PayloadType::I32, PayloadType::F32};
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    const int column = first + static_cast<int>(i);
    if (rows.isNull(column)) continue;
    row.payloadType = kTypes[i];
    if (kTypes[i] == PayloadType::F64) {
      row.payload = std::bit_cast<std::uint64_t>(rows.real(column));
    } else if (kTypes[i] == PayloadType::F32) {
      row.payload = std::bit_cast<std::uint32_t>(static_cast<float>(rows.real(column)));
    } else {
      row.payload = static_cast<std::uint64_t>(rows.integer(column));
    }
    return;
  }
}

}  // namespace

void NsysImport::readNvtx() {
  if (hasNvtxTypes()) readNvtxNames();
  const std::vector<std::string> columns = {
      "start",       "end",         "eventType",  "globalTid",  "endGlobalTid", "text",
      "textId",      "domainId",    "category",   "color",      "uint64Value",  "int64Value",
      "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonText",     "jsonTextId"};
  const auto describe = [&](const SqliteRows& rows, auto& row) {
    row.thread = thread(rows, 3);
    row.name = rows.isNull(5) ? text(rows.integer(6)) : builder_.intern(rows.text(5));
    const std::uint64_t process = processOf(rows, 3);
    if (const auto* domain = nameOf(domains_, process, rows.integer(7)))
      row.domain = builder_.intern(*domain);
    if (const auto* category = nameOf(categories_, process, rows.integer(7), rows.integer(8))) {
      row.category = builder_.intern(*category);
    } else if (!rows.isNull(8) && rows.integer(8) != 0) {
      row.category = builder_.intern(std::to_string(rows.integer(8)));
    }
    row.colour = static_cast<std::uint32_t>(rows.integer(9));
    readPayload(rows, 10, row);
    row.text = rows.isNull(16) ? text(rows.integer(17)) : builder_.intern(rows.text(16));
  };
  each<Range>(
      "NVTX_EVENTS", columns,
      [&](const SqliteRows& rows, Range& row) {
        setTimes(rows, row);
        describe(rows, row);
        row.kind = rows.integer(2) == static_cast<std::int64_t>(nsys::NvtxType::StartEnd)
                       ? RangeKind::StartEnd
                       : RangeKind::PushPop;
        if (!rows.isNull(4) && rows.integer(4) != rows.integer(3)) row.endThread = thread(rows, 4);
        return true;
      },
      hasNvtxTypes() ? "WHERE eventType IN (59, 60)" : "");
  if (!hasNvtxTypes()) return;
  each<Mark>(
      "NVTX_EVENTS", columns,
      [&](const SqliteRows& rows, Mark& row) {
        row.timeNs = rows.integer(0);
        describe(rows, row);
        return true;
      },
      "WHERE eventType = 34");
  SqliteRows others(file_, "NVTX_EVENTS", {"eventType"},
                    "WHERE eventType NOT IN (33, 34, 39, 59, 60, 75, 76)");
  std::map<std::int64_t, std::uint64_t> left;
  while (others.next()) ++left[others.integer(0)];
  for (const auto& [type, count] : left) {
    builder_.addWarning(fmt::format(
        "table NVTX_EVENTS: {} rows of event type {}, which lacuna does not know, were left out",
        count, type));
  }
}

void NsysImport::readMetrics() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
  SqliteRows info(file_, "TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"});
  while (info.next()) names[{info.integer(0), info.integer(1)}] = info.text(2);
  finishRows(info);
  read_.insert("TARGET_INFO_GPU_METRICS");
  each<CounterSample>("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"},
                      [&](const SqliteRows& rows, CounterSample& row) {
                        row.timeNs = rows.integer(0);
                        row.value = rows.real(3);
                        CounterTrack track;
                        // The lowest byte of a type is the device's number.
                        track.device = device({}, rows.integer(1) & 0xff);
                        const auto name = names.find({rows.integer(1), rows.integer(2)});
                        track.name = builder_.intern(name == names.end()
                                                         ? fmt::format("metric {}", rows.integer(2))
                                                         : name->second);
                        row.track = places_.track(track);
                        return true;
                      });
}

/// Stacks come leaf first; frames are made root first, each with all its callers once.
void NsysImport::readCallChains() {
  std::map<std::tuple<FrameId, StringId, StringId>, FrameId> frames;
  SqliteRows rows(file_, "SAMPLING_CALLCHAINS", {"id", "symbol", "module", "originalIP"},
                  "ORDER BY id, stackDepth DESC");
  auto& table = builder_.columns<StackFrame>();
  while (rows.next() && tick()) {
    FrameId& top = chains_[rows.integer(0)];
    StackFrame frame;
    frame.parent = top;
    frame.function = textOrId(rows, 1);
    frame.module = textOrId(rows, 2);
    frame.address = static_cast<std::uint64_t>(rows.integer(3));
    const auto [at, isNew] =
        frames.try_emplace({frame.parent, frame.function, frame.module}, FrameId());
    if (isNew) {
      frame.id = at->second = FrameId(static_cast<std::uint32_t>(table.id.size()) + 1);
      table.push(frame);
    }
    top = at->second;
  }
  finishRows(rows);
  read_.insert("SAMPLING_CALLCHAINS");
}

void NsysImport::readSamples() {
  if (!isOwn_) readCallChains();
  each<CpuSample>("COMPOSITE_EVENTS", {"start", "globalTid", "id"},
                  [&](const SqliteRows& rows, CpuSample& row) {
                    row.timeNs = rows.integer(0);
                    row.thread = thread(rows, 1);
                    if (const auto chain = chains_.find(rows.integer(2)); chain != chains_.end())
                      row.stack = chain->second;
                    return true;
                  });
}

/// Switches on and off a core; a span runs from one to the next of its thread.
void NsysImport::readSchedule() {
  std::map<ThreadId, ThreadSpan> open;
  each<ThreadSpan>(
      "SCHED_EVENTS", {"start", "cpu", "isSchedIn", "globalTid"},
      [&](const SqliteRows& rows, ThreadSpan& row) {
        ThreadSpan next;
        next.startNs = rows.integer(0);
        next.cpu = static_cast<std::uint16_t>(rows.integer(1));
        next.thread = thread(rows, 3);
        next.state = rows.integer(2) != 0 ? ThreadState::Running : ThreadState::Sleeping;
        row = std::exchange(open[next.thread], next);
        return row.thread && !__builtin_sub_overflow(next.startNs, row.startNs, &row.durNs) &&
               row.durNs >= 0;
      },
      "ORDER BY start");
}

void NsysImport::readDiagnostics() {
  static constexpr std::array kLevels = {LogLevel::Debug, LogLevel::Info, LogLevel::Warning,
                                         LogLevel::Error};
  each<LogLine>("DIAGNOSTIC_EVENT", {"timestamp", "severity", "text"},
                [&](const SqliteRows& rows, LogLine& row) {
                  row.timeNs = rows.integer(0);
                  const auto severity = static_cast<std::uint64_t>(rows.integer(1));
                  row.level = kLevels[std::min<std::uint64_t>(severity, kLevels.size() - 1)];
                  row.source = builder_.intern("nsys");
                  row.text = textOrId(rows, 2);
                  return true;
                });
}

void NsysImport::nameUnreadTables() {
  std::string names;
  for (const auto& [table, columns] : file_.tables()) {
    const bool isAside = table.starts_with("ENUM_") || table.starts_with("TARGET_INFO_") ||
                         table.starts_with("ANALYSIS_") || table.starts_with("sqlite_");
    if (read_.contains(table) || isAside) continue;
    SqliteRows rows(file_, table, {*columns.begin()}, "LIMIT 1");
    if (rows.next()) names += (names.empty() ? "" : ", ") + table;
  }
  if (!names.empty()) builder_.addWarning("tables that lacuna does not read: " + names);
  std::string views;
  for (const std::string& view : file_.views()) {
    if (read_.contains(view)) views += (views.empty() ? "" : ", ") + view;
  }
  if (!views.empty())
    builder_.addWarning("views and virtual tables, which lacuna does not read: " + views);
}

}  // namespace lacuna::analyzer
