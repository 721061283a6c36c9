// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <fstream>
#include <memory>

#include "commands.h"
#include "lacuna/analyzer/diff.h"
#include "output.h"

namespace lacuna::cli {
namespace {

using analyzer::Comparison;

struct Options {
  std::string file;
  std::string baseline;
  std::vector<std::string> noise;
  std::string junit;
  bool github = false;
};

prof::Result<analyzer::Analysis> analysed(const std::string& path) {
  auto store = analyzer::Store::open(path);
  if (!store) return store.error();
  return analyzer::analyse(*store);
}

std::string figure(const Comparison& row, double value) {
  if (row.unit == "ns") return humanDuration(static_cast<std::int64_t>(value));
  if (row.unit == "bytes") return humanBytes(static_cast<std::uint64_t>(value));
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
  fmt::print("{}{:<7}{}{}\n", colour, word, s.reset, sentence(row));
}

/// Which kernels explain it: the few with the largest change, by the head of their names.
void printKernels(const analyzer::Analysis& before, const analyzer::Analysis& after) {
  constexpr int kShown = 3;
  constexpr std::size_t kNameLength = 70;
  int shown = 0;
  for (Comparison row : analyzer::compareKernels(before, after)) {
    if (shown == kShown || (!row.worse() && !row.better())) continue;
    if (row.what.size() > kNameLength) row.what = row.what.substr(0, kNameLength) + "…";
    print(row);
    ++shown;
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

int writeJunit(const std::string& path, const std::vector<Comparison>& rows) {
  std::ofstream file(path);
  std::size_t failures = 0;
  for (const Comparison& row : rows) failures += row.worse() ? 1 : 0;
  file << fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"lacuna check\" tests=\"{}\" failures=\"{}\">\n",
      rows.size(), failures);
  for (const Comparison& row : rows) {
    file << fmt::format("  <testcase name=\"{}\">", escaped(row.what));
    if (row.worse()) file << fmt::format("<failure message=\"{}\"/>", escaped(sentence(row)));
    file << "</testcase>\n";
  }
  file << "</testsuite>\n";
  file.close();
  return file ? kOk : printError(fmt::format("{}: cannot be written; check that the folder exists and has room", path));
}

int run(const Options& options) {
  const auto after = analysed(options.file);
  if (!after) return printError(after.error().message);
  const auto before = analysed(options.baseline);
  if (!before) return printError(before.error().message);
  std::vector<analyzer::Analysis> noise;
  for (const std::string& path : options.noise) {
    auto run = analysed(path);
    if (!run) return printError(run.error().message);
    noise.push_back(std::move(*run));
  }
  const std::vector<Comparison> rows = analyzer::compareRuns(*before, *after, noise);
  bool worse = false;
  for (const Comparison& row : rows) {
    print(row);
    worse = worse || row.worse();
    if (options.github && row.worse()) fmt::print("::error title=lacuna check::{}\n", sentence(row));
  }
  if (worse) printKernels(*before, *after);
  if (!options.junit.empty()) {
    if (const int code = writeJunit(options.junit, rows); code != kOk) return code;
  }
  return worse ? kError : kOk;
}

}  // namespace

void addCheck(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Compare a run with a baseline; exit code 1 when it got worse");
  command->add_option("FILE", options->file, "the trace to check")->required();
  command->add_option("--baseline", options->baseline, "the trace to compare with")->required()->type_name("FILE");
  command->add_option("--noise", options->noise, "further runs of the baseline, to measure its noise")
      ->type_name("FILE");
  command->add_option("--junit", options->junit, "also write the result as JUnit XML")->type_name("OUT");
  command->add_flag("--github", options->github, "also print annotations for GitHub Actions");
  command->callback([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
