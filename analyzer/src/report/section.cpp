// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/section.h"

#include <fmt/format.h>

#include <array>
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

std::vector<Table> filledTables(const Section& section, const Analysis& analysis) {
  std::vector<Table> tables = section.tables == nullptr ? std::vector<Table>{} : section.tables(analysis);
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
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
  if (section.json != nullptr) return section.json(json, analysis);
  if (section.tables == nullptr) return;
  for (const Table& table : section.tables(analysis)) writeRows(json.key(table.key), table);
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
    page.wrapped(fmt::format("the trace holds nothing of it{}{}", section.remedy.empty() ? "" : "; ", section.remedy),
                 1, 1);
  page.lines(lines);
}

void writeCells(JsonWriter& json, const Table& table, std::size_t row) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    json.key(table.columns[i].key);
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
            json.value(std::string_view(value));
          } else {
            json.value(value);
          }
        },
        table.rows[row][i]);
  }
}

void writeRows(JsonWriter& json, const Table& table) {
  json.beginArray();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    json.beginObject();
    writeCells(json, table, row);
    json.endObject();
  }
  json.endArray();
}

}  // namespace lacuna::analyzer
