// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_phases {
namespace {

bool isOfSteps(const PhaseUse& use) {
  return use.place == PhasePlace::InSteps || use.place == PhasePlace::BetweenSteps;
}

struct Row {
  const PhaseUse* use;
  const RunPhases* run;

  [[nodiscard]] std::int64_t perStepNs() const {
    return isOfSteps(*use) ? run->perStep(use->totalNs) : 0;
  }
};

const Column<Row> kColumns[]{
    {{"name", "phase", ColumnKind::Name,
      "`set-up`, `end`, as the program calls it (`evaluation`, `checkpoint`), or empty where "
      "nothing names it"},
     [](const Row& row) -> TableCell { return row.use->name; }},
    {{"place", "where", ColumnKind::Text,
      "`before the steps`, `in steps`, `between steps` or `behind the steps`"},
     [](const Row& row) -> TableCell { return std::string(phasePlaceName(row.use->place)); }},
    {{"count", "times", ColumnKind::Count,
      "pauses between steps that have it; in steps its ranges"},
     [](const Row& row) -> TableCell { return row.use->count; }},
    {{"total_ns", "in all", ColumnKind::Time,
      "of the run; in and between steps from the first steady step on"},
     [](const Row& row) -> TableCell { return row.use->totalNs; }},
    {{"ns_per_step", "a step", ColumnKind::Time,
      "the same, shared by the steady steps; 0 before and behind the steps"},
     [](const Row& row) -> TableCell { return row.perStepNs(); }},
    {{"share_of_iteration", "share", ColumnKind::Share,
      "`ns_per_step` as a part of `iteration_ns`"},
     [](const Row& row) -> TableCell {
       return ratio(double(row.perStepNs()), double(row.run->iterationNs()));
     }},
    {{"longest_start_ns", "", ColumnKind::Time, "where the longest of them begins"},
     [](const Row& row) -> TableCell { return row.use->longest.startNs; }},
    {{"longest_end_ns", "", ColumnKind::Time, "and ends"},
     [](const Row& row) -> TableCell { return row.use->longest.endNs; }},
};

struct Iteration {
  std::int64_t ns = 0, trainingNs = 0;
};

const Column<Iteration> kIteration[]{
    {{"iteration_ns", "", ColumnKind::Time,
      "the mean time from one steady step to the next, with the pauses between steps; 0 without "
      "steps"},
     kValueOf<&Iteration::ns>},
    {{"training_ns", "", ColumnKind::Time, "from the first steady step to the end of the last one"},
     kValueOf<&Iteration::trainingNs>},
};

/// The time of all phases at a place.
std::int64_t timeOf(const RunPhases& run, PhasePlace place) {
  std::int64_t ns = 0;
  for (const PhaseUse& use : run.uses) ns += use.place == place ? use.totalNs : 0;
  return ns;
}

Lines notes(const Analysis& analysis) {
  const RunPhases& run = analysis.of<RunPhases>();
  if (run.steps == 0) return {};
  std::string line =
      fmt::format(" an iteration takes {} on average", prof::timeText(run.iterationNs()));
  const std::int64_t between = run.perStep(timeOf(run, PhasePlace::BetweenSteps));
  if (between > 0)
    line += fmt::format(", {} of it ({}) in pauses between steps", prof::timeText(between),
                        prof::shareText(ratio(double(between), double(run.iterationNs()))));
  return {line};
}

Table phaseTable(const RunPhases& run) {
  std::vector<Row> rows;
  for (const PhaseUse& use : run.uses) rows.push_back({&use, &run});
  return tableOf("phases",
                 "what the program does besides its iterations, and unusual parts of them",
                 kColumns, rows);
}

std::vector<Table> tables(const Analysis& analysis) {
  const RunPhases& run = analysis.of<RunPhases>();
  const Iteration iteration{run.iterationNs(), run.trainingNs};
  return {
      placed({}, recordOf("iteration", "steps with what lies between them", kIteration, iteration)),
      phaseTable(run)};
}

/// In the overview a run that does nothing but iterate needs no list.
void text(TextPage& page, const Analysis& analysis, int rows) {
  const RunPhases& run = analysis.of<RunPhases>();
  const bool onlyIterates = std::ranges::none_of(run.uses, isOfSteps);
  if (onlyIterates && !page.isAskedFor()) return;
  writeLines(page, sections::phases, notes(analysis));
  if (run.steps > 0) page.table(phaseTable(run), rows);
}

}  // namespace
}  // namespace of_phases

constinit const Section phases{
    .name = "phases",
    .title = "Phases",
    .about = "set-up, evaluation, checkpoints and other pauses, for the run and for a step",
    .notes = of_phases::notes,
    .tables = of_phases::tables,
    .remedy = "mark the steps",
    .overviewRows = 5,
    .text = of_phases::text,
};

}  // namespace lacuna::analyzer::sections
