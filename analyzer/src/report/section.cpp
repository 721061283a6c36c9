// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/section.h"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "report/sections/registry.h"

namespace lacuna::analyzer {
namespace {

constexpr std::array kSections{
#define LACUNA_SECTION_POINTER(name) &sections::name,
    LACUNA_REGISTRY(LACUNA_NOTHING, LACUNA_SECTION_POINTER, LACUNA_SECTION_POINTER)
#undef LACUNA_SECTION_POINTER
};

Lines notesOf(const Section& section, const Analysis& analysis) {
  return section.notes == nullptr ? Lines{} : section.notes(analysis);
}

/// Those that have something to show to people.
std::vector<Table> filledTables(const Section& section, const Analysis& analysis) {
  if (section.tables == nullptr) return {};
  std::vector<Table> tables = readable(section.tables(analysis));
  std::erase_if(tables, [](const Table& table) {
    return table.rows.empty() || table.shownColumns().empty();
  });
  return tables;
}

void writeCell(JsonWriter& json, std::string_view key, const TableCell& cell) {
  const auto write = [&](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::monostate>) {
      return;
    } else if constexpr (std::is_same_v<Value, TextList>) {
      json.key(key).beginArray();
      for (const std::string& text : value) json.value(std::string_view(text));
      json.endArray();
    } else if constexpr (std::is_same_v<Value, std::string>) {
      json.field(key, std::string_view(value));
    } else {
      json.field(key, value);
    }
  };
  std::visit(write, cell);
}

void writeTable(JsonWriter& json, const Table& table);

/// The fields of a row, in an object that is open.
void writeRow(JsonWriter& json, const Table& table, std::size_t row) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    writeCell(json, table.columns[i].key, table.rows[row][i]);
  if (!table.inside) return;
  for (const Table& inner : table.inside(row)) writeTable(json, inner);
}

void writeTable(JsonWriter& json, const Table& table) {
  if (table.place.empty()) return writeRow(json, table, 0);
  json.key(table.place);
  if (!table.isRecord) json.beginArray();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    json.beginObject();
    writeRow(json, table, row);
    json.endObject();
  }
  if (!table.isRecord) json.endArray();
}

}  // namespace

std::span<const Section* const> allSections() {
  return kSections;
}

void writeText(const Section& section, TextPage& page, const Analysis& analysis, int rows) {
  if (section.text != nullptr) return section.text(page, analysis, rows);
  const Lines notes = notesOf(section, analysis);
  const std::vector<Table> tables = filledTables(section, analysis);
  if (tables.empty()) return writeLines(page, section, notes);
  page.title(section.title);
  page.lines(notes);
  for (const Table& table : tables) page.table(table, rows);
}

void writeJson(const Section& section, JsonWriter& json, const Analysis& analysis) {
  if (section.tables == nullptr) return;
  for (const Table& table : section.tables(analysis)) writeTable(json, table);
}

void writeHtml(const Section& section, HtmlPage& page, const Analysis& analysis) {
  if (section.html != nullptr) return section.html(page, analysis);
  const Lines notes = notesOf(section, analysis);
  const std::vector<Table> tables = filledTables(section, analysis);
  if (notes.empty() && tables.empty()) return;
  page.heading(section.title);
  page.notes(notes);
  for (const Table& table : tables) page.table(table);
}

void writeLines(TextPage& page, const Section& section, const Lines& lines) {
  if (lines.empty() && !page.isAskedFor()) return;
  page.title(section.title);
  if (lines.empty())
    page.wrapped(fmt::format("the trace holds nothing of it{}{}",
                             section.remedy.empty() ? "" : "; ", section.remedy),
                 1, 1);
  page.lines(lines);
}

Table groupOf(std::string_view place, std::vector<Table> tables) {
  Table group{.key = {},
              .about = {},
              .columns = {},
              .rows = {{}},
              .isRecord = true,
              .place = std::string(place)};
  return holding(std::move(group), [tables = std::move(tables)](std::size_t) { return tables; });
}

Table placed(std::string place, Table table) {
  table.place = std::move(place);
  return table;
}

Table holding(Table table, std::function<std::vector<Table>(std::size_t row)> inside) {
  table.inside = std::move(inside);
  return table;
}

std::vector<Table> readable(std::vector<Table> tables) {
  std::vector<Table> out;
  for (Table& table : tables) {
    const auto inside = std::exchange(table.inside, {});
    const bool isRecord = table.isRecord;
    const std::string place = table.place;
    if (!table.columns.empty()) out.push_back(std::move(table));
    if (!isRecord || !inside) continue;
    for (Table& inner : readable(inside(0))) {
      inner.place = place + '.' + inner.place;
      out.push_back(std::move(inner));
    }
  }
  return out;
}

}  // namespace lacuna::analyzer
