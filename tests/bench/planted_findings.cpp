// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// Analyses runs made up with known faults, those that need a GPU or ranks, and prints what was planted and what was
// found, one JSON object a line. tests/bench/findings counts them.
#include <fmt/format.h>

#include "lacuna/analyzer/analysis.h"
#include "support/synthetic_run.h"

namespace {

using lacuna::test::RunPlan;

struct Case {
  RunPlan plan;
  std::vector<std::string> planted;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {{}, {}},
      {{.syncEachStep = true}, {}},
      {{.ranks = 2, .collectiveNs = 100'000}, {}},
      {{.operators = 10, .kernelNs = 900'000}, {}},
      {{.steps = 60, .batchNs = 2'000'000, .workers = 4}, {}},
      {{.batchNs = 20'000'000, .workers = 0}, {"loader-wait"}},
      {{.batchNs = 30'000'000, .workers = 1}, {"loader-wait"}},
      {{.operatorNs = 60'000, .syncEveryOperators = 4}, {"sync-in-step"}},
      {{.operatorNs = 60'000, .syncEveryOperators = 1}, {"debug-mode"}},
      {{.operators = 200, .kernelNs = 3'000}, {"launch-bound"}},
      {{.operatorNs = 200'000, .launchNs = 120'000}, {"slow-launches"}},
      {{.pageableCopyNs = 2'000'000}, {"pageable-copy"}},
      {{.zeroGradNs = 1'000'000}, {"zero-grad"}},
      {{.mallocNs = 3'000'000}, {"driver-calls"}},
      {{.hostPauseNs = 3'000'000}, {"host-work"}},
      {{.asleepNs = 3'000'000}, {"host-not-running"}},
      {{.leakBytes = 2 << 20}, {"memory-leak"}},
      {{.memorySpike = true}, {"memory-spike"}},
      {{.allocationChurn = true}, {"allocation-churn"}},
      {{.ranks = 2, .collectiveNs = 3'000'000}, {"exposed-communication"}},
      {{.ranks = 4, .collectiveNs = 100'000, .lateNs = 2'000'000}, {"late-rank"}},
      {{.tinyRepeats = 300}, {"tiny-kernels"}},
      {{.biasBeforeNorm = true}, {"bias-before-norm"}},
      {{.blockingCopyNs = 600'000}, {"blocking-copy"}},
      {{.blockingMemsetNs = 600'000}, {"blocking-memset"}},
      {{.gloo = true}, {"slow-backend"}},
      {{.batchNs = 20'000'000, .workers = 0, .leakBytes = 2 << 20}, {"loader-wait", "memory-leak"}},
      {{.pageableCopyNs = 2'000'000, .zeroGradNs = 1'000'000}, {"pageable-copy", "zero-grad"}},
      {{.memorySpike = true, .biasBeforeNorm = true}, {"memory-spike", "bias-before-norm"}},
      {{.asleepNs = 3'000'000, .allocationChurn = true}, {"host-not-running", "allocation-churn"}},
  };
  return kCases;
}

std::string list(const std::vector<std::string>& words) {
  return words.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(words, "\", \""));
}

}  // namespace

int main() {
  for (const Case& item : cases()) {
    const auto analysis = lacuna::analyzer::analyse(lacuna::test::makeRun(item.plan));
    if (!analysis) {
      fmt::print(stderr, "planted_findings: {}\n", analysis.error().message);
      return 1;
    }
    std::vector<std::string> faults;
    for (const auto& finding : analysis->findings) {
      if (finding.kind == lacuna::analyzer::FindingKind::Fault) faults.push_back(finding.id);
    }
    fmt::print("{{\"planted\": {}, \"found\": {}}}\n", list(item.planted), list(faults));
  }
  return 0;
}
