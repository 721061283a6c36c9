// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <fstream>
#include <sstream>

#include "import/nsys/sqlite_file.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"
#include "support/random_store.h"
#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// A database made by hand.
class Database {
 public:
  explicit Database(const std::filesystem::path& path) {
    sqlite3_open(path.c_str(), &db_);
    run("PRAGMA synchronous = OFF");
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  void run(const std::string& sql) {
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK)
        << sql << ": " << why;
  }
  std::vector<std::string> column(const std::string& sql) {
    std::vector<std::string> out;
    const auto add = [](void* to, int, char** values, char**) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(values[0] == nullptr ? ""
                                                                                    : values[0]);
      return 0;
    };
    sqlite3_exec(db_, sql.c_str(), add, &out, nullptr);
    return out;
  }

 private:
  sqlite3* db_ = nullptr;
};

/// Runs statements on the importer's own connection.
class SqliteFileProbe {
 public:
  explicit SqliteFileProbe(const std::filesystem::path& path) : file_(*SqliteFile::open(path)) {}
  [[nodiscard]] const std::set<std::string>& columns(const std::string& table) const {
    return file_->tables().at(table);
  }
  [[nodiscard]] bool runs(const char* sql) const {
    return sqlite3_exec(file_->handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

 private:
  std::unique_ptr<SqliteFile> file_;
};

std::string errorOf(const std::filesystem::path& path) {
  const auto store = Store::open(path);
  return store.ok() ? "" : store.error().message;
}

constexpr std::int64_t kThread = std::int64_t{10} << 24 | 11;
constexpr std::int64_t kProcess = std::int64_t{10} << 24;

/// The export of a present version, in small.
void fill(Database& db) {
  db.run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
  db.run(
      "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float>(int)'), "
      "(3, 'gemm'), (4, 'step 1'), (5, 'cuLaunchKernel'), (6, 'poll'), (7, 'main thread'), (8, "
      "'leaf'), (9, 'root'), (10, 'libc')");
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
      "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
      "demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY "
      "INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory "
      "INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER)");
  db.run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 42, {}, 2, "
                  "3, 90, 64, 2, 1, 128, 1, 1, 16, 1024, NULL)",
                  kProcess));
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "
      "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes "
      "INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER)");
  db.run(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1600, 1700, 0, 1, 7, 43, {}, 4096, 1, 0, 2)",
      kProcess));
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId "
      "INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
      "syncType INTEGER, eventId INTEGER)");
  db.run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1800, 1900, 0, 1, 7, "
                  "44, {}, 3, 4294967295)",
                  kProcess));
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, "
      "globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER)");
  db.run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, 950, 0, {0}, 42, 1, 0), "
                  "(901, 940, 1, {0}, 42, 5, 700)",
                  kThread));
  db.run(
      "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, "
      "returnValue INTEGER)");
  db.run(fmt::format("INSERT INTO OSRT_API VALUES (100, 200, {}, 6, 0)", kThread));
  db.run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, "
      "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId "
      "INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, "
      "uint32Value INTEGER, int32Value INTEGER, floatValue REAL)");
  const auto nvtx = [&](const char* head, const char* tail) {
    db.run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, {})", head, kThread, tail));
  };
  nvtx("0, NULL, 75, NULL, NULL, NULL, 'loader'",
       "NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL");
  nvtx("0, NULL, 33, NULL, 3, NULL, 'io'", "NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL");
  nvtx("100, 2000, 59, NULL, NULL, 255, NULL", "NULL, 4, 0, NULL, 17, NULL, NULL, NULL, NULL");
  nvtx("150, 300, 59, NULL, NULL, NULL, 'inner'",
       "NULL, NULL, 0, NULL, NULL, 0.5, NULL, NULL, NULL");
  nvtx("160, 250, 60, 1, 3, NULL, 'fetch'",
       "167772172, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL");
  nvtx("170, NULL, 34, NULL, NULL, NULL, 'here'",
       "NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL");
  nvtx("180, NULL, 59, NULL, NULL, NULL, 'open'",
       "NULL, NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL");
  db.run("CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER)");
  db.run(fmt::format("INSERT INTO ThreadNames VALUES (7, 0, {})", kThread));
  db.run("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)");
  db.run(fmt::format("INSERT INTO PROCESSES VALUES ({}, 10, 'python'), (77309411328, 99, 'idle')",
                     kProcess));
  db.run(
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, totalMemory INTEGER, "
      "memoryBandwidth INTEGER, smCount INTEGER, clockRate INTEGER, computeMajor INTEGER, "
      "computeMinor INTEGER)");
  db.run(
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 'H100', 'u-0', 80, 3000, 132, 1980000000, 9, 0), (3, "
      "'A100', 'u-3', 40, 2000, 108, 1410000000, 8, 0)");
  db.run("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)");
  db.run("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 10)");
  db.run("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)");
  db.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1711964646000000000)");
  db.run(
      "CREATE TABLE COMPOSITE_EVENTS (id INTEGER, start INTEGER, cpu INTEGER, threadState INTEGER, "
      "globalTid INTEGER)");
  db.run(fmt::format("INSERT INTO COMPOSITE_EVENTS VALUES (1, 500, 0, 0, {0}), (2, 600, 0, 0, {0})",
                     kThread));
  db.run(
      "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth "
      "INTEGER)");
  db.run("INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 8, 10, 0), (1, 9, 10, 1), (2, 9, 10, 0)");
  db.run(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId "
      "INTEGER, contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, "
      "memoryOperationType INTEGER)");
  db.run(
      fmt::format("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (50, {0}, 0, 1, 4096, 512, 2, "
                  "0), (2100, {0}, 0, 1, 4096, 512, 2, 1)",
                  kProcess));
  db.run("CREATE TABLE UVM_NEWS (a INTEGER); INSERT INTO UVM_NEWS VALUES (1)");
}

class NsysImportTest : public testing::Test {
 protected:
  NsysImportTest() { fill(*std::make_unique<Database>(file_.path())); }
  std::shared_ptr<const Store> open() {
    auto store = Store::open(file_.path());
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? *store : nullptr;
  }
  test::TempFile file_{".sqlite"};
};

TEST_F(NsysImportTest, ActivityBecomesDeviceWorkOfTheRightGpu) {
  const auto store = open();
  ASSERT_EQ(store->rows<Kernel>(), 1U);
  const auto kernel = store->row<Kernel>(0);
  EXPECT_EQ(store->text(kernel.name), "void gemm<float>(int)");
  EXPECT_EQ(kernel.durNs, 500);
  EXPECT_EQ(kernel.gridX, 64U);
  EXPECT_EQ(kernel.dynamicSharedBytes, 1024U);
  EXPECT_EQ(kernel.correlation, 42U);
  const auto copy = store->row<Memcpy>(0);
  EXPECT_EQ(copy.copyKind, CopyKind::HostToDevice);
  EXPECT_EQ(copy.sourceKind, MemoryKind::Pageable);
  EXPECT_EQ(copy.targetKind, MemoryKind::Device);
  EXPECT_EQ(store->text(copy.name), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(store->row<Sync>(0).kind, SyncKind::Stream);
  EXPECT_EQ(store->row<Sync>(0).eventId, 0U);
  const auto device = store->row<Device>(0);
  EXPECT_EQ(store->text(device.name), "A100")
      << "process 10 calls the machine's GPU 3 its device 0";
  EXPECT_EQ(device.multiprocessors, 108U);
  EXPECT_EQ(store->rows<Device>(), 1U);
  EXPECT_EQ(store->row<Queue>(0).nativeId, 7U);
  EXPECT_EQ(kernel.queue, copy.queue);
}

TEST_F(NsysImportTest, CallsAreDistinguishedAndPlacedOnNamedThreads) {
  const auto store = open();
  ASSERT_EQ(store->rows<ApiCall>(), 3U);
  EXPECT_EQ(store->row<ApiCall>(0).kind, ApiKind::Other);
  EXPECT_EQ(store->row<ApiCall>(1).kind, ApiKind::Runtime);
  EXPECT_EQ(store->row<ApiCall>(2).kind, ApiKind::Driver);
  EXPECT_EQ(store->row<ApiCall>(2).returnCode, 700);
  const auto thread = store->row<Thread>(store->row<ApiCall>(1).thread.value - 1);
  EXPECT_EQ(thread.osTid, 11U);
  EXPECT_EQ(store->text(thread.name), "main thread");
  EXPECT_EQ(thread.startNs, 100);
  EXPECT_EQ(store->text(store->row<Process>(thread.process.value - 1).name), "python");
  EXPECT_EQ(store->rows<Process>(), 1U) << "a process that did nothing is left out";
}

TEST_F(NsysImportTest, NvtxKeepsNamesDomainsPayloadsAndNesting) {
  const auto store = open();
  ASSERT_EQ(store->rows<Range>(), 4U);
  const auto step = store->row<Range>(0);
  EXPECT_EQ(store->text(step.name), "step 1");
  EXPECT_EQ(step.payloadType, PayloadType::I64);
  EXPECT_EQ(step.payload, 17U);
  EXPECT_EQ(step.colour, 255U);
  const auto inner = store->row<Range>(1);
  EXPECT_EQ(inner.depth, 1);
  EXPECT_EQ(std::bit_cast<double>(inner.payload), 0.5);
  const auto fetch = store->row<Range>(2);
  EXPECT_EQ(store->text(fetch.domain), "loader");
  EXPECT_EQ(store->text(fetch.category), "io");
  EXPECT_EQ(fetch.kind, RangeKind::StartEnd);
  EXPECT_EQ(store->row<Thread>(fetch.endThread.value - 1).osTid, 12U);
  const auto open = store->row<Range>(3);
  EXPECT_EQ(open.flags, kUnfinished);
  EXPECT_EQ(open.startNs + open.durNs, 2100) << "runs to the last moment known";
  EXPECT_EQ(store->text(store->row<Mark>(0).name), "here");
}

TEST_F(NsysImportTest, SamplesShareTheirCallersAndMemoryIsPaired) {
  const auto store = open();
  ASSERT_EQ(store->rows<CpuSample>(), 2U);
  ASSERT_EQ(store->rows<StackFrame>(), 2U);
  const auto leaf = store->row<StackFrame>(store->row<CpuSample>(0).stack.value - 1);
  EXPECT_EQ(store->text(leaf.function), "leaf");
  EXPECT_EQ(leaf.parent, store->row<CpuSample>(1).stack);
  EXPECT_EQ(store->row<Allocation>(0).action, MemoryAction::Allocate);
  EXPECT_EQ(store->row<Allocation>(1).action, MemoryAction::Free);
  EXPECT_EQ(store->row<Clock>(0).realtimeNs, 1711964646000000000);
}

TEST_F(NsysImportTest, TablesThatAreNotReadAreNamed) {
  EXPECT_THAT(open()->warnings(), ElementsAre(HasSubstr("UVM_NEWS")));
}

TEST_F(NsysImportTest, OldSchemasWithTextsAndFewerColumnsAreRead) {
  const test::TempFile old(".sqlite");
  {
    Database db(old.path());
    db.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
        "streamId INTEGER, correlationId INTEGER, shortName TEXT)");
    db.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 5, 0, 7, 1, 'sgemm')");
    db.run("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, globalTid INTEGER)");
    db.run("INSERT INTO NVTX_EVENTS VALUES (1, 9, 'step', 167772171)");
  }
  const auto store = Store::open(old.path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->text((*store)->row<Kernel>(0).name), "sgemm");
  EXPECT_TRUE((*store)->row<Kernel>(0).queue);
  EXPECT_EQ((*store)->rows<Range>(), 1U);
  EXPECT_THAT((*store)->warnings(), ElementsAre(HasSubstr("1 events end before they start")));
}

TEST_F(NsysImportTest, MissingPartsAreReported) {
  const test::TempFile other(".sqlite");
  { Database(other.path()).run("CREATE TABLE songs (title TEXT)"); }
  EXPECT_THAT(errorOf(other.path()), HasSubstr("not an export of Nsight Systems"));
  const test::TempFile bare(".sqlite");
  { Database(bare.path()).run("CREATE TABLE StringIds (id INTEGER, value TEXT)"); }
  EXPECT_THAT(errorOf(bare.path()), HasSubstr("without events"));
  const test::TempFile empty(".sqlite");
  { Database(empty.path()).run("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER)"); }
  EXPECT_THAT(errorOf(empty.path()), HasSubstr("no events"));
  const test::TempFile view(".sqlite");
  {
    Database(view.path())
        .run(
            "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM "
            "c) SELECT x AS start FROM c");
  }
  EXPECT_THAT(errorOf(view.path()), HasSubstr("not an export"));
  EXPECT_THAT(errorOf(view.path()), HasSubstr("NVTX_EVENTS is a view"));
}

TEST_F(NsysImportTest, RowsWithoutAStartAndViewsAreLeftOutWithAWarning) {
  const test::TempFile other(".sqlite");
  {
    Database db(other.path());
    db.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
        "streamId INTEGER)");
    db.run(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, NULL, 0, 7), (1000, 1010, 0, 7), "
        "(NULL, 1020, 0, 7)");
    db.run("CREATE TABLE ranges (start INTEGER, end INTEGER)");
    db.run("CREATE VIEW NVTX_EVENTS AS SELECT * FROM ranges");
    db.run("CREATE VIEW slowest AS SELECT * FROM ranges");
  }
  const auto store = Store::open(other.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_EQ((*store)->rows<Kernel>(), 1U);
  EXPECT_EQ((*store)->row<Kernel>(0).startNs, 1000);
  EXPECT_THAT(
      (*store)->warnings(),
      ElementsAre("table CUPTI_ACTIVITY_KIND_KERNEL: rows without a start, which were left out: 2",
                  "views and virtual tables, which lacuna does not read: NVTX_EVENTS"));
}

/// A schema may add work to reading a table: none of it runs.
TEST_F(NsysImportTest, ASchemaOfAStrangerCalculatesNothing) {
  const test::TempFile other(".sqlite");
  {
    Database db(other.path());
    db.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER AS "
        "(length(replace(printf('%9000000d', start), ' ', '12345'))) VIRTUAL, eventType INTEGER, "
        "text TEXT, globalTid INTEGER)");
    db.run(
        "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) VALUES (10, 34, 'a', "
        "167772171)");
    db.run("CREATE VIRTUAL TABLE StringIds USING fts4(id, value)");
    db.run("CREATE/**/VIRTUAL TABLE ThreadNames USING fts4(nameId, globalTid)");
  }
  const auto store = Store::open(other.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ((*store)->rows<Mark>(), 1U);
  SqliteFileProbe probe(other.path());
  EXPECT_EQ(probe.columns("NVTX_EVENTS"),
            (std::set<std::string>{"eventType", "globalTid", "start", "text"}));
  for (const char* sql : {"SELECT abs(1)", "SELECT * FROM fts3tokenize", "ATTACH ':memory:' AS x",
                          "PRAGMA user_version"})
    EXPECT_FALSE(probe.runs(sql)) << sql;
}

/// A database of some forty pages of 4 KiB, all but the first of one table.
void makeRanges(const std::filesystem::path& path) {
  Database db(path);
  db.run("PRAGMA page_size = 4096");
  db.run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
      "globalTid INTEGER)");
  db.run(
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000) INSERT INTO "
      "NVTX_EVENTS SELECT x * 10, x * 10 + 5, 59, 'range ' || x, 167772171 FROM c");
}

TEST_F(NsysImportTest, ACutOffDatabaseGivesItsCompleteRowsAndTheByteWhereItEnds) {
  const test::TempFile big(".sqlite");
  makeRanges(big.path());
  const auto full = std::filesystem::file_size(big.path());
  std::uint64_t before = 5000;
  for (const int tenths : {9, 5, 2}) {
    const auto bytes = full / 10 * static_cast<unsigned>(tenths);
    std::filesystem::resize_file(big.path(), bytes);
    const auto store = Store::open(big.path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_THAT((*store)->warnings(),
                testing::Contains(HasSubstr(fmt::format("after {} of {} bytes", bytes, full))));
    EXPECT_THAT((*store)->warnings(), testing::Contains(HasSubstr("table NVTX_EVENTS")));
    EXPECT_LT((*store)->rows<Range>(), before);
    before = (*store)->rows<Range>();
    EXPECT_GT(before, 500U);
  }
  std::filesystem::resize_file(big.path(), 5000);  // the tables' list and no row
  EXPECT_THAT(Store::open(big.path()).error().message, HasSubstr("ends early, after 5000 of "));
}

TEST_F(NsysImportTest, ADatabaseWithoutTheListOfItsTablesGetsAReason) {
  const test::TempFile other(".sqlite");
  {
    Database db(other.path());
    db.run("PRAGMA page_size = 512");
    for (int i = 0; i < 100; ++i)
      db.run(fmt::format("CREATE TABLE t{} (some_column INTEGER, another INTEGER)", i));
  }
  const auto full = std::filesystem::file_size(other.path());
  std::filesystem::resize_file(other.path(), 1024);
  EXPECT_THAT(Store::open(other.path()).error().message,
              HasSubstr(fmt::format("the database ends early, after 1024 of {} bytes", full)));
}

TEST_F(NsysImportTest, ATableWithNonsenseInTheListIsLeftOut) {
  const test::TempFile other(".sqlite");
  {
    Database db(other.path());
    db.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
        "globalTid INTEGER)");
    db.run("INSERT INTO NVTX_EVENTS VALUES (10, 15, 59, 'a', 167772171)");
    db.run("CREATE TABLE ThreadNames (nameId INTEGER)");
  }
  std::ostringstream content;
  content << std::ifstream(other.path(), std::ios::binary).rdbuf();
  std::string bytes = content.str();
  bytes.replace(bytes.find("CREATE TABLE ThreadNames"), 12, "CREATE TXBLE");
  std::ofstream(other.path(), std::ios::binary) << bytes;
  const auto store = Store::open(other.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ((*store)->rows<Range>(), 1U);
  EXPECT_THAT((*store)->warnings(),
              testing::Contains(HasSubstr("the database is damaged (malformed database schema")));
}

TEST_F(NsysImportTest, ADamagedPageIsNamedWithItsRowAndByte) {
  const test::TempFile big(".sqlite");
  makeRanges(big.path());
  constexpr int kPage = 20;
  {
    std::fstream file(big.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp((kPage - 1) * 4096);
    file << std::string(4096, '\xff');
  }
  const auto store = Store::open(big.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto rows = (*store)->rows<Range>();
  EXPECT_GT(rows, 1000U);
  EXPECT_THAT(
      (*store)->warnings(),
      testing::Contains(testing::AllOf(
          HasSubstr("table NVTX_EVENTS"), HasSubstr("after " + std::to_string(rows) + " rows"),
          HasSubstr("page 20, from byte " + std::to_string(19 * 4096) + ")"))));
}

std::set<std::string> filesIn(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

/// Changes that a program has not yet brought from the log into the database are rows as all
/// others.
TEST_F(NsysImportTest, ADatabaseWithALogIsReadWithItAndNothingAppearsBesideIt) {
  const test::TempDir live, copy, temporary;
  {
    Database db(live / "t.sqlite");
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA wal_autocheckpoint = 0");
    db.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
        "globalTid INTEGER)");
    db.run("INSERT INTO NVTX_EVENTS VALUES (10, 15, 59, 'a', 167772171)");
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.run(
        "INSERT INTO NVTX_EVENTS VALUES (20, 25, 59, 'b', 167772171), (30, 35, 59, 'c', "
        "167772171)");
    for (const char* name : {"t.sqlite", "t.sqlite-wal"})
      std::filesystem::copy_file(live / name, copy / name);
  }
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  const auto pending = Store::open(copy / "t.sqlite");
  ASSERT_TRUE(pending.ok()) << pending.error().message;
  EXPECT_EQ((*pending)->rows<Range>(), 3U);
  EXPECT_EQ(filesIn(copy.path()), (std::set<std::string>{"t.sqlite", "t.sqlite-wal"}));
  std::filesystem::remove(copy / "t.sqlite-wal");
  const auto without = Store::open(copy / "t.sqlite");
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ((*without)->rows<Range>(), 1U);
  EXPECT_EQ(filesIn(copy.path()), std::set<std::string>{"t.sqlite"});
  EXPECT_EQ(filesIn(temporary.path()), std::set<std::string>{});
  ::unsetenv("TMPDIR");
}

TEST_F(NsysImportTest, CompressedDatabasesAreUnpacked) {
  // So marked, SQLite wants to keep a log beside the database, which one without a name cannot
  // have.
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.path().c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_close(db), SQLITE_OK);
  std::ostringstream plain;
  plain << std::ifstream(file_.path(), std::ios::binary).rdbuf();
  const test::TempFile packed(".sqlite.gz");
  gzFile out = gzopen(packed.path().c_str(), "wb");
  gzwrite(out, plain.str().data(), static_cast<unsigned>(plain.str().size()));
  gzclose(out);
  const auto store = Store::open(packed.path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->rows<Range>(), 4U);
}

TEST(NsysExport, EveryRowOfEveryTableComesBack) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto store = test::randomStore(seed);
    const test::TempFile file(".sqlite");
    const auto status = exportTrace(*store, file.path(), Format::Nsys);
    ASSERT_TRUE(status.ok()) << status.error().message;
    const auto again = Store::open(file.path());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE((*again)->warnings().empty()) << (*again)->warnings().front();
    forEachTable([&]<class Row>() {
      EXPECT_EQ(test::difference<Row>(**again, *store), "") << "seed " << seed;
    });
  }
}

TEST(NsysExport, AFileWithoutOurColumnsKeepsTheColumnsOfTheSchema) {
  const auto store = test::randomStore(9);
  const test::TempFile file(".sqlite");
  ASSERT_TRUE(exportTrace(*store, file.path(), Format::Nsys).ok());
  {
    Database db(file.path());
    for (const auto& name : db.column("SELECT name FROM sqlite_master WHERE name LIKE 'LACUNA%'")) {
      db.run("DROP TABLE " + name);
    }
    const auto own = db.column(
        "SELECT m.name || ' DROP COLUMN ' || c.name FROM sqlite_master m, "
        "pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name LIKE 'lacuna%'");
    EXPECT_GT(own.size(), 50U);
    for (const auto& column : own) db.run("ALTER TABLE " + column);
  }
  const auto again = Store::open(file.path());
  ASSERT_TRUE(again.ok());
  const auto same = [&]<class Row>(std::string_view without) {
    EXPECT_EQ(test::difference<Row>(**again, *store, without), "");
  };
  same.template operator()<Range>(" thread endThread correlation queue args category text flags ");
  same.template operator()<Mark>(" thread args text category ");
  same.template operator()<Kernel>(" queue device flags args ");
  same.template operator()<Memcpy>(" queue device peer flags args name ");
  same.template operator()<Memset>(" queue device flags args name ");
  same.template operator()<Sync>(" thread queue device name args ");
  same.template operator()<ApiCall>(" thread kind args ");
  same.template operator()<Overhead>(" thread args ");
  EXPECT_EQ((*again)->rows<Allocation>(), store->rows<Allocation>());
}

TEST(NsysImport, ProcessesCountTheirDomainsAndCategoriesByThemselves) {
  const test::TempFile file(".sqlite");
  {
    Database db(file.path());
    db.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, category "
        "INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER)");
    const auto add = [&](int start, std::string_view end, int type, int category,
                         std::string_view text, std::int64_t process, int domain) {
      db.run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, {}, {}, '{}', {}, {})", start,
                         end, type, category, text,
                         process == 0 ? "NULL" : std::to_string(process << 24 | process), domain));
    };
    add(1, "NULL", 75, 0, "NCCL", 100, 1);
    add(1, "NULL", 75, 0, "cuDNN", 200, 1);
    add(1, "NULL", 75, 0, "everybody", 0, 2);
    add(2, "NULL", 33, 1, "forward", 100, 0);
    add(2, "NULL", 33, 1, "loader", 200, 0);
    add(10, "20", 59, 0, "a", 100, 1);
    add(11, "20", 59, 0, "b", 200, 1);
    add(12, "20", 59, 1, "c", 100, 0);
    add(13, "20", 59, 1, "d", 200, 0);
    add(14, "20", 59, 0, "e", 200, 2);
  }
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store) << store.error().message;
  std::vector<std::string> placed;
  for (std::uint64_t i = 0; i < (*store)->rows<Range>(); ++i) {
    const auto row = (*store)->row<Range>(i);
    placed.push_back(fmt::format("{}:{}:{}", (*store)->text(row.name), (*store)->text(row.domain),
                                 (*store)->text(row.category)));
  }
  EXPECT_THAT(placed,
              ElementsAre("a:NCCL:", "b:cuDNN:", "c::forward", "d::loader", "e:everybody:"));
}

TEST(NsysImport, NodesOfGraphsAreTiedToTheMomentsAtWhichTheyWereMade) {
  const test::TempFile file(".sqlite");
  {
    Database db(file.path());
    db.run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
    db.run(
        "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'cudaGraphLaunch'), (3, "
        "'gemm')");
    db.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, "
        "returnValue)");
    db.run(
        fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 120, {0}, 1, 1, 0), "
                    "(900, 950, {0}, 2, 2, 0)",
                    kThread));
    // A row for the node itself, and one for what it is a copy of.
    db.run(
        "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start, end, globalTid, nameId, graphNodeId, "
        "originalGraphNodeId)");
    db.run(
        fmt::format("INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (110, 110, {0}, 1, 7, NULL), (300, "
                    "300, {0}, 1, 17, NULL), (301, 301, {0}, 1, 17, 7)",
                    kThread));
    db.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
        "correlationId, globalPid, shortName, graphNodeId)");
    db.run(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 2, {}, 3, 17)",
        kProcess));
  }
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_TRUE((*store)->warnings().empty()) << (*store)->warnings().front();
  ASSERT_EQ((*store)->rows<GraphNode>(), 3U);
  EXPECT_EQ((*store)->row<GraphNode>(2).id, 17U);
  EXPECT_EQ((*store)->row<GraphNode>(2).original, 7U);
  EXPECT_EQ((*store)->row<GraphNode>(0).thread, (*store)->row<ApiCall>(0).thread);
  const auto timeline = loadTimeline(**store);
  ASSERT_TRUE(timeline.ok());
  ASSERT_EQ(timeline->device.size(), 1U);
  EXPECT_EQ(timeline->device[0].madeNs, 110);
  EXPECT_EQ(timeline->device[0].madeBy, (*store)->row<ApiCall>(0).thread);
}

TEST(NsysImport, AnExportOfOursIsRepairedWhereItsTimesCannotBe) {
  const test::TempFile file(".sqlite");
  Database db(file.path());
  db.run("CREATE TABLE NVTX_EVENTS (start, end, eventType, text)");
  db.run(
      "INSERT INTO NVTX_EVENTS VALUES (100, NULL, 59, 'open'), (200, 300, 59, 'whole'), (9e18, "
      "NULL, 59, 'far')");
  db.run("CREATE TABLE LACUNA_process (id, osPid)");
  const auto store = Store::open(file.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_EQ((*store)->rows<Range>(), 3U);
  const auto last = (*store)->row<Range>(2);
  EXPECT_EQ(last.startNs, TimeNs{1} << 61) << "what no clock shows is brought back to 73 years";
  EXPECT_EQ((*store)->row<Range>(0).startNs + (*store)->row<Range>(0).durNs, last.startNs)
      << "ends with the last";
  EXPECT_EQ((*store)->row<Range>(1).durNs, 100);
  EXPECT_THAT((*store)->warnings(), Contains(HasSubstr("brought back")));
}

}  // namespace
}  // namespace lacuna::analyzer
