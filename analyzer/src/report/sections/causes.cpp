// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "analyses/work/python_lines.h"
#include "formats/kernel_name.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_causes {
namespace {

const Column<CauseDetail> kColumns[]{
    {{"cause", "", ColumnKind::Text, "as in the ledger: `host_work`"},
     [](const CauseDetail& row) -> TableCell { return std::string(causeKey(row.cause)); }},
    {{"what", "name", ColumnKind::Name,
      "the operator, call or range behind it; the cause in words where there is none"},
     [](const CauseDetail& row) -> TableCell {
       return row.name.empty() ? std::string(causeLabel(row.cause)) : row.name;
     }},
    {{"name", "", ColumnKind::Name, "the same; empty where there is none"},
     [](const CauseDetail& row) -> TableCell { return row.name; }},
    {{"label", "cause", ColumnKind::Text, "the cause in words"},
     [](const CauseDetail& row) -> TableCell { return std::string(causeLabel(row.cause)); }},
    {{"count", "times", ColumnKind::Count, "how often"}, kValueOf<&CauseDetail::count>},
    {{"ns", "in all", ColumnKind::Time, "how long, over all devices"}, kValueOf<&CauseDetail::ns>},
};

std::vector<Table> tables(const Analysis& analysis) {
  return {tableOf(
      "causes", "idle time by cause and by the operator, call or range behind it; costliest first",
      kColumns, analysis.of<IdleCauses>().details)};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const auto& details = analysis.of<IdleCauses>().details;
  page.title(sections::causes.title);
  if (details.empty()) page.line(" no idle time");
  TextTable table({{"in all"},
                   {"times"},
                   {"cause", TextColumn::Kind::Text},
                   {"where", TextColumn::Kind::Name}});
  for (std::size_t i = 0; i < details.size() && static_cast<int>(i) < rows; ++i) {
    const CauseDetail& detail = details[i];
    table.add({prof::timeText(detail.ns), fmt::format("{}×", detail.count),
               std::string(causeLabel(detail.cause)), withoutScopes(detail.name)});
  }
  page.table(table);
  // The recorder's ranges rarely name what lies between operators.
  TextTable lines(
      {{std::string(perStep(analysis))}, {"line of Python, in host work", TextColumn::Kind::Name}});
  for (const PythonStretch& line :
       analysis.of<PythonLines>().waitedFor(analysis.meanStepLedger()[Cause::HostWork]))
    lines.add({prof::timeText(line.ns), line.text});
  page.table(lines);
}

}  // namespace
}  // namespace of_causes

constinit const Section causes{
    .name = "causes",
    .title = "What the idle time was spent on",
    .about = "idle time by its cause and the operator, call or range behind it",
    .tables = of_causes::tables,
    .text = of_causes::text,
};

}  // namespace lacuna::analyzer::sections
