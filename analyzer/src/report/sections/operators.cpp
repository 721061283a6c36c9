// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/prof/amounts.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_operators {
namespace {

const Column<OperatorRow> kColumns[]{
    {{"name", "operator", ColumnKind::Name, "the operator"}, kValueOf<&OperatorRow::name>},
    {{"shapes", "input shapes", ColumnKind::Name, "where the trace has them", "", true},
     kValueOf<&OperatorRow::shapes>},
    {{"calls", "calls", ColumnKind::Count, "how often it ran"}, kValueOf<&OperatorRow::count>},
    {{"host_ns", "host", ColumnKind::Time, "on the host, inner operators included"},
     kValueOf<&OperatorRow::totalNs>},
    {{"host_recording_ns", "±", ColumnKind::Band, "what recording may have added to `host_ns`",
      "host_ns"},
     kValueOf<&OperatorRow::recordingNs>},
    {{"host_self_ns", "host self", ColumnKind::Time, "on the host, without inner operators"},
     kValueOf<&OperatorRow::selfNs>},
    {{"host_self_recording_ns", "±", ColumnKind::Band,
      "what recording may have added to `host_self_ns`", "host_self_ns"},
     kValueOf<&OperatorRow::selfRecordingNs>},
    {{"device_ns", "device", ColumnKind::Time, "of the device work that it launched itself"},
     kValueOf<&OperatorRow::deviceNs>},
    {{"device_recording_ns", "±", ColumnKind::Band, "what recording may have added to `device_ns`",
      "device_ns"},
     kValueOf<&OperatorRow::deviceRecordingNs>},
    {{"mem_bytes", "memory kept", ColumnKind::Bytes, "allocated less freed while it ran", "", true},
     kValueOf<&OperatorRow::memBytes>},
    {{"self_mem_bytes", "", ColumnKind::Bytes, "the same without inner operators"},
     kValueOf<&OperatorRow::selfMemBytes>},
};

Table namesTable(const Analysis& analysis) {
  return tableOf("operator_names", "the same by name alone", kColumns,
                 analysis.of<OperatorTables>().byName);
}

std::vector<Table> tables(const Analysis& analysis) {
  return {
      tableOf("operators",
              "by name and input shapes; greatest device time first, then host time of their own",
              kColumns, analysis.of<OperatorTables>().byShapes),
      namesTable(analysis)};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  page.title(sections::operators.title);
  if (analysis.of<OperatorTables>().byName.empty()) page.line(" none were recorded");
  // Asked for in full, the table is by input shapes and with memory.
  const bool full = rows == INT_MAX;
  const bool withMemory = full && analysis.of<MemoryTables>().all.present;
  TextTable table({{full ? "name and shapes" : "name", TextColumn::Kind::Name},
                   {"calls", TextColumn::Kind::Figure, 1},
                   {"host"},
                   {"±", TextColumn::Kind::Band},
                   {"host self", TextColumn::Kind::Figure, 2},
                   {"device"},
                   {"±", TextColumn::Kind::Band},
                   {"memory", TextColumn::Kind::Figure, 3},
                   {"own memory", TextColumn::Kind::Figure, 4}});
  const auto& all =
      full ? analysis.of<OperatorTables>().byShapes : analysis.of<OperatorTables>().byName;
  for (std::size_t i = 0; i < all.size() && static_cast<int>(i) < rows; ++i) {
    const OperatorRow& row = all[i];
    table.add({row.shapes.empty() ? row.name : row.name + " " + row.shapes,
               std::to_string(row.count), prof::timeText(row.totalNs),
               humanBand(row.recordingNs, row.totalNs), prof::timeText(row.selfNs),
               prof::timeText(row.deviceNs), humanBand(row.deviceRecordingNs, row.deviceNs),
               withMemory ? prof::bytesText(row.memBytes) : "",
               withMemory ? prof::bytesText(row.selfMemBytes) : ""});
  }
  page.table(table);
}

/// A page has room for names alone.
void html(HtmlPage& page, const Analysis& analysis) {
  if (analysis.of<OperatorTables>().byName.empty()) return;
  page.heading(sections::operators.title);
  page.table(namesTable(analysis));
}

}  // namespace
}  // namespace of_operators

constinit const Section operators{
    .name = "operators",
    .title = "Operators",
    .about = "what the host ran, by name; in full also by input shapes, with memory",
    .tables = of_operators::tables,
    .text = of_operators::text,
    .html = of_operators::html,
};

}  // namespace lacuna::analyzer::sections
