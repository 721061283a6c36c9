// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "report/html_page.h"
#include "report/json_writer.h"
#include "report/text_page.h"

namespace lacuna::analyzer {

using Lines = std::vector<std::string>;

/// A part of the report, in one file of report/sections. It declares its sentences and its tables; text, JSON and HTML
/// follow from them. Where a layout is made by hand, its function takes the place of one of these.
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
  void (*json)(JsonWriter& json, const Analysis& analysis) = nullptr;
  /// What the JSON function adds to the report, where one is given; the tables' keys else.
  std::span<const std::string_view> jsonKeys = {};
  void (*html)(HtmlPage& page, const Analysis& analysis) = nullptr;
  bool isDrawn = false;  ///< a picture: the HTML page has it above the tables
};

/// In the order of lists and of the text report.
std::span<const Section* const> allSections();
/// The keys that a section adds to the JSON report.
std::vector<std::string_view> jsonKeysOf(const Section& section);

void writeText(const Section& section, TextPage& page, const Analysis& analysis, int rows);
void writeJson(const Section& section, JsonWriter& json, const Analysis& analysis);
void writeHtml(const Section& section, HtmlPage& page, const Analysis& analysis);

/// The title and these lines below it; in the overview nothing where there are none.
void writeLines(TextPage& page, const Section& section, const Lines& lines);
/// The cells of a row as the fields of an object, which is open; the rows of a table as an array.
void writeCells(JsonWriter& json, const Table& table, std::size_t row);
void writeRows(JsonWriter& json, const Table& table);

}  // namespace lacuna::analyzer
