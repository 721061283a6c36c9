// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/report_text.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cstdlib>

#include "base/output.h"
#include "base/progress_line.h"
#include "base/safe_output.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text_table.h"

namespace lacuna::cli {

int terminalWidth(std::FILE* stream) {
  winsize size{};
  if (isTerminal(stream) && ioctl(descriptorOf(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns == nullptr ? 0 : std::atoi(columns);
  return wanted > 0 ? wanted : 100;
}

void printTextTable(const analyzer::TextTable& table) {
  const auto layout = table.inColumns(listWidth());
  if (!layout.heading.empty()) fmt::print("{}{}{}\n", style().dim, layout.heading, style().reset);
  for (const std::string& row : layout.rows) fmt::print("{}\n", row);
}

prof::Status printVerdict(const std::filesystem::path& trace, std::FILE* stream) {
  static const std::vector<std::string> kSections{"summary", "ledger", "findings"};
  const auto store = analyzer::Store::open(trace);
  if (!store) return store.error();
  const auto analysis = analyseShown(*store);
  if (!analysis) return analysis.error();
  fmt::print(stream, "{}",
             withOwnColours(analyzer::renderText(
                 *analysis, {kSections, terminalWidth(stream), wantsColour(stream)})));
  return {};
}

prof::Result<analyzer::Analysis> analysed(const std::string& trace) {
  const auto store = analyzer::Store::open(trace);
  if (!store) return store.error();
  auto analysis = analyseShown(*store);
  printWarnings(**store, trace);
  return analysis;
}

std::string withoutSteps(std::string_view trace) {
  return fmt::format(
      "{}: no steps were found (no step markers, no repetition), so its times are of the whole "
      "run; mark steps with an NVTX range named \"step\"",
      trace);
}

}  // namespace lacuna::cli
