// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/work/calls.h"
#include "rules/host/calls.h"

namespace lacuna::analyzer {
namespace rules::blocking_memset {
namespace {

constexpr Threshold kLeast{"least", 0.02, Unit::Share,
                           "The asynchronous memset takes the same arguments."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.9,
                           "The calls and their times are measured; a wait may be wanted."};
constexpr std::array kConfidences{kSure};

void detect(const Facts& facts, Outcome& out) {
  // A call whose name has both is a copy.
  constexpr auto kIsMemset = [](const CallRow& row) {
    return isMemsetCall(row) && !isCopyCall(row);
  };
  findBlockingCalls(facts, out, kIsMemset, kLeast, kSure,
                    "use the asynchronous memset, or let the kernel that writes first overwrite");
}

}  // namespace
}  // namespace rules::blocking_memset

constinit const FindingRule kBlockingMemsetRule{
    .id = FindingId::BlockingMemset,
    .key = "blocking-memset",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .leavesWork = true,
    .claims = "its memsets that hold the host",
    .thresholds = rules::blocking_memset::kThresholds,
    .confidences = rules::blocking_memset::kConfidences,
    .meaning = "Memsets hold the host until they are done, so it launches nothing meanwhile.",
    .when = "memsets that hold the host until they are done, ≥ {least} of the step",
    .fix = "code: `call:\"NAME\"*0`",
    .refutedBy = "a run with asynchronous memsets whose steps take as long",
    .detect = rules::blocking_memset::detect,
};

}  // namespace lacuna::analyzer
