// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/table.h"
#include "report/json_writer.h"
#include "report/section.h"
#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

std::vector<Table> tablesOf(const Section& section, const Analysis& analysis) {
  return section.tables == nullptr ? std::vector<Table>{} : readable(section.tables(analysis));
}

/// Without an analysis: the columns alone.
std::vector<Table> columnsOf(const Section& section) {
  return tablesOf(section, Analysis{});
}

/// "in JSON `communication.ranks[]`"
std::string placeText(const Table& table) {
  if (table.place.empty()) return "in JSON keys of the report itself";
  return fmt::format("in JSON `{}{}`", table.place, table.isRecord ? "" : "[]");
}

}  // namespace

std::vector<std::string> jsonKeysOf(const Section& section) {
  std::vector<std::string> keys;
  if (section.tables == nullptr) return keys;
  for (const Table& table : section.tables(Analysis{})) {
    if (!table.place.empty()) {
      keys.push_back(table.place);
    } else {
      for (const ColumnInfo& column : table.columns) keys.emplace_back(column.key);
    }
  }
  return keys;
}

std::vector<Table> reportTables(const Analysis& analysis) {
  std::vector<Table> out;
  for (const Section* section : allSections()) {
    for (Table& table : tablesOf(*section, analysis)) out.push_back(std::move(table));
  }
  return out;
}

Table reportTable(const Analysis& analysis, std::string_view key) {
  for (const Section* section : allSections()) {
    for (const Table& columns : columnsOf(*section)) {
      if (columns.key != key) continue;
      std::vector<Table> tables = tablesOf(*section, analysis);
      return std::move(*std::ranges::find(tables, key, &Table::key));
    }
  }
  return {};
}

std::string sectionListText(int width) {
  constexpr int kNameWidth = 15, kHanging = 4;
  std::string out;
  for (const Section* section : allSections()) {
    out += fmt::format("{:<{}}", section->name, kNameWidth) +
           paragraph(section->about, kNameWidth, kNameWidth, width).substr(kNameWidth);
    for (const Table& table : columnsOf(*section)) {
      std::vector<std::string_view> keys;
      for (const ColumnInfo& column : table.columns) keys.push_back(column.key);
      out += paragraph(fmt::format("--csv {}: {}", table.key, fmt::join(keys, ", ")),
                       kNameWidth + 2, kNameWidth + kHanging, width);
    }
  }
  return out;
}

std::string sectionListJson() {
  JsonWriter json;
  json.beginObject().field("schema", "lacuna.sections/1").key("sections").beginArray();
  for (const Section* section : allSections()) {
    json.beginObject()
        .field("name", section->name)
        .field("about", section->about)
        .key("json")
        .beginArray();
    for (const std::string& key : jsonKeysOf(*section)) json.value(std::string_view(key));
    json.endArray().key("tables").beginArray();
    for (const Table& table : columnsOf(*section)) {
      json.beginObject()
          .field("name", table.key)
          .field("about", table.about)
          .key("columns")
          .beginArray();
      for (const ColumnInfo& column : table.columns) {
        json.beginObject()
            .field("name", column.key)
            .field("unit", columnKindName(column.kind))
            .field("meaning", column.meaning)
            .endObject();
      }
      json.endArray().endObject();
    }
    json.endArray().endObject();
  }
  return json.endArray().endObject().take();
}

std::string sectionListMarkdown() {
  std::string out = "| section | what it shows | in the JSON report |\n|---|---|---|\n";
  for (const Section* section : allSections()) {
    std::vector<std::string> keys;
    for (const std::string& key : jsonKeysOf(*section)) keys.push_back(fmt::format("`{}`", key));
    out +=
        fmt::format("| `{}` | {} | {} |\n", section->name, section->about, fmt::join(keys, ", "));
  }
  for (const Section* section : allSections()) {
    for (const Table& table : columnsOf(*section)) {
      out += fmt::format(
          "\n### {}\n\n{} (section `{}`; {}).\n\n| column | unit | meaning |\n|---|---|---|\n",
          table.key, table.about, section->name, placeText(table));
      for (const ColumnInfo& column : table.columns)
        out += fmt::format("| `{}` | {} | {} |\n", column.key, columnKindName(column.kind),
                           column.meaning);
    }
  }
  return out;
}

}  // namespace lacuna::analyzer
