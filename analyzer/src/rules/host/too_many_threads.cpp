// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyses/disturbance/core_contention.h"
#include "analyses/disturbance/thread_share.h"
#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::too_many_threads {
namespace {

constexpr Threshold kWaiting{
    "waiting", 0.5, Unit::Count,
    "Threads that hand work to each other wait for a core now and then on any machine."};
constexpr std::array kThresholds{kWaiting};

constexpr Confidence kSure{
    "", 0.8, "The threads and their waits are counted; some of them may have to be there."};
constexpr std::array kConfidences{kSure};

/// Threads that other programs kept from running, at a time.
double displaced(const CoreContention& contention) {
  const double windowNs = static_cast<double>(contention.window.endNs - contention.window.startNs);
  return windowNs <= 0 ? 0 : static_cast<double>(contention.lostNs) / windowNs;
}

void detect(const Facts& facts, Outcome& out) {
  if (!facts.threadsCrowd()) return;
  const StepThread& thread = facts.analysis.of<StepThread>();
  const std::uint32_t cores = facts.analysis.of<ProgramFacts>().hostCores;
  // As long as the machine has a core for each, they wait for others, or to be woken.
  const double waiting = std::min(thread.waitingThreads, thread.wantedCores - cores) -
                         displaced(facts.analysis.of<CoreContention>());
  if (waiting < kWaiting) return;
  Finding finding;
  finding.count = thread.busyThreads;
  finding.costNsPerStep = prof::wholeOf<std::int64_t>(
      std::max(0.0, thread.waitedShare) * static_cast<double>(facts.analysis.meanStepNs()));
  finding.words =
      "{threads} threads of the program want {cores} cores, and {waiting} of them wait for one at "
      "any time, the one that feeds the device {cost} {a step}";
  finding.quantities = {Quantity::number("threads", thread.busyThreads),
                        Quantity::number("cores", cores), Quantity::number("waiting", waiting, 1)};
  finding.confidence = kSure;
  finding.advice = fmt::format(
      "compute with {0} threads at most: torch.set_num_threads({0}), or OMP_NUM_THREADS={0} for "
      "OpenMP",
      cores);
  finding.notPredicted = "how much quicker fewer threads compute is not in the trace";
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::too_many_threads

constinit const FindingRule kTooManyThreadsRule{
    .id = FindingId::TooManyThreads,
    .key = "too-many-threads",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .cost = CostIs::WorkTime,
    .thresholds = rules::too_many_threads::kThresholds,
    .confidences = rules::too_many_threads::kConfidences,
    .meaning =
        "More threads of the program compute than there are cores, so they wait for each other.",
    .when =
        "in the steady steps the threads of the process (without a loader's) that want a core for "
        "a twentieth of the time or more want more cores together than there are, and {waiting} or "
        "more of them wait for one at a time: as far as they want more cores than there are, "
        "without what other programs take",
    .fix = "code; no gain: how much quicker fewer threads compute is not in the trace",
    .refutedBy = "a run with as many threads as cores that takes as long",
    .detect = rules::too_many_threads::detect,
};

}  // namespace lacuna::analyzer
