// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::pageable_copy {
namespace {

constexpr Threshold kStaged{"staged", kStagedBytes, Unit::Bytes,
                            "The CUDA driver stages smaller copies without blocking."};
constexpr Threshold kLeast{"least", 0.03, Unit::Share,
                           "Pinning memory is one option of the loader, and has a price."};
constexpr std::array kThresholds{kStaged, kLeast};

constexpr Confidence kSure{"", 0.7,
                           "The copies are measured; the overlap that pinning allows is replayed."};
constexpr std::array kConfidences{kSure};

// With copies named as pageable, those that nothing hides have their reason.
constexpr std::array kExplains{Explained{FindingId::ExposedCopy}};

void detect(const Facts& facts, Outcome& out) {
  const CopyStats& copies = facts.analysis.of<CopyStats>();
  const auto gain = facts.play("loader.pin=on");
  const std::int64_t cost =
      std::max(facts.perStepOfDevice(copies.stepPageableNs), gain ? gain->gainNs() : 0);
  if (copies.stepPageableCount == 0 || facts.shareOfStep(cost) < kLeast) return;
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = copies.stepPageableCount;
  finding.words = copies.stepPageableCount == 1
                      ? "{copies} of {bytes} uses pageable host memory{: cost a step}"
                      : "{copies} of {bytes} use pageable host memory{: cost a step}";
  finding.quantities = {Quantity::counted("copies", copies.stepPageableCount, "copy", "copies"),
                        Quantity::bytes("bytes", copies.stepPageableBytes)};
  finding.confidence = kSure;
  finding.advice =
      "pin the loader's batches and copy them asynchronously, so that the copy overlaps the step "
      "before";
  finding.evidence = facts.evidenceOf(Cause::ExposedCopy);
  out.add(std::move(finding), "loader.pin=on");
}

}  // namespace
}  // namespace rules::pageable_copy

constinit const FindingRule kPageableCopyRule{
    .id = FindingId::PageableCopy,
    .key = "pageable-copy",
    .area = FindingArea::Device,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .explains = rules::pageable_copy::kExplains,
    .thresholds = rules::pageable_copy::kThresholds,
    .confidences = rules::pageable_copy::kConfidences,
    .meaning =
        "Copies use pageable host memory, so the driver cannot overlap them with other work.",
    .when = "copies above {staged} from or to pageable memory cost ≥ {least}",
    .fix = "`loader.pin=on`",
    .refutedBy = "a run with pinned batches whose steps take as long",
    .detect = rules::pageable_copy::detect,
};

}  // namespace lacuna::analyzer
