// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "analyses/loader/loader.h"
#include "analyses/time/phases.h"
#include "lacuna/prof/amounts.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::loader_wait {
namespace {

constexpr Threshold kStall{
    "stall", 0.05, Unit::Share,
    "PyTorch's TensorBoard plugin reports a data loader from the same share on."};
constexpr Threshold kIdleWorkers{"idle workers", 0.1, Unit::Share,
                                 "Workers that prepare batches for a smaller share of the time "
                                 "have them ready: the wait is for handing them over."};
constexpr Threshold kLeastGain{
    "gain", 0.02, Unit::Share,
    "A smaller gain from more workers is the price of handing batches over."};
constexpr Threshold kMostlyComputes{
    "computes", 0.5, Unit::Share,
    "Workers that mostly wait for files leave the cores to the training."};
constexpr Threshold kComputing{
    "computing", 0.05, Unit::Share,
    "Cheaper batches leave the cores to the training only where they take a part that counts."};
constexpr std::int64_t kNearPart = 50;
constexpr Threshold kNear{
    "near", 1.0 / kNearPart, Unit::Share,
    "Workers beyond the number that comes this near to plenty of them bring nothing."};
constexpr Threshold kHalf{
    "half", 0.5, Unit::Share,
    "Where cheaper batches gain twice as much as more workers, the cores bind."};
constexpr std::array kThresholds{kStall,     kIdleWorkers, kLeastGain, kMostlyComputes,
                                 kComputing, kNear,        kHalf};

constexpr Confidence kTimed{"the workers' times are recorded", 0.9,
                            "Both the waits and their reason are measured."};
constexpr Confidence kWaitsAlone{"only the waits are recorded", 0.7,
                                 "The time of a batch is taken from its wait."};
constexpr Confidence kUnknownWorkers{
    "the number of workers is unknown", 0.5,
    "More workers may help or not: the trace does not show who prepares batches."};
constexpr std::array kConfidences{kTimed, kWaitsAlone, kUnknownWorkers};

constexpr std::array kPrices{Cause::LoaderWait};

/// More workers than a machine is likely to have cores for are not proposed, and plenty is this
/// part more than needed.
constexpr std::uint32_t kMostWorkers = 64, kSparePart = 4;

/// Workers that would prepare a batch as fast as the rest of a step consumes one.
std::uint32_t workersNeeded(const Facts& facts, std::int64_t stepNs, std::int64_t waitPerStep) {
  const LoaderStats& loader = facts.analysis.of<LoaderStats>();
  // Nothing makes a step shorter than the device's work in it.
  const std::int64_t stepWithout =
      std::max({std::int64_t{1}, stepNs - waitPerStep, facts.analysis.meanStepLedger().busyNs()});
  const std::int64_t batch =
      loader.workers > 0 && loader.batchNs() > 0 ? loader.batchNs() : waitPerStep;
  const auto needed = static_cast<std::uint32_t>((batch + stepWithout - 1) / stepWithout);
  // A device that need not wait is quicker as well, and uses up more batches.
  const auto most = std::clamp<std::uint32_t>(
      std::max(needed + needed / kSparePart + 1, loader.workers + 1), 2, kMostWorkers);
  const auto played = [&](std::uint32_t workers) {
    return facts.play(fmt::format("loader.workers={}", workers));
  };
  const auto best = played(most);
  if (!best || best->gainNs() <= 0) return most;
  // More workers than the cores can run, or than hide the wait, bring nothing.
  for (std::uint32_t workers = loader.workers + 1; workers < most; ++workers) {
    const auto with = played(workers);
    if (with &&
        with->predictedNsPerStep <= best->predictedNsPerStep + best->predictedNsPerStep / kNearPart)
      return workers;
  }
  return most;
}

std::string slowStage(const LoaderStats& loader) {
  if (loader.busyNs <= 0) return {};
  const auto most = std::max_element(loader.stageNs.begin(), loader.stageNs.end());
  return fmt::format(
      "; {} takes {} of a batch's preparation",
      kLoaderStages[static_cast<std::size_t>(most - loader.stageNs.begin())],
      prof::shareText(static_cast<double>(*most) / static_cast<double>(loader.busyNs)));
}

/// The time of an iteration in which the device waits for batches.
struct LoaderWaits {
  std::int64_t inStepNs = 0;
  std::int64_t inPausesNs = 0;  ///< of evaluations, as a rule
  std::int64_t iterationNs = 0;

  [[nodiscard]] std::int64_t allNs() const { return inStepNs + inPausesNs; }
};

/// Without the waits for workers that are started, which another finding prices.
LoaderWaits waitsOf(const Facts& facts, std::int64_t restartsNs) {
  const LoaderStats& loader = facts.analysis.of<LoaderStats>();
  const std::int64_t restartsInPausesNs =
      facts.perEveryStep(loader.restartNs - loader.stepRestartNs);
  LoaderWaits waits{.inStepNs = facts.costOf(Cause::LoaderWait) - restartsNs,
                    .inPausesNs = std::max<std::int64_t>(
                        0, facts.pausesOf(Cause::LoaderWait) - restartsInPausesNs)};
  std::int64_t iterationNs = facts.analysis.meanStepNs();
  if (waits.inPausesNs > 0)
    iterationNs = std::max(iterationNs, facts.analysis.of<RunPhases>().iterationNs());
  waits.iterationNs = std::max<std::int64_t>(1, iterationNs - restartsNs);
  return waits;
}

Finding waiting(const Facts& facts, const LoaderWaits& waits) {
  Finding finding;
  finding.words = "data loading stalls the device for {cost} {a step} ({share of it})";
  finding.costNsPerStep = waits.allNs();
  finding.pausesNsPerStep = waits.inPausesNs;
  finding.confidence = facts.analysis.of<LoaderStats>().busyNs > 0 ? kTimed : kWaitsAlone;
  finding.count = facts.analysis.of<LoaderStats>().batches;
  finding.evidence = facts.evidenceOf(Cause::LoaderWait);
  return finding;
}

/// A trace of waits alone: neither the number of workers nor the time of a batch is in it.
void addUnknownWorkers(const Facts& facts, Outcome& out, const LoaderWaits& waits) {
  Finding finding = waiting(facts, waits);
  finding.confidence = kUnknownWorkers;
  finding.advice =
      "the trace does not show how many workers the loader has, nor the time to prepare a batch: "
      "give it more workers and compare (lacuna diff), or make preparing a batch cheaper; lacuna "
      "run records both";
  out.addBounded(std::move(finding), "loader*0");
}

bool preparingComputes(const LoaderStats& loader, std::int64_t stepNs) {
  const double computesNs = loader.cpuShare * static_cast<double>(loader.batchNs());
  return loader.cpuShare > kMostlyComputes &&
         computesNs >= kComputing * static_cast<double>(stepNs);
}

bool workersAreIdle(const LoaderStats& loader, std::int64_t stepNs) {
  const double busy = static_cast<double>(loader.batchNs()) /
                      (static_cast<double>(stepNs) * std::max(1u, loader.workers));
  return loader.batchNs() > 0 && busy < kIdleWorkers;
}

/// True when batches that cost nothing would hide the wait.
bool cheaperHelps(const Facts& facts, const std::optional<Prediction>& free, std::int64_t stepNs) {
  return !workersAreIdle(facts.analysis.of<LoaderStats>(), stepNs) && free &&
         free->gainShare() >= kStall;
}

/// True when more workers win back so little of what batches cost that their cost itself is the
/// fault.
bool coresBind(const std::optional<Prediction>& more, const std::optional<Prediction>& free) {
  return more && free &&
         static_cast<double>(more->gainNs()) < kHalf * static_cast<double>(free->gainNs());
}

std::string cheaperAdvice(const LoaderStats& loader, const std::string& workers) {
  std::string advice =
      fmt::format("make preparing a batch cheaper{}; {}", slowStage(loader), workers);
  if (loader.cpuShare > kMostlyComputes) {
    advice +=
        fmt::format(": preparing one computes {} of its time, and the training needs the cores",
                    prof::shareText(loader.cpuShare));
  }
  return advice;
}

std::string adviceOf(const LoaderStats& loader, std::uint32_t workers, bool computes) {
  const std::string have = loader.workers > 0
                               ? fmt::format("{} now", loader.workers)
                               : std::string("batches are now prepared on the training thread");
  std::string advice = fmt::format(
      "use {} loader worker{} ({}), so that batches are ready before they are asked for{}", workers,
      workers == 1 ? "" : "s", have, slowStage(loader));
  if (computes) {
    advice += fmt::format(
        "; preparing one computes {} of its time, so make it cheaper where cores are few",
        prof::shareText(loader.cpuShare));
  }
  return advice;
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const LoaderStats& loader = analysis.of<LoaderStats>();
  const std::int64_t restarts = facts.perStep(loader.stepRestartNs);
  const LoaderWaits waits = waitsOf(facts, restarts);
  const std::int64_t stepNs = std::max<std::int64_t>(1, analysis.meanStepNs() - restarts);
  if (shareOf(waits.allNs(), waits.iterationNs) < kStall) return;
  const std::int64_t wait = std::max(waits.inStepNs, facts.perStep(loader.stepWaitNs) - restarts);
  if (!loader.workersKnown) return addUnknownWorkers(facts, out, waits);
  const std::uint32_t workers = workersNeeded(facts, stepNs, wait);
  const auto gain = facts.play(fmt::format("loader.workers={}", workers));
  const auto free = facts.play("loader*0");
  const bool computes = preparingComputes(loader, stepNs);
  const bool moreHelp =
      !gain || (!workersAreIdle(loader, stepNs) && gain->gainShare() >= kLeastGain);
  // A wait that neither more workers nor quicker ones shorten is the price of handing over.
  if (loader.workers > 0 && !moreHelp && !computes && !cheaperHelps(facts, free, stepNs)) return;
  Finding finding = waiting(facts, waits);
  if (gain && (!moreHelp || (computes && coresBind(gain, free)))) {
    finding.advice = cheaperAdvice(
        loader, moreHelp ? fmt::format("{} workers would gain {} {}", workers,
                                       prof::timeText(gain->gainNs()),
                                       facts.analysis.steps.all.empty() ? "in all" : "a step")
                         : std::string("more workers would not help"));
    return out.addBounded(std::move(finding), "loader*0");
  }
  finding.advice = adviceOf(loader, workers, computes);
  out.add(std::move(finding), fmt::format("loader.workers={}", workers));
}

}  // namespace
}  // namespace rules::loader_wait

constinit const FindingRule kLoaderWaitRule{
    .id = FindingId::LoaderWait,
    .key = "loader-wait",
    .area = FindingArea::Loader,
    .kind = FindingKind::Fault,
    .prices = rules::loader_wait::kPrices,
    .names = rules::loader_wait::kPrices,
    .playsWorkers = true,
    .thresholds = rules::loader_wait::kThresholds,
    .confidences = rules::loader_wait::kConfidences,
    .meaning = "Batches are not ready when the program asks for them, and the device waits.",
    .when =
        "the ledger's loader wait ≥ {stall} of the step, of the iteration where evaluations "
        "between steps wait, too; with workers also that more of them, or batches that cost "
        "nothing (then ≥ {stall}), gain ≥ {gain} and the present ones prepare batches for ≥ {idle "
        "workers} of the time, or that preparing batches computes > {computes} of its time and ≥ "
        "{computing} of a step",
    .fix =
        "`loader.workers=N`: the smallest N whose step in the replay is within {near} of that with "
        "plenty; where the number of workers is unknown ([loader](loader.md)), or more would not "
        "help or gain less than {half} of what batches that cost nothing would, code: `loader*0`, "
        "an upper bound",
    .refutedBy = "a run on made-up batches that are already in memory and that takes as long",
    .detect = rules::loader_wait::detect,
};

}  // namespace lacuna::analyzer
