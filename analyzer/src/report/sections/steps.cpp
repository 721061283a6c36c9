// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/shown_steps.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/ledger_table.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_steps {
namespace {

/// The longest chain through a step.
void writePath(TextPage& page, const Analysis& analysis) {
  const StepPath& path = analysis.of<CriticalPaths>().mean;
  if (path.totalNs() <= 0) return;
  std::string parts;
  for (const auto& [ns, what] :
       {std::pair(path.computeNs, "computing"), std::pair(path.communicationNs, "communication"),
        std::pair(path.copyNs, "copies"), std::pair(path.hostNs, "host work"),
        std::pair(path.launchNs, "launching"),
        std::pair(path.loaderNs, "waiting for the loader")}) {
    const double share = static_cast<double>(ns) / static_cast<double>(path.totalNs());
    if (share >= 0.005)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", what, prof::shareText(share));
  }
  page.wrapped(
      "critical path (what a step's length hangs on; the device may be busy meanwhile): " + parts,
      1, 1);
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  page.title(sections::steps.title);
  const auto& all = analysis.steps.all;
  if (all.empty()) {
    page.wrapped(
        "none were found: mark them with an NVTX range named \"step\" to see figures per step", 1,
        1);
    return;
  }
  writePath(page, analysis);
  const auto [first, last] = shownRange(analysis);
  std::int64_t longest = 1;
  for (std::size_t i = first; i < last; ++i) longest = std::max(longest, all[i].durNs());
  // Beside the bar: the columns before it, and what a warm-up step is marked with.
  const int nameWidth = page.width() < 67 ? 12 : 18;
  const int room = std::max(10, page.width() - 28 - nameWidth - page.bandWidth());
  const std::size_t listed = std::min<std::size_t>(last - first, static_cast<std::size_t>(rows));
  for (std::size_t i = first; i < first + listed; ++i) {
    const Step& step = all[i];
    const auto cells = static_cast<std::size_t>(
        std::lround(static_cast<double>(step.durNs()) / static_cast<double>(longest) * room));
    std::string bar;
    for (std::size_t c = 0; c < cells; ++c) bar += "█";
    page.line(fmt::format(" {:>5} {} {:>11} {}{}{}", step.index, padded(step.name, nameWidth),
                          prof::timeText(step.durNs()),
                          page.bandCell(analysis.stepBandNs(i), step.durNs()),
                          page.marked(Cause::Compute, bar),
                          step.isPlain  ? " plain"
                          : step.warmUp ? " warm-up"
                                        : ""));
  }
  if (last - first > listed)
    page.line(fmt::format("       and {} more: --section steps", last - first - listed));
}

/// A step with what the analysis knows of it beside.
struct StepRow {
  const Step* step = nullptr;
  std::int64_t recordingNs = 0;
};

const Column<StepRow> kColumns[]{
    {{"index", "step", ColumnKind::Count, "from 0"},
     [](const StepRow& row) -> TableCell { return row.step->index; }},
    {{"name", "name", ColumnKind::Name, "of its marker"},
     [](const StepRow& row) -> TableCell { return row.step->name; }},
    {{"start_ns", "", ColumnKind::Time, "on the trace's clock"},
     [](const StepRow& row) -> TableCell { return row.step->startNs; }},
    {{"dur_ns", "length", ColumnKind::Time, "from its begin to its end"},
     [](const StepRow& row) -> TableCell { return row.step->durNs(); }},
    {{"recording_ns", "±", ColumnKind::Band, "what recording may have added to `dur_ns`", "dur_ns"},
     kValueOf<&StepRow::recordingNs>},
    {{"warm_up", "", ColumnKind::Flag, "no figure per step counts it"},
     [](const StepRow& row) -> TableCell { return row.step->warmUp; }},
    {{"plain", "", ColumnKind::Flag,
      "recorded without operators, modules and allocations; no figure per step counts it, nor its "
      "ledger"},
     [](const StepRow& row) -> TableCell { return row.step->isPlain; }},
};

const Column<StepPath> kPath[]{
    {{"compute_ns_per_step", "", ColumnKind::Time, "computing"}, kValueOf<&StepPath::computeNs>},
    {{"communication_ns_per_step", "", ColumnKind::Time, "communication"},
     kValueOf<&StepPath::communicationNs>},
    {{"copy_ns_per_step", "", ColumnKind::Time, "copies"}, kValueOf<&StepPath::copyNs>},
    {{"host_ns_per_step", "", ColumnKind::Time, "host work and calls"},
     kValueOf<&StepPath::hostNs>},
    {{"launch_ns_per_step", "", ColumnKind::Time,
      "from a launch to its start, and between queued work"},
     kValueOf<&StepPath::launchNs>},
    {{"loader_ns_per_step", "", ColumnKind::Time, "waiting for batches"},
     kValueOf<&StepPath::loaderNs>},
};

Table pathTable(const StepPath& path) {
  return recordOf("critical_path", "the longest chain through a step, the mean of the steady steps",
                  kPath, path);
}

/// The ledger of a step, and its longest chain where it was replayed.
std::vector<Table> insideStep(const Analysis& analysis, std::size_t step) {
  std::vector<Table> inside{
      ledgerTable(analysis.ledgers.steps[step], analysis.ledgers.bands.steps[step])};
  const std::vector<StepPath>& paths = analysis.of<CriticalPaths>().steps;
  if (step < paths.size() && paths[step].totalNs() > 0) inside.push_back(pathTable(paths[step]));
  return inside;
}

std::vector<Table> tables(const Analysis& analysis) {
  std::vector<StepRow> rows;
  const auto [first, last] = shownRange(analysis);
  for (std::size_t i = first; i < last; ++i)
    rows.push_back({&analysis.steps.all[i], analysis.stepBandNs(i)});
  return {holding(tableOf("steps", "in the order of time", kColumns, rows),
                  [&analysis, from = first](std::size_t row) {
                    return insideStep(analysis, from + row);
                  }),
          pathTable(analysis.of<CriticalPaths>().mean)};
}

/// "step 12"; a marker that carries its number ("ProfilerStep#12") as it is.
std::string stepLabel(const Step& step) {
  const bool numbered = step.name.find_first_of("0123456789") != std::string::npos;
  return numbered ? xmlText(step.name) : fmt::format("{} {}", xmlText(step.name), step.index);
}

constexpr double kWidth = 960, kHeight = 208, kBase = 178, kLeft = 132;

/// Draws the axis, its ticks up to `longest`, and the hatching for the cost of recording.
void openChart(HtmlPage& page, std::int64_t longest) {
  page.markup(
      fmt::format("<div class=\"axis\">↑ time per step, by cause · steps →</div><svg viewBox=\"0 0 "
                  "{} {}\" role=\"img\" aria-label=\"time per step\">",
                  kWidth, kHeight));
  page.markup(
      "<defs><pattern id=\"band\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect width=\"1.5\" height=\"4\" "
      "fill=\"currentColor\"/></pattern></defs>");
  for (int tick = 0; tick <= 2; ++tick) {
    const double y = kBase - tick * (kBase - 12) / 2;
    page.markup(
        fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" "
                    "stroke-opacity=\".15\"/><text class=\"dim\" x=\"{}\" y=\"{:.1f}\" "
                    "text-anchor=\"end\">{}</text>",
                    kLeft, kWidth, y, y, kLeft - 6, y + 4, prof::timeText(longest * tick / 2)));
  }
}

/// One column a step (at most some 200, later ones joined by their mean), coloured by the step's
/// own ledger.
void html(HtmlPage& page, const Analysis& analysis) {
  const Steps shown = shownSteps(analysis);
  const auto& all = shown.all;
  if (all.empty()) return;
  page.heading(fmt::format("Steps: {}", describeSteps(analysis)));
  const std::size_t first = shownRange(analysis).first;
  const std::size_t group = (all.size() + 199) / 200;
  const std::size_t columns = (all.size() + group - 1) / group;
  std::int64_t longest = 1;
  std::vector<std::int64_t> durations;
  for (const Step& step : all) durations.push_back(step.durNs());
  std::sort(durations.begin(), durations.end());
  // A slow first step must not flatten the others; columns that leave the chart are cut.
  const std::int64_t most = durations.back();
  longest =
      std::max<std::int64_t>(1, std::min(most, 2 * durations[(durations.size() - 1) * 95 / 100]));
  const double width = (kWidth - kLeft) / static_cast<double>(columns);
  openChart(page, longest);
  for (std::size_t c = 0; c < columns; ++c) {
    Ledger ledger;
    std::int64_t dur = 0;
    std::int64_t recording = 0;
    const std::size_t end = std::min(all.size(), (c + 1) * group);
    // A plain step has a length and no ledger.
    const bool onlyPlain =
        std::all_of(all.begin() + static_cast<std::ptrdiff_t>(c * group),
                    all.begin() + static_cast<std::ptrdiff_t>(end), std::mem_fn(&Step::isPlain));
    std::int64_t count = 0;
    for (std::size_t i = c * group; i < end; ++i) {
      if (all[i].isPlain && !onlyPlain) continue;
      ++count;
      ledger += analysis.ledgers.steps[first + i];
      prof::addTo(dur, all[i].durNs());
      prof::addTo(recording, analysis.stepBandNs(first + i));
    }
    // The height of so much time in one of the column's steps.
    const auto heightOf = [&](std::int64_t ns) {
      return static_cast<double>(ns) / static_cast<double>(count) / static_cast<double>(longest) *
             (kBase - 12);
    };
    const double height = std::min(heightOf(dur), kBase - 12);
    const double total = static_cast<double>(std::max<std::int64_t>(1, ledger.totalNs()));
    const double x = kLeft + static_cast<double>(c) * width;
    double y = kBase;
    const std::string bandText = humanBand(recording, dur);
    page.markup(fmt::format("<g><title>{}: {}{}</title>", stepLabel(all[c * group]),
                            prof::timeText(dur / count),
                            bandText.empty() ? "" : " " + xmlText(bandText)));
    if (onlyPlain) {
      page.markup(
          fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
                      "fill=\"currentColor\" fill-opacity=\".2\"/>",
                      x, kBase - height, std::max(0.5, width * 0.85), height));
    }
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      const double part = static_cast<double>(ledger.ns[i]) / total * height;
      if (part < 0.05) continue;
      y -= part;
      page.markup(fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"c{}\"/>", x,
          y, std::max(0.5, width * 0.85), part, i));
    }
    // The cost of recording lies hatched over the top of the step.
    const double band = std::min(height, heightOf(recording));
    if (band >= 0.5)
      page.markup(
          fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
                      "fill=\"url(#band)\"/>",
                      x, y, std::max(0.5, width * 0.85), band));
    page.markup("</g>");
  }
  page.markup(
      fmt::format("<text class=\"dim\" x=\"{}\" y=\"203\">{}</text><text class=\"dim\" x=\"{}\" "
                  "y=\"203\" text-anchor=\"end\">{}</text></svg>\n",
                  kLeft, stepLabel(all.front()), kWidth, stepLabel(all.back())));
}

}  // namespace
}  // namespace of_steps

constinit const Section steps{
    .name = "steps",
    .title = "Steps",
    .about = "the length of each step, and what it hangs on",
    .tables = of_steps::tables,
    .overviewRows = 6,
    .text = of_steps::text,
    .html = of_steps::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
