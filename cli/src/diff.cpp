// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "base/report_text.h"
#include "commands.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/text_table.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli {
namespace {

using analyzer::Difference;
using analyzer::DiffVerdict;

struct DiffOptions {
  std::string before;
  std::string after;
  std::size_t rows = 20;
  bool json = false;
};

std::string change(std::int64_t ns) {
  return (ns < 0 ? "-" : "+") + prof::timeText(std::abs(ns));
}

std::string_view colourOf(DiffVerdict verdict) {
  const Style& s = style();
  if (verdict == DiffVerdict::Slower || verdict == DiffVerdict::New) return s.red;
  return verdict == DiffVerdict::Same ? s.dim : s.green;
}

/// "1.21 ms (median of 40 steps 1.20 ms ± 3.4 µs)"
std::string timeOf(const analyzer::Spread& spread, std::int64_t meanNs, bool hasSteps) {
  if (!hasSteps) return prof::timeText(spread.medianNs) + " (the whole run)";
  return fmt::format("{} (median of {} {} ± {})", prof::timeText(meanNs),
                     prof::countText(spread.steps, "step"), prof::timeText(spread.medianNs),
                     prof::timeText(spread.madNs));
}

/// Fewer than two steps on a side show nothing of the noise.
bool hasInterval(const Difference& row) {
  return row.before.steps > 1 && row.after.steps > 1;
}

void printStep(const analyzer::RunDiff& diff) {
  constexpr int kIndent = 11;
  const Style& s = style();
  const Difference& step = diff.step;
  fmt::print("{:<10} {}\n", step.path,
             fitted(fmt::format("{} → {}", timeOf(step.before, diff.meanBeforeNs, diff.stepsBefore),
                                timeOf(step.after, diff.meanAfterNs, diff.stepsAfter)),
                    kIndent));
  const double share = 100.0 * static_cast<double>(step.changeNs) /
                       static_cast<double>(std::max<std::int64_t>(1, step.before.medianNs));
  const std::string by = fmt::format("{} ({:+.1f} %)", change(step.changeNs), share);
  if (!hasInterval(step)) {
    fmt::print("{:{}}{}\n", "", kIndent,
               fitted(by + "; how much of that is noise is not known", kIndent));
    return;
  }
  const std::string_view word = step.verdict == DiffVerdict::Same
                                    ? "no change that the noise does not explain"
                                    : analyzer::diffVerdictName(step.verdict);
  const std::string text = fmt::format("{}: {}, 95 % between {} and {}", word, by,
                                       change(step.lowNs), change(step.highNs));
  fmt::print("{:{}}{}{}{}\n", "", kIndent, colourOf(step.verdict), fitted(text, kIndent), s.reset);
}

void printTree(const analyzer::RunDiff& diff, std::size_t rows) {
  using Kind = analyzer::TextColumn::Kind;
  const std::string counts = fmt::format(
      "{} before, {} after, {} in both; host's own and device time {}", diff.pathsBefore,
      diff.pathsAfter, diff.pathsCommon, diff.stepsBefore || diff.stepsAfter ? "a step" : "in all");
  fmt::print("\n{}\n", fitted(fmt::format("{}Places in the operator tree{}  {}", style().bold,
                                          style().reset, counts),
                              0));
  if (diff.tree.empty()) fmt::print(" none changed by more than 0.2 % of the {}\n", diff.step.path);
  analyzer::TextTable table({{"", Kind::Text},
                             {"before", Kind::Figure, 3},
                             {"after", Kind::Figure, 2},
                             {"change"},
                             {"95 % between", Kind::Text, 1},
                             {"place", Kind::Path}});
  for (std::size_t i = 0; i < std::min(rows, diff.tree.size()); ++i) {
    const Difference& row = diff.tree[i];
    const bool isOpen = row.verdict == DiffVerdict::Same && !hasInterval(row);
    const std::string interval = hasInterval(row)
                                     ? fmt::format("{} … {}", change(row.lowNs), change(row.highNs))
                                     : std::string();
    table.add({fmt::format("{}{}{}", colourOf(row.verdict),
                           isOpen ? "?" : analyzer::diffVerdictName(row.verdict), style().reset),
               prof::timeText(row.before.medianNs), prof::timeText(row.after.medianNs),
               change(row.changeNs), interval, analyzer::oneLine(row.path)});
  }
  printTextTable(table);
  if (diff.tree.size() > rows)
    fmt::print("   and {} more: --rows {}\n", diff.tree.size() - rows, diff.tree.size());
}

std::string toJson(const Difference& row) {
  const auto spread = [](const analyzer::Spread& spread) {
    return fmt::format("{{\"median_ns\": {}, \"mad_ns\": {}, \"steps\": {}}}", spread.medianNs,
                       spread.madNs, spread.steps);
  };
  return fmt::format(
      "{{\"path\": {}, \"verdict\": \"{}\", \"before\": {}, \"after\": {}, \"device_before_ns\": "
      "{}, \"device_after_ns\": {}, \"change_ns\": {}, \"low_ns\": {}, \"high_ns\": {}, "
      "\"noise_known\": {}}}",
      jsonString(row.path), analyzer::diffVerdictName(row.verdict), spread(row.before),
      spread(row.after), row.deviceBeforeNs, row.deviceAfterNs, row.changeNs, row.lowNs, row.highNs,
      hasInterval(row));
}

/// Which of the runs have no steps, and what that means.
std::vector<std::string> notesOf(const DiffOptions& options, const analyzer::RunDiff& diff) {
  std::vector<std::string> notes;
  if (!diff.stepsBefore) notes.push_back(withoutSteps(options.before));
  if (!diff.stepsAfter) notes.push_back(withoutSteps(options.after));
  if (diff.stepsBefore != diff.stepsAfter)
    notes.emplace_back(
        "a step of one is compared with all of the other: take two runs that both have steps");
  if (diff.framesLeftOut)
    notes.emplace_back(
        "one run alone has Python's stacks, so their frames were left out of the places");
  return notes;
}

void printJson(const analyzer::RunDiff& diff, const std::vector<std::string>& notes) {
  std::string tree;
  for (const Difference& row : diff.tree) tree += (tree.empty() ? "\n  " : ",\n  ") + toJson(row);
  std::string noteTexts;
  for (const std::string& note : notes)
    noteTexts += (noteTexts.empty() ? "" : ", ") + jsonString(note);
  const auto per = [](bool steps) { return steps ? "step" : "run"; };
  fmt::print(
      "{{\"schema\": \"lacuna.diff/1\",\n \"before_per\": \"{}\",\n \"after_per\": \"{}\",\n "
      "\"before_step_ns\": {},\n \"after_step_ns\": {},\n \"notes\": [{}],\n \"step\": {},\n "
      "\"tree\": [{}]}}\n",
      per(diff.stepsBefore), per(diff.stepsAfter), diff.meanBeforeNs, diff.meanAfterNs, noteTexts,
      toJson(diff.step), tree);
}

int run(const DiffOptions& options) {
  const auto before = analysed(options.before);
  if (!before) return printError(before.error().message);
  const auto after = analysed(options.after);
  if (!after) return printError(after.error().message);
  const auto diff = analyzer::diffRuns(*before, *after);
  if (!diff) return printError(diff.error().message);
  const std::vector<std::string> notes = notesOf(options, *diff);
  if (options.json) {
    printJson(*diff, notes);
    return kOk;
  }
  printStep(*diff);
  for (const std::string& note : notes)
    fmt::print("{}note       {}{}\n", style().dim, fitted(analyzer::oneLine(note), 11),
               style().reset);
  printTree(*diff, options.rows);
  return kOk;
}

}  // namespace

void addDiff(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<DiffOptions>();
  Command command(app, "diff",
                  "Compare two runs by operator tree and step: what got slower, faster, new, gone");
  command.option("BEFORE", options->before, "a trace").required();
  command.option("AFTER", options->after, "a trace of the changed program").required();
  command.option("--rows", options->rows, "how many places to list (JSON has all)")
      .showDefault()
      .notNegative();
  command.flag("--json", options->json, "print the comparison as JSON (docs/diff-json.md)");
  command.opensTraces();
  command.example("lacuna diff before.lcn after.lcn");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
