// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "rules/rule.h"

namespace lacuna::analyzer {
namespace {

/// Less than this share of the step spent waiting is no stall (the threshold other tools use).
constexpr double kStall = 0.05;
/// Workers that prepare batches for less than this share of the time have them ready: a wait is for handing them over.
constexpr double kIdleWorkers = 0.1;

/// Workers that would prepare a batch as fast as the rest of a step consumes one. Both times are with what markers
/// leave out.
std::uint32_t workersNeeded(const RuleContext& context, std::int64_t stepNs, std::int64_t waitPerStep) {
  const LoaderStats& loader = context.analysis.loader;
  // Nothing makes a step shorter than the device's work in it.
  const std::int64_t stepWithout =
      std::max({std::int64_t{1}, stepNs - waitPerStep, context.analysis.meanStepLedger().busyNs()});
  const std::int64_t batch = loader.workers > 0 && loader.batchNs() > 0 ? loader.batchNs() : waitPerStep;
  const auto needed = static_cast<std::uint32_t>((batch + stepWithout - 1) / stepWithout);
  // A device that need not wait is quicker as well, and uses up more batches.
  const auto most = std::clamp<std::uint32_t>(std::max(needed + needed / 4 + 1, loader.workers + 1), 2, 64);
  const auto played = [&](std::uint32_t workers) { return context.play(fmt::format("loader.workers={}", workers)); };
  const auto best = played(most);
  if (!best || best->gainNs() <= 0) return most;
  // More workers than the cores can run, or than hide the wait, bring nothing.
  for (std::uint32_t workers = loader.workers + 1; workers < most; ++workers) {
    const auto with = played(workers);
    if (with && with->predictedNsPerStep <= best->predictedNsPerStep + best->predictedNsPerStep / 50) return workers;
  }
  return most;
}

std::string slowStage(const LoaderStats& loader) {
  if (loader.busyNs <= 0) return {};
  const auto most = std::max_element(loader.stageNs.begin(), loader.stageNs.end());
  return fmt::format("; {} takes {} of a batch's preparation",
                     kLoaderStages[static_cast<std::size_t>(most - loader.stageNs.begin())],
                     humanShare(static_cast<double>(*most) / static_cast<double>(loader.busyNs)));
}

/// Workers that are started anew, as a rule for each epoch, while the program waits for their first batch.
void restartedWorkers(RuleContext& context, std::int64_t stepNs) {
  const LoaderStats& loader = context.analysis.loader;
  const std::int64_t cost = context.perStep(loader.restartNs);
  if (loader.restarts == 0 || static_cast<double>(cost) < kStall * static_cast<double>(stepNs)) return;
  Finding finding;
  finding.id = "loader-restarts";
  finding.kind = FindingKind::Fault;
  finding.count = loader.restarts;
  finding.title = fmt::format("the loader's workers were started anew {}, which takes {{cost}} a step",
                              loader.restarts == 1 ? "once" : fmt::format("{} times", loader.restarts));
  finding.costNsPerStep = cost;
  // Workers that stay cost nothing at all between epochs.
  finding.gainBasis = GainBasis::Trace;
  finding.predictedGainNsPerStep = cost;
  finding.baseNsPerStep = std::max(stepNs, cost);
  finding.confidence = 0.9;
  finding.advice =
      "keep the workers from one epoch to the next (persistent_workers=True in PyTorch), or let them start sooner: by "
      "fork, and with fewer imports";
  finding.evidence.push_back(
      {loader.longestRestart.startNs, loader.longestRestart.endNs, "waiting for new workers of the loader"});
  context.addAsItIs(std::move(finding));
}

/// What all findings about waiting for batches say; the advice is the caller's.
Finding waiting(const RuleContext& context, std::int64_t cost) {
  Finding finding;
  finding.id = "loader-wait";
  finding.kind = FindingKind::Fault;
  finding.title = "the device waits for data {cost} a step ({share} of it)";
  finding.costNsPerStep = cost;
  finding.confidence = context.analysis.loader.busyNs > 0 ? 0.9 : 0.7;
  finding.count = context.analysis.loader.batches;
  finding.evidence = context.evidenceOf(Cause::LoaderWait);
  return finding;
}

/// A trace of waits alone: how many workers there are, and what a batch takes, is not in it.
void unknownWorkers(RuleContext& context, std::int64_t cost) {
  Finding finding = waiting(context, cost);
  finding.confidence = 0.5;
  finding.advice =
      "the trace does not tell how many workers the loader has, nor what preparing a batch takes: give it more workers "
      "and compare (lacuna diff), or make preparing a batch cheaper; lacuna run --torch records both";
  context.addBounded(std::move(finding), "loader*0");
}

}  // namespace

void loaderRules(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  // Many a program fetches its batch in front of the range that it marks as a step.
  const Analysis::BetweenSteps between = analysis.betweenSteps();
  const std::int64_t restarts = context.perStep(analysis.loader.stepRestartNs);
  const std::int64_t marked = analysis.meanStepNs() + between.ns;
  restartedWorkers(context, marked + context.perStep(analysis.loader.restartNs) - restarts);
  const std::int64_t cost = context.costOf(Cause::LoaderWait) + between.loaderWaitNs - restarts;
  const std::int64_t stepNs = std::max<std::int64_t>(1, marked - restarts);
  const double share = static_cast<double>(cost) / static_cast<double>(stepNs);
  if (share < kStall) return;
  const std::int64_t wait = std::max(cost, context.perStep(analysis.loader.stepWaitNs) - restarts);
  if (!analysis.loader.workersKnown) return unknownWorkers(context, cost);
  const std::uint32_t workers = workersNeeded(context, stepNs, wait);
  const auto gain = context.play(fmt::format("loader.workers={}", workers));
  // Cheaper batches leave the cores to the training only where they take a part of them that counts.
  const double computesNs = analysis.loader.cpuShare * static_cast<double>(analysis.loader.batchNs());
  const bool computes = analysis.loader.cpuShare > 0.5 && computesNs >= kStall * static_cast<double>(stepNs);
  const double busy = static_cast<double>(analysis.loader.batchNs()) /
                      (static_cast<double>(stepNs) * std::max(1u, analysis.loader.workers));
  const bool idle = analysis.loader.batchNs() > 0 && busy < kIdleWorkers;
  // A wait for workers that no further one shortens is the price of handing over, unless the batches cost too much.
  if (analysis.loader.workers > 0 && gain && !computes && (idle || gain->gainShare() < 0.02)) return;
  Finding finding = waiting(context, cost);
  if (gain && gain->gainNs() <= 0) {
    finding.advice = fmt::format("make preparing a batch cheaper{}; more workers would not help{}",
                                 slowStage(analysis.loader), computes ? ": the host's cores are busy as it is" : "");
    context.addBounded(std::move(finding), "loader*0");
    return;
  }
  const std::string have = analysis.loader.workers > 0 ? fmt::format("{} now", analysis.loader.workers)
                                                       : std::string("the training thread prepares batches itself now");
  finding.advice =
      fmt::format("give the loader {} worker{} ({}), so that batches are ready before they are asked for{}", workers,
                  workers == 1 ? "" : "s", have, slowStage(analysis.loader));
  if (computes) {
    finding.advice += fmt::format("; preparing one computes {} of its time, so make it cheaper where cores are few",
                                  humanShare(analysis.loader.cpuShare));
  }
  context.add(std::move(finding), fmt::format("loader.workers={}", workers));
}

}  // namespace lacuna::analyzer
