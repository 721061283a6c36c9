// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/kernels.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_kernels {
namespace {

/// A row with its share of all of them.
struct Line {
  const KernelRow* row;
  double share;
};

const Column<Line> kColumns[]{
    {{"name", "kernel", ColumnKind::Name, "the kernel"},
     [](const Line& line) -> TableCell { return line.row->name; }},
    {{"count", "count", ColumnKind::Count, "launches"},
     [](const Line& line) -> TableCell { return line.row->count; }},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"},
     [](const Line& line) -> TableCell { return line.row->totalNs; }},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `total_ns`",
      "total_ns"},
     [](const Line& line) -> TableCell { return line.row->recordingNs; }},
    {{"share", "share", ColumnKind::Share, "of the time of all kernels"},
     [](const Line& line) -> TableCell { return line.share; }},
    {{"mean_ns", "mean", ColumnKind::Time, "of one launch"},
     [](const Line& line) -> TableCell { return line.row->meanNs(); }},
    {{"min_ns", "shortest", ColumnKind::Time, "the shortest"},
     [](const Line& line) -> TableCell { return line.row->minNs; }},
    {{"max_ns", "longest", ColumnKind::Time, "the longest"},
     [](const Line& line) -> TableCell { return line.row->maxNs; }},
};

std::vector<Table> tables(const Analysis& analysis) {
  std::int64_t total = 1;
  for (const KernelRow& row : analysis.of<KernelTable>()) prof::addTo(total, row.totalNs);
  std::vector<Line> lines;
  for (const KernelRow& row : analysis.of<KernelTable>())
    lines.push_back({&row, ratio(static_cast<double>(row.totalNs), static_cast<double>(total))});
  return {tableOf("kernels", "by name, costliest first", kColumns, lines)};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const KernelTable& kernels = analysis.of<KernelTable>();
  page.title(sections::kernels.title);
  if (kernels.empty()) page.line(" none were recorded");
  std::int64_t total = 1;
  for (const KernelRow& row : kernels) prof::addTo(total, row.totalNs);
  TextTable table({{"name", TextColumn::Kind::Name},
                   {"count"},
                   {"total"},
                   {"±", TextColumn::Kind::Band},
                   {"share"},
                   {"mean", TextColumn::Kind::Figure, 1}});
  for (std::size_t i = 0; i < kernels.size() && static_cast<int>(i) < rows; ++i) {
    const KernelRow& row = kernels[i];
    table.add({row.name, std::to_string(row.count), prof::timeText(row.totalNs),
               humanBand(row.recordingNs, row.totalNs),
               prof::shareText(static_cast<double>(row.totalNs) / static_cast<double>(total)),
               prof::timeText(row.meanNs())});
  }
  page.table(table);
}

}  // namespace
}  // namespace of_kernels

constinit const Section kernels{
    .name = "kernels",
    .title = "Kernels",
    .about = "what the devices ran, by name",
    .tables = of_kernels::tables,
    .overviewRows = 5,
    .text = of_kernels::text,
};

}  // namespace lacuna::analyzer::sections
