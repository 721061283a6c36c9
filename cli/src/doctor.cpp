// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/doctor.h"

#include <fmt/format.h>

#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli {
namespace {

using collector::Finding;

void printJson(const std::vector<Finding>& findings) {
  fmt::print("[");
  const char* separator = "";
  for (const auto& finding : findings) {
    fmt::print("{}\n  {{\"id\": {}, \"title\": {}, \"state\": {}, \"detail\": {}, \"remedy\": {}}}",
               separator, jsonString(finding.id), jsonString(finding.title),
               jsonString(wordFor(finding.state)), jsonString(finding.detail),
               jsonString(finding.remedy));
    separator = ",";
  }
  fmt::print("\n]\n");
}

void printText(const std::vector<Finding>& findings) {
  constexpr int kIndent = 9;
  for (const auto& finding : findings) {
    const auto colour = finding.state == Finding::State::Works     ? style().green
                        : finding.state == Finding::State::Limited ? style().yellow
                                                                   : style().red;
    const std::string text = fmt::format("{}: {}", finding.title, finding.detail);
    fmt::print("{}{:8}{} {}\n", colour, wordFor(finding.state), style().reset,
               fitted(text, kIndent));
    if (!finding.remedy.empty())
      fmt::print("{:{}}{}\n", "", kIndent, fitted("Remedy: " + finding.remedy, kIndent));
  }
}

/// Answers whether all are gone.
bool clean() {
  bool all = true;
  const auto cleaned = collector::cleanUp();
  for (const auto& one : cleaned) {
    all &= one.problem.empty();
    if (one.problem.empty()) {
      fmt::print("removed {} ({})\n", one.folder.string(), prof::bytesText(one.bytes));
    } else {
      printWarning(one.problem);
    }
  }
  if (cleaned.empty()) fmt::print("nothing to remove\n");
  return all;
}

}  // namespace

void addDoctor(CLI::App& app, int& code) {
  auto json = std::make_shared<bool>(false);
  Command doctor(app, "doctor", "Show what can be recorded on this machine, and why not");
  doctor.flag("--json", *json, "One JSON array instead of text (docs/doctor.md)");
  auto cleans = std::make_shared<bool>(false);
  doctor.flag("--clean", *cleans,
              "Remove what killed runs left in shared memory and among temporary files");
  doctor.footer(
      "Exit codes: 0 also where things are missing, 1 where --clean could not remove something, 2 "
      "wrong usage.");
  doctor.example("lacuna doctor");
  doctor.example("lacuna doctor --clean");
  doctor.does([json, cleans, &code] {
    if (*cleans) {
      code = clean() ? kOk : kError;
      return;
    }
    const auto findings = collector::examine();
    *json ? printJson(findings) : printText(findings);
    code = 0;
  });
}

}  // namespace lacuna::cli
