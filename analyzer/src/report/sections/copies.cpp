// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyses/work/copies.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_copies {
namespace {

/// A kind of copy that occurred.
struct Line {
  std::string_view kind;
  const CopyRow* row;
};

const Column<Line> kColumns[]{
    {{"kind", "from and to", ColumnKind::Text, "`host to device`, …"},
     [](const Line& line) -> TableCell { return std::string(line.kind); }},
    {{"count", "count", ColumnKind::Count, "copies"},
     [](const Line& line) -> TableCell { return line.row->count; }},
    {{"bytes", "bytes", ColumnKind::Bytes, "all of them together"},
     [](const Line& line) -> TableCell { return line.row->bytes; }},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"},
     [](const Line& line) -> TableCell { return line.row->ns; }},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `total_ns`",
      "total_ns"},
     [](const Line& line) -> TableCell { return line.row->recordingNs; }},
    {{"bytes_per_second", "rate", ColumnKind::Rate, "`bytes` over `total_ns`"},
     [](const Line& line) -> TableCell {
       return 1e9 * ratio(static_cast<double>(line.row->bytes), static_cast<double>(line.row->ns));
     }},
};

std::vector<Table> tables(const Analysis& analysis) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < kCopyKindCount; ++i) {
    if (analysis.of<CopyStats>().byKind[i].count > 0)
      lines.push_back({copyKindName(i), &analysis.of<CopyStats>().byKind[i]});
  }
  return {tableOf("copies", "by kind; those that occurred", kColumns, lines)};
}

Lines notes(const Analysis& analysis) {
  if (analysis.of<CopyStats>().pageableCount == 0) return {};
  return {fmt::format(" {} from or to pageable memory, {}",
                      prof::countText(analysis.of<CopyStats>().pageableCount, "copy", "copies"),
                      prof::timeText(analysis.of<CopyStats>().pageableNs))};
}

}  // namespace
}  // namespace of_copies

constinit const Section copies{
    .name = "copies",
    .title = "Copies",
    .about = "copies between host and devices, by kind",
    .notes = of_copies::notes,
    .tables = of_copies::tables,
};

}  // namespace lacuna::analyzer::sections
