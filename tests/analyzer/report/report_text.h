// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

/// Helpers for the tests of the report's sections: they make analyses with few results, and read
/// reports.
namespace lacuna::analyzer {

/// An analysis of an empty trace, without results.
inline Analysis withoutResults() {
  StoreBuilder empty;
  empty.setPath("run.lcn");
  Analysis analysis;
  analysis.store = empty.build();
  analysis.window = {0, 0};
  return analysis;
}

/// So many steps of 10 ms, one after the other, in which the device cuda:0 computes all the time;
/// without results.
inline Analysis withSteps(std::size_t count) {
  constexpr std::int64_t kStepNs = 10'000'000;
  Analysis analysis = withoutResults();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t startNs = static_cast<std::int64_t>(i) * kStepNs;
    analysis.steps.all.push_back(
        {.index = i, .name = "step", .startNs = startNs, .endNs = startNs + kStepNs});
    analysis.ledgers.steps.emplace_back().add(Cause::Compute, kStepNs);
    analysis.ledgers.bands.steps.emplace_back();
  }
  analysis.window = {0, static_cast<std::int64_t>(count) * kStepNs};
  analysis.ledgers.run.add(Cause::Compute, analysis.window.endNs);
  DeviceAccount& device = analysis.devices.emplace_back();
  device.id = prof::DeviceId(1);
  device.kind = prof::DeviceKind::Cuda;
  device.label = "cuda:0";
  device.window = analysis.window;
  device.ledger = analysis.ledgers.run;
  return analysis;
}

/// Three kernels of one queue, from 20 to 120, 120 to 130 and 260 to 360 µs. Their launch calls run
/// from 0 to 10, 10 to 30 and 200 to 230 µs; the host does nothing else.
inline Analysis threeLaunches() {
  return test::SmallTrace()
      .launched(0, 10, 20, 120, "first")
      .launched(10, 30, 120, 130, "second")
      .launched(200, 230, 260, 360, "third")
      .analysed();
}

/// One section in full, on a page of so many columns.
inline std::string sectionText(const Analysis& analysis, std::string_view section,
                               int width = 100) {
  return renderText(analysis, {{std::string(section)}, width, false});
}

/// The value at a JSON pointer ("/copies/0/bytes") in the report, as JSON without blanks.
inline std::string jsonAt(const Analysis& analysis, std::string_view pointer) {
  simdjson::dom::parser parser;
  const simdjson::padded_string report(renderJson(analysis));
  simdjson::dom::element value;
  const auto error = parser.parse(report).at_pointer(pointer).get(value);
  return error == simdjson::SUCCESS ? simdjson::minify(value)
                                    : std::string("error: ") + simdjson::error_message(error);
}

/// These cells of a row as people read them.
inline std::vector<std::string> cellsOf(const Table& table, std::size_t row,
                                        std::initializer_list<std::string_view> keys) {
  std::vector<std::string> cells;
  for (const std::string_view key : keys) {
    const std::size_t column = table.columnOf(key);
    const bool isThere = row < table.rows.size() && column < table.columns.size();
    cells.push_back(isThere ? table.text(row, column)
                            : "no row " + std::to_string(row) + " or no " + std::string(key));
  }
  return cells;
}

/// The first line that holds `part`; empty where none does.
inline std::string lineWith(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = text.rfind('\n', at) + 1;
  return std::string(text.substr(begin, text.find('\n', at) - begin));
}

/// Number of times that `part` is in a text.
inline std::size_t countOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

/// The lines of a text, the first ones, joined.
inline std::string withoutBreaks(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t next = text.find_first_not_of(' ', at + 1);
    text.replace(at, std::min(next, text.size()) - at, " ");
  }
  return text;
}

}  // namespace lacuna::analyzer
