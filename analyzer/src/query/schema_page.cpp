// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lacuna/analyzer/query.h"
#include "query/collective_table.h"

namespace lacuna::analyzer {
namespace {

std::string typeOf(const prof::ColumnSpec& column) {
  static constexpr std::string_view kRefers[] = {
      "",          "text",     "process.id",       "thread.id",
      "device.id", "queue.id", "counter_track.id", "stack_frame.id",
      "arg_set.id"};
  if (column.refers != prof::Refers::Nothing)
    return std::string(kRefers[static_cast<std::size_t>(column.refers)]);
  if (column.hint == prof::Hint::Time || column.hint == prof::Hint::Length) return "ns";
  static constexpr std::string_view kTypes[] = {"i64", "u64", "i32", "u32", "u16", "u8", "f64"};
  return std::string(kTypes[static_cast<std::size_t>(column.type)]);
}

}  // namespace

std::string sqlNameOf(const Table& reportTable) {
  return fmt::format("report_{}", reportTable.key);
}

std::string schemaPage(std::span<const Table> reportTables) {
  std::string page =
      "<!-- Made by `lacuna query --schema`; do not edit. -->\n# The tables of a trace\n\n"
      "Every source becomes these tables, and `lacuna query` reads them under these names. Rows "
      "are in the order of their\n"
      "first time column; `rowid` is the row number. Id 0 means none. A column whose type is "
      "`text` reads as text.\n";
  for (const prof::TableSpec& table : prof::allTables()) {
    page += fmt::format("\n## {}\n\n| column | type | what |\n|---|---|---|\n", table.name);
    for (std::size_t i = 0; i < table.columnCount; ++i) {
      const prof::ColumnSpec& column = table.columns[i];
      page += fmt::format("| {} | {} | {} |\n", column.name, typeOf(column), column.doc);
    }
  }
  page += fmt::format(
      "\n## {}\n\nComputed from the others when it is first read: what the kernels of "
      "communication libraries carry out\n(docs/analyses/communication.md). Rows are in the order "
      "of their kernels.\n\n| column | type | what |\n|---|---|---|\n",
      kCollectiveTable);
  for (const ComputedColumn& column : collectiveColumns())
    page += fmt::format("| {} | {} | {} |\n", column.name, column.type, column.doc);
  page +=
      "\n# The tables of the report\n\n"
      "`lacuna report` shows these tables, `--csv` prints them, and `lacuna query` reads them. The "
      "trace is analysed when a\nstatement first reads one of them; rows are in the order of the "
      "report.\n";
  for (const Table& table : reportTables) {
    page += fmt::format("\n## {}\n\n{}\n\n| column | type | what |\n|---|---|---|\n",
                        sqlNameOf(table), table.about);
    for (const ColumnInfo& column : table.columns)
      page += fmt::format("| {} | {} | {} |\n", column.key, columnKindName(column.kind),
                          column.meaning);
  }
  return page;
}

}  // namespace lacuna::analyzer
