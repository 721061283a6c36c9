// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/patterns.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::half_on_cpu {
namespace {

constexpr Threshold kLeast{"least", 0.2, Unit::Share,
                           "A few operators in half precision decide nothing."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.5,
                           "Half precision is recorded; whether the CPU has units for it is not."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  const OperatorPatterns& patterns = facts.analysis.of<OperatorPatterns>();
  if (!facts.onlyHost() || patterns.matrixOperators == 0) return;
  const double share = static_cast<double>(patterns.halfMatrixOperators) /
                       static_cast<double>(patterns.matrixOperators);
  if (share < kLeast) return;
  Finding finding;
  finding.count = patterns.halfMatrixOperators;
  finding.words = "{share} of the matrix operators on the CPU work in half precision";
  finding.quantities = {Quantity::share("share", share)};
  finding.confidence = kSure;
  finding.advice =
      "half precision pays on CPUs with matrix units for it (AMX); without them compute in f32";
  finding.notPredicted =
      "the trace does not name the units of the CPU; compare it with a short run in f32 (lacuna "
      "diff)";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::half_on_cpu

constinit const FindingRule kHalfOnCpuRule{
    .id = FindingId::HalfOnCpu,
    .key = "half-on-cpu",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .thresholds = rules::half_on_cpu::kThresholds,
    .confidences = rules::half_on_cpu::kConfidences,
    .meaning =
        "Matrix operators on a CPU work in half precision, which pays only on CPUs with units for "
        "it.",
    .when = "≥ {least} of the matrix operators of a CPU device work on half precision",
    .fix = "code; no gain: whether the CPU has units for half precision is not in the trace",
    .refutedBy = "a short run in f32 that takes as long or longer",
    .detect = rules::half_on_cpu::detect,
};

}  // namespace lacuna::analyzer
