// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rules/device/device_work.h"

namespace lacuna::analyzer {
namespace rules::amp {
namespace {

constexpr Threshold kMatrix{"matrix", 0.2, Unit::Share, "Matrix units speed up nothing else."};
constexpr Threshold kGain{"gain", 0.05, Unit::Share,
                          "Mixed precision needs care with the loss, so it has to pay."};
constexpr std::array kThresholds{kMatrix, kGain};

constexpr Confidence kSure{
    "", 0.5, "The kernels' names show their precision; their speed in half is a typical factor."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const KernelShares shares = kernelShares(facts.analysis);
  const double matrix = shareOf(shares.matrixWithoutCores, shares.all);
  // The gain from half precision on a CPU depends on units that a trace does not show.
  const bool isMixed = facts.knob("amp").value_or("off") != "off";  // on, or the type
  if (facts.onlyHost() || isMixed || matrix < kMatrix) return;
  Finding finding;
  finding.words = "{share} of the device's compute time is matrix work in full precision";
  finding.quantities = {Quantity::share("share", matrix)};
  finding.confidence = kSure;
  finding.advice = "train in mixed precision (bf16): matrix units run several times faster on it";
  offer(facts, out, std::move(finding), "amp=on", kGain);
}

}  // namespace
}  // namespace rules::amp

constinit const FindingRule kAmpRule{
    .id = FindingId::Amp,
    .key = "amp",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::amp::kThresholds,
    .confidences = rules::amp::kConfidences,
    .meaning = "Matrix work runs in full precision, off the tensor cores.",
    .when =
        "≥ {matrix} of compute is matrix work off the tensor cores, gain ≥ {gain}; not on a CPU "
        "device",
    .fix = "`amp=on`",
    .refutedBy = "a short run in bf16 that takes as long, or does not converge",
    .detect = rules::amp::detect,
};

}  // namespace lacuna::analyzer
