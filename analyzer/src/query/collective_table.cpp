// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/collective_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "lacuna/analyzer/collectives.h"
#include "query/guarded.h"

namespace lacuna::analyzer {
namespace {

constexpr ComputedColumn kColumns[] = {
    {"kernel", "kernel rowid", "the kernel, as `kernel.rowid` counts"},
    {"startNs", "ns", "begin on the device"},
    {"durNs", "ns", "length"},
    {"queue", "queue.id", "the queue that ran it"},
    {"device", "device.id", "the device that ran it"},
    {"name", "text", "kernel name"},
    {"kind", "text",
     "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, send, receive, "
     "send and receive, several; empty where nothing tells"},
    {"communicator", "text", "what people call it, or NCCL's number for it; empty where nothing tells"},
    {"processGroup", "text", "PyTorch's process group, if known"},
    {"ranks", "u32", "ranks in the communicator, 0 when unknown"},
    {"calls", "u32", "calls of the program that the kernel carries out, 0 when unknown"},
    {"bytes", "u64", "that this rank puts in, 0 when unknown"},
    {"algorithmBytes", "u64", "the whole buffer, 0 when unknown"},
    {"busBytes", "f64", "that must cross this rank's link, 0 when unknown"},
};
enum Column : int {
  kKernel,
  kStart,
  kDuration,
  kQueue,
  kDevice,
  kName,
  kKind,
  kCommunicator,
  kGroup,
  kRanks,
  kCalls,
  kBytes,
  kAlgorithmBytes,
  kBusBytes
};
static_assert(std::size(kColumns) == kBusBytes + 1);

/// One for as long as the connection lives.
struct ListSource {
  const Store* store = nullptr;
  std::optional<CollectiveList> list;  ///< made when first read
};

struct ListTable : sqlite3_vtab {
  ListSource* source = nullptr;
};

struct ListCursor : sqlite3_vtab_cursor {
  std::size_t row = 0;
  std::size_t end = 0;
};

ListSource& sourceOf(sqlite3_vtab_cursor* cursor) {
  return *static_cast<ListTable*>(cursor->pVtab)->source;
}

std::string_view storageOf(const ComputedColumn& column) {
  return column.type == "text" ? "TEXT" : column.type == "f64" ? "REAL" : "INTEGER";
}

int connectList(sqlite3* db, void* client, int, const char* const*, sqlite3_vtab** out, char**) {
  auto* table = new ListTable();
  table->source = static_cast<ListSource*>(client);
  std::string sql = "CREATE TABLE x(";
  for (const ComputedColumn& column : kColumns) {
    if (&column != kColumns) sql += ", ";
    sql.append(1, '"').append(column.name).append("\" ").append(storageOf(column));
  }
  sql += ")";
  *out = table;
  return sqlite3_declare_vtab(db, sql.c_str());
}

int disconnectList(sqlite3_vtab* table) {
  delete static_cast<ListTable*>(table);
  return SQLITE_OK;
}

/// Rows are by kernel, so one kernel's is found at once; by time too.
int bestListIndex(sqlite3_vtab*, sqlite3_index_info* info) {
  info->estimatedCost = info->estimatedRows = 100'000;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable == 0 || constraint.iColumn != kKernel || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ)
      continue;
    info->aConstraintUsage[i].argvIndex = 1;
    info->idxNum = 1;
    info->estimatedCost = info->estimatedRows = 1;
    break;
  }
  if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == kStart && info->aOrderBy[0].desc == 0) {
    info->orderByConsumed = 1;
  }
  return SQLITE_OK;
}

int openList(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = new ListCursor();
  return SQLITE_OK;
}

int closeList(sqlite3_vtab_cursor* cursor) {
  delete static_cast<ListCursor*>(cursor);
  return SQLITE_OK;
}

int filterList(sqlite3_vtab_cursor* base, int index, const char*, int, sqlite3_value** values) {
  auto& cursor = *static_cast<ListCursor*>(base);
  ListSource& source = sourceOf(base);
  if (!source.list) {
    auto made = listCollectives(*source.store, {});
    if (!made) {
      sqlite3_free(base->pVtab->zErrMsg);
      base->pVtab->zErrMsg = sqlite3_mprintf("%s", made.error().message.c_str());
      return SQLITE_ERROR;
    }
    source.list = *std::move(made);
  }
  const auto& calls = source.list->calls;
  cursor.row = 0;
  cursor.end = calls.size();
  if (index == 0) return SQLITE_OK;
  cursor.end = 0;
  if (sqlite3_value_numeric_type(values[0]) != SQLITE_INTEGER) return SQLITE_OK;
  // Two searches, as clang 14 does not compile equal_range of this library.
  const auto kernel = static_cast<std::uint64_t>(sqlite3_value_int64(values[0]));
  const auto rowOf = [&](auto found) { return static_cast<std::size_t>(found - calls.begin()); };
  cursor.row = rowOf(std::ranges::lower_bound(calls, kernel, {}, &Collective::kernel));
  cursor.end = rowOf(std::ranges::upper_bound(calls, kernel, {}, &Collective::kernel));
  return SQLITE_OK;
}

int nextInList(sqlite3_vtab_cursor* base) {
  ++static_cast<ListCursor*>(base)->row;
  return SQLITE_OK;
}

int endOfList(sqlite3_vtab_cursor* base) {
  const auto& cursor = *static_cast<ListCursor*>(base);
  return static_cast<int>(cursor.row >= cursor.end);
}

void answer(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text(context, text.data() == nullptr ? "" : text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

int columnOfList(sqlite3_vtab_cursor* base, sqlite3_context* context, int number) {
  const ListSource& source = sourceOf(base);
  const Collective& one = source.list->calls[static_cast<ListCursor*>(base)->row];
  const Communicator& among = source.list->communicatorOf(one);
  switch (number) {
    case kKernel:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.kernel)), SQLITE_OK;
    case kStart:
      return sqlite3_result_int64(context, one.startNs), SQLITE_OK;
    case kDuration:
      return sqlite3_result_int64(context, one.endNs - one.startNs), SQLITE_OK;
    case kQueue:
      return sqlite3_result_int64(context, one.queue.value), SQLITE_OK;
    case kDevice:
      return sqlite3_result_int64(context, one.device.value), SQLITE_OK;
    case kName:
      return answer(context, source.store->text(one.name)), SQLITE_OK;
    case kKind:
      return answer(context, nameOf(one.kind)), SQLITE_OK;
    case kCommunicator:
      return answer(context, among.name), SQLITE_OK;
    case kGroup:
      return answer(context, among.group), SQLITE_OK;
    case kRanks:
      return sqlite3_result_int64(context, among.ranks), SQLITE_OK;
    case kCalls:
      return sqlite3_result_int64(context, one.calls), SQLITE_OK;
    case kBytes:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.volume.bytes)), SQLITE_OK;
    case kAlgorithmBytes:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.volume.algorithmBytes)), SQLITE_OK;
    default:
      return sqlite3_result_double(context, one.volume.busBytes), SQLITE_OK;
  }
}

int rowidOfList(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = static_cast<sqlite3_int64>(static_cast<ListCursor*>(cursor)->row);
  return SQLITE_OK;
}

sqlite3_module makeListModule() {
  sqlite3_module module{};
  module.xConnect = guarded<connectList>;
  module.xDisconnect = guarded<disconnectList>;
  module.xBestIndex = guarded<bestListIndex>;
  module.xOpen = guarded<openList>;
  module.xClose = guarded<closeList>;
  module.xFilter = guarded<filterList>;
  module.xNext = guarded<nextInList>;
  module.xEof = guarded<endOfList>;
  module.xColumn = guarded<columnOfList>;
  module.xRowid = guarded<rowidOfList>;
  return module;
}

}  // namespace

std::span<const ComputedColumn> collectiveColumns() {
  return kColumns;
}

void registerCollectives(sqlite3* db, const Store& store) {
  static const sqlite3_module kModule = makeListModule();
  sqlite3_create_module_v2(db, std::string(kCollectiveTable).c_str(), &kModule, new ListSource{&store, std::nullopt},
                           [](void* source) { delete static_cast<ListSource*>(source); });
}

}  // namespace lacuna::analyzer
