// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/work/python_lines.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_python_lines {
namespace {

std::string_view greatestPart(const PythonLine& line) {
  const std::pair<std::int64_t, std::string_view> parts[]{{line.hostNs - line.asleepNs, "own work"},
                                                          {line.asleepNs, "asleep"},
                                                          {line.operatorsNs, "operators"},
                                                          {line.loaderNs, "loader"},
                                                          {line.deviceNs, "device"}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

// The columns of all three tables.
const Column<PythonLine> kFunction = {{"function", "in", ColumnKind::Name, "the function that the line is in"},
                                      kValueOf<&PythonLine::function>};
const Column<PythonLine> kInside = {
    {"inside",
     "calls",
     ColumnKind::Name,
     "the innermost library function that it called, where that took half of the time or more",
     {},
     true},
    kValueOf<&PythonLine::inside>};
const Column<PythonLine> kSamples = {
    {"samples", "samples", ColumnKind::Count, "that saw it; below 10 its time is a guess"},
    kValueOf<&PythonLine::samples>};
const Column<PythonLine> kFile = {{"file", "", ColumnKind::Name, "the whole name of the file"},
                                  kValueOf<&PythonLine::file>};

const Column<PythonLine> kColumns[]{
    {{"place", "line", ColumnKind::Name, "file and line of the innermost frame in the user's code"},
     kValueOf<&PythonLine::place>},
    kFunction,
    kInside,
    {{"phase", "phase", ColumnKind::Text, "the phase that half of it or more was in", {}, true},
     kValueOf<&PythonLine::phase>},
    {{"ns", "a step", ColumnKind::Time, "wall time of a mean step; without steps, in all"}, kValueOf<&PythonLine::ns>},
    {{"mostly", "mostly", ColumnKind::Text,
      "the greatest part of `ns`: `own work`, `asleep`, `operators`, `loader` or `device`, as the columns behind it"},
     [](const PythonLine& row) -> TableCell { return std::string(greatestPart(row)); }},
    {{"host_ns", "", ColumnKind::Time,
      "of `ns`, in nothing that is recorded: Python, libraries, and waits of the program's own"},
     kValueOf<&PythonLine::hostNs>},
    {{"idle_ns", "device idle", ColumnKind::Time,
      "of `host_ns`, while the devices had nothing to do for 500 µs or more"},
     kValueOf<&PythonLine::idleNs>},
    {{"asleep_ns", "", ColumnKind::Time, "of `idle_ns`, while the thread slept"}, kValueOf<&PythonLine::asleepNs>},
    {{"framework_ns", "", ColumnKind::Time, "of the rest of `idle_ns`, in PyTorch's own Python code"},
     kValueOf<&PythonLine::frameworkNs>},
    {{"operators_ns", "", ColumnKind::Time, "of `ns`, in operators and calls that launch work"},
     kValueOf<&PythonLine::operatorsNs>},
    {{"loader_ns", "", ColumnKind::Time, "of `ns`, waiting for a batch"}, kValueOf<&PythonLine::loaderNs>},
    {{"device_ns", "", ColumnKind::Time, "of `ns`, waiting for a device or in calls of its driver"},
     kValueOf<&PythonLine::deviceNs>},
    kSamples,
    kFile,
};

const Column<PythonLine> kWorkerColumns[]{
    {{"place", "line", ColumnKind::Name, "file and line of the innermost frame in the dataset's code"},
     kValueOf<&PythonLine::place>},
    kFunction,
    kInside,
    {{"ns", "a batch", ColumnKind::Time, "wall time of a mean batch"}, kValueOf<&PythonLine::ns>},
    kSamples,
    kFile,
};

const Column<PythonLine> kSetUpColumns[]{
    {{"place", "line", ColumnKind::Name, "file and line of the innermost frame in the user's code"},
     kValueOf<&PythonLine::place>},
    kFunction,
    kInside,
    {{"ns", "in all", ColumnKind::Time, "wall time"}, kValueOf<&PythonLine::ns>},
    kSamples,
    kFile,
};

const Column<SetUpPart> kPartColumns[]{
    {{"name", "part", ColumnKind::Name,
      "the installed package that ran, else the file of the user's code, else `Python`"},
     kValueOf<&SetUpPart::name>},
    {{"ns", "in all", ColumnKind::Time, "wall time"}, kValueOf<&SetUpPart::ns>},
    {{"samples", "samples", ColumnKind::Count, "that saw it; below 10 its time is a guess"},
     kValueOf<&SetUpPart::samples>},
};

std::vector<Table> tables(const Analysis& analysis) {
  const PythonLines& lines = analysis.of<PythonLines>();
  return {tableOf("python_lines", "lines of Python by the wall time of the thread that sets the steps; longest first",
                  kColumns, lines.step),
          tableOf("python_worker_lines", "lines of Python by what the loader's workers spend on a batch; longest first",
                  kWorkerColumns, lines.workers),
          tableOf("python_setup_lines",
                  "lines of Python between the first work of a device and the first step; longest first", kSetUpColumns,
                  lines.before),
          tableOf("python_setup_parts", "the time before the first step by what ran; longest first", kPartColumns,
                  lines.setUp)};
}

Lines notes(const Analysis& analysis) {
  const PythonLines& lines = analysis.of<PythonLines>();
  Lines out;
  if (lines.samples > 0) {
    out.push_back(fmt::format(" the training thread, by lines of the program's own code: {} of its steps",
                              prof::countText(lines.samples, "sample")));
  }
  if (lines.workerSamples > 0) {
    out.push_back(fmt::format(" workers of the loader, while they prepare batches: {}",
                              prof::countText(lines.workerSamples, "sample")));
  }
  return out;
}

/// The first lines of one table, with what stands in front of each.
template <class Front>
void writeRows(TextPage& page, const std::vector<PythonLine>& lines, int rows, std::string_view heading,
               Front&& front) {
  if (lines.empty()) return;
  page.line(page.styled(heading, "2"));
  for (std::size_t i = 0; i < lines.size() && static_cast<int>(i) < rows; ++i) {
    const PythonLine& line = lines[i];
    const std::string before = fmt::format(" {:>10}{} ", prof::timeText(line.ns), front(line));
    const std::string what =
        fmt::format("{} in {}{}{}", line.place, line.function, line.inside.empty() ? "" : " → ", line.inside);
    const std::string_view doubt = line.samples < kLeastLineSamples ? " (few samples)" : "";
    page.line(before + shortened(what, page.width() - static_cast<int>(before.size() + doubt.size())) +
              std::string(doubt));
  }
  if (static_cast<int>(lines.size()) > rows)
    page.line(fmt::format("    and {} more", static_cast<int>(lines.size()) - rows));
}

void writeParts(TextPage& page, const std::vector<SetUpPart>& parts, int rows) {
  if (parts.empty()) return;
  page.line(page.styled(fmt::format(" {:>10}  packages before the first step", "in all"), "2"));
  for (std::size_t i = 0; i < parts.size() && static_cast<int>(i) < rows; ++i) {
    page.line(fmt::format(" {:>10}  {}", prof::timeText(parts[i].ns), shortened(parts[i].name, page.width() - 13)));
  }
  if (static_cast<int>(parts.size()) > rows)
    page.line(fmt::format("    and {} more", static_cast<int>(parts.size()) - rows));
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const PythonLines& lines = analysis.of<PythonLines>();
  if (lines.step.empty() && lines.workers.empty() && lines.before.empty() && lines.setUp.empty())
    return writeLines(page, sections::pythonLines, {});
  page.title(sections::pythonLines.title);
  writeRows(page, lines.step, rows, fmt::format(" {:>10}  {:<10} {:<10} line", perStep(analysis), "mostly", "phase"),
            [](const PythonLine& line) { return fmt::format("  {:<10} {:<10}", greatestPart(line), line.phase); });
  const auto nothing = [](const PythonLine&) { return std::string(" "); };
  writeRows(page, lines.workers, rows, fmt::format(" {:>10}  line, in the loader's workers", "a batch"), nothing);
  writeRows(page, lines.before, rows, fmt::format(" {:>10}  line, before the first step", "in all"), nothing);
  writeParts(page, lines.setUp, rows);
}

}  // namespace
}  // namespace of_python_lines

constinit const Section pythonLines{
    .name = "python",
    .title = "Lines of Python",
    .about = "where the program's own Python code spent the time of a step, by line",
    .notes = of_python_lines::notes,
    .tables = of_python_lines::tables,
    .remedy = "lacuna run looks where Python programs are, a hundred times a second",
    .overviewRows = 5,
    .text = of_python_lines::text,
};

}  // namespace lacuna::analyzer::sections
