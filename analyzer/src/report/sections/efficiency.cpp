// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyses/work/efficiency.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_efficiency {
namespace {

constexpr std::size_t kListed = 100;

const Column<RooflineRow> kColumns[]{
    {{"name", "operator", ColumnKind::Name, "the operator"}, kValueOf<&RooflineRow::name>},
    {{"shapes", "shapes", ColumnKind::Name, "of its inputs"}, kValueOf<&RooflineRow::shapes>},
    {{"count", "", ColumnKind::Count, "calls"}, kValueOf<&RooflineRow::count>},
    {{"device_ns", "device", ColumnKind::Time, "of its device work"},
     kValueOf<&RooflineRow::deviceNs>},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `device_ns`",
      "device_ns"},
     kValueOf<&RooflineRow::recordingNs>},
    {{"flops", "", ColumnKind::Number, "floating-point operations of all calls; 0: not derivable"},
     [](const RooflineRow& row) -> TableCell { return row.demand.flops; }},
    {{"bytes", "", ColumnKind::Bytes, "that all calls have to move at least"},
     [](const RooflineRow& row) -> TableCell { return row.demand.bytes; }},
    {{"number", "number", ColumnKind::Text, "the type of the inputs"},
     [](const RooflineRow& row) -> TableCell {
       return std::string(numberName(row.demand.number));
     }},
    {{"of_roof", "of the roof", ColumnKind::Share,
      "of what the device could do at this ratio of arithmetic to bytes; -1: not known"},
     kValueOf<&RooflineRow::ofRoof>},
    {{"bound", "bound by", ColumnKind::Text, "`memory`, `compute` or `unknown`"},
     [](const RooflineRow& row) -> TableCell {
       return std::string(row.ofRoof < 0 ? "unknown" : row.memoryBound ? "memory" : "compute");
     }},
};

const Column<EfficiencyStats> kSums[]{
    {{"flops", "", ColumnKind::Number,
      "floating-point operations of the operators whose arithmetic is known"},
     kValueOf<&EfficiencyStats::flops>},
    {{"mfu", "", ColumnKind::Share, "model FLOP utilisation, at least; -1: not known"},
     kValueOf<&EfficiencyStats::mfu>},
    {{"occupancy", "", ColumnKind::Share,
      "of the multiprocessors over the kernels' time; -1: not known"},
     kValueOf<&EfficiencyStats::occupancy>},
    {{"matrix_ns", "", ColumnKind::Time, "of kernels that multiply matrices"},
     kValueOf<&EfficiencyStats::matrixNs>},
    {{"tensor_core_ns", "", ColumnKind::Time, "of kernels that use tensor cores"},
     kValueOf<&EfficiencyStats::tensorCoreNs>},
    {{"peaks_of", "", ColumnKind::Text,
      "the product whose peaks these shares are of; empty: not known"},
     [](const EfficiencyStats& row) -> TableCell { return std::string(row.peaks.source); }},
};

std::vector<Table> tables(const Analysis& analysis) {
  const EfficiencyStats& stats = analysis.of<EfficiencyStats>();
  return {holding(
      recordOf("efficiency", "how well the devices are used", kSums, stats), [&](std::size_t) {
        const auto listed = std::span(stats.rows).first(std::min(kListed, stats.rows.size()));
        return std::vector{placed(
            "operators",
            tableOf("roofline",
                    "operators whose arithmetic is known, longest on the device first; at most 100",
                    kColumns, listed))};
      })};
}

bool hasRoof(const EfficiencyStats& stats) {
  return std::ranges::any_of(stats.rows, [](const RooflineRow& row) { return row.ofRoof >= 0; });
}

std::string numbersLine(const EfficiencyStats& stats) {
  std::string numbers;
  for (std::size_t i = 0; i < kNumberCount; ++i) {
    if (stats.nsByNumber[i] > 0)
      numbers +=
          fmt::format("{}{} {}", numbers.empty() ? "" : ", ", numberName(static_cast<Number>(i)),
                      prof::shareText(ratio(double(stats.nsByNumber[i]), double(stats.matrixNs))));
  }
  return fmt::format(" matrix kernels: {} of their {} on tensor cores; by number type {}",
                     prof::shareText(stats.tensorCoreNsOfMatrix()), prof::timeText(stats.matrixNs),
                     numbers);
}

Lines notes(const Analysis& analysis) {
  const EfficiencyStats& stats = analysis.of<EfficiencyStats>();
  Lines out;
  if (stats.rows.empty() && (stats.matrixNs == 0 || stats.occupancy < 0)) return out;
  const bool onlyHost =
      std::all_of(analysis.devices.begin(), analysis.devices.end(),
                  [](const DeviceAccount& device) { return device.kind == prof::DeviceKind::Cpu; });
  if (stats.matrixNs > 0 && !onlyHost) out.push_back(numbersLine(stats));
  if (stats.occupancy >= 0)
    out.push_back(fmt::format(" occupancy {} over kernel time", prof::shareText(stats.occupancy)));
  if (stats.mfu >= 0)
    out.push_back(
        fmt::format(" MFU at least {} (peaks of {}), from operators whose arithmetic is known",
                    prof::shareText(stats.mfu), stats.peaks.source));
  if (stats.rows.empty()) {
    out.emplace_back(" shapes of inputs are not recorded, so there is no roofline");
  }
  if (!stats.rows.empty() && !hasRoof(stats))
    out.emplace_back(
        " peak throughput of this device is unknown; distance from the roofline is not shown");
  return out;
}

TextTable roofline(const EfficiencyStats& stats, int rows) {
  TextTable table({{"operator and shapes", TextColumn::Kind::Name},
                   {"device"},
                   {"±", TextColumn::Kind::Band},
                   {"arithmetic"},
                   {"bytes", TextColumn::Kind::Figure, 2},
                   {"of the roof", TextColumn::Kind::Figure, 1}});
  for (std::size_t i = 0; i < stats.rows.size() && static_cast<int>(i) < rows; ++i) {
    const RooflineRow& row = stats.rows[i];
    table.add({row.name + " " + row.shapes, prof::timeText(row.deviceNs),
               humanBand(row.recordingNs, row.deviceNs),
               row.demand.flops > 0 ? prof::scaledCount(row.flopsPerSecond()) + "FLOP/s" : "",
               prof::rateText(row.bytesPerSecond()),
               row.ofRoof < 0 ? ""
                              : fmt::format("{} {}", prof::shareText(row.ofRoof),
                                            row.memoryBound ? "memory" : "compute")});
  }
  return table;
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  writeLines(page, sections::efficiency, notes(analysis));
  page.table(roofline(analysis.of<EfficiencyStats>(), rows));
}

}  // namespace
}  // namespace of_efficiency

constinit const Section efficiency{
    .name = "efficiency",
    .title = "Efficiency",
    .about = "matrix units, occupancy, and how near operators come to what the device could do",
    .notes = of_efficiency::notes,
    .tables = of_efficiency::tables,
    .overviewRows = 3,
    .text = of_efficiency::text,
};

}  // namespace lacuna::analyzer::sections
