// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "whatif/changes/registry.h"
#include "whatif/core_sharing.h"
#include "whatif/interval.h"
#include "whatif/replay.h"
#include "whatif/replayed_steps.h"
#include "whatif/scenario.h"

namespace lacuna::analyzer {
namespace {

/// Other programs may take so much more or less in the next run, of what they took in this one: a
/// guess.
constexpr double kOthersVary = 0.25;
/// A wait that goes costs at most so many times itself, with all that it disturbs. Measured: 1.00
/// to 1.07.
constexpr double kDisturbed = 1.25;
/// Hosts whose loader computes have hardly enough cores from this share of a step on: cores may be
/// threads of one core, or lent out. Two of them computed 1.1 times as much as one on a machine we
/// measured.
constexpr double kCoresBusy = 0.7;
/// No model is surer of a gain than this.
constexpr double kMostConfidence = 0.99;
/// The replay adds and multiplies times freely: a trace of more than 52 days, which only a damaged
/// clock makes, would leave it no room.
constexpr std::int64_t kLongestNs = std::int64_t{1} << 52;

double normalBelow(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

/// Chance that at least half of the gain comes true, if the interval is that of a normal
/// distribution. 0 without steps: nothing shows how much one run differs from the next.
double confidenceOf(const Prediction& prediction, bool hasSteps) {
  if (!hasSteps) return 0;
  const auto gain = static_cast<double>(prediction.gainNs());
  const auto sigma =
      static_cast<double>(prediction.highNsPerStep - prediction.lowNsPerStep) / (2 * kSigmas);
  if (gain <= 0 || sigma <= 0) return 0;
  return std::clamp(normalBelow(gain / 2 / sigma), 0.0, kMostConfidence);
}

/// The window of the step whose length is nearest to the typical one's. The first is left out where
/// there are others: it has no step before it to end at.
std::pair<std::int64_t, std::int64_t> typicalWindow(const Completions& completions,
                                                    std::int64_t fromNs) {
  const auto& at = completions.atNs;
  std::pair<std::int64_t, std::int64_t> best{fromNs, fromNs + completions.totalNs};
  const std::int64_t typical = completions.typicalNs();
  std::int64_t miss = INT64_MAX;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const std::int64_t off = std::abs(at[i] - at[i - 1] - typical);
    if (off >= miss || at[i] <= at[i - 1]) continue;
    miss = off;
    best = {at[i - 1], at[i]};
  }
  return best;
}

/// True when preparing batches computes, and the host's cores are hardly enough for that and all
/// else of a step.
bool coresBind(const Scenario& scenario, std::int64_t stepNs) {
  if (!CoreSharing::applies(scenario) || scenario.loader.cpuShare < kComputingLoader) return false;
  return CoreSharing(scenario).wantedCores(stepNs) > kCoresBusy * scenario.base->hostCores;
}

/// Time by which one piece of a step, or a wait that comes with it, has become shorter.
std::int64_t lessBy(std::int64_t beforeNs, std::int64_t afterNs) {
  return std::max<std::int64_t>(0, beforeNs - afterNs);
}

/// Time that a change takes off the pieces of each step; nothing where it does more than that.
std::optional<Completions> takenOfSteps(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  if (scenario.unstalled) return std::nullopt;
  Completions out;
  out.atNs.assign(base.steps, 0);
  out.runLength = base.measured.runLength;
  for (std::size_t i = 0; i < base.items.size(); ++i) {
    const HostItem& before = base.items[i];
    const HostItem& after = scenario.items[i];
    if (before.node != after.node || before.room != after.room || before.blocks != after.blocks ||
        before.periodNs != after.periodNs)
      return std::nullopt;
    std::int64_t& ns = out.atNs[before.step];
    prof::addTo(ns, lessBy(before.gapNs, after.gapNs) + lessBy(before.durNs, after.durNs));
    if (before.kind != HostItemKind::Launch) continue;
    const DeviceNode& was = base.nodes[before.node];
    const DeviceNode& is = scenario.nodes[before.node];
    // A bond that a change adds makes no step shorter.
    if (was.queue != is.queue || (was.after != kNowhere && was.after != is.after))
      return std::nullopt;
    prof::addTo(ns, lessBy(was.durNs, is.durNs));
    for (const auto delay :
         {&DeviceNode::launchDelayNs, &DeviceNode::queueGapNs, &DeviceNode::afterGapNs})
      prof::addTo(ns,
                  scenario.removed[before.node] != 0 ? was.*delay : lessBy(was.*delay, is.*delay));
  }
  for (std::int64_t& ns : out.atNs) {
    prof::addTo(out.totalNs, ns);
    ns = out.totalNs;
  }
  return out;
}

/// See Prediction::takenNsPerStep. All steps are chains of such pieces; the typical step may lose
/// more than the mean one does, whose first piece is cut off where the replay begins.
std::optional<std::int64_t> takenPerStep(const Scenario& scenario) {
  const auto taken = takenOfSteps(scenario);
  if (!taken) return std::nullopt;
  return std::max(taken->totalNs / static_cast<std::int64_t>(scenario.base->steps),
                  taken->typicalNs());
}

std::int64_t workTakenPerStep(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < base.nodes.size(); ++i)
    prof::addTo(ns, base.nodes[i].durNs - scenario.nodes[i].durNs);
  return std::max<std::int64_t>(0, ns / static_cast<std::int64_t>(base.steps));
}

/// A wait that goes takes with it what it disturbed. Where steady steps are quicker by more than
/// that, steps differ for other reasons. `withWaitsNs`: the step where no change takes waits away.
std::int64_t leastUnstalled(const Simulator::Model& model, std::span<const Change> changes,
                            std::int64_t withWaitsNs) {
  const std::int64_t waits = model.baseNs - replay(asRecorded(model, changes));
  const auto most = prof::wholeOf<std::int64_t>(
      kDisturbed * static_cast<double>(std::max<std::int64_t>(0, waits)));
  return std::min(model.baseNs - most, withWaitsNs);
}

}  // namespace

Simulator::Simulator(std::unique_ptr<Model> model) : model_(std::move(model)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

std::optional<Simulator> Simulator::create(const Analysis& analysis) {
  const prof::TimeWindow span = analysis.store->span();
  if (span.startNs < span.endNs - kLongestNs || lacksWork(analysis)) return std::nullopt;
  auto model = buildModel(analysis);
  if (model == nullptr) return std::nullopt;
  model->replayed = Replay(scenarioOf(*model, {}, Bound::Likely)).pass();
  model->baseNs = model->replayed.typicalNs();
  return Simulator(std::move(model));
}

prof::Status Simulator::check(const Change& change) const {
  const ChangeType& type = typeOf(change);
  return type.check == nullptr ? prof::Status() : type.check(change, *model_);
}

namespace {

/// One prediction in the making.
class Predicting {
 public:
  Predicting(const Simulator::Model& model, std::span<const Change> changes)
      : model_(model),
        changes_(changes),
        likely_(scenarioOf(model, changes, Bound::Likely, &out_.limits)) {
    out_.measuredNsPerStep = model.measured.typicalNs();
    out_.baseNsPerStep = model.baseNs;
    out_.touched = likely_.touched;
    // A quicker host takes idle time away, and no more.
    const bool onlyHost = !changes.empty() && std::ranges::all_of(changes, hastensHost);
    busyNs_ = onlyHost ? std::min(model.busyNs, out_.baseNsPerStep) : 0;
    for (const Change& change : changes) bounded_ = bounded_ || typeOf(change).hasBounds;
  }

  Prediction run() {
    predictStep();
    predictTaken();
    noteAssumptions();
    spanInterval();
    for (const Change& change : changes_) {
      if (const ChangeType& type = typeOf(change); type.resultNote != nullptr)
        out_.notes.push_back(type.resultNote(change, out_));
    }
    out_.confidence = confidenceOf(out_, model_.hasSteps);
    if (busyNs_ > 0) {
      out_.lowNsPerStep = out_.limits.atLeast(busyDevice(GainLimit::Of::Low), out_.lowNsPerStep,
                                              std::min(busyNs_, out_.predictedNsPerStep));
    }
    return std::move(out_);
  }

 private:
  static GainLimit busyDevice(GainLimit::Of of) {
    return {.name = "busy-device",
            .reason = "a quicker host takes the device's idle time away, and no more",
            .of = of};
  }

  void predictStep() {
    stepNs_ = shared();
    if (likely_.unstalled) {
      const std::int64_t withWaitsNs = replay(withWaits(model_, changes_, Bound::Likely));
      if (!workersTakeCores_) {
        stepNs_ = out_.limits.atMost(
            {.name = "with-waits",
             .reason = "taking waits away makes no step longer than the other changes leave it"},
            stepNs_, withWaitsNs);
      }
      stepNs_ = out_.limits.atLeast(
          {.name = "waits",
           .reason = "waits that go save no more than themselves and all that they disturbed; "
                     "beyond that, steps differ for other reasons",
           .constant = LACUNA_NAMED(kDisturbed)},
          stepNs_, leastUnstalled(model_, changes_, withWaitsNs));
    }
    out_.predictedNsPerStep = stepNs_;
    if (!out_.touched) out_.predictedNsPerStep = out_.baseNsPerStep;
    if (!out_.touched && !changes_.empty()) {
      out_.limits.passed(
          {.name = "untouched",
           .reason = "nothing that was recorded would change, so the step stays as it is",
           .beforeNs = stepNs_,
           .limitNs = out_.baseNsPerStep,
           .afterNs = out_.baseNsPerStep});
    }
    if (busyNs_ > 0)
      out_.predictedNsPerStep =
          out_.limits.atLeast(busyDevice(GainLimit::Of::Step), out_.predictedNsPerStep, busyNs_);
    const auto passed = out_.limits.all();
    const auto first = std::ranges::find_if(
        passed, [](const GainLimit& limit) { return limit.of == GainLimit::Of::Step; });
    out_.playedNsPerStep = first == passed.end() ? stepNs_ : first->beforeNs;
  }

  /// The replayed step, with the host's cores shared. Sharing is a limit where it makes the step
  /// longer.
  std::int64_t shared() {
    const auto [stepNs, by] = onSharedCores(likely_);
    if (!CoreSharing::applies(likely_)) return stepNs;
    bounded_ = true;
    if (likely_.loader.cpuShare >= kComputingLoader) out_.freedNsPerStep = freedPerStep(by);
    const std::int64_t aloneNs = replayUnshared(likely_);
    workersTakeCores_ = stepNs > aloneNs;
    return out_.limits.atLeast(
        {.name = "cores", .reason = "the loader's workers and the training share the host's cores"},
        std::min(aloneNs, stepNs), stepNs);
  }

  /// By how much the training's own work on the cores becomes shorter; nothing where it becomes
  /// longer. Workers disturb it in one step and not in the next, so this is from the steps as they
  /// were recorded.
  [[nodiscard]] std::int64_t freedPerStep(const Stretch& by) const {
    double ns = 0;
    for (std::size_t i = 0; i < model_.items.size(); ++i) {
      const HostItem& was = model_.items[i];
      prof::addTo(ns, static_cast<double>(was.gapNs) -
                          static_cast<double>(likely_.items[i].gapNs) * by.host);
      if (was.kind != HostItemKind::Launch || model_.queueCores == 0) continue;
      prof::addTo(ns, static_cast<double>(model_.nodes[was.node].durNs) -
                          static_cast<double>(likely_.nodes[was.node].durNs) * by.work);
    }
    return std::max<std::int64_t>(
        0, prof::wholeOf<std::int64_t>(ns / static_cast<double>(model_.steps)));
  }

  void predictTaken() {
    out_.takenNsPerStep = takenPerStep(likely_);
    out_.workTakenNsPerStep = workTakenPerStep(likely_);
    if (!bounded_) return;
    const auto most = takenPerStep(scenarioOf(model_, changes_, Bound::Low));
    out_.takenNsPerStep = out_.takenNsPerStep && most
                              ? std::optional(std::max(*out_.takenNsPerStep, *most))
                              : std::nullopt;
  }

  void noteAssumptions() {
    for (const Change& change : changes_) {
      const ChangeType& type = typeOf(change);
      const KnownError error = model_.factors().knownError(type.info.name, type.info.error);
      if (error.share > out_.doubt.knownError) {
        out_.doubt.knownError = error.share;
        out_.doubt.knownFrom = error.from;
      }
      if (type.note == nullptr) continue;
      if (std::string note = type.note(change, model_); !note.empty())
        out_.notes.push_back(std::move(note));
    }
    if (!changes_.empty() && !out_.touched) {
      out_.notes.push_back(
          "nothing that was recorded would change, so the replay cannot predict the effect: record "
          "a run with it and compare (lacuna diff)");
    }
  }

  void spanInterval() {
    const auto played = [&](Bound bound) {
      const std::int64_t ns = replay(scenarioOf(model_, changes_, bound));
      return likely_.unstalled && !workersTakeCores_
                 ? std::min(ns, replay(withWaits(model_, changes_, bound)))
                 : ns;
    };
    const std::int64_t step = out_.predictedNsPerStep;
    out_.lowNsPerStep = bounded_ ? std::min(step, played(Bound::Low)) : step;
    out_.highNsPerStep = bounded_ ? std::max(step, played(Bound::High)) : step;
    if (coresBind(likely_, stepNs_)) {
      out_.highNsPerStep = out_.limits.atLeast(
          {.name = "cores-shared",
           .reason = "cores may be threads of one core, or lent out: the gain may be nothing",
           .of = GainLimit::Of::High,
           .constant = LACUNA_NAMED(kCoresBusy)},
          out_.highNsPerStep, out_.baseNsPerStep);
      out_.notes.push_back(
          "the loader computes, and the host's cores bound it: the gain may be nothing");
    }
    const auto measured = static_cast<double>(std::max<std::int64_t>(1, out_.measuredNsPerStep));
    out_.doubt.miss = (static_cast<double>(out_.baseNsPerStep) - measured) / measured;
    out_.doubt.noise = model_.stepNoise;
    // Other programs do not keep the machine equally busy in the next run.
    out_.doubt.others = kOthersVary * model_.lostShare;
    out_.doubt.sigmas = LACUNA_NAMED(kSigmas);
    if (changes_.empty()) return;
    if (out_.doubt.others > 0) {
      out_.notes.push_back(
          fmt::format("other programs took {:.0f} % of the time that this one's threads wanted to "
                      "run: the prediction is for a machine as busy",
                      prof::kPercent * model_.lostShare));
    }
    const auto widen = prof::wholeOf<std::int64_t>(
        kSigmas * out_.doubt.sigma() * static_cast<double>(std::max<std::int64_t>(1, step)));
    prof::takeFrom(out_.lowNsPerStep, std::min(out_.lowNsPerStep, widen));
    prof::addTo(out_.highNsPerStep, widen);
    if (model_.hasSteps) return;
    out_.highNsPerStep =
        out_.limits.atLeast({.name = "no-steps",
                             .reason = "without steps nothing shows what happens once and what "
                                       "repeats: the gain may be nothing",
                             .of = GainLimit::Of::High},
                            out_.highNsPerStep, out_.baseNsPerStep);
  }

  const Simulator::Model& model_;
  std::span<const Change> changes_;
  Prediction out_;
  Scenario likely_;
  std::int64_t busyNs_ = 0;  ///< the least that a change of the host alone leaves of a step; 0: any
  std::int64_t stepNs_ = 0;  ///< as replayed, within the limits of the replay
  bool bounded_ = false;
  bool workersTakeCores_ = false;  ///< changed workers slow the training down
};

}  // namespace

Prediction Simulator::play(std::span<const Change> changes) const {
  return Predicting(*model_, changes).run();
}

DrawnStep Simulator::draw(std::span<const Change> changes) const {
  const Scenario unshared = scenarioOf(*model_, changes, Bound::Likely);
  const Scenario scenario = stretched(unshared, onSharedCores(unshared).by);
  const auto warm = [&] {
    Replay run(scenario);
    if (scenario.pipelined) run.pass();
    return run;
  };
  Replay first = warm();
  const std::int64_t begin = first.nowNs();
  const auto [from, to] = typicalWindow(first.pass(), begin);
  DrawnStep out{.durNs = to - from,
                .queues = model_->queues,
                .queueNames = model_->queueNames,
                .stretches = {}};
  Replay second = warm();
  second.draw(from, to, &out.stretches);
  second.pass();
  // A change may give work a queue that was not recorded.
  for (const DrawnStep::Stretch& stretch : out.stretches)
    out.queues = std::max(out.queues, stretch.queue + 1);
  out.queueNames.resize(out.queues);
  return out;
}

Prediction Simulator::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  const std::vector<Change> changes = parsed ? std::vector<Change>{*parsed} : std::vector<Change>{};
  return play(changes);
}

}  // namespace lacuna::analyzer
