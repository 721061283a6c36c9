// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/random_store.h"
#include "support/temp_file.h"

/// Nsight Systems' tables, asked in SQL as other tools ask them.
namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class Database {
 public:
  explicit Database(const Store& store) : file_(".sqlite") {
    const auto status = exportTrace(store, file_.path(), Format::Nsys);
    EXPECT_TRUE(status);
    EXPECT_EQ(sqlite3_open_v2(file_.path().c_str(), &db_, SQLITE_OPEN_READONLY, nullptr),
              SQLITE_OK);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Rows as text, fields with a bar between them.
  std::vector<std::string> rows(const std::string& sql) {
    std::vector<std::string> out;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
    while (statement != nullptr && sqlite3_step(statement) == SQLITE_ROW) {
      std::string line;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        line += fmt::format("{}{}", i == 0 ? "" : "|", text == nullptr ? "NULL" : text);
      }
      out.push_back(line);
    }
    sqlite3_finalize(statement);
    return out;
  }

 private:
  test::TempFile file_;
  sqlite3* db_ = nullptr;
};

/// A process with a thread that calls, and a queue that works.
class CallingTrace {
 public:
  CallingTrace() {
    out.append(Process{.id = ProcessId(1), .osPid = 700, .name = out.intern("python")});
    out.append(Thread{
        .id = ThreadId(1), .process = ProcessId(1), .osTid = 711, .name = out.intern("main")});
    out.append(Device{.id = DeviceId(1),
                      .kind = DeviceKind::Cuda,
                      .index = 2,
                      .name = out.intern("H100"),
                      .memoryBytes = 80,
                      .multiprocessors = 132,
                      .clockKhz = 1'500});
    out.append(
        Queue{.id = QueueId(5), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 13});
  }
  StoreBuilder out;
};

TEST(NsysExport, AKernelJoinsItsCallItsNameAndItsPlace) {
  CallingTrace trace;
  trace.out.append(ApiCall{.startNs = 100,
                           .durNs = 7,
                           .thread = ThreadId(1),
                           .name = trace.out.intern("cudaLaunchKernel"),
                           .correlation = 42});
  trace.out.append(Kernel{.startNs = 120,
                          .durNs = 30,
                          .queue = QueueId(5),
                          .device = DeviceId(1),
                          .correlation = 42,
                          .name = trace.out.intern("gemm<float>"),
                          .gridX = 4,
                          .blockX = 128});
  Database db(*trace.out.build());
  EXPECT_THAT(db.rows("SELECT k.start, k.end, s.value, k.deviceId, k.streamId, k.gridX, k.blockX, "
                      "r.start, n.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id "
                      "= k.demangledName JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) "
                      "JOIN StringIds n ON n.id = r.nameId"),
              ElementsAre("120|150|gemm<float>|2|13|4|128|100|cudaLaunchKernel"));
}

TEST(NsysExport, NumbersOfThreadsHoldProcessAndThread) {
  CallingTrace trace;
  trace.out.append(
      ApiCall{.startNs = 100, .thread = ThreadId(1), .name = trace.out.intern("cudaMalloc")});
  Database db(*trace.out.build());
  EXPECT_THAT(db.rows("SELECT (globalTid >> 24) & 0xffffff, globalTid & 0xffffff FROM "
                      "CUPTI_ACTIVITY_KIND_RUNTIME"),
              ElementsAre("700|711"));
  EXPECT_THAT(db.rows("SELECT p.pid, p.name, p.globalPid & 0xffffff FROM PROCESSES p"),
              ElementsAre("700|python|0"));
  EXPECT_THAT(db.rows("SELECT s.value FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId JOIN "
                      "CUPTI_ACTIVITY_KIND_RUNTIME r USING (globalTid)"),
              ElementsAre("main"));
}

TEST(NsysExport, NumbersThatDoNotFitOrAreTakenAreReplaced) {
  StoreBuilder out;
  const std::uint32_t pids[] = {700, 700, 0, 0x1000000, 1, 0xffffff};
  for (std::uint32_t i = 0; i < 6; ++i) {
    out.append(Process{.id = ProcessId(i + 1), .osPid = pids[i]});
    out.append(Thread{
        .id = ThreadId(i + 1), .process = ProcessId(i + 1), .osTid = 5, .name = out.intern("t")});
  }
  out.append(
      Thread{.id = ThreadId(7), .process = ProcessId(1), .osTid = 5, .name = out.intern("t")});
  Database db(*out.build());
  const auto numbers = db.rows("SELECT pid FROM PROCESSES");
  // The least free numbers for those that need one; number 1 is gone when its process comes.
  EXPECT_THAT(numbers, ElementsAre("700", "1", "2", "3", "4", "16777215"));
  EXPECT_THAT(
      db.rows(
          "SELECT globalTid & 0xffffff FROM ThreadNames WHERE (globalTid >> 24) & 0xffffff = 700"),
      UnorderedElementsAre("5", "1"));
  EXPECT_THAT(db.rows("SELECT count(DISTINCT globalTid) FROM ThreadNames"), ElementsAre("7"));
}

TEST(NsysExport, DevicesKeepTheirIndexWhereItIsFree) {
  StoreBuilder out;
  const auto device = [&](std::uint32_t id, DeviceKind kind, std::uint32_t index) {
    out.append(Device{.id = DeviceId(id),
                      .kind = kind,
                      .index = index,
                      .name = out.intern(fmt::format("d{}", id))});
  };
  device(1, DeviceKind::Cpu, 0);
  device(2, DeviceKind::Cuda, 0);
  device(3, DeviceKind::Cuda, 1);
  device(4, DeviceKind::Cuda, 1);
  Database db(*out.build());
  EXPECT_THAT(db.rows("SELECT name, cuDevice FROM TARGET_INFO_GPU"),
              ElementsAre("d1|3", "d2|0", "d3|1", "d4|2"));
}

TEST(NsysExport, DevicesOfOneIndexAreNumberedAsFastAsOthers) {
  StoreBuilder builder;
  for (std::uint32_t i = 1; i <= 50'000; ++i)
    builder.append(Device{.id = DeviceId(i), .kind = DeviceKind::Cuda});
  const auto store = builder.build();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Database(*store).rows(
                  "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM TARGET_INFO_GPU"),
              ElementsAre("50000|50000|0|49999"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(NsysExport, RangesAndMarksAreEventsOfTheirType) {
  CallingTrace trace;
  StoreBuilder& out = trace.out;
  out.append(Range{.startNs = 10,
                   .durNs = 5,
                   .thread = ThreadId(1),
                   .name = out.intern("step"),
                   .payloadType = PayloadType::U64,
                   .payload = 9});
  out.append(Range{.startNs = 20,
                   .durNs = 0,
                   .thread = ThreadId(1),
                   .domain = out.intern("lib"),
                   .category = out.intern("io"),
                   .name = out.intern("read"),
                   .kind = RangeKind::StartEnd});
  out.append(Mark{.timeNs = 30, .thread = ThreadId(1), .name = out.intern("here")});
  Database db(*out.build());
  EXPECT_THAT(
      db.rows("SELECT e.start, e.end, e.eventType, s.value, e.uint64Value FROM NVTX_EVENTS e JOIN "
              "StringIds s ON s.id = e.textId WHERE e.eventType IN (34, 59, 60) ORDER BY e.start"),
      ElementsAre("10|15|59|step|9", "20|20|60|read|NULL", "30|NULL|34|here|NULL"));
  EXPECT_THAT(db.rows("SELECT e.eventType, s.value FROM NVTX_EVENTS e JOIN StringIds s ON s.id = "
                      "e.textId WHERE e.eventType IN (33, 75) ORDER BY e.eventType"),
              ElementsAre("33|io", "75|lib"));
}

TEST(NsysExport, CopiesNameTheirDirectionAndMemory) {
  CallingTrace trace;
  trace.out.append(Memcpy{.startNs = 10,
                          .durNs = 5,
                          .queue = QueueId(5),
                          .device = DeviceId(1),
                          .bytes = 4'096,
                          .copyKind = CopyKind::HostToDevice,
                          .sourceKind = MemoryKind::Pageable,
                          .targetKind = MemoryKind::Device});
  Database db(*trace.out.build());
  EXPECT_THAT(db.rows("SELECT c.bytes, o.label, a.label, b.label FROM CUPTI_ACTIVITY_KIND_MEMCPY c "
                      "JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = c.copyKind JOIN ENUM_CUDA_MEM_KIND a "
                      "ON a.id = c.srcKind JOIN ENUM_CUDA_MEM_KIND b ON b.id = c.dstKind"),
              ElementsAre("4096|Host-to-Device|Pageable|Device"));
}

TEST(NsysExport, SumsOfRandomTracesAreTheStores) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto store = test::randomStore(seed, 50);
    Database db(*store);
    const auto expect = [&]<class Row>(const char* table, Row) {
      std::int64_t lengths = 0, starts = 0;
      std::uint64_t correlations = 0;
      for (std::uint64_t i = 0; i < store->rows<Row>(); ++i) {
        const Row row = store->row<Row>(i);
        lengths += row.durNs;
        starts += row.startNs;
        correlations += row.correlation;
      }
      EXPECT_THAT(
          db.rows(fmt::format(
              "SELECT count(*), sum(end - start), sum(start), sum(correlationId) FROM {}", table)),
          ElementsAre(
              fmt::format("{}|{}|{}|{}", store->rows<Row>(), lengths, starts, correlations)));
    };
    expect("CUPTI_ACTIVITY_KIND_KERNEL", Kernel{});
    expect("CUPTI_ACTIVITY_KIND_MEMCPY", Memcpy{});
    expect("CUPTI_ACTIVITY_KIND_MEMSET", Memset{});
    expect("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", Sync{});
    expect("CUPTI_ACTIVITY_KIND_RUNTIME", ApiCall{});
    EXPECT_THAT(db.rows("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60)"),
                ElementsAre(std::to_string(store->rows<Range>())));
    EXPECT_THAT(db.rows("SELECT count(*) FROM StringIds"),
                ElementsAre(std::to_string(store->stringCount())));
  }
}

TEST(NsysExport, ItsClockIsTheTimeOfDayAtTheTracesZero) {
  CallingTrace trace;
  trace.out.append(Clock{.timeNs = 1'000, .realtimeNs = 1'700'000'000'000'001'000});
  trace.out.append(Mark{.timeNs = 5});
  Database db(*trace.out.build());
  EXPECT_THAT(db.rows("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"),
              ElementsAre("1700000000000000000"));
}

}  // namespace
}  // namespace lacuna::analyzer
