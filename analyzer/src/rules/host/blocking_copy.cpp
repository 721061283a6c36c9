// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/calls.h"
#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::blocking_copy {
namespace {

constexpr Threshold kLeast{"least", 0.02, Unit::Share,
                           "Asynchronous copies from pinned memory are little work to write."};
constexpr Threshold kStaged{
    "staged", kStagedBytes, Unit::Bytes,
    "The CUDA driver stages copies from the host up to this size and returns at once."};
constexpr std::array kThresholds{kLeast, kStaged};

constexpr Confidence kSure{"", 0.9,
                           "The calls and their times are measured; a wait may be wanted."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  findBlockingCalls(facts, out, isCopyCall, kLeast, kSure,
                    "copy asynchronously from pinned memory, on a queue of its own");
}

}  // namespace
}  // namespace rules::blocking_copy

constinit const FindingRule kBlockingCopyRule{
    .id = FindingId::BlockingCopy,
    .key = "blocking-copy",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .leavesWork = true,
    .claims = "its copies that hold the host",
    .thresholds = rules::blocking_copy::kThresholds,
    .confidences = rules::blocking_copy::kConfidences,
    .meaning = "Copies hold the host until they are done, so it launches nothing meanwhile.",
    .when =
        "copies that hold the host until they are done, ≥ {least} of the step; those whose own "
        "copy (of the same correlation) moves more than {staged}, all where no such call has one "
        "on record",
    .fix = "code: `call:\"NAME\"*0`, of those above {staged}",
    .refutedBy = "a run with asynchronous copies whose steps take as long",
    .detect = rules::blocking_copy::detect,
};

}  // namespace lacuna::analyzer
