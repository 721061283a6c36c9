// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "base/calibration_option.h"
#include "base/command.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/progress_line.h"
#include "base/report_text.h"
#include "base/safe_output.h"
#include "commands.h"
#include "explain.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/text_table.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

/// More than any report has; --explain takes no larger number.
constexpr int kMostFindings = 9999;

struct ReportOptions {
  std::string file;
  std::vector<std::string> sections;
  std::string steps;
  std::string device;
  std::int32_t rank = -1;
  Target output;
  bool isPage = false;  ///< `output` is a page whatever else was asked for
  std::vector<std::string> causes;
  std::string calibration;
  int width = 0;
  bool json = false;
  bool listFindings = false;
  bool listSections = false;
  std::string csv;  ///< the table to print
  int explain = 0;  ///< the number of a finding; 0: none
};

prof::Result<std::pair<std::uint64_t, std::uint64_t>> parseSteps(std::string_view text) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, first);
  if (error == std::errc() && colon != end && *colon == ':') {
    const auto [stop, second] = std::from_chars(colon + 1, end, last);
    if (second == std::errc() && stop == end) {
      if (first < last) return std::pair(first, last);
      return prof::Error{
          first > last
              ? fmt::format("--steps {}: the first step is behind the last", text)
              : fmt::format(
                    "--steps {}: is empty, as step {} is no longer part of it; {}:{} is that one",
                    text, last, first, first + 1)};
    }
  }
  return prof::Error{fmt::format(
      "--steps {}: expected A:B, from step A up to but without step B (0:3 are the first three)",
      text)};
}

/// The sections of --section, with `all` replaced by every one.
prof::Result<std::vector<std::string>> chosenSections(const std::vector<std::string>& wanted) {
  const auto known = analyzer::reportSections();
  const std::vector<std::string> all(known.begin(), known.end());
  for (const std::string& name : wanted) {
    if (name == "all") return all;
    if (std::ranges::find(all, name) != all.end()) continue;
    const std::string meant = nearest(all, name);
    return prof::Error{fmt::format(
        "--section {}: there is no such section{}; there are: all, {}", name,
        meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant), fmt::join(all, ", "))};
  }
  return wanted;
}

std::vector<std::string> tableNames() {
  std::vector<std::string> names;
  for (const analyzer::Table& table : analyzer::reportTables(analyzer::Analysis{}))
    names.emplace_back(table.key);
  return names;
}

std::vector<std::string> causeNames() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < analyzer::kCauseCount; ++i)
    names.emplace_back(analyzer::causeKey(static_cast<analyzer::Cause>(i)));
  return names;
}

prof::Status checkTable(std::string_view wanted) {
  const std::vector<std::string> known = tableNames();
  if (std::ranges::find(known, wanted) != known.end()) return {};
  return prof::Error{fmt::format("--csv {}: there is no such table; there are: {}", wanted,
                                 fmt::join(known, ", "))};
}

/// Prints what is behind one cause of the ledger, and where it lasts longest; times count from the
/// trace's beginning, as those that lacuna-gui takes.
void printCause(const analyzer::Analysis& analysis, analyzer::Cause cause) {
  using Kind = analyzer::TextColumn::Kind;
  const std::int64_t ns = analysis.ledgers.run[cause];
  fmt::print("{}: {} in all\n", analyzer::causeLabel(cause), prof::timeText(ns));
  analyzer::TextTable places({{"in all"}, {"times"}, {"where", Kind::Name}});
  for (const analyzer::CauseDetail& detail : analysis.of<analyzer::IdleCauses>().details) {
    if (detail.cause == cause)
      places.add({prof::timeText(detail.ns), std::to_string(detail.count), detail.name});
  }
  printTextTable(places);
  analyzer::TextTable longest({{"longest"}, {"at"}, {"where", Kind::Name}});
  for (const analyzer::DeviceSegment& segment :
       analysis.of<analyzer::IdleCauses>().longest[static_cast<std::size_t>(cause)]) {
    const std::int64_t fromBegin = segment.startNs - analysis.store->span().startNs;
    longest.add({prof::timeText(segment.durNs()),
                 fmt::format("{:.6f} s", static_cast<double>(fromBegin) / 1e9),
                 std::string(analysis.store->text(segment.name))});
  }
  printTextTable(longest);
}

prof::Result<std::vector<analyzer::Cause>> parseCauses(const std::vector<std::string>& names) {
  std::vector<analyzer::Cause> causes;
  for (const std::string& name : names) {
    const auto cause = analyzer::findCause(name);
    if (!cause) {
      return prof::Error{fmt::format("--cause {}: there is no such cause; there are: {}", name,
                                     fmt::join(causeNames(), ", "))};
    }
    causes.push_back(*cause);
  }
  return causes;
}

int explain(const analyzer::Analysis& analysis, const ReportOptions& options) {
  const auto number = static_cast<std::size_t>(options.explain);
  const auto finding = numberedFinding(analysis, number);
  if (!finding) return printError(finding.error().message);
  printWarnings(*analysis.store);
  fmt::print("{}", options.json ? explainedJson(analysis, number, **finding)
                                : explainedText(analysis, number, **finding));
  return kOk;
}

/// The report for programs: all of it, or one table.
std::string dataOf(const analyzer::Analysis& analysis, const ReportOptions& options) {
  return options.csv.empty() ? analyzer::renderJson(analysis)
                             : analyzer::tableCsv(analyzer::reportTable(analysis, options.csv));
}

/// The parts of a report that were asked for, and the file that it goes into.
struct Wanted {
  std::vector<std::string> sections;
  std::vector<analyzer::Cause> causes;
  std::optional<OutputFile> output;
};

int show(const analyzer::Analysis& analysis, const ReportOptions& options, const Wanted& wanted) {
  if (options.explain > 0) return explain(analysis, options);
  if (wanted.output && !options.isPage && (options.json || !options.csv.empty())) {
    printWarnings(*analysis.store);
    if (const auto written = wanted.output->writeText(dataOf(analysis, options)); !written)
      return printError(written.error().message);
    printWritten(wanted.output->name());
    return kOk;
  }
  if (wanted.output) {
    if (const auto written = wanted.output->writeText(analyzer::renderHtml(analysis)); !written)
      return printError(written.error().message);
  }
  if (!options.csv.empty()) {
    printWarnings(*analysis.store);
    fmt::print("{}", dataOf(analysis, options));
    return kOk;
  }
  // The summary names them too.
  const bool withSummary = wanted.sections.empty() ||
                           std::ranges::find(wanted.sections, "summary") != wanted.sections.end();
  if (!wanted.causes.empty() || (!options.json && !withSummary)) printWarnings(*analysis.store);
  for (const analyzer::Cause cause : wanted.causes) printCause(analysis, cause);
  if (!wanted.causes.empty()) return kOk;
  if (options.json) {
    fmt::print("{}", dataOf(analysis, options));
  } else {
    const int width = options.width > 0 ? options.width : terminalWidth(stdout);
    fmt::print("{}", withOwnColours(analyzer::renderText(
                         analysis, {wanted.sections, width, wantsColour(stdout)})));
    if (wanted.output) fmt::print("page: {}\n", analyzer::oneLine(wanted.output->name()));
  }
  return kOk;
}

int run(const ReportOptions& options) {
  if (options.listFindings) {
    fmt::print("{}",
               options.json ? analyzer::findingListJson() : analyzer::findingListText(listWidth()));
    return kOk;
  }
  if (options.listSections) {
    fmt::print("{}",
               options.json ? analyzer::sectionListJson() : analyzer::sectionListText(listWidth()));
    return kOk;
  }
  if (options.file.empty())
    return printMisuse(
        "name a trace: lacuna report FILE, or use --list-findings or --list-sections");
  analyzer::AnalysisOptions wanted;
  wanted.device = options.device;
  if (options.rank >= 0) wanted.rank = options.rank;
  if (const std::string misuse = forcesNothing(options.output); !misuse.empty())
    return printMisuse(misuse);
  const auto sections = chosenSections(options.sections);
  if (!sections) return printMisuse(sections.error().message);
  if (!options.csv.empty()) {
    if (auto status = checkTable(options.csv); !status) return printMisuse(status.error().message);
  }
  const auto causes = parseCauses(options.causes);
  if (!causes) return printMisuse(causes.error().message);
  if (!options.steps.empty()) {
    auto steps = parseSteps(options.steps);
    if (!steps) return printMisuse(steps.error().message);
    wanted.steps = *steps;
  }
  std::optional<OutputFile> output;
  if (!options.output.path.empty()) {
    auto checked = OutputFile::check(options.output, {&options.file, 1});
    if (!checked) return printError(checked.error().message);
    output = *std::move(checked);
  }
  auto calibration = calibrationFrom(options.calibration);
  if (!calibration) return printError(calibration.error().message);
  wanted.calibration = *std::move(calibration);
  const auto store = analyzer::Store::open(options.file);
  if (!store) return printError(store.error().message);
  const auto analysis = analyseShown(*store, wanted);
  if (!analysis) return printError(analysis.error().message);
  return show(*analysis, options, {*sections, *causes, output});
}

}  // namespace

void addReport(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<ReportOptions>();
  Command command(app, "report", "Show where a run's time and memory go, and what to change");
  command.option("FILE", options->file,
                 "a trace of any kind: .lcn, Kineto or Chrome JSON, nsys SQLite, Perfetto, memory "
                 "snapshot (also .gz, .zst)");
  const std::string sections = fmt::format("only these sections, in full: all, {}",
                                           fmt::join(analyzer::reportSections(), ", "));
  const Option section = command.option("--section", options->sections, sections)
                             .typeName("NAME,NAME")
                             .commaSeparated()
                             .notEmpty()
                             .suggestsList([] {
                               const auto names = analyzer::reportSections();
                               std::vector<std::string> words(names.begin(), names.end());
                               words.emplace_back("all");
                               return words;
                             });
  const Option cause =
      command
          .option("--cause", options->causes,
                  "only what is behind these causes of the ledger, such as loader_wait")
          .typeName("NAME,NAME")
          .commaSeparated()
          .notEmpty()
          .suggestsList(&causeNames)
          .excludes(section);
  command.option("--steps", options->steps, "only steps A up to but without B, counted from 0")
      .typeName("A:B")
      .notEmpty();
  command.option("--device", options->device, "only this device, such as cuda:3 or cpu:0")
      .typeName("ID")
      .notEmpty();
  command.option("--rank", options->rank, "only this rank of a distributed run").notNegative();
  const Option output = addTarget(
      command, options->output,
      "also write a self-contained page with charts; with --json or --csv write that into OUT");
  const Option html = command
                          .formerly("--html", "-o",
                                    [options](const std::string& path) {
                                      options->output.path = path;
                                      options->isPage = true;
                                    })
                          .excludes(output);
  command
      .option("--width", options->width,
              "columns of the text (default: the terminal's, else COLUMNS or 100)")
      .between(40, 200);
  addCalibration(command, options->calibration);
  const Option json =
      command.flag("--json", options->json, "print everything as JSON (docs/report-json.md)")
          .excludes(section)
          .excludes(cause);
  const Option list = command
                          .flag("--list-findings", options->listFindings,
                                "print every finding that a report can have; needs no trace")
                          .excludes(section)
                          .excludes(cause);
  const Option sectionList =
      command
          .flag("--list-sections", options->listSections,
                "print every section with its tables and their columns; needs no trace")
          .excludes(section)
          .excludes(cause)
          .excludes(list);
  const Option csv =
      command
          .option("--csv", options->csv,
                  "only this table, as CSV: kernels, operators, … (--list-sections names all)")
          .typeName("TABLE")
          .notEmpty()
          .suggests(&tableNames)
          .excludes(section)
          .excludes(cause)
          .excludes(json)
          .excludes(html);
  command
      .option("--explain", options->explain,
              "only how the gain of this finding was computed, by its number")
      .typeName("N")
      .between(1, kMostFindings)
      .excludes(section)
      .excludes(cause)
      .excludes(output)
      .excludes(html)
      .excludes(list)
      .excludes(sectionList)
      .excludes(csv);
  command.opensTraces();
  command.example("lacuna report run.lcn --section findings,memory");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
