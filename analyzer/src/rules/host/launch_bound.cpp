// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyses/work/launches.h"
#include "analyses/work/patterns.h"
#include "lacuna/prof/amounts.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::launch_bound {
namespace {

constexpr Threshold kLeast{"least", 0.15, Unit::Share,
                           "Some host work shows in every step; a graph is work to write."};
constexpr Threshold kLaunches{"launches", 20, Unit::Count,
                              "Fewer launches a step are no burden by their number."};
constexpr Threshold kMostIdle{"idle per launch", 1'000'000, Unit::Ns,
                              "A host that idles longer for each launch waits for work between "
                              "launches, and a graph launches no sooner."};
constexpr Threshold kMostIdleOfCpu{
    "idle per operator", 50'000, Unit::Ns,
    "The same where the CPU is the device: it calls an operator in microseconds."};
constexpr Threshold kSmall{
    "small", 0.3, Unit::Share,
    "So many launches into an empty queue, or longer than their work, and the host sets the pace."};
constexpr std::array kThresholds{kLeast, kLaunches, kMostIdle, kMostIdleOfCpu, kSmall};

constexpr Confidence kSure{
    "", 0.75, "The launches and the idle time are measured; the host may do other work between."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::HostWork, Cause::Launch};

constexpr std::string_view kFuse = "fuse=on", kGraph = "static_graph=on";

/// A model of many equal small layers is launch-bound as a whole.
bool repeatsOneKernel(const Facts& facts, const Finding&) {
  return facts.analysis.of<PatternStats>().repeatedSequence.find(',') == std::string::npos;
}

/// Small launches that the host cannot keep up with may have fusing as their fix.
bool proposesFusing(const Facts&, const Finding& finding) {
  return finding.knob == kFuse;
}

constexpr std::array kExplains{
    Explained{FindingId::HostWork}, Explained{FindingId::LateStarts},
    Explained{FindingId::TinyKernels, repeatsOneKernel, "where a single kernel repeats"},
    Explained{FindingId::Fuse, proposesFusing, "where it proposes to fuse"}};

bool isBound(const Facts& facts, std::int64_t cost) {
  const LaunchStats& launches = facts.analysis.of<LaunchStats>();
  const double perStep = facts.timesAStep(launches.stepLaunches);
  if (facts.shareOfStep(cost) < kLeast || perStep < kLaunches) return false;
  // Work in place finds its queue empty by its nature, and no launch of it could come sooner.
  if (facts.worksInPlace()) return false;
  if (static_cast<double>(cost) > (facts.onlyHost() ? kMostIdleOfCpu : kMostIdle) * perStep)
    return false;
  const double few = kSmall * static_cast<double>(std::max<std::uint64_t>(1, launches.launches));
  return static_cast<double>(launches.foundQueueEmpty) >= few ||
         static_cast<double>(launches.shorterThanCall) >= few;
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const std::int64_t cost = facts.costOf(Cause::HostWork) + facts.costOf(Cause::Launch);
  if (!isBound(facts, cost)) return;
  const auto launches =
      static_cast<double>(std::max<std::uint64_t>(1, analysis.of<LaunchStats>().launches));
  const auto graph = facts.play(kGraph);
  const auto fuse = facts.play(kFuse);
  const bool fuseWins = graph && fuse && fuse->gainNs() > graph->gainNs();
  Finding finding;
  finding.costNsPerStep = cost;
  finding.count = analysis.of<LaunchStats>().launches;
  finding.words =
      "the host cannot keep up: {launches} small launches {a step} leave the device idle {share of "
      "it}";
  finding.quantities = {
      Quantity::number("launches", facts.timesAStep(analysis.of<LaunchStats>().stepLaunches))};
  finding.confidence = kSure;
  finding.advice = fmt::format(
      "{}{}; {} of the launches found an empty queue",
      fuseWins ? "fuse small operators, or capture the step as a graph"
               : "capture the step as a graph, or fuse small operators",
      // The work that feeds a CPU's queue runs on the same cores, so a larger batch hides nothing.
      facts.onlyHost() ? "" : "; a larger batch hides it too",
      prof::shareText(static_cast<double>(analysis.of<LaunchStats>().foundQueueEmpty) / launches));
  finding.evidence = facts.evidenceOf(
      analysis.ledgers.run[Cause::HostWork] > analysis.ledgers.run[Cause::Launch] ? Cause::HostWork
                                                                                  : Cause::Launch);
  out.add(std::move(finding), fuseWins ? kFuse : kGraph);
}

}  // namespace
}  // namespace rules::launch_bound

constinit const FindingRule kLaunchBoundRule{
    .id = FindingId::LaunchBound,
    .key = "launch-bound",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .prices = rules::launch_bound::kPrices,
    .names = rules::launch_bound::kPrices,
    .leavesWork = true,
    .explains = rules::launch_bound::kExplains,
    .thresholds = rules::launch_bound::kThresholds,
    .confidences = rules::launch_bound::kConfidences,
    .meaning = "The host cannot launch small kernels as fast as the device executes them.",
    .when =
        "host work and launch ≥ {least} of the step, ≥ {launches} launches a step with at most "
        "{idle per launch} of it for each ({idle per operator} where the CPU is the device), ≥ "
        "{small} of them into an empty queue or longer than their work; not where the thread that "
        "launches executes half of them or more itself",
    .fix = "`static_graph=on` or `fuse=on`, whichever gains more",
    .refutedBy = "a larger batch whose steps take longer in proportion",
    .detect = rules::launch_bound::detect,
};

}  // namespace lacuna::analyzer
