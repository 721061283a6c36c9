// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/virtual_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query/table_module.h"
#include "store/backend.h"

namespace lacuna::analyzer {
namespace {

struct EventSource {
  const Store* store = nullptr;
  std::size_t table = 0;
  std::uint64_t mostKeptRows = 0;
};

/// Rows by the value that a column has in them, for joins: lookups instead of a pass over the table
/// for each row of the other side.
struct Index {
  struct Entry {
    std::int64_t value;
    std::uint64_t row;
    auto operator<=>(const Entry&) const = default;
  };
  std::uint64_t asked = 0;  ///< how often it was; the rest is made when it is worth it
  bool isMade = false;
  bool isSorted = false;       ///< the column is: rows of a value follow one another
  std::vector<Entry> entries;  ///< else: by value, rows of the same in their order
};

struct Cursor;

struct EventTable : sqlite3_vtab {
  using Source = EventSource;
  using Cursor = ::lacuna::analyzer::Cursor;

  explicit EventTable(const EventSource& source)
      : sqlite3_vtab{},
        store(source.store),
        number(source.table),
        spec(&prof::allTables()[source.table]),
        time(columnWithHint(*spec, prof::Hint::Time)),
        mostKeptRows(source.mostKeptRows),
        indexes(spec->columnCount) {}
  [[nodiscard]] std::string sql() const;
  int plan(sqlite3_index_info& info) const;

  const Store* store;
  std::size_t number;
  const prof::TableSpec* spec;
  std::optional<std::size_t> time;
  std::uint64_t mostKeptRows;
  std::vector<Index> indexes;  ///< by column
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(const EventTable& table)
      : sqlite3_vtab_cursor{}, columns(table.spec->columnCount) {}
  int filter(int plan, const char* used, std::span<sqlite3_value*> values);
  void next();
  [[nodiscard]] bool atEnd() const { return row >= end; }
  void answer(sqlite3_context* context, int number);

  std::uint64_t row = 0;
  std::uint64_t end = 0;
  std::vector<ColumnView> columns;  ///< fetched when first asked for

  const Index::Entry* match =
      nullptr;  ///< the entry that `row` is of; null where rows follow one another
  const Index::Entry* matchEnd = nullptr;

  std::unique_ptr<RowStream>
      stream;  ///< null where columns are read in place; else `row` is in `block`
  RowBlock block;
  std::vector<int>
      place;  ///< of each column in the stream's blocks, -1 for those that nobody mentioned
  int filters = 0;
};

/// A join that comes back to a table so often is served from kept columns.
constexpr int kMostStreams = 4;
/// So many lookups are passes over the table: a subquery's answer is looked up once, and an index
/// would not pay.
constexpr std::uint64_t kMostPasses = 2;

/// The result of best-index, as a bit set in idxNum: which bounds filter() gets, in this order.
/// With kKeyEqual there is no other, and the column's number stands above kKeyShift.
enum Bound : int {
  kTimeAtLeast = 1,
  kTimeAbove = 2,
  kTimeAtMost = 4,
  kTimeBelow = 8,
  kTimeEqual = 16,
  kRowEqual = 32,
  kKeyEqual = 64
};
constexpr int kBounds[] = {kTimeAtLeast, kTimeAbove, kTimeAtMost,
                           kTimeBelow,   kTimeEqual, kRowEqual};
constexpr int kKeyShift = 8;

std::string EventTable::sql() const {
  TableSql sql;
  for (std::size_t i = 0; i < spec->columnCount; ++i) {
    const prof::ColumnSpec& column = spec->columns[i];
    const bool isText = column.refers == prof::Refers::String;
    sql.add(column.name, isText                                 ? "TEXT"
                         : column.type == prof::ColumnType::F64 ? "REAL"
                                                                : "INTEGER");
  }
  return sql.take();
}

int boundOf(const EventTable& table,
            const sqlite3_index_info::sqlite3_index_constraint& constraint) {
  if (constraint.iColumn == -1) return constraint.op == SQLITE_INDEX_CONSTRAINT_EQ ? kRowEqual : 0;
  if (!table.time || constraint.iColumn != static_cast<int>(*table.time)) return 0;
  switch (constraint.op) {
    case SQLITE_INDEX_CONSTRAINT_GE:
      return kTimeAtLeast;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return kTimeAbove;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return kTimeAtMost;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return kTimeBelow;
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return kTimeEqual;
    default:
      return 0;
  }
}

/// The condition of a join that an index can serve: a column equals a value of another table's row.
/// A condition on a constant is asked once, and a pass over the table costs less than an index of
/// it.
int joinCondition(const EventTable& table, sqlite3_index_info* info) {
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable == 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ ||
        constraint.iColumn < 0)
      continue;
    const prof::ColumnSpec& spec = table.spec->columns[constraint.iColumn];
    if (spec.type == prof::ColumnType::F64 || sqlite3_vtab_in(info, i, -1) != 0) continue;
    sqlite3_value* constant = nullptr;
    if (sqlite3_vtab_rhs_value(info, i, &constant) == SQLITE_OK) continue;
    if (std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) return i;
  }
  return -1;
}

int EventTable::plan(sqlite3_index_info& info) const {
  double rows = static_cast<double>(store->rows(number)) + 1;
  int argument = 0;
  const auto isOneRow = [&](const auto& constraint) {
    const int bound = constraint.usable != 0 ? boundOf(*this, constraint) : 0;
    return bound == kTimeEqual || bound == kRowEqual;
  };
  const std::span constraints(info.aConstraint, static_cast<std::size_t>(info.nConstraint));
  const int join = std::ranges::any_of(constraints, isOneRow) ? -1 : joinCondition(*this, &info);
  if (join >= 0) {
    info.aConstraintUsage[join].argvIndex = ++argument;
    info.idxNum = kKeyEqual | info.aConstraint[join].iColumn << kKeyShift;
    rows = std::min(rows, 10.0);
  }
  for (const int bound : kBounds) {
    if (join >= 0) break;
    for (int i = 0; i < info.nConstraint; ++i) {
      const auto& constraint = info.aConstraint[i];
      if (constraint.usable == 0 || boundOf(*this, constraint) != bound) continue;
      info.aConstraintUsage[i].argvIndex = ++argument;
      info.idxNum |= bound;
      rows = bound == kRowEqual ? 1 : bound == kTimeEqual ? std::min(rows, 10.0) : rows / 4;
      break;
    }
  }
  // Rows come in the order of their time.
  if (time && info.nOrderBy == 1 && info.aOrderBy[0].iColumn == static_cast<int>(*time) &&
      info.aOrderBy[0].desc == 0) {
    info.orderByConsumed = 1;
  }
  info.idxStr = sqlite3_mprintf("%llu", info.colUsed);
  if (info.idxStr == nullptr) return SQLITE_NOMEM;
  info.needToFreeIdxStr = 1;
  info.estimatedRows = static_cast<sqlite3_int64>(rows);
  const auto all = static_cast<double>(store->rows(number)) + 2;
  info.estimatedCost = rows + (info.idxNum != 0 ? std::log2(all) : 0);
  if ((info.idxNum & kRowEqual) != 0) info.idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  return SQLITE_OK;
}

const ColumnView& columnOf(Cursor& cursor, std::size_t column) {
  const auto& table = *static_cast<const EventTable*>(cursor.pVtab);
  ColumnView& view = cursor.columns[column];
  if (view.data == nullptr) view = table.store->column(table.number, column);
  return view;
}

/// The integer nearest to a bound, so that `t > 1.5` is `t >= 2` and a text never matches.
bool integerBound(sqlite3_value* value, bool roundUp, std::int64_t& out) {
  if (sqlite3_value_type(value) == SQLITE_INTEGER) return out = sqlite3_value_int64(value), true;
  if (sqlite3_value_numeric_type(value) != SQLITE_FLOAT) return false;
  const double real = sqlite3_value_double(value);
  const double rounded = roundUp ? std::ceil(real) : std::floor(real);
  out = rounded >= 9.2e18    ? INT64_MAX
        : rounded <= -9.2e18 ? INT64_MIN
                             : static_cast<std::int64_t>(rounded);
  return true;
}

template <class T>
T valueAt(const std::byte* values, std::uint64_t row) {
  T value;
  std::memcpy(&value, values + row * sizeof value, sizeof value);
  return value;
}

/// A whole number of a column, as SQLite sees it.
std::int64_t integerAt(prof::ColumnType type, const std::byte* values, std::uint64_t row) {
  switch (type) {
    case prof::ColumnType::I32:
      return valueAt<std::int32_t>(values, row);
    case prof::ColumnType::U32:
      return valueAt<std::uint32_t>(values, row);
    case prof::ColumnType::U16:
      return valueAt<std::uint16_t>(values, row);
    case prof::ColumnType::U8:
      return valueAt<std::uint8_t>(values, row);
    default:
      return valueAt<std::int64_t>(values, row);
  }
}

void make(Index& index, const ColumnView& view) {
  const auto at = [&](std::uint64_t row) { return integerAt(view.type, view.data, row); };
  std::uint64_t row = 1;
  while (row < view.rows && at(row - 1) <= at(row)) ++row;
  index.isMade = true;
  index.isSorted = row >= view.rows;
  if (index.isSorted) return;
  index.entries.reserve(view.rows);
  for (row = 0; row < view.rows; ++row) index.entries.push_back({at(row), row});
  std::ranges::sort(index.entries);
}

/// The request to a table: everything, one row, or the rows that begin in a window (both ends
/// included).
struct Wanted {
  std::optional<std::int64_t> row;
  std::int64_t fromNs = INT64_MIN;
  std::int64_t toNs = INT64_MAX;
  bool nothing = false;
};

/// SQLite tests every condition again, so too much may be answered, and a bound that is no number
/// may be ignored.
Wanted wantedBy(int index, int count, sqlite3_value** values) {
  Wanted wanted;
  int argument = 0;
  for (const int bound : kBounds) {
    if ((index & bound) == 0 || argument >= count) continue;
    sqlite3_value* value = values[argument++];
    std::int64_t number = 0;
    if (sqlite3_value_type(value) == SQLITE_NULL) wanted.nothing = true;
    if (!integerBound(value, bound == kTimeAtLeast || bound == kTimeAbove, number)) continue;
    if (bound == kRowEqual) {
      wanted.row = number;
      continue;
    }
    if (bound == kTimeAtLeast || bound == kTimeAbove || bound == kTimeEqual) {
      wanted.fromNs = std::max(wanted.fromNs, number);
    }
    if (bound == kTimeAtMost || bound == kTimeBelow || bound == kTimeEqual) {
      wanted.toNs = std::min(wanted.toNs, number);
    }
  }
  return wanted;
}

/// The value that a join asks of a column, texts by their ids. False where it is of another kind,
/// so that SQLite has to compare for itself; nothing for what no row has.
bool keyAsked(const EventTable& table, const prof::ColumnSpec& spec, sqlite3_value* value,
              std::optional<std::int64_t>& key) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return true;
  if (spec.refers != prof::Refers::String) {
    std::int64_t number = 0;
    if (!integerBound(value, false, number)) return false;
    key = number;
    return true;
  }
  if (sqlite3_value_type(value) != SQLITE_TEXT) return false;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  const prof::StringId id = table.store->find({text, size});
  if (id || size == 0) key = id.value;
  return true;
}

/// Number of rows at the start of a sorted column whose values are before a point.
template <class IsBefore>
std::uint64_t rowsBefore(const ColumnView& view, IsBefore&& isBefore) {
  std::uint64_t from = 0;
  for (std::uint64_t left = view.rows; left > 0;) {
    const std::uint64_t half = left / 2;
    const bool before = isBefore(integerAt(view.type, view.data, from + half));
    if (before) from += half + 1;
    left = before ? left - half - 1 : half;
  }
  return from;
}

/// Leaves the cursor with the rows in which the column has the value that a join asks for.
void findKey(Cursor& cursor, EventTable& table, std::size_t column, sqlite3_value* value) {
  std::optional<std::int64_t> key;
  if (!keyAsked(table, table.spec->columns[column], value, key)) return;
  if (!key) {
    cursor.end = 0;
    return;
  }
  const ColumnView& view = columnOf(cursor, column);
  Index& index = table.indexes[column];
  if (!index.isMade) make(index, view);
  if (index.isSorted) {
    cursor.row = rowsBefore(view, [&](std::int64_t at) { return at < *key; });
    cursor.end = rowsBefore(view, [&](std::int64_t at) { return at <= *key; });
    return;
  }
  const auto from = std::ranges::lower_bound(index.entries, *key, {}, &Index::Entry::value);
  const auto to = std::ranges::upper_bound(index.entries, *key, {}, &Index::Entry::value);
  cursor.end = 0;
  if (from == to) return;
  cursor.match = &*from;
  cursor.matchEnd = cursor.match + (to - from);
  cursor.row = cursor.match->row;
  cursor.end = cursor.row + 1;
}

/// Goes on to the next block of the stream; its end is the cursor's.
void pull(Cursor& cursor) {
  const bool more = cursor.stream->next(cursor.block);
  cursor.row = more ? cursor.block.firstRow : 0;
  cursor.end = more ? cursor.block.firstRow + cursor.block.rows : 0;
}

/// True when the rows come as a stream from here on. `used` has a bit for each column that the
/// statement mentions.
bool startStream(Cursor& cursor, const Wanted& wanted, std::uint64_t used) {
  const auto& table = *static_cast<const EventTable*>(cursor.pVtab);
  cursor.stream = nullptr;
  if (used == 0 || wanted.row || table.store->rows(table.number) <= table.mostKeptRows)
    return false;
  if (++cursor.filters > kMostStreams) return false;
  std::vector<std::size_t> columns;
  cursor.place.assign(table.spec->columnCount, -1);
  for (std::size_t i = 0; i < table.spec->columnCount; ++i) {
    if ((used >> std::min<std::size_t>(i, 63) & 1) == 0) continue;
    cursor.place[i] = static_cast<int>(columns.size());
    columns.push_back(i);
  }
  const prof::TimeNs endNs = wanted.toNs == INT64_MAX ? INT64_MAX : wanted.toNs + 1;
  cursor.stream = table.store->backend().stream(table.number, columns, {wanted.fromNs, endNs});
  if (!cursor.stream) return false;
  pull(cursor);
  return true;
}

int Cursor::filter(int plan, const char* used, std::span<sqlite3_value*> values) {
  auto& table = *static_cast<EventTable*>(pVtab);
  match = nullptr;
  if ((plan & kKeyEqual) != 0) {
    stream = nullptr;
    row = 0;
    end = table.store->rows(table.number);
    const auto key = static_cast<std::size_t>(plan >> kKeyShift);
    if (++table.indexes[key].asked > kMostPasses) {
      findKey(*this, table, key, values[0]);
    } else {
      startStream(*this, {}, std::strtoull(used, nullptr, 10));
    }
    return SQLITE_OK;
  }
  const Wanted wanted = wantedBy(plan, static_cast<int>(values.size()), values.data());
  row = 0;
  end = wanted.nothing ? 0 : table.store->rows(table.number);
  if (wanted.nothing || startStream(*this, wanted, std::strtoull(used, nullptr, 10)))
    return SQLITE_OK;
  if (wanted.row) {
    row = *wanted.row < 0 ? end : static_cast<std::uint64_t>(*wanted.row);
    end = std::min(end, row + 1);
  }
  if (wanted.fromNs == INT64_MIN && wanted.toNs == INT64_MAX) return SQLITE_OK;
  const auto* from = reinterpret_cast<const prof::TimeNs*>(columnOf(*this, *table.time).data);
  const auto* to = from + table.store->rows(table.number);
  row = std::max(row, static_cast<std::uint64_t>(std::lower_bound(from, to, wanted.fromNs) - from));
  end = std::min(end, static_cast<std::uint64_t>(std::upper_bound(from, to, wanted.toNs) - from));
  return SQLITE_OK;
}

void Cursor::next() {
  if (match != nullptr && ++match != matchEnd) {
    row = match->row;
    end = row + 1;
    return;
  }
  if (++row == end && stream) pull(*this);
}

void Cursor::answer(sqlite3_context* context, int number) {
  const auto& table = *static_cast<const EventTable*>(pVtab);
  const prof::ColumnSpec& spec = table.spec->columns[number];
  const int from = stream ? place[static_cast<std::size_t>(number)] : -1;
  const bool streamed = from >= 0;
  const std::byte* values = streamed ? block.columns[static_cast<std::size_t>(from)]
                                     : columnOf(*this, static_cast<std::size_t>(number)).data;
  const std::uint64_t at = row - (streamed ? block.firstRow : 0);
  if (spec.refers == prof::Refers::String) {
    const std::string_view text =
        table.store->text(prof::StringId(valueAt<std::uint32_t>(values, at)));
    return answerText(context, text);
  }
  if (spec.type == prof::ColumnType::F64) {
    sqlite3_result_double(context, valueAt<double>(values, at));
  } else {
    sqlite3_result_int64(context, integerAt(spec.type, values, at));
  }
}

}  // namespace

void registerTables(sqlite3* db, const Store& store, std::uint64_t mostKeptRows) {
  for (std::size_t i = 0; i < prof::allTables().size(); ++i) {
    TableModule<EventTable>::add(
        db, prof::allTables()[i].name,
        std::make_unique<EventSource>(EventSource{&store, i, mostKeptRows}));
  }
}

}  // namespace lacuna::analyzer
