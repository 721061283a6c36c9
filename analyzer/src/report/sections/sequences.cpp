// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyses/work/sequences.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/sections/registry.h"
#include "report/sequence_text.h"

namespace lacuna::analyzer::sections {
namespace of_sequences {
namespace {

constexpr std::size_t kListed = 100;

struct Sequence {
  const Analysis& analysis;
  const SequenceRow& row;
};

const Column<Sequence> kColumns[]{
    {{"kernels", "kernels in order", ColumnKind::Name, "names in order"},
     [](const Sequence& sequence) -> TableCell {
       TextList names;
       for (const prof::StringId kernel : sequence.row.kernels)
         names.emplace_back(sequence.analysis.store->text(kernel));
       return names;
     }},
    {{"count", "", ColumnKind::Count, "how often"},
     [](const Sequence& sequence) -> TableCell { return cellOf(sequence.row.count); }},
    {{"count_per_step", "", ColumnKind::Number, "of one process; without steps in all"},
     [](const Sequence& sequence) -> TableCell {
       return sequenceCountPerStep(sequence.analysis, sequence.row.count);
     }},
    {{"runs", "", ColumnKind::Count, "stretches; one directly behind the other is one stretch"},
     [](const Sequence& sequence) -> TableCell { return cellOf(sequence.row.runs); }},
    {{"device_ns", "", ColumnKind::Time, "of the kernels"},
     [](const Sequence& sequence) -> TableCell { return sequence.row.deviceNs; }},
    {{"gap_ns", "", ColumnKind::Time, "between them"},
     [](const Sequence& sequence) -> TableCell { return sequence.row.gapNs; }},
    {{"share", "", ColumnKind::Share, "of the devices' time in the steps"},
     [](const Sequence& sequence) -> TableCell {
       return sequenceShare(sequence.analysis, sequence.row);
     }},
};

Table listed(const Analysis& analysis, std::string_view key, std::string_view about,
             const std::vector<SequenceRow>& rows) {
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < std::min(kListed, rows.size()); ++i)
    sequences.push_back({analysis, rows[i]});
  return tableOf(key, about, kColumns, sequences);
}

std::vector<Table> tables(const Analysis& analysis) {
  const SequenceStats& stats = analysis.of<SequenceStats>();
  return {groupOf(
      "sequences",
      {placed(
           "repeated",
           listed(analysis, "repeated_sequences",
                  "kernels that follow each other again and again, longest gaps first; at most 100",
                  stats.repeated)),
       placed("pointwise",
              listed(analysis, "pointwise_sequences",
                     "pointwise kernels that one kernel could do, longest gaps first; at most 100",
                     stats.pointwise))})};
}

SequenceRow sumOf(const std::vector<SequenceRow>& rows) {
  SequenceRow sum;
  for (const SequenceRow& row : rows) {
    sum.count += row.count;
    sum.runs += row.launches();
    prof::addTo(sum.deviceNs, row.deviceNs);
    prof::addTo(sum.gapNs, row.gapNs);
  }
  return sum;
}

TextTable tableFor(const Analysis& analysis) {
  return TextTable({{"kernels in order", TextColumn::Kind::Name},
                    {analysis.steps.all.empty() ? "in all" : "a step"},
                    {"computing", TextColumn::Kind::Figure, 1},
                    {"gaps"},
                    {"share"}});
}

void writeRows(TextPage& page, const Analysis& analysis, const std::vector<SequenceRow>& rows,
               int most) {
  TextTable table = tableFor(analysis);
  for (std::size_t i = 0; i < rows.size() && static_cast<int>(i) < most; ++i) {
    const SequenceRow& row = rows[i];
    table.add({sequenceText(*analysis.store, row),
               fmt::format("{:.1f}", sequenceCountPerStep(analysis, row.count)),
               prof::timeText(sequenceNsPerStep(analysis, row.deviceNs)),
               prof::timeText(sequenceNsPerStep(analysis, row.gapNs)),
               prof::shareText(sequenceShare(analysis, row))});
  }
  page.table(table);
}

std::string pointwiseLine(const Analysis& analysis, const SequenceRow& sum) {
  return fmt::format(
      " pointwise kernels one behind the other, which one kernel could do: {:.1f} {}, {:.1f} "
      "launches, {} of the time, {} of that between them",
      sequenceCountPerStep(analysis, sum.count),
      analysis.steps.all.empty() ? "times in all" : "times a step",
      sequenceCountPerStep(analysis, sum.runs), prof::shareText(sequenceShare(analysis, sum)),
      prof::shareText(sum.totalNs() <= 0
                          ? 0
                          : static_cast<double>(sum.gapNs) / static_cast<double>(sum.totalNs())));
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const SequenceStats& stats = analysis.of<SequenceStats>();
  if (stats.repeated.empty() && stats.pointwise.empty())
    return writeLines(page, sections::sequences, {});
  page.title(sections::sequences.title);
  writeRows(page, analysis, stats.repeated, rows);
  if (stats.repeated.empty())
    page.line(analysis.steps.all.empty() ? " none repeat" : " none repeat within a step");
  if (stats.pointwise.empty()) return;
  page.line(pointwiseLine(analysis, sumOf(stats.pointwise)));
  writeRows(page, analysis, stats.pointwise, rows);
}

void html(HtmlPage& page, const Analysis& analysis) {
  const bool steps = !analysis.steps.all.empty();
  for (const auto& [rows, title] :
       {std::pair(&analysis.of<SequenceStats>().repeated, "Repeated sequences of kernels"),
        std::pair(&analysis.of<SequenceStats>().pointwise,
                  "Pointwise kernels one behind the other, which one could do")}) {
    if (rows->empty()) continue;
    page.heading(title);
    page.markup(
        fmt::format("<div class=\"scroll\"><table><tr><th>kernels in order</th><th>{}</th><th>on "
                    "the device</th><th>gaps</th><th>share</th></tr>",
                    steps ? "a step" : "in all"));
    for (std::size_t i = 0; i < std::min<std::size_t>(8, rows->size()); ++i) {
      const SequenceRow& row = (*rows)[i];
      page.markup(fmt::format(
          "<tr><td>{}</td><td>{:.1f}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
          shortName(sequenceText(*analysis.store, row)), sequenceCountPerStep(analysis, row.count),
          prof::timeText(sequenceNsPerStep(analysis, row.deviceNs)),
          prof::timeText(sequenceNsPerStep(analysis, row.gapNs)),
          prof::shareText(sequenceShare(analysis, row))));
    }
    page.markup("</table></div>\n");
  }
}

}  // namespace
}  // namespace of_sequences

constinit const Section sequences{
    .name = "sequences",
    .title = "Repeated sequences",
    .about =
        "kernels that follow each other again and again, and pointwise ones that one kernel could "
        "do",
    .tables = of_sequences::tables,
    .text = of_sequences::text,
    .html = of_sequences::html,
};

}  // namespace lacuna::analyzer::sections
