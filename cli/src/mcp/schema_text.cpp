// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/schema_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/nearest.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/report.h"

namespace lacuna::cli::mcp {
namespace {

constexpr std::string_view kTableMark = "\n## ";
constexpr std::string_view kColumnsMark = "| column | type | what |\n|---|---|---|\n";

/// A table on the page that `lacuna query --schema` prints.
struct TableOnPage {
  std::string_view name;
  std::string_view text;  ///< its part of the page, behind the name
};

const std::string& schemaOfAll() {
  static const std::string kPage = analyzer::schemaPage(analyzer::reportTables({}));
  return kPage;
}

std::vector<TableOnPage> tablesOnPage() {
  std::vector<TableOnPage> tables;
  std::string_view rest = schemaOfAll();
  while (true) {
    const std::size_t at = rest.find(kTableMark);
    if (at == std::string_view::npos) return tables;
    rest.remove_prefix(at + kTableMark.size());
    const std::size_t nameEnd = rest.find('\n');
    // A heading of the first level ends the part, too.
    const std::size_t end = std::min({rest.find(kTableMark), rest.find("\n# "), rest.size()});
    tables.push_back({rest.substr(0, nameEnd), rest.substr(nameEnd, end - nameEnd)});
  }
}

/// `name, durNs, …`
std::string columnNames(const TableOnPage& table) {
  std::string names;
  const std::size_t at = table.text.find(kColumnsMark);
  std::string_view rest =
      at == std::string_view::npos ? "" : table.text.substr(at + kColumnsMark.size());
  while (rest.starts_with("| ")) {
    rest.remove_prefix(2);
    names += (names.empty() ? "" : ", ") + std::string(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1));
  }
  return names;
}

}  // namespace

std::string tableListText() {
  std::string list =
      "Tables and their columns. Times (…Ns, …_ns) are nanoseconds on the trace's clock; id 0 "
      "means none; rowid is the row number. Tables of events hold what was recorded, report_… what "
      "the analysis computed. Call `schema` with a table for the types and meanings of its "
      "columns.\n\n";
  for (const TableOnPage& table : tablesOnPage())
    list += fmt::format("{}: {}\n", table.name, columnNames(table));
  return list;
}

prof::Result<std::string> tableText(std::string_view name) {
  const std::vector<TableOnPage> tables = tablesOnPage();
  const auto found = std::ranges::find(tables, name, &TableOnPage::name);
  if (found != tables.end()) return fmt::format("{}{}\n", found->name, found->text);
  std::vector<std::string> names;
  for (const TableOnPage& table : tables) names.emplace_back(table.name);
  return prof::Error{
      fmt::format("there is no table '{}'{}; call `schema` without a table for the list of all",
                  name, didYouMean(names, std::string(name)))};
}

}  // namespace lacuna::cli::mcp
