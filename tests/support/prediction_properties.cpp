// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "support/prediction_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::test {
namespace {

using analyzer::Change;
using analyzer::Prediction;
using analyzer::Simulator;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  bool chance(double share) { return std::bernoulli_distribution(share)(engine_); }
  template <class Number>
  Number from(Number least, Number most) {
    return std::uniform_int_distribution<Number>(least, most)(engine_);
  }
  /// Times of all sizes are as likely.
  std::int64_t ns(double least, double most) {
    return static_cast<std::int64_t>(
        least * std::pow(most / least, std::uniform_real_distribution<>(0, 1)(engine_)));
  }

 private:
  std::mt19937_64 engine_;
};

/// Parts of a run whose times a factor stretches.
constexpr std::array<std::string_view, 7> kParts{"kernel", "host",    "copy",       "communication",
                                                 "loader", "off-cpu", "start-delay"};

/// More would leave what hardware does: the gap between queued kernels, the time to launch one.
constexpr double kStretch = 1.5;
/// The gap that a replay takes where a run shows none.
constexpr std::int64_t kUnseenGapNs = 1'000;

std::string factorOf(std::string_view part, double factor) {
  return fmt::format("{}*{}", part, factor);
}

/// A replay rounds each of its pieces to a nanosecond, and finds a step on shared cores within 0.2
/// %.
bool isLess(std::int64_t a, std::int64_t b, std::int64_t stepNs) {
  return a < b - 1 - stepNs / 400;
}

class Properties {
 public:
  /// `stretched` replays the same run with all times `kStretch` times as long. `work` is the
  /// device's in a step.
  Properties(const Simulator& simulator, const Simulator& stretched, std::int64_t work)
      : simulator_(simulator),
        stretched_(stretched),
        gapsNs_(std::llround(kStretch * static_cast<double>(work * kUnseenGapNs)) -
                work * kUnseenGapNs) {}

  std::vector<std::string> broken() {
    nothing();
    for (const std::string_view part : kParts) speed(part);
    together();
    everything();
    for (const std::string_view part : kParts) scale(part);
    return std::move(broken_);
  }

 private:
  template <class... Arguments>
  void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    broken_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  void nothing() {
    for (const std::string_view part : kParts) {
      const Prediction same = simulator_.play(factorOf(part, 1));
      if (same.gainNs() != 0 || same.touched) fail("{}*1 gains {} ns", part, same.gainNs());
    }
  }

  void speed(std::string_view part) {
    std::int64_t before = INT64_MIN;
    for (const double factor : {3.0, 1.5, 1.0, 0.9, 0.6, 0.3, 0.1, 0.0}) {
      const Prediction prediction = simulator_.play(factorOf(part, factor));
      const std::int64_t gain = prediction.gainNs(), step = prediction.baseNsPerStep;
      if (before != INT64_MIN && isLess(gain, before, step))
        fail("{} gains {} ns, and less speed-up {}", factorOf(part, factor), gain, before);
      before = gain;
      if (factor > 1 && isLess(0, gain, step)) fail("{} gains {} ns", factorOf(part, factor), gain);
      if (factor < 1 && isLess(gain, 0, step))
        fail("{} loses {} ns", factorOf(part, factor), -gain);
      if (prediction.takenNsPerStep && isLess(*prediction.takenNsPerStep, gain, step))
        fail("{} gains {} ns of the {} that it takes away", factorOf(part, factor), gain,
             *prediction.takenNsPerStep);
      interval(factorOf(part, factor), prediction);
    }
  }

  void interval(const std::string& change, const Prediction& prediction) {
    const bool holds = prediction.lowNsPerStep >= 0 &&
                       prediction.lowNsPerStep <= prediction.predictedNsPerStep &&
                       prediction.predictedNsPerStep <= prediction.highNsPerStep;
    if (!holds)
      fail("{}: {} … {} does not hold {}", change, prediction.lowNsPerStep,
           prediction.highNsPerStep, prediction.predictedNsPerStep);
  }

  void together() {
    std::vector<Change> changes;
    for (const char* text : {"kernel*0.5", "copy*0.3", "communication*0.5", "loader*0.5"})
      changes.push_back(*analyzer::parseChange(text));
    const Prediction all = simulator_.play(changes);
    for (const Change& change : changes) {
      const std::int64_t alone = simulator_.play({&change, 1}).gainNs();
      if (isLess(all.gainNs(), alone, all.baseNsPerStep))
        fail("{} alone gains {} ns, and with others {}", change.text(), alone, all.gainNs());
    }
    std::ranges::reverse(changes);
    const std::int64_t reversed = simulator_.play(changes).gainNs();
    if (reversed != all.gainNs())
      fail("in another order {} ns are gained, not {}", reversed, all.gainNs());
  }

  /// Removing every part gains at least as much as removing one of them.
  void everything() {
    std::vector<Change> changes;
    for (const std::string_view part : kParts)
      changes.push_back(*analyzer::parseChange(factorOf(part, 0)));
    const Prediction all = simulator_.play(changes);
    for (const Change& change : changes) {
      if (isLess(all.gainNs(), simulator_.play({&change, 1}).gainNs(), all.baseNsPerStep))
        fail("{} alone gains more than without everything", change.text());
    }
  }

  /// The unit of time decides nothing. Where a run shows no gap between queued kernels, the gap is
  /// a constant.
  void scale(std::string_view part) {
    for (const double factor : {0.0, 0.5, 2.0}) {
      const std::string change = factorOf(part, factor);
      const std::int64_t alone = simulator_.play(change).gainNs();
      const std::int64_t gain = std::llround(kStretch * static_cast<double>(alone));
      const Prediction longer = stretched_.play(change);
      const double stretchOfGaps = part == "start-delay" ? std::max(1.0, factor) : 1;
      const std::int64_t gaps = std::llround(stretchOfGaps * static_cast<double>(gapsNs_));
      const std::int64_t least = std::min(gain, longer.gainNs()) + gaps;
      if (isLess(least, std::max(gain, longer.gainNs()), longer.baseNsPerStep))
        fail("{} gains {} ns, and {} of {} where all times are {} times as long", change, alone,
             longer.gainNs(), longer.baseNsPerStep, kStretch);
    }
  }

  const Simulator& simulator_;
  const Simulator& stretched_;
  std::int64_t
      gapsNs_;  ///< by which a stretched step may miss what the gaps between kernels would be
  std::vector<std::string> broken_;
};

}  // namespace

RunPlan drawnPlan(std::uint64_t seed) {
  Dice dice(seed);
  RunPlan plan{.steps = dice.from(8, 40),
               .ranks = dice.chance(0.2) ? 2 : 1,
               .operators = dice.from(3, 60),
               .operatorNs = dice.ns(3e3, 1e5),
               .kernelNs = dice.ns(1e3, 5e5),
               .batchNs = dice.ns(1e4, 3e7),
               .workers = dice.from(0, 4)};
  plan.syncEachStep = dice.chance(0.5);
  if (dice.chance(0.2)) plan.syncEveryOperators = dice.from(1, 8);
  if (dice.chance(0.2)) plan.pageableCopyNs = dice.ns(1e5, 5e6);
  if (dice.chance(0.2)) plan.zeroGradNs = dice.ns(1e3, 5e4);
  if (dice.chance(0.2)) plan.mallocNs = dice.ns(1e4, 2e6);
  if (dice.chance(0.3)) plan.hostPauseNs = dice.ns(1e5, 1e7);
  if (dice.chance(0.2)) plan.asleepNs = dice.ns(1e5, 5e6);
  if (plan.ranks > 1) plan.collectiveNs = dice.ns(1e5, 5e6);
  if (plan.ranks > 1 && dice.chance(0.5)) plan.earlyNs = plan.collectiveNs / 2;
  plan.hostCores = dice.chance(0.7) ? dice.from(1u, 16u) : 0;
  if (dice.chance(0.2)) plan.tinyRepeats = dice.from(4, 60);
  if (dice.chance(0.3)) {
    plan.cpuDevice = true;
    plan.callerWorks = dice.chance(0.5);
  }
  plan.loaderComputes = dice.chance(0.4);
  plan.loaderSleeps = !plan.loaderComputes && dice.chance(0.4);
  if (dice.chance(0.2)) plan.startDelayNs = dice.ns(1e4, 1e6);
  if (dice.chance(0.2)) plan.optimizerKernels = dice.from(8, 40);
  if (dice.chance(0.2)) plan.slowStepNs = dice.ns(1e5, 1e7);
  if (!plan.cpuDevice && dice.chance(0.2)) plan.queueRoom = dice.from(64, 200);
  plan.batchesNumbered = dice.chance(0.5);
  if (dice.chance(0.3)) plan.handOverNs = dice.ns(1e3, 1e6);
  if (dice.chance(0.2)) plan.restlessNs = dice.ns(1e4, 1e6);
  if (dice.chance(0.2)) plan.betweenStepsNs = dice.ns(1e5, 5e6);
  return plan;
}

RunPlan stretched(RunPlan plan) {
  plan.stretch = kStretch;
  return plan;
}

std::vector<std::string> brokenProperties(const RunPlan& plan) {
  std::vector<Simulator> simulators;
  std::int64_t work = 0;
  for (const RunPlan& one : {plan, stretched(plan)}) {
    const auto store = makeRun(one);
    work = static_cast<std::int64_t>(store->rows<prof::Kernel>() + store->rows<prof::Memset>()) /
           (plan.steps * plan.ranks);
    const auto analysis = analyzer::analyse(store);
    if (!analysis) return {analysis.error().message};
    auto simulator = Simulator::create(*analysis);
    if (!simulator) return {"the run is not replayed"};
    simulators.push_back(*std::move(simulator));
  }
  return Properties(simulators[0], simulators[1], work).broken();
}

}  // namespace lacuna::test
