// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rules/device/device_work.h"

namespace lacuna::analyzer {
namespace rules::autotune {
namespace {

constexpr Threshold kMatrix{"matrix", 0.2, Unit::Share,
                            "Only convolutions and products are tuned."};
constexpr Threshold kGain{"gain", 0.02, Unit::Share,
                          "It is one switch, but the search takes time at the start."};
constexpr std::array kThresholds{kMatrix, kGain};

constexpr Confidence kSure{"", 0.4,
                           "The program announces the switch; the gain is a typical factor."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const KernelShares shares = kernelShares(facts.analysis);
  if (facts.knob("autotune").value_or("") != "off" || shareOf(shares.matrix, shares.all) < kMatrix)
    return;
  Finding finding;
  finding.words = "convolution and matrix kernels are not tuned for these shapes";
  finding.confidence = kSure;
  finding.advice = "switch autotuning on when shapes repeat";
  offer(facts, out, std::move(finding), "autotune=on", kGain);
}

}  // namespace
}  // namespace rules::autotune

constinit const FindingRule kAutotuneRule{
    .id = FindingId::Autotune,
    .key = "autotune",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::autotune::kThresholds,
    .confidences = rules::autotune::kConfidences,
    .meaning = "Convolution and matrix kernels are not tuned for the shapes of this run.",
    .when =
        "the program announces that `autotune` is off, matrix work ≥ {matrix} of compute, gain ≥ "
        "{gain}",
    .fix = "`autotune=on`",
    .refutedBy = "a run with autotuning whose kernels take as long",
    .detect = rules::autotune::detect,
};

}  // namespace lacuna::analyzer
