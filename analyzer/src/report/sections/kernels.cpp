// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/kernels.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_kernels {
namespace {

/// A row with its share of all of them.
struct Line {
  const KernelRow* row;
  double share;
};

const Column<Line> kColumns[]{
    {{"name", "kernel", ColumnKind::Name, "the kernel"}, [](const Line& line) -> TableCell { return line.row->name; }},
    {{"count", "count", ColumnKind::Count, "launches"}, [](const Line& line) -> TableCell { return line.row->count; }},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"},
     [](const Line& line) -> TableCell { return line.row->totalNs; }},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `total_ns`", "total_ns"},
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
  page.title(sections::kernels.title);
  if (analysis.of<KernelTable>().empty()) page.line(" none were recorded");
  std::int64_t total = 1;
  for (const KernelRow& row : analysis.of<KernelTable>()) prof::addTo(total, row.totalNs);
  constexpr int kShortestName = 15;
  const bool hasMean = page.width() >= 45 + kShortestName + page.bandWidth();
  const auto mean = [&](std::string_view text) { return hasMean ? fmt::format(" {:>11}", text) : std::string(); };
  const int nameWidth = std::max(10, page.width() - (hasMean ? 45 : 33) - page.bandWidth());
  if (!analysis.of<KernelTable>().empty())
    page.line(page.styled(fmt::format(" {} {:>8} {:>11} {}{:>8}{}", padded("name", nameWidth), "count", "total",
                                      page.bandTitle(), "share", mean("mean")),
                          "2"));
  const std::size_t shown = std::min(analysis.of<KernelTable>().size(), static_cast<std::size_t>(std::max(0, rows)));
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(analysis.of<KernelTable>()[i].name);
  const std::vector<std::string> cells = paddedNames(names, nameWidth);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = analysis.of<KernelTable>()[i];
    page.line(fmt::format(" {} {:>8} {:>11} {}{:>8}{}", cells[i], row.count, prof::timeText(row.totalNs),
                          page.bandCell(row.recordingNs, row.totalNs),
                          prof::shareText(static_cast<double>(row.totalNs) / static_cast<double>(total)),
                          mean(prof::timeText(row.meanNs()))));
  }
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
