// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/report_tables.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "query/table_module.h"

namespace lacuna::analyzer {
namespace {

struct ReportSource {
  std::shared_ptr<const ReportTables> tables;
  const Table* columns = nullptr;  ///< of `tables`
  Progress wanted;
  std::optional<Table> rows{};  ///< made when first read
};

struct ReportCursor;

struct ReportTable : sqlite3_vtab {
  using Source = ReportSource;
  using Cursor = ReportCursor;

  explicit ReportTable(ReportSource& from) : sqlite3_vtab{}, source(&from) {}
  [[nodiscard]] std::string sql() const;
  /// A few thousand rows at most, read from the first to the last.
  int plan(sqlite3_index_info& info) const;

  ReportSource* source;
};

struct ReportCursor : sqlite3_vtab_cursor {
  explicit ReportCursor(const ReportTable&) : sqlite3_vtab_cursor{} {}
  int filter(int plan, const char* text, std::span<sqlite3_value*> values);
  void next() { ++row; }
  [[nodiscard]] bool atEnd() const { return row >= source().rows->rows.size(); }
  void answer(sqlite3_context* context, int column) const;

  std::uint64_t row = 0;

 private:
  [[nodiscard]] ReportSource& source() const { return *static_cast<ReportTable*>(pVtab)->source; }
};

std::string_view storageOf(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::Text:
    case ColumnKind::Name:
      return "TEXT";
    case ColumnKind::Rate:
    case ColumnKind::Share:
    case ColumnKind::Number:
      return "REAL";
    default:
      return "INTEGER";
  }
}

std::string ReportTable::sql() const {
  TableSql sql;
  for (const ColumnInfo& column : source->columns->columns)
    sql.add(column.key, storageOf(column.kind));
  return sql.take();
}

int ReportTable::plan(sqlite3_index_info& info) const {
  constexpr int kTypicalRows = 1000;
  info.estimatedCost = info.estimatedRows = kTypicalRows;
  return SQLITE_OK;
}

int ReportCursor::filter(int, const char*, std::span<sqlite3_value*>) {
  ReportSource& source = this->source();
  row = 0;
  if (source.rows) return SQLITE_OK;
  auto made = source.tables->load(source.columns->key, source.wanted);
  if (!made) {
    sqlite3_free(pVtab->zErrMsg);
    pVtab->zErrMsg = sqlite3_mprintf("%s", made.error().message.c_str());
    return SQLITE_ERROR;
  }
  source.rows = *std::move(made);
  return SQLITE_OK;
}

void ReportCursor::answer(sqlite3_context* context, int column) const {
  const auto give = [&](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      answerText(context, value);
    } else if constexpr (std::is_same_v<Value, TextList>) {
      const std::string list = listJson(value);
      sqlite3_result_text64(context, list.data(), list.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if constexpr (std::is_same_v<Value, std::monostate>) {
      sqlite3_result_null(context);
    } else if constexpr (std::is_same_v<Value, double>) {
      sqlite3_result_double(context, value);
    } else {
      sqlite3_result_int64(context, static_cast<sqlite3_int64>(value));
    }
  };
  std::visit(give, source().rows->rows[row][static_cast<std::size_t>(column)]);
}

}  // namespace

void registerReportTables(sqlite3* db, const std::shared_ptr<const ReportTables>& tables,
                          const Progress& wanted) {
  for (const Table& columns : tables->columns) {
    TableModule<ReportTable>::add(
        db, sqlNameOf(columns),
        std::make_unique<ReportSource>(ReportSource{tables, &columns, wanted}));
  }
}

}  // namespace lacuna::analyzer
