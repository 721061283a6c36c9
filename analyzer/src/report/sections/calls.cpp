// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/calls.h"
#include "lacuna/prof/amounts.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_calls {
namespace {

const Column<CallRow> kColumns[]{
    {{"name", "name", ColumnKind::Name, "the driver, launch or synchronising call"}, kValueOf<&CallRow::name>},
    {{"count", "count", ColumnKind::Count, "calls"}, kValueOf<&CallRow::count>},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"}, kValueOf<&CallRow::totalNs>},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `total_ns`", "total_ns"},
     kValueOf<&CallRow::recordingNs>},
    {{"caller", "by", ColumnKind::Name,
      "of synchronisation, the operator or range around most of its time; else empty"},
     kValueOf<&CallRow::caller>},
};

std::vector<Table> tables(const Analysis& analysis) {
  return {
      tableOf("calls", "driver, launch and synchronising calls, costliest first", kColumns, analysis.of<CallTable>())};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  page.title(sections::calls.title);
  if (analysis.of<CallTable>().empty()) page.line(" no driver or synchronising calls were recorded");
  const int nameWidth = (page.width() - 28 - page.bandWidth()) * 6 / 10;
  if (!analysis.of<CallTable>().empty()) {
    page.line(page.styled(
        fmt::format(" {} {:>8} {:>11} {}by", padded("name", nameWidth), "count", "total", page.bandTitle()), "2"));
  }
  for (std::size_t i = 0; i < analysis.of<CallTable>().size() && static_cast<int>(i) < rows; ++i) {
    const CallRow& row = analysis.of<CallTable>()[i];
    const std::string cells = fmt::format(" {} {:>8} {:>11} {}{}", padded(row.name, nameWidth), row.count,
                                          prof::timeText(row.totalNs), page.bandCell(row.recordingNs, row.totalNs),
                                          shortened(row.caller, page.width() - 25 - nameWidth - page.bandWidth()));
    page.line(std::string_view(cells).substr(0, cells.find_last_not_of(' ') + 1));
  }
}

}  // namespace
}  // namespace of_calls

constinit const Section calls{
    .name = "calls",
    .title = "Calls",
    .about = "driver, launch and synchronising calls",
    .tables = of_calls::tables,
    .text = of_calls::text,
};

}  // namespace lacuna::analyzer::sections
