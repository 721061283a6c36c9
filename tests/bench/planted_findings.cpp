// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// Analyses runs made up with known faults, those that need a GPU or ranks, and prints what was
// planted and what was found, one JSON object a line. tests/bench/findings counts them.
#include <fmt/format.h>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "support/planted_runs.h"

namespace {

using lacuna::analyzer::FindingId;

std::string list(const std::vector<FindingId>& ids) {
  std::vector<std::string_view> words;
  for (const FindingId id : ids) words.push_back(lacuna::analyzer::findingKey(id));
  return words.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(words, "\", \""));
}

}  // namespace

int main() {
  for (const lacuna::test::PlantedRun& item : lacuna::test::plantedRuns()) {
    const auto analysis = lacuna::analyzer::analyse(lacuna::test::makeRun(item.plan));
    if (!analysis) {
      fmt::print(stderr, "planted_findings: {}\n", analysis.error().message);
      return 1;
    }
    std::vector<FindingId> faults;
    for (const auto& finding : analysis->of<lacuna::analyzer::Findings>()) {
      if (finding.kind == lacuna::analyzer::FindingKind::Fault) faults.push_back(finding.id);
    }
    fmt::print("{{\"planted\": {}, \"found\": {}}}\n", list(item.planted), list(faults));
  }
  return 0;
}
