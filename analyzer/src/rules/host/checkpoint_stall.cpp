// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lacuna/analyzer/timeline.h"
#include "rules/host/phase_cost.h"

namespace lacuna::analyzer {
namespace rules::checkpoint_stall {
namespace {

constexpr Threshold kLeast{"least", 0.03, Unit::Share,
                           "A run that can be resumed is worth less than that."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{
    "", 0.7, "The time is measured; how often the program has to save is not in the trace."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPhases{kCheckpoint, kCheckpointSync};

void detect(const Facts& facts, Outcome& out) {
  auto finding = phaseFinding(facts, kLeast);
  if (!finding) return;
  finding->words = "training stops for {checkpoints}{: cost a step} on average";
  finding->quantities = {Quantity::counted("checkpoints", finding->count, "checkpoint")};
  finding->confidence = kSure;
  finding->advice =
      "save less often, or copy the state and write the copy in another thread or process (in "
      "PyTorch torch.distributed.checkpoint.async_save)";
  out.addAsItIs(*std::move(finding));
}

}  // namespace
}  // namespace rules::checkpoint_stall

constinit const FindingRule kCheckpointStallRule{
    .id = FindingId::CheckpointStall,
    .key = "checkpoint-stall",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .cost = CostIs::OfPhases,
    .phases = rules::checkpoint_stall::kPhases,
    .thresholds = rules::checkpoint_stall::kThresholds,
    .confidences = rules::checkpoint_stall::kConfidences,
    .meaning = "The training thread saves checkpoints itself, and training waits for it.",
    .when =
        "phases named `checkpoint` and `checkpoint sync`, in and between steps, take ≥ {least} of "
        "the time of training",
    .fix = "code; read off the trace: no checkpoint takes time of the training thread",
    .refutedBy = "a run that saves no checkpoint and takes as long",
    .detect = rules::checkpoint_stall::detect,
};

}  // namespace lacuna::analyzer
