// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "report/html_page.h"
#include "report/json_writer.h"
#include "report/text_page.h"

namespace lacuna::analyzer {

using Lines = std::vector<std::string>;

/// A part of the report, in one file of report/sections. It declares its sentences and its tables;
/// text, JSON and HTML follow from them. A layout for people that is made by hand is a function
/// that takes the place of one of these.
struct Section {
  std::string_view name;   ///< of --section
  std::string_view title;  ///< above it
  std::string_view about;  ///< one sentence for the list of sections
  /// Sentences, of a width where they are cut; empty where the trace has nothing of the sort.
  Lines (*notes)(const Analysis& analysis) = nullptr;
  std::vector<Table> (*tables)(const Analysis& analysis) = nullptr;
  /// Why there is nothing to show, or how a trace is recorded that holds such a thing.
  std::string_view remedy = {};
  /// Rows that the overview shows; 0: the section is no part of it.
  int overviewRows = 0;

  void (*text)(TextPage& page, const Analysis& analysis, int rows) = nullptr;
  void (*html)(HtmlPage& page, const Analysis& analysis) = nullptr;
  bool isDrawn = false;  ///< a picture: the HTML page has it above the tables
};

/// In the order of lists and of the text report.
std::span<const Section* const> allSections();
/// The keys that a section adds to the JSON report.
std::vector<std::string> jsonKeysOf(const Section& section);

void writeText(const Section& section, TextPage& page, const Analysis& analysis, int rows);
void writeJson(const Section& section, JsonWriter& json, const Analysis& analysis);
void writeHtml(const Section& section, HtmlPage& page, const Analysis& analysis);

/// The title and these lines below it; in the overview nothing where there are none.
void writeLines(TextPage& page, const Section& section, const Lines& lines);

/// The facts of one thing.
template <class Row, std::size_t N>
Table recordOf(std::string_view key, std::string_view about, const Column<Row> (&columns)[N],
               const Row& row) {
  Table record = tableOf(key, about, columns, std::span(&row, 1));
  record.isRecord = true;
  return record;
}
/// An object in JSON that holds nothing but tables.
Table groupOf(std::string_view place, std::vector<Table> tables);
/// The table under another key in JSON.
Table placed(std::string place, Table table);
/// The table with tables inside of its rows.
Table holding(Table table, std::function<std::vector<Table>(std::size_t row)> inside);

/// The tables that can be read alone: these, and those inside of records, each without the tables
/// inside of its rows. The place of each is its path from the report: "communication.collectives".
std::vector<Table> readable(std::vector<Table> tables);

}  // namespace lacuna::analyzer
