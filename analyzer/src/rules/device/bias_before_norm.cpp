// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/patterns.h"
#include "lacuna/analyzer/operators.h"
#include "rules/device/device_work.h"

namespace lacuna::analyzer {
namespace rules::bias_before_norm {
namespace {

constexpr Confidence kSure{
    "", 0.95, "A norm subtracts the mean, and the bias with it, whatever the numbers are."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const OperatorPatterns& patterns = facts.analysis.of<OperatorPatterns>();
  const bool norm = std::ranges::any_of(
      facts.analysis.of<OperatorTables>().byName,
      [](const OperatorRow& row) { return row.name.find("batch_norm") != std::string::npos; });
  const bool announced = norm && facts.isOn("conv_bias");
  if (!announced && patterns.biasedNorms == 0) return;
  Finding finding;
  finding.count = patterns.biasedNorms;
  finding.words =
      "layers in front of a batch norm have a bias that it takes out again{: cost a step}";
  if (patterns.biasedNorms > 0) {
    finding.words =
        "{operator} adds a bias directly in front of a batch norm, which takes it out again "
        "({times} {a step}){: cost a step}";
    finding.quantities = {Quantity::called("operator", std::string(patterns.biasedNorm)),
                          roundedCount("times", facts.timesAStep(patterns.biasedNorms), "time")};
  }
  finding.confidence = kSure;
  // The work that goes is there, also where something else bounds the run.
  if (const auto without = facts.play("conv_bias=off"))
    finding.costNsPerStep = without->workTakenNsPerStep;
  finding.advice = "build these layers without bias";
  out.add(std::move(finding), "conv_bias=off");
}

}  // namespace
}  // namespace rules::bias_before_norm

constinit const FindingRule kBiasBeforeNormRule{
    .id = FindingId::BiasBeforeNorm,
    .key = "bias-before-norm",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .confidences = rules::bias_before_norm::kConfidences,
    .meaning = "A layer adds a bias that the batch norm behind it subtracts again.",
    .when =
        "a linear or convolution with a bias (three inputs) directly in front of a batch norm, or "
        "the program announces that `conv_bias` is on and batch norms run",
    .fix = "`conv_bias=off`",
    .refutedBy = "another reader of the layer's output in front of the norm",
    .detect = rules::bias_before_norm::detect,
};

}  // namespace lacuna::analyzer
