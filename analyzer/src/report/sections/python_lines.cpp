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
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

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
const Column<PythonLine> kFunction = {
    {"function", "in", ColumnKind::Name, "the function that the line is in"},
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
    {{"ns", "a step", ColumnKind::Time, "wall time of a mean step; without steps, in all"},
     kValueOf<&PythonLine::ns>},
    {{"mostly", "mostly", ColumnKind::Text,
      "the greatest part of `ns`: `own work`, `asleep`, `operators`, `loader` or `device`, as the "
      "columns behind it"},
     [](const PythonLine& row) -> TableCell { return std::string(greatestPart(row)); }},
    {{"host_ns", "", ColumnKind::Time,
      "of `ns`, in nothing that is recorded: Python, libraries, and waits of the program's own"},
     kValueOf<&PythonLine::hostNs>},
    {{"idle_ns", "device idle", ColumnKind::Time,
      "of `host_ns`, while the devices had nothing to do for 500 µs or more"},
     kValueOf<&PythonLine::idleNs>},
    {{"asleep_ns", "", ColumnKind::Time, "of `idle_ns`, while the thread slept"},
     kValueOf<&PythonLine::asleepNs>},
    {{"framework_ns", "", ColumnKind::Time,
      "of the rest of `idle_ns`, in PyTorch's own Python code"},
     kValueOf<&PythonLine::frameworkNs>},
    {{"operators_ns", "", ColumnKind::Time, "of `ns`, in operators and calls that launch work"},
     kValueOf<&PythonLine::operatorsNs>},
    {{"loader_ns", "", ColumnKind::Time, "of `ns`, waiting for a batch"},
     kValueOf<&PythonLine::loaderNs>},
    {{"device_ns", "", ColumnKind::Time, "of `ns`, waiting for a device or in calls of its driver"},
     kValueOf<&PythonLine::deviceNs>},
    kSamples,
    kFile,
};

const Column<PythonLine> kWorkerColumns[]{
    {{"place", "line", ColumnKind::Name,
      "file and line of the innermost frame in the dataset's code"},
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
  return {
      tableOf("python_lines",
              "lines of Python by the wall time of the thread that sets the steps; longest first",
              kColumns, lines.step),
      tableOf("python_worker_lines",
              "lines of Python by what the loader's workers spend on a batch; longest first",
              kWorkerColumns, lines.workers),
      tableOf(
          "python_setup_lines",
          "lines of Python between the first work of a device and the first step; longest first",
          kSetUpColumns, lines.before),
      tableOf("python_setup_parts", "the time before the first step by what ran; longest first",
              kPartColumns, lines.setUp)};
}

Lines notes(const Analysis& analysis) {
  const PythonLines& lines = analysis.of<PythonLines>();
  Lines out;
  if (lines.samples > 0) {
    out.push_back(
        fmt::format(" the training thread, by lines of the program's own code: {} of its steps",
                    prof::countText(lines.samples, "sample")));
  }
  if (lines.workerSamples > 0) {
    out.push_back(fmt::format(" workers of the loader, while they prepare batches: {}",
                              prof::countText(lines.workerSamples, "sample")));
  }
  return out;
}

constexpr std::string_view kDoubt = "few samples";

std::string placeText(const PythonLine& line) {
  return fmt::format("{} in {}{}{}", line.place, line.function, line.inside.empty() ? "" : " → ",
                     line.inside);
}

/// The first lines of one table.
void writeRows(TextPage& page, const std::vector<PythonLine>& lines, int rows,
               std::string_view timeHeading, std::string_view heading) {
  TextTable table({{std::string(timeHeading)},
                   {std::string(heading), TextColumn::Kind::Name},
                   {"", TextColumn::Kind::Text}});
  const std::size_t listed = std::min(lines.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) {
    const bool isDoubtful = lines[i].samples < kLeastLineSamples;
    table.add(
        {prof::timeText(lines[i].ns), placeText(lines[i]), std::string(isDoubtful ? kDoubt : "")});
  }
  page.table(table);
  page.more(lines.size() - listed);
}

void writeStepRows(TextPage& page, const Analysis& analysis, const std::vector<PythonLine>& lines,
                   int rows) {
  TextTable table({{std::string(perStep(analysis))},
                   {"mostly", TextColumn::Kind::Text, 1},
                   {"phase", TextColumn::Kind::Text, 2},
                   {"line", TextColumn::Kind::Name},
                   {"", TextColumn::Kind::Text}});
  const std::size_t listed = std::min(lines.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) {
    const PythonLine& line = lines[i];
    table.add({prof::timeText(line.ns), std::string(greatestPart(line)), oneLine(line.phase),
               placeText(line), std::string(line.samples < kLeastLineSamples ? kDoubt : "")});
  }
  page.table(table);
  page.more(lines.size() - listed);
}

void writeParts(TextPage& page, const std::vector<SetUpPart>& parts, int rows) {
  TextTable table({{"in all"}, {"packages before the first step", TextColumn::Kind::Name}});
  const std::size_t listed = std::min(parts.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) table.add({prof::timeText(parts[i].ns), parts[i].name});
  page.table(table);
  page.more(parts.size() - listed);
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const PythonLines& lines = analysis.of<PythonLines>();
  if (lines.step.empty() && lines.workers.empty() && lines.before.empty() && lines.setUp.empty())
    return writeLines(page, sections::pythonLines, {});
  page.title(sections::pythonLines.title);
  writeStepRows(page, analysis, lines.step, rows);
  writeRows(page, lines.workers, rows, "a batch", "line, in the loader's workers");
  writeRows(page, lines.before, rows, "in all", "line, before the first step");
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
