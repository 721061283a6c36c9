// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/calls.h"
#include "lacuna/prof/amounts.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_calls {
namespace {

const Column<CallRow> kColumns[]{
    {{"name", "name", ColumnKind::Name, "the driver, launch or synchronising call"},
     kValueOf<&CallRow::name>},
    {{"count", "count", ColumnKind::Count, "calls"}, kValueOf<&CallRow::count>},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"}, kValueOf<&CallRow::totalNs>},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `total_ns`",
      "total_ns"},
     kValueOf<&CallRow::recordingNs>},
    {{"caller", "by", ColumnKind::Name,
      "of synchronisation, the operator or range around most of its time; else empty"},
     kValueOf<&CallRow::caller>},
};

std::vector<Table> tables(const Analysis& analysis) {
  return {tableOf("calls", "driver, launch and synchronising calls, costliest first", kColumns,
                  analysis.of<CallTable>())};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const CallTable& calls = analysis.of<CallTable>();
  page.title(sections::calls.title);
  if (calls.empty()) page.line(" no driver or synchronising calls were recorded");
  TextTable table({{"name", TextColumn::Kind::Name},
                   {"count"},
                   {"total"},
                   {"±", TextColumn::Kind::Band},
                   {"by", TextColumn::Kind::Name, 1}});
  for (std::size_t i = 0; i < calls.size() && static_cast<int>(i) < rows; ++i) {
    const CallRow& row = calls[i];
    table.add({row.name, std::to_string(row.count), prof::timeText(row.totalNs),
               humanBand(row.recordingNs, row.totalNs), row.caller});
  }
  page.table(table);
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
