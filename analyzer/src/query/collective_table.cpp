// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/collective_table.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "lacuna/analyzer/links.h"
#include "query/table_module.h"

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
     "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, "
     "send, receive, send and receive, several; empty where unknown"},
    {"communicator", "text", "what people call it, or NCCL's number for it; empty where unknown"},
    {"processGroup", "text", "PyTorch's process group, if known"},
    {"ranks", "u32", "ranks in the communicator, 0 when unknown"},
    {"calls", "u32", "calls of the program that the kernel carries out, 0 when unknown"},
    {"bytes", "u64", "that this rank puts in, 0 when unknown"},
    {"algorithmBytes", "u64", "the whole buffer, 0 when unknown"},
    {"busBytes", "f64", "that must cross this rank's link, 0 when unknown"},
};
enum CollectiveColumn : int {
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

struct ListSource {
  const Store* store = nullptr;
  std::optional<CollectiveList> list;  ///< made when first read
};

struct ListCursor;

struct ListTable : sqlite3_vtab {
  using Source = ListSource;
  using Cursor = ListCursor;

  explicit ListTable(ListSource& list) : sqlite3_vtab{}, source(&list) {}
  [[nodiscard]] std::string sql() const;
  int plan(sqlite3_index_info& info) const;

  ListSource* source;
};

struct ListCursor : sqlite3_vtab_cursor {
  explicit ListCursor(const ListTable&) : sqlite3_vtab_cursor{} {}
  int filter(int plan, const char* text, std::span<sqlite3_value*> values);
  void next() { ++row; }
  [[nodiscard]] bool atEnd() const { return row >= end; }
  void answer(sqlite3_context* context, int number);

  std::uint64_t row = 0;
  std::uint64_t end = 0;

 private:
  [[nodiscard]] ListSource& source() const { return *static_cast<ListTable*>(pVtab)->source; }
};

std::string_view storageOf(const ComputedColumn& column) {
  return column.type == "text" ? "TEXT" : column.type == "f64" ? "REAL" : "INTEGER";
}

std::string ListTable::sql() const {
  TableSql sql;
  for (const ComputedColumn& column : kColumns) sql.add(column.name, storageOf(column));
  return sql.take();
}

/// Rows are by kernel, so one kernel's is found at once; by time too.
int ListTable::plan(sqlite3_index_info& info) const {
  info.estimatedCost = info.estimatedRows = 100'000;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& constraint = info.aConstraint[i];
    if (constraint.usable == 0 || constraint.iColumn != kKernel ||
        constraint.op != SQLITE_INDEX_CONSTRAINT_EQ)
      continue;
    info.aConstraintUsage[i].argvIndex = 1;
    info.idxNum = 1;
    info.estimatedCost = info.estimatedRows = 1;
    break;
  }
  if (info.nOrderBy == 1 && info.aOrderBy[0].iColumn == kStart && info.aOrderBy[0].desc == 0)
    info.orderByConsumed = 1;
  return SQLITE_OK;
}

int ListCursor::filter(int plan, const char*, std::span<sqlite3_value*> values) {
  ListSource& source = this->source();
  if (!source.list) {
    auto made = listCollectives(*source.store, {});
    if (!made) {
      sqlite3_free(pVtab->zErrMsg);
      pVtab->zErrMsg = sqlite3_mprintf("%s", made.error().message.c_str());
      return SQLITE_ERROR;
    }
    source.list = *std::move(made);
  }
  const auto& calls = source.list->calls;
  row = 0;
  end = calls.size();
  if (plan == 0) return SQLITE_OK;
  end = 0;
  if (sqlite3_value_numeric_type(values[0]) != SQLITE_INTEGER) return SQLITE_OK;
  // Two searches, as clang 14 does not compile equal_range of this library.
  const auto kernel = static_cast<std::uint64_t>(sqlite3_value_int64(values[0]));
  const auto rowOf = [&](auto found) { return static_cast<std::uint64_t>(found - calls.begin()); };
  row = rowOf(std::ranges::lower_bound(calls, kernel, {}, &Collective::kernel));
  end = rowOf(std::ranges::upper_bound(calls, kernel, {}, &Collective::kernel));
  return SQLITE_OK;
}

void ListCursor::answer(sqlite3_context* context, int number) {
  const ListSource& source = this->source();
  const Collective& one = source.list->calls[row];
  const Communicator& among = source.list->communicatorOf(one);
  switch (number) {
    case kKernel:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.kernel));
    case kStart:
      return sqlite3_result_int64(context, one.startNs);
    case kDuration:
      return sqlite3_result_int64(context, one.endNs - one.startNs);
    case kQueue:
      return sqlite3_result_int64(context, one.queue.value);
    case kDevice:
      return sqlite3_result_int64(context, one.device.value);
    case kName:
      return answerText(context, source.store->text(one.name));
    case kKind:
      return answerText(context, nameOf(one.kind));
    case kCommunicator:
      return answerText(context, among.name);
    case kGroup:
      return answerText(context, among.group);
    case kRanks:
      return sqlite3_result_int64(context, among.ranks);
    case kCalls:
      return sqlite3_result_int64(context, one.calls);
    case kBytes:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.volume.bytes));
    case kAlgorithmBytes:
      return sqlite3_result_int64(context, static_cast<sqlite3_int64>(one.volume.algorithmBytes));
    default:
      return sqlite3_result_double(context, one.volume.busBytes);
  }
}

}  // namespace

std::span<const ComputedColumn> collectiveColumns() {
  return kColumns;
}

void registerCollectives(sqlite3* db, const Store& store) {
  TableModule<ListTable>::add(db, kCollectiveTable,
                              std::make_unique<ListSource>(ListSource{&store, std::nullopt}));
}

}  // namespace lacuna::analyzer
