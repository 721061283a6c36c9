// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>
#include <set>
#include <unordered_map>

#include "export/export_meter.h"
#include "export/exporters.h"
#include "export/sqlite_table.h"
#include "formats/nsys_schema.h"
#include "lacuna/prof/file_error.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};

/// The columns of a row that its table of the schema holds exactly; all others go along in columns
/// of ours.
template <class Row>
constexpr std::string_view covered() {
  if constexpr (std::is_same_v<Row, Range>) return " startNs durNs name ";
  if constexpr (std::is_same_v<Row, Mark>) return " timeNs name ";
  if constexpr (std::is_same_v<Row, ApiCall>) return " startNs durNs correlation name returnCode ";
  if constexpr (std::is_same_v<Row, Kernel>) {
    return " startNs durNs correlation name gridX gridY gridZ blockX blockY blockZ "
           "registersPerThread staticSharedBytes dynamicSharedBytes graphId graphNodeId ";
  }
  if constexpr (std::is_same_v<Row, Memcpy>)
    return " startNs durNs correlation bytes graphId graphNodeId ";
  if constexpr (std::is_same_v<Row, Memset>)
    return " startNs durNs correlation bytes value graphId graphNodeId ";
  if constexpr (std::is_same_v<Row, Sync>) return " startNs durNs correlation ";
  if constexpr (std::is_same_v<Row, Allocation>) return " timeNs address bytes ";
  if constexpr (std::is_same_v<Row, Overhead>) return " startNs durNs name ";
  return "";
}

template <class Row>
bool isCovered(std::size_t column) {
  return covered<Row>().find(fmt::format(" {} ", Row::columns()[column].name)) !=
         std::string_view::npos;
}

/// Gives every number once.
class FreeNumbers {
 public:
  FreeNumbers(std::uint32_t least, std::uint32_t most) : least_(least), most_(most), next_(least) {}

  /// `wanted` where it is one of them and free, else the least that is.
  std::uint64_t take(std::uint32_t wanted) {
    if (wanted >= least_ && wanted <= most_ && taken_.insert(wanted).second) return wanted;
    while (!taken_.insert(next_).second) ++next_;
    return next_;
  }

 private:
  std::set<std::uint32_t> taken_;
  std::uint32_t least_, most_;
  std::uint32_t next_;  ///< all from the least to it are taken
};

/// The schema has 24 bits for the number of a process, and 24 for that of a thread in it.
struct PlaceNumbers : FreeNumbers {
  PlaceNumbers() : FreeNumbers(1, 0xffffff) {}
};

class NsysExport {
 public:
  NsysExport(const Store& store, sqlite3* db, const ExportOptions& options)
      : store_(store), db_(db), meter_(store, options.progress) {}

  /// SQLite's first message, where writing failed.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  prof::Status run() {
    exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    numberPlaces();
    writeTarget();
    writeLabels("ENUM_CUDA_MEM_KIND", nsys::kMemoryKinds);
    writeLabels("ENUM_CUDA_MEMCPY_OPER", nsys::kCopyKinds);
    writeLabels("ENUM_CUDA_DEV_MEM_EVENT_OPER", nsys::kMemoryOperations);
    writeNvtx();
    writeDeviceWork();
    writeCalls();
    writeRest();
    forEachTable([&]<class Row>() {
      if constexpr (!nsys::hasTable<Row>()) writeOwnTable<Row>();
    });
    writeStrings();
    exec("COMMIT");
    if (auto status = meter_.status(); !status) return status;
    if (!problem_.empty()) return Error{problem_};
    return {};
  }

 private:
  void exec(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK && problem_.empty()) {
      problem_ = sqlite3_errmsg(db_);
    }
  }
  void done(const SqliteTable& table) {
    if (problem_.empty()) problem_ = table.problem();
  }

  /// Processes and threads get numbers of the schema: the system's where they fit its 24 bits and
  /// are free.
  void numberPlaces() {
    PlaceNumbers pids;
    for (std::uint64_t i = 0; i < store_.rows<Process>(); ++i) {
      const auto row = store_.row<Process>(i);
      processes_[row.id] = pids.take(row.osPid) << 24;
    }
    std::map<ProcessId, PlaceNumbers> tids;
    for (std::uint64_t i = 0; i < store_.rows<Thread>(); ++i) {
      const auto row = store_.row<Thread>(i);
      threads_[row.id] = processes_[row.process] | tids[row.process].take(row.osTid);
    }
    FreeNumbers numbers(0, UINT32_MAX);
    const auto number = [&](const Device& row, bool isCuda) {
      if ((row.kind == DeviceKind::Cuda) == isCuda)
        devices_[row.id] = static_cast<std::int64_t>(numbers.take(row.index));
    };
    for (const bool isCuda : {true, false}) {
      for (std::uint64_t i = 0; i < store_.rows<Device>(); ++i)
        number(store_.row<Device>(i), isCuda);
    }
    for (std::uint64_t i = 0; i < store_.rows<Queue>(); ++i) {
      const auto row = store_.row<Queue>(i);
      queues_[row.id] = row;
    }
  }

  void writeTarget() {
    SqliteTable meta(db_, "META_DATA_EXPORT", "name TEXT, value TEXT");
    meta.text("EXPORT_PRODUCT_NAME").text("Lacuna").end();
    meta.text("EXPORT_SCHEMA_VERSION").text("3.11.0").end();
    SqliteTable gpus(db_, "TARGET_INFO_GPU",
                     "vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, memoryBandwidth "
                     "INTEGER, clockRate INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, "
                     "computeMajor INTEGER, computeMinor INTEGER");
    for (std::uint64_t i = 0; i < store_.rows<Device>(); ++i) {
      const auto row = store_.row<Device>(i);
      gpus.numbers(0, devices_[row.id]).text(store_.text(row.name));
      gpus.numbers(row.memoryBytes, row.memoryBandwidth, row.clockKhz * 1000ULL,
                   row.multiprocessors);
      gpus.text(store_.text(row.uuid))
          .numbers(devices_[row.id], row.computeMajor, row.computeMinor)
          .end();
    }
    done(gpus);
    SqliteTable processes(db_, "PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT");
    for (std::uint64_t i = 0; i < store_.rows<Process>(); ++i) {
      const auto row = store_.row<Process>(i);
      processes.numbers(processes_[row.id], nsys::pidOf(processes_[row.id]))
          .text(store_.text(row.name))
          .end();
    }
    done(processes);
    SqliteTable threads(db_, "ThreadNames", "nameId INTEGER, priority INTEGER, globalTid INTEGER");
    for (std::uint64_t i = 0; i < store_.rows<Thread>(); ++i) {
      const auto row = store_.row<Thread>(i);
      if (row.name) threads.numbers(row.name.value, 0, threads_[row.id]).end();
    }
    done(threads);
    SqliteTable start(db_, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER");
    if (store_.rows<Clock>() > 0) {
      const auto clock = store_.row<Clock>(0);
      start
          .number(static_cast<std::int64_t>(static_cast<std::uint64_t>(clock.realtimeNs) -
                                            static_cast<std::uint64_t>(clock.timeNs)))
          .end();
    }
    done(start);
  }

  template <std::size_t N>
  void writeLabels(const char* name, const std::array<nsys::Label, N>& labels) {
    SqliteTable table(db_, name, "id INTEGER, name TEXT, label TEXT");
    for (const nsys::Label& label : labels)
      table.number(label.id).text(label.label).text(label.label).end();
    done(table);
  }

  void writeStrings() {
    SqliteTable strings(db_, "StringIds", "id INTEGER PRIMARY KEY, value TEXT NOT NULL");
    for (std::uint32_t i = 0; i < store_.stringCount() && tick(); ++i) {
      strings.number(i).text(store_.wholeText(StringId(i))).end();
    }
    done(strings);
  }

  bool tick() { return meter_.tick() && problem_.empty(); }

  template <class Row, class Write>
  void eachRow(Write&& write) {
    meter_.eachRow<Row>([&](const Row& row) {
      write(row);
      return problem_.empty();
    });
  }

  template <class T>
  static void bind(SqliteTable& table, const T& value) {
    if constexpr (std::is_class_v<T>) {
      table.number(value.value);
    } else if constexpr (std::is_same_v<T, double>) {
      table.real(value);
    } else {
      table.number(static_cast<std::int64_t>(value));
    }
  }

  template <class Row>
  static std::string ownColumns() {
    std::string out;
    for (std::size_t i = 0; i < Row::columns().size(); ++i) {
      if (!isCovered<Row>(i))
        out += fmt::format(", {}{}", nsys::kOwnColumn, Row::columns()[i].name);
    }
    return out;
  }
  template <class Row>
  static void bindOwn(SqliteTable& table, const Row& row) {
    static const std::vector<bool> kCovered = [] {
      std::vector<bool> all;
      for (std::size_t i = 0; i < Row::columns().size(); ++i) all.push_back(isCovered<Row>(i));
      return all;
    }();
    std::size_t at = 0;
    Row::forEachMember([&]<auto Member>() {
      if (!kCovered[at++]) bind(table, row.*Member);
    });
  }

  /// Calls fill(writer, row) for each row, which gives the schema's columns.
  template <class Row, class Fill>
  void write(SqliteTable& table, Fill&& fill) {
    eachRow<Row>([&](const Row& row) {
      fill(table, row);
      bindOwn(table, row);
      table.end();
    });
    done(table);
  }
  template <class Row, class Fill>
  void write(std::string_view name, std::string_view columns, Fill&& fill) {
    SqliteTable table(db_, name, std::string(columns) + ownColumns<Row>());
    write<Row>(table, fill);
  }

  template <class Row>
  void writeOwnTable() {
    std::string columns;
    for (const ColumnSpec& column : Row::columns())
      columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ", ", column.name);
    SqliteTable table(db_, std::string(nsys::kOwnTable) + std::string(Row::kName), columns);
    eachRow<Row>([&](const Row& row) {
      Row::forEachMember([&]<auto Member>() { bind(table, row.*Member); });
      table.end();
    });
    done(table);
  }

  template <class Row>
  void bindNvtx(SqliteTable& table, const Row& row, nsys::NvtxType type) {
    const PayloadType payload = row.payloadType;
    table.number(static_cast<std::int64_t>(type)).numbers(threads_[row.thread]);
    if constexpr (std::is_same_v<Row, Range>) {
      row.endThread ? table.numbers(threads_[row.endThread]) : table.null();
    } else {
      table.null();
    }
    table.numbers(row.name.value, row.domain.value, row.category.value, row.colour);
    const auto addInteger = [&](PayloadType which) {
      payload == which ? table.number(static_cast<std::int64_t>(row.payload)) : table.null();
    };
    addInteger(PayloadType::U64);
    addInteger(PayloadType::I64);
    payload == PayloadType::F64 ? table.real(std::bit_cast<double>(row.payload)) : table.null();
    addInteger(PayloadType::U32);
    addInteger(PayloadType::I32);
    payload == PayloadType::F32
        ? table.real(
              static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(row.payload))))
        : table.null();
  }

  /// Ranges and marks share the table, and so the columns of ours: those that both have mean the
  /// same.
  void writeNvtx() {
    std::string own = ownColumns<Range>();
    SqliteTable table(db_, "NVTX_EVENTS",
                      "start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, "
                      "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, category INTEGER, "
                      "color INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, "
                      "uint32Value INTEGER, int32Value INTEGER, floatValue REAL, text TEXT" +
                          own);
    std::set<StringId> domains;
    std::set<std::pair<StringId, StringId>> categories;
    write<Range>(table, [&](SqliteTable& to, const Range& row) {
      domains.insert(row.domain);
      categories.insert({row.domain, row.category});
      to.numbers(row.startNs, row.startNs + row.durNs);
      bindNvtx(
          to, row,
          row.kind == RangeKind::StartEnd ? nsys::NvtxType::StartEnd : nsys::NvtxType::PushPop);
      to.null();
    });
    eachRow<Mark>([&](const Mark& row) {
      domains.insert(row.domain);
      categories.insert({row.domain, row.category});
      table.number(row.timeNs).null();
      bindNvtx(table, row, nsys::NvtxType::Mark);
      table.null();
      // The columns of ours are those of a range.
      Range like;
      like.thread = row.thread;
      like.domain = row.domain;
      like.category = row.category;
      like.text = row.text;
      like.payloadType = row.payloadType;
      like.colour = row.colour;
      like.payload = row.payload;
      like.args = row.args;
      bindOwn(table, like);
      table.end();
    });
    const auto named = [&](nsys::NvtxType type, StringId domain, StringId category, StringId name) {
      table.number(0).null().number(static_cast<std::int64_t>(type)).null().null();
      table.numbers(name.value, domain.value, category.value).end();
    };
    for (const StringId domain : domains) {
      if (domain) named(nsys::NvtxType::Domain, domain, {}, domain);
    }
    for (const auto& [domain, category] : categories) {
      if (category) named(nsys::NvtxType::Category, domain, category, category);
    }
    done(table);
  }

  template <class Row>
  void bindPlace(SqliteTable& table, const Row& row) {
    const auto queue = queues_.find(row.queue);
    const bool known = queue != queues_.end();
    known ? table.numbers(processes_[queue->second.process]) : table.null();
    if (row.device) {
      table.numbers(devices_[row.device], 1);
    } else {
      table.null().null();
    }
    known ? table.numbers(queue->second.nativeId) : table.null();
  }
  template <class Row>
  void bindActivity(SqliteTable& table, const Row& row) {
    table.numbers(row.startNs, row.startNs + row.durNs);
    bindPlace(table, row);
    table.numbers(row.correlation);
  }
  void bindMemoryKind(SqliteTable& table, MemoryKind kind) {
    const auto found = std::ranges::find(nsys::kMemoryKindOf, kind);
    table.number(found - nsys::kMemoryKindOf.begin());
  }

  static constexpr std::string_view kActivity =
      "start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
      "streamId INTEGER, correlationId INTEGER, ";

  void writeDeviceWork() {
    const std::string head(kActivity);
    write<Kernel>("CUPTI_ACTIVITY_KIND_KERNEL",
                  head +
                      "demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX "
                      "INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
                      "blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, "
                      "graphId INTEGER, graphNodeId INTEGER",
                  [&](SqliteTable& to, const Kernel& row) {
                    bindActivity(to, row);
                    to.numbers(row.name.value, row.name.value, row.registersPerThread, row.gridX,
                               row.gridY, row.gridZ);
                    to.numbers(row.blockX, row.blockY, row.blockZ, row.staticSharedBytes,
                               row.dynamicSharedBytes);
                    to.numbers(row.graphId, row.graphNodeId);
                  });
    write<Memcpy>("CUPTI_ACTIVITY_KIND_MEMCPY",
                  head +
                      "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, graphId "
                      "INTEGER, graphNodeId INTEGER",
                  [&](SqliteTable& to, const Memcpy& row) {
                    bindActivity(to, row);
                    to.numbers(row.bytes, row.copyKind);
                    bindMemoryKind(to, row.sourceKind);
                    bindMemoryKind(to, row.targetKind);
                    to.numbers(row.graphId, row.graphNodeId);
                  });
    write<Memset>(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        head +
            "bytes INTEGER, value INTEGER, memKind INTEGER, graphId INTEGER, graphNodeId INTEGER",
        [&](SqliteTable& to, const Memset& row) {
          bindActivity(to, row);
          to.numbers(row.bytes, row.value);
          bindMemoryKind(to, row.memoryKind);
          to.numbers(row.graphId, row.graphNodeId);
        });
    write<Sync>("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", head + "syncType INTEGER, eventId INTEGER",
                [&](SqliteTable& to, const Sync& row) {
                  bindActivity(to, row);
                  to.numbers(row.kind, row.eventId);
                });
  }

  void writeCalls() {
    write<ApiCall>(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, "
        "nameId INTEGER, returnValue INTEGER",
        [&](SqliteTable& to, const ApiCall& row) {
          to.numbers(row.startNs, row.startNs + row.durNs, row.kind == ApiKind::Driver ? 1 : 0);
          to.numbers(threads_[row.thread], row.correlation, row.name.value, row.returnCode);
        });
  }

  void writeRest() {
    write<Overhead>(
        "PROFILER_OVERHEAD", "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER",
        [&](SqliteTable& to, const Overhead& row) {
          to.numbers(row.startNs, row.startNs + row.durNs, threads_[row.thread], row.name.value);
        });
    write<Allocation>("CUDA_GPU_MEMORY_USAGE_EVENTS",
                      "start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
                      "streamId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, "
                      "memoryOperationType INTEGER, name INTEGER",
                      [&](SqliteTable& to, const Allocation& row) {
                        to.numbers(row.timeNs);
                        bindPlace(to, row);
                        const bool isFree = row.action == MemoryAction::Free ||
                                            row.action == MemoryAction::Release ||
                                            row.action == MemoryAction::ExternalFree;
                        to.numbers(row.address, row.bytes);
                        bindMemoryKind(to, row.device ? MemoryKind::Device : MemoryKind::Pageable);
                        to.numbers(isFree ? 1 : 0, row.tensor.value);
                      });
  }

  const Store& store_;
  sqlite3* db_;
  ExportMeter meter_;
  std::unordered_map<ProcessId, std::uint64_t> processes_;
  std::unordered_map<ThreadId, std::uint64_t> threads_;
  std::unordered_map<DeviceId, std::int64_t> devices_;
  std::unordered_map<QueueId, Queue> queues_;
  std::string problem_;
};

}  // namespace

prof::Status exportNsys(const Store& store, const std::filesystem::path& path,
                        const ExportOptions& options) {
  std::error_code failed;
  const auto kind = std::filesystem::status(path, failed).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    return Error{fmt::format("{}: is no file, which a database must be written to", path.string())};
  // Emptied and not removed, as its name may be a link.
  if (kind == std::filesystem::file_type::regular) std::filesystem::resize_file(path, 0, failed);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(path.c_str(), &opened);
  const std::unique_ptr<sqlite3, CloseDatabase> db(opened);
  const auto notWritten = [&](const std::string& sqlite) {
    const int systemError = sqlite3_system_errno(opened);  // of a full disk SQLite keeps none
    const int reason =
        systemError == 0 && sqlite == sqlite3_errstr(SQLITE_FULL) ? ENOSPC : systemError;
    return reason == 0 ? Error{fmt::format("{}: cannot be written: {}", path.string(), sqlite)}
                       : cannotBeWritten(path, reason);
  };
  if (code != SQLITE_OK) return notWritten(sqlite3_errmsg(opened));
  NsysExport written(store, db.get(), options);
  const auto status = written.run();
  return status || written.problem().empty() ? status : notWritten(written.problem());
}

}  // namespace lacuna::analyzer
