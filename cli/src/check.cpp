// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/output.h"
#include "base/report_text.h"
#include "commands.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

using analyzer::Comparison;

/// Lets a gate distinguish a run that got worse (1) from one that could not be checked.
constexpr int kUnable = 3;

struct CheckOptions {
  std::string file;
  std::string baseline;
  std::vector<std::string> noise;
  Target junit;
  bool github = false;
};

std::string figure(const Comparison& row, double value) {
  if (row.unit == "ns") return prof::timeText(static_cast<std::int64_t>(value));
  if (row.unit == "bytes") return prof::bytesText(static_cast<std::uint64_t>(value));
  return fmt::format("{:.1f}", value);
}

std::string sentence(const Comparison& row) {
  return fmt::format("{}: {} before, {} now (noise explains {})", row.what, figure(row, row.before),
                     figure(row, row.after), figure(row, row.threshold));
}

void print(const Comparison& row) {
  const Style& s = style();
  const std::string_view word = row.worse() ? "worse" : row.better() ? "better" : "same";
  const std::string_view colour = row.worse() ? s.red : row.better() ? s.green : s.dim;
  fmt::print("{}{:<7}{}{}\n", colour, word, s.reset, fitted(sentence(row), 7));
}

/// Which kernels explain it: the few with the largest change, by the head of their names.
std::vector<Comparison> explainingKernels(const analyzer::Analysis& before,
                                          const analyzer::Analysis& after) {
  constexpr std::size_t kShown = 3;
  constexpr std::size_t kNameLength = 70;
  std::vector<Comparison> rows;
  for (Comparison row : analyzer::compareKernels(before, after)) {
    if (rows.size() == kShown) break;
    if (!row.worse() && !row.better()) continue;
    // A name may hold anything; what is printed stays one line each, or it could be a workflow
    // command.
    row.what = analyzer::oneLine(row.what);
    if (row.what.size() > kNameLength)
      row.what = std::string(analyzer::headOf(row.what, kNameLength)) + "…";
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The message of a workflow command, in which a line break would end it.
std::string annotationText(std::string_view text) {
  std::string out;
  for (const char c : analyzer::validUtf8(text)) {
    const bool special = c == '%' || c == '\r' || c == '\n';
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out;
}

/// `why` is added to the text of the failures.
std::string junitText(const std::vector<Comparison>& rows, const std::vector<Comparison>& why) {
  const auto failures =
      std::count_if(rows.begin(), rows.end(), [](const Comparison& row) { return row.worse(); });
  std::string kernels;
  for (const Comparison& row : why) kernels += "\n" + analyzer::xmlText(sentence(row));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"lacuna check\" tests=\"{}\" "
      "failures=\"{}\">\n",
      rows.size(), failures);
  for (const Comparison& row : rows) {
    text += fmt::format("  <testcase classname=\"lacuna.check\" name=\"{}\">",
                        analyzer::xmlText(row.what));
    if (row.worse()) {
      const std::string message = analyzer::xmlText(sentence(row));
      text += fmt::format("<failure type=\"worse\" message=\"{}\">{}{}</failure>", message, message,
                          kernels);
    }
    text += "</testcase>\n";
  }
  return text + "</testsuite>\n";
}

/// Nothing where no JUnit XML is wanted.
prof::Status checkJunit(const CheckOptions& options, std::optional<OutputFile>& junit) {
  if (options.junit.path.empty()) return {};
  std::vector<std::string> traces = options.noise;
  traces.insert(traces.end(), {options.file, options.baseline});
  auto checked = OutputFile::check(options.junit, traces);
  if (!checked) return checked.error();
  junit = *std::move(checked);
  return {};
}

/// Figures of a step do not compare with those of a whole run.
prof::Status checkComparable(const CheckOptions& options, const analyzer::Analysis& before,
                             const analyzer::Analysis& after,
                             const std::vector<analyzer::Analysis>& noise) {
  const bool stepped = !before.steps.all.empty();
  const auto refuse = [&](const std::string& other) {
    const std::string& without = stepped ? other : options.baseline;
    return prof::Error{fmt::format(
        "{} and {} cannot be compared: no steps were found in {}, so a step of one would be "
        "compared with all of the other; mark steps in both with an NVTX range named \"step\"",
        other, options.baseline, without)};
  };
  if (after.steps.all.empty() == stepped) return refuse(options.file);
  for (std::size_t i = 0; i < noise.size(); ++i) {
    if (noise[i].steps.all.empty() == stepped) return refuse(options.noise[i]);
  }
  return {};
}

/// Noise is the distance between runs of one program: a run that is its own neighbour shows none,
/// and one that is to be checked would excuse itself.
prof::Status checkNoise(const CheckOptions& options) {
  std::error_code ignored;
  const auto isSame = [&](const std::string& a, const std::string& b) {
    return std::filesystem::equivalent(a, b, ignored);
  };
  constexpr std::string_view kRemedy = "--noise takes further runs of the baseline";
  for (auto run = options.noise.begin(); run != options.noise.end(); ++run) {
    if (isSame(*run, options.file))
      return prof::Error{fmt::format("{}: is the trace to check; {}", *run, kRemedy)};
    if (isSame(*run, options.baseline))
      return prof::Error{fmt::format("{}: is the baseline itself; {}", *run, kRemedy)};
    if (std::any_of(options.noise.begin(), run,
                    [&](const std::string& other) { return isSame(other, *run); }))
      return prof::Error{fmt::format("{}: is given twice; {}", *run, kRemedy)};
  }
  return {};
}

int run(const CheckOptions& options) {
  const auto unable = [](const prof::Error& error) {
    (void)printError(error.message);
    return kUnable;
  };
  if (const std::string misuse = forcesNothing(options.junit); !misuse.empty())
    return printMisuse(misuse);
  std::optional<OutputFile> junit;
  if (const auto status = checkJunit(options, junit); !status) return unable(status.error());
  if (const auto status = checkNoise(options); !status) return unable(status.error());
  const auto after = analysed(options.file);
  if (!after) return unable(after.error());
  const auto before = analysed(options.baseline);
  if (!before) return unable(before.error());
  std::vector<analyzer::Analysis> noise;
  for (const std::string& path : options.noise) {
    auto run = analysed(path);
    if (!run) return unable(run.error());
    noise.push_back(std::move(*run));
  }
  if (auto status = checkComparable(options, *before, *after, noise); !status)
    return unable(status.error());
  const std::vector<Comparison> rows = analyzer::compareRuns(*before, *after, noise);
  for (const auto& [trace, analysis] :
       {std::pair(&options.file, &*after), std::pair(&options.baseline, &*before)}) {
    if (analysis->steps.all.empty())
      fmt::print("note   {}\n", fitted(analyzer::oneLine(withoutSteps(*trace)), 7));
  }
  bool worse = false;
  for (const Comparison& row : rows) {
    print(row);
    worse = worse || row.worse();
    if (options.github && row.worse())
      fmt::print("::error title=lacuna check::{}\n", annotationText(sentence(row)));
  }
  const std::vector<Comparison> why =
      worse ? explainingKernels(*before, *after) : std::vector<Comparison>();
  for (const Comparison& row : why) print(row);
  if (junit) {
    if (const auto written = junit->writeText(junitText(rows, why)); !written)
      return unable(written.error());
  }
  return worse ? kError : kOk;
}

}  // namespace

void addCheck(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<CheckOptions>();
  Command command(app, "check", "Compare a run with a baseline; exit code 1 when it got worse");
  command.option("FILE", options->file, "the trace to check").required();
  command.option("--baseline", options->baseline, "the trace to compare with")
      .required()
      .typeName("FILE");
  command.option("--noise", options->noise, "further runs of the baseline, to measure its noise")
      .typeName("FILE");
  const Option output = addTarget(command, options->junit, "also write the result as JUnit XML");
  command
      .formerly("--junit", "-o", [options](const std::string& path) { options->junit.path = path; })
      .excludes(output);
  command.flag("--github", options->github, "also print annotations for GitHub Actions");
  command.opensTraces();
  command.footer(
      "Exit codes: 0 not worse, 1 worse, 2 wrong usage, 3 not checked (a trace cannot be read, "
      "only one of two has steps, the result not written).\n"
      "Counts of work come first, as they do not depend on the machine's mood; times are worse "
      "when they grow by more than the measured noise explains.");
  command.example(
      "lacuna check new.lcn --baseline old.lcn --noise old2.lcn old3.lcn -o result.xml");
  command.does([options, &exitCode] {
    failureCode = kUnable;
    exitCode = run(*options);
  });
}

}  // namespace lacuna::cli
