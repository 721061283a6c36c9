// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/nsys_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "import/importers.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Spans of a table's place in the work, for the progress; there are about this many tables.
constexpr double kTables = 20;

}  // namespace

NsysImport::NsysImport(const SqliteFile& file, StoreBuilder& builder, const Progress& progress)
    : file_(file), builder_(builder), progress_(progress), places_(builder) {}

bool NsysImport::tick() {
  if (++events_ % 65536 == 0 && progress_ && !progress_(std::min(share_, 1.0))) cancelled_ = true;
  return !cancelled_;
}

bool NsysImport::finishRows(const SqliteRows& rows) {
  if (!rows.problem().empty()) builder_.addWarning(rows.problem());
  share_ += 1 / kTables;
  if (progress_ && !progress_(std::min(share_, 1.0))) cancelled_ = true;
  return !cancelled_;
}

StringId NsysImport::text(std::int64_t id) const {
  const auto found = strings_.find(id);
  return found == strings_.end() ? StringId() : found->second;
}

/// Names are numbers of StringIds, and texts in old files.
StringId NsysImport::textOrId(const SqliteRows& rows, int column) {
  if (rows.isNull(column)) return {};
  return rows.isText(column) ? builder_.intern(rows.text(column)) : text(rows.integer(column));
}

ProcessId NsysImport::process(const SqliteRows& rows, int column) {
  if (rows.isNull(column)) return {};
  const std::uint64_t global = nsys::processOf(static_cast<std::uint64_t>(rows.integer(column)));
  return places_.process(global, nsys::pidOf(global));
}

ThreadId NsysImport::thread(const SqliteRows& rows, int column) {
  if (isOwn_ || rows.isNull(column)) return {};
  const auto global = static_cast<std::uint64_t>(rows.integer(column));
  return places_.thread(global, process(rows, column), nsys::tidOf(global));
}

DeviceId NsysImport::device(ProcessId process, std::int64_t number) {
  const std::uint32_t pid = process ? builder_.columns<Process>().osPid[process.value - 1] : 0;
  auto mapped = gpuOf_.find({pid, number});
  const std::int64_t gpu = mapped == gpuOf_.end() ? number : mapped->second;
  const std::size_t before = builder_.columns<Device>().id.size();
  const DeviceId id = places_.device(DeviceKind::Cuda, static_cast<std::uint64_t>(gpu),
                                     static_cast<std::uint32_t>(gpu));
  if (builder_.columns<Device>().id.size() == before) return id;
  const auto known = gpus_.find(gpu);
  if (known == gpus_.end()) return id;
  auto& devices = builder_.columns<Device>();
  const std::size_t at = id.value - 1;
  devices.name[at] = known->second.name;
  devices.uuid[at] = known->second.uuid;
  devices.memoryBytes[at] = known->second.memoryBytes;
  devices.memoryBandwidth[at] = known->second.memoryBandwidth;
  devices.multiprocessors[at] = known->second.multiprocessors;
  devices.clockKhz[at] = known->second.clockKhz;
  devices.computeMajor[at] = known->second.computeMajor;
  devices.computeMinor[at] = known->second.computeMinor;
  return id;
}

NsysImport::Labels NsysImport::labelsOf(const char* table) {
  read_.insert(table);
  Labels labels;
  SqliteRows rows(file_, table, {"id", "label", "name"});
  while (rows.next()) labels[rows.integer(0)] = rows.isNull(1) ? rows.text(2) : rows.text(1);
  return labels;
}

MemoryKind NsysImport::memoryKind(const Labels& labels, const SqliteRows& rows, int column) const {
  if (rows.isNull(column)) return MemoryKind::Unknown;
  const std::string_view label = labelOf(labels, nsys::kMemoryKinds, rows.integer(column));
  const auto found = std::ranges::find(nsys::kMemoryKinds, label, &nsys::Label::label);
  if (found == nsys::kMemoryKinds.end()) return MemoryKind::Unknown;
  return nsys::kMemoryKindOf[static_cast<std::size_t>(found - nsys::kMemoryKinds.begin())];
}

void NsysImport::readStrings() {
  read_.insert("StringIds");
  SqliteRows rows(file_, "StringIds", {"id", "value"});
  while (rows.next() && tick()) strings_[rows.integer(0)] = builder_.intern(rows.text(1));
  finishRows(rows);
}

/// A whole table of ours.
template <class Row>
void NsysImport::readOwnTable() {
  const std::string table = std::string(nsys::kOwnTable) + std::string(Row::kName);
  read_.insert(table);
  std::vector<std::string> columns;
  for (const ColumnSpec& column : Row::columns()) columns.emplace_back(column.name);
  SqliteRows rows(file_, table, columns);
  std::vector<std::uint32_t> ids;
  auto& out = builder_.columns<Row>();
  while (rows.next() && tick()) {
    Row row;
    if constexpr (requires { row.id.value; })
      ids.push_back(static_cast<std::uint32_t>(rows.integer(0)));
    fillOwn(rows, 0, row);
    if constexpr (std::is_same_v<Row, Arg>) {
      const bool isText = row.type == ArgType::Text || row.type == ArgType::Json;
      if (isText) row.value = text(static_cast<std::int64_t>(row.value)).value;
    }
    out.push(row);
  }
  if constexpr (requires(Row row) { row.id.value; }) {
    const auto numbers = numberOwn(ids);
    auto& known = ownIds_[detail::refersOf<decltype(Row::id)>()];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out.id[i].value = numbers[i];
      known.try_emplace(ids[i], numbers[i]);
    }
    // Callers and parents refer to rows of the table itself.
    if constexpr (requires(Row row) { row.parent; }) {
      SqliteRows parents(file_, table, {"parent"});
      for (std::size_t i = 0; i < ids.size() && parents.next(); ++i)
        assign(parents, 0, out.parent[i]);
    }
  }
  finishRows(rows);
}

/// The ids as they are where they are 1 … n in any order; else the numbers of the rows.
std::vector<std::uint32_t> NsysImport::numberOwn(const std::vector<std::uint32_t>& ids) {
  std::vector<std::uint32_t> numbers(ids.size());
  std::iota(numbers.begin(), numbers.end(), 1U);
  auto sorted = ids;
  std::ranges::sort(sorted);
  return sorted == numbers ? ids : numbers;
}

void NsysImport::readOwnTables() {
  isOwn_ = file_.has("LACUNA_process");
  if (!isOwn_) return;
  // Rows that others refer to come first.
  for (const bool named : {true, false}) {
    forEachTable([&]<class Row>() {
      if constexpr (!nsys::hasTable<Row>()) {
        if (named == requires(Row row) { row.id.value; }) readOwnTable<Row>();
      }
    });
  }
}

void NsysImport::readKernels() {
  const auto byColumn = [&](const SqliteRows& rows, Kernel& row) {
    setTimes(rows, row);
    place(rows, 2, 3, 4, 5, row);
    row.correlation = static_cast<std::uint64_t>(rows.integer(6));
    for (const int name : {7, 8, 9}) {
      if (!row.name) row.name = textOrId(rows, name);
    }
    row.registersPerThread = static_cast<std::uint16_t>(rows.integer(10));
    row.gridX = static_cast<std::uint32_t>(rows.integer(11));
    row.gridY = static_cast<std::uint32_t>(rows.integer(12));
    row.gridZ = static_cast<std::uint32_t>(rows.integer(13));
    row.blockX = static_cast<std::uint32_t>(rows.integer(14));
    row.blockY = static_cast<std::uint32_t>(rows.integer(15));
    row.blockZ = static_cast<std::uint32_t>(rows.integer(16));
    row.staticSharedBytes = static_cast<std::uint32_t>(rows.integer(17));
    row.dynamicSharedBytes = static_cast<std::uint32_t>(rows.integer(18));
    row.graphNodeId = static_cast<std::uint64_t>(rows.integer(19));
    row.graphId = static_cast<std::uint32_t>(rows.integer(20));
    return true;
  };
  for (const char* table :
       {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}) {
    each<Kernel>(table,
                 {"start",
                  "end",
                  "globalPid",
                  "deviceId",
                  "contextId",
                  "streamId",
                  "correlationId",
                  "demangledName",
                  "shortName",
                  "mangledName",
                  "registersPerThread",
                  "gridX",
                  "gridY",
                  "gridZ",
                  "blockX",
                  "blockY",
                  "blockZ",
                  "staticSharedMemory",
                  "dynamicSharedMemory",
                  "graphNodeId",
                  "graphId"},
                 byColumn);
  }
}

/// Graphs that were traced as a whole: one execution of the queue, named for the graph.
void NsysImport::readGraphs() {
  each<Kernel>("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
               {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId",
                "graphId"},
               [&](const SqliteRows& rows, Kernel& row) {
                 setTimes(rows, row);
                 place(rows, 2, 3, 4, 5, row);
                 row.correlation = static_cast<std::uint64_t>(rows.integer(6));
                 row.graphId = static_cast<std::uint32_t>(rows.integer(7));
                 row.name = builder_.intern(fmt::format("CUDA graph {}", row.graphId));
                 return true;
               });
}

/// A node may have a row for itself and one for what it is a copy of.
void NsysImport::readGraphNodes() {
  each<GraphNode>("CUDA_GRAPH_NODE_EVENTS",
                  {"start", "globalTid", "graphNodeId", "originalGraphNodeId"},
                  [&](const SqliteRows& rows, GraphNode& row) {
                    row.timeNs = rows.integer(0);
                    row.thread = thread(rows, 1);
                    row.id = static_cast<std::uint64_t>(rows.integer(2));
                    row.original = static_cast<std::uint64_t>(rows.integer(3));
                    return row.id != 0;
                  });
}

std::string NsysImport::copyName(const Memcpy& row, std::string_view label) const {
  static constexpr std::array<std::string_view, 11> kShort = {
      "", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  const auto kind = static_cast<std::size_t>(row.copyKind);
  const auto memory = [](MemoryKind which) {
    const auto found = std::ranges::find(nsys::kMemoryKindOf, which);
    return nsys::kMemoryKinds[static_cast<std::size_t>(found - nsys::kMemoryKindOf.begin())].label;
  };
  const std::string_view direction = kind > 0 && kind < kShort.size() ? kShort[kind] : label;
  return fmt::format("Memcpy {} ({} -> {})", direction, memory(row.sourceKind),
                     memory(row.targetKind));
}

void NsysImport::readCopies() {
  const Labels kinds = labelsOf("ENUM_CUDA_MEMCPY_OPER");
  const Labels memories = labelsOf("ENUM_CUDA_MEM_KIND");
  each<Memcpy>(
      "CUPTI_ACTIVITY_KIND_MEMCPY",
      {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "bytes",
       "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId", "graphId"},
      [&](const SqliteRows& rows, Memcpy& row) {
        setTimes(rows, row);
        place(rows, 2, 3, 4, 5, row);
        row.correlation = static_cast<std::uint64_t>(rows.integer(6));
        row.bytes = static_cast<std::uint64_t>(rows.integer(7));
        const std::string_view label = labelOf(kinds, nsys::kCopyKinds, rows.integer(8));
        const auto known = std::ranges::find_if(
            nsys::kCopyKinds, [&](const nsys::Label& kind) { return label.ends_with(kind.label); });
        if (known != nsys::kCopyKinds.end()) row.copyKind = static_cast<CopyKind>(known->id);
        row.sourceKind = memoryKind(memories, rows, 9);
        row.targetKind = memoryKind(memories, rows, 10);
        if (!isOwn_ && !rows.isNull(11) && !rows.isNull(12) &&
            rows.integer(11) != rows.integer(12)) {
          const ProcessId owner = process(rows, 2);
          const DeviceId source = device(owner, rows.integer(11));
          row.peer = source == row.device ? device(owner, rows.integer(12)) : source;
        }
        row.graphNodeId = static_cast<std::uint64_t>(rows.integer(13));
        row.graphId = static_cast<std::uint32_t>(rows.integer(14));
        row.name = builder_.intern(copyName(row, label));
        return true;
      });
}

void NsysImport::readMemsets() {
  const Labels memories = labelsOf("ENUM_CUDA_MEM_KIND");
  each<Memset>("CUPTI_ACTIVITY_KIND_MEMSET",
               {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId",
                "bytes", "value", "memKind", "graphNodeId", "graphId"},
               [&](const SqliteRows& rows, Memset& row) {
                 setTimes(rows, row);
                 place(rows, 2, 3, 4, 5, row);
                 row.correlation = static_cast<std::uint64_t>(rows.integer(6));
                 row.bytes = static_cast<std::uint64_t>(rows.integer(7));
                 row.value = static_cast<std::uint32_t>(rows.integer(8));
                 row.memoryKind = memoryKind(memories, rows, 9);
                 row.graphNodeId = static_cast<std::uint64_t>(rows.integer(10));
                 row.graphId = static_cast<std::uint32_t>(rows.integer(11));
                 row.name = builder_.intern("Memset");
                 return true;
               });
}

void NsysImport::readSyncs() {
  static constexpr std::array<std::string_view, 5> kNames = {
      "Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  each<Sync>("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
             {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId",
              "syncType", "eventId"},
             [&](const SqliteRows& rows, Sync& row) {
               setTimes(rows, row);
               place(rows, 2, 3, 4, 5, row);
               row.correlation = static_cast<std::uint64_t>(rows.integer(6));
               const auto kind = static_cast<std::uint64_t>(rows.integer(7));
               if (kind < kNames.size()) row.kind = static_cast<SyncKind>(kind);
               // All bits set: no stream, no event.
               if (!rows.isNull(8) && rows.integer(8) != UINT32_MAX)
                 row.eventId = static_cast<std::uint64_t>(rows.integer(8));
               row.name = builder_.intern(kNames[kind < kNames.size() ? kind : 0]);
               return true;
             });
}

/// Runtime and driver calls share a table; a driver call is `cu` and a capital letter.
void NsysImport::readCalls(const char* table, bool isSystem) {
  each<ApiCall>(
      table, {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"},
      [&](const SqliteRows& rows, ApiCall& row) {
        setTimes(rows, row);
        row.thread = thread(rows, 2);
        row.correlation = isSystem ? 0 : static_cast<std::uint64_t>(rows.integer(3));
        row.name = textOrId(rows, 4);
        row.returnCode = static_cast<std::int32_t>(rows.integer(5));
        const std::string_view name = builder_.text(row.name);
        const bool isDriver =
            name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
        row.kind = isSystem ? ApiKind::Other : isDriver ? ApiKind::Driver : ApiKind::Runtime;
        return true;
      });
}

void NsysImport::readOverheads() {
  each<Overhead>("PROFILER_OVERHEAD", {"start", "end", "globalTid", "nameId"},
                 [&](const SqliteRows& rows, Overhead& row) {
                   setTimes(rows, row);
                   row.thread = thread(rows, 2);
                   row.name = textOrId(rows, 3);
                   return true;
                 });
}

void NsysImport::readAllocations() {
  const Labels operations = labelsOf("ENUM_CUDA_DEV_MEM_EVENT_OPER");
  const Labels memories = labelsOf("ENUM_CUDA_MEM_KIND");
  each<Allocation>("CUDA_GPU_MEMORY_USAGE_EVENTS",
                   {"start", "globalPid", "deviceId", "contextId", "streamId", "address", "bytes",
                    "memKind", "memoryOperationType", "name"},
                   [&](const SqliteRows& rows, Allocation& row) {
                     row.timeNs = rows.integer(0);
                     const MemoryKind kind = memoryKind(memories, rows, 7);
                     const bool onHost = kind == MemoryKind::Pageable || kind == MemoryKind::Pinned;
                     if (!onHost) place(rows, 1, 2, 3, 4, row);
                     row.address = static_cast<std::uint64_t>(rows.integer(5));
                     row.bytes = static_cast<std::uint64_t>(rows.integer(6));
                     const std::string_view label =
                         labelOf(operations, nsys::kMemoryOperations, rows.integer(8));
                     row.action =
                         label.starts_with("Dealloc") ? MemoryAction::Free : MemoryAction::Allocate;
                     row.tensor = textOrId(rows, 9);
                     return true;
                   });
}

/// A database without one table that we read holds something else, or a recording that saw nothing.
prof::Status NsysImport::checkTables() const {
  static constexpr std::array kEventTables = {"NVTX_EVENTS",
                                              "CUPTI_ACTIVITY_KIND_KERNEL",
                                              "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                              "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                              "CUPTI_ACTIVITY_KIND_MEMCPY",
                                              "CUPTI_ACTIVITY_KIND_MEMSET",
                                              "CUPTI_ACTIVITY_KIND_RUNTIME",
                                              "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                              "OSRT_API",
                                              "COMPOSITE_EVENTS",
                                              "SCHED_EVENTS",
                                              "GPU_METRICS",
                                              "CUDA_GPU_MEMORY_USAGE_EVENTS",
                                              "LACUNA_process"};
  for (const char* table : kEventTables) {
    if (file_.has(table)) return {};
  }
  for (const char* table : kEventTables) {
    if (!file_.views().contains(table)) continue;
    return Error{
        fmt::format("is not an export of Nsight Systems that lacuna reads: {0} is a view or a "
                    "virtual table, which may do anything. Make a table of it: CREATE TABLE copy "
                    "AS SELECT * FROM {0}, then DROP it and rename the copy",
                    table)};
  }
  const bool isNsys =
      file_.has("StringIds") || file_.has("META_DATA_EXPORT") || file_.has("TARGET_INFO_GPU");
  return Error{isNsys ? "is an export of Nsight Systems without events: no table NVTX_EVENTS, "
                        "CUPTI_ACTIVITY_KIND_KERNEL or any other that lacuna reads. Record with "
                        "nsys profile --trace=cuda,nvtx,osrt"
                      : "is an SQLite database, but not an export of Nsight Systems: it has no "
                        "table NVTX_EVENTS, CUPTI_ACTIVITY_KIND_KERNEL, … Make one with: nsys "
                        "export --type sqlite REPORT.nsys-rep"};
}

prof::Status NsysImport::run() {
  if (const auto status = checkTables(); !status) return status;
  readStrings();
  readOwnTables();
  readTarget();
  readKernels();
  readGraphs();
  readGraphNodes();
  readCopies();
  readMemsets();
  readSyncs();
  readCalls("CUPTI_ACTIVITY_KIND_RUNTIME", false);
  readCalls("CUPTI_ACTIVITY_KIND_DRIVER", false);
  readCalls("OSRT_API", true);
  readLibraryRanges("CUDNN_EVENTS", "cuDNN");
  readLibraryRanges("CUBLAS_EVENTS", "cuBLAS");
  readNvtx();
  readOverheads();
  readAllocations();
  readMetrics();
  readSamples();
  readSchedule();
  readDiagnostics();
  if (cancelled_) return Error{"the import was cancelled"};
  readNames();
  nameUnreadTables();
  if (invertedTimes_ > 0) {
    builder_.addWarning(
        fmt::format("{} events end before they start; their length is taken as 0", invertedTimes_));
  }
  closeUnfinished(builder_);
  if (isOwn_) return {};
  nestRanges(builder_);
  spanPlaces(builder_);
  return {};
}

StoreResult importNsys(const std::filesystem::path& path, const OpenOptions& options) {
  const auto file = SqliteFile::open(path, options.budget);
  if (!file) return file.error();
  StoreBuilder builder;
  builder.setPath(path);
  if (!(*file)->problem().empty()) builder.addWarning((*file)->problem());
  NsysImport import(**file, builder, options.progress);
  if (const auto status = import.run(); !status) {
    return Error{fmt::format("{}: {}", path.string(), status.error().message)};
  }
  bool hasEvents = false;
  forEachTable([&]<class Row>() {
    if constexpr (
        requires(Row row) {
          row.startNs;
          row.durNs;
        } ||
        requires(Row row) {
          row.timeNs;
          row.thread;
        }) {
      std::size_t rows = 0;
      builder.columns<Row>().forEach([&](const auto& values) { rows = values.size(); });
      hasEvents |= rows > 0;
    }
  });
  if (!hasEvents && builder.columns<CounterSample>().timeNs.empty()) {
    const std::string& damage = (*file)->problem();
    return Error{fmt::format("{}: the trace has no events: {}", path.string(),
                             damage.empty() ? "the tables are there, but empty" : damage)};
  }
  return builder.build();
}

constinit const Importer kSqliteImporter{
    .kind = SourceKind::Sqlite,
    .name = "SQLite export of Nsight Systems",
    .plural = "SQLite exports of Nsight Systems",
    .recognises =
        [](std::string_view head) {
          return head.starts_with(std::string_view("SQLite format 3\0", 16));
        },
    .open = importNsys,
};

}  // namespace lacuna::analyzer
