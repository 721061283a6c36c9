// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "lacuna/analyzer/utf8.h"
#include "lacuna/prof/bounds.h"
#include "store/kernel_name.h"
#include "whatif/replay.h"
#include "whatif/scenario.h"

namespace lacuna::analyzer {
namespace {

/// The interval is this many standard deviations wide on each side: about nineteen of twenty runs.
constexpr double kSigmas = 2;

/// Relative standard deviation of predicted step times from measured ones, by kind of change: what scripts/bench
/// predict measured, or twice the greatest of those where nothing was measured.
double knownError(const Change& change) {
  if (change.target == "loader.workers" || change.target == "loader.prefetch") return 0.05;
  if (change.target == "debug" || change.target == "sync") return 0.1;
  return 0.2;
}

/// Of what other programs took in one run, how much more or less they may take in the next: a guess.
constexpr double kOthersVary = 0.25;

double normalBelow(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// That at least half of the gain comes true: the interval is taken for that of a normal distribution.
double confidenceOf(const Prediction& prediction) {
  const auto gain = static_cast<double>(prediction.gainNs());
  const auto sigma = static_cast<double>(prediction.highNsPerStep - prediction.lowNsPerStep) / (2 * kSigmas);
  if (gain <= 0 || sigma <= 0) return 0;
  return std::clamp(normalBelow(gain / 2 / sigma), 0.0, 0.99);
}

/// The window of the step whose length is nearest to the typical one's. The first is left out where there are others:
/// it has no step before it to end at.
std::pair<std::int64_t, std::int64_t> typicalWindow(const Completions& completions, std::int64_t fromNs) {
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

/// Whether preparing batches computes, and the host's cores are hardly enough for that and all else of a step.
bool coresBind(const Scenario& scenario, std::int64_t stepNs) {
  const std::uint32_t cores = scenario.base->hostCores;
  if (!scenario.pipelined || cores == 0 || scenario.loader.cpuShare < 0.5) return false;
  return computedPerStep(scenario) / cores > 0.7 * static_cast<double>(stepNs);
}

/// Of a wait, itself included, what it costs with what it disturbs. Measured: 1.00 to 1.07.
constexpr double kDisturbed = 1.25;
constexpr std::size_t kNamedKernels = 5;
constexpr std::size_t kNameBytes = 50;

/// What tells a kernel from others, in few words.
std::string inFewWords(std::string_view name) {
  std::string plain = oneLine(withoutScopes(name));
  return plain.size() <= kNameBytes ? plain : std::string(headOf(plain, kNameBytes)) + "…";
}

/// The costliest kernels, the costliest first, and how many more there are.
std::string costliestKernels(const Simulator::Model& model) {
  std::map<std::string_view, std::int64_t> costs;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (model.nodes[i].work != Work::Copy) costs[model.names[i]] += model.nodes[i].durNs;
  }
  std::vector<std::pair<std::int64_t, std::string_view>> order;
  for (const auto& [name, ns] : costs) order.emplace_back(-ns, name);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(order.size(), kNamedKernels); ++i) names.push_back(inFewWords(order[i].second));
  const std::string more = order.size() > names.size() ? fmt::format(", and {} more", order.size() - names.size()) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// More samples make a step longer, so its length alone says nothing.
std::string samplesNote(double factor, const Prediction& prediction) {
  const double times = factor * static_cast<double>(prediction.baseNsPerStep) /
                       static_cast<double>(std::max<std::int64_t>(1, prediction.predictedNsPerStep));
  return fmt::format(
      "a step has {:g} times the samples: {:.2f} times as many a second, or more where kernels grow less", factor,
      times);
}

/// The calls that the program makes most, those first.
std::string frequentCalls(const Simulator::Model& model) {
  std::map<prof::StringId, std::size_t> counts;
  for (const HostItem& item : model.items) {
    if (item.kind != HostItemKind::LoaderWait) ++counts[item.call];
  }
  for (const DriverPart& part : model.driverParts) ++counts[part.call];
  std::vector<std::pair<std::size_t, std::string_view>> order;
  for (const auto& [call, count] : counts) order.emplace_back(count, model.callNames.at(call));
  std::ranges::sort(order, std::greater());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(order.size(), kNamedKernels); ++i) names.push_back(inFewWords(order[i].second));
  const std::string more = order.size() > names.size() ? fmt::format(", and {} more", order.size() - names.size()) : "";
  return names.empty() ? std::string("none") : fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// What one piece of a step, or a wait that comes with it, has become shorter by.
std::int64_t lessBy(std::int64_t beforeNs, std::int64_t afterNs) {
  return std::max<std::int64_t>(0, beforeNs - afterNs);
}

/// See Prediction::takenNsPerStep. All steps are chains of such pieces.
std::optional<std::int64_t> takenPerStep(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  if (scenario.unstalled) return std::nullopt;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < base.items.size(); ++i) {
    const HostItem& before = base.items[i];
    const HostItem& after = scenario.items[i];
    if (before.node != after.node || before.room != after.room || before.blocks != after.blocks ||
        before.periodNs != after.periodNs)
      return std::nullopt;
    prof::addTo(ns, lessBy(before.gapNs, after.gapNs) + lessBy(before.durNs, after.durNs));
  }
  for (std::size_t i = 0; i < base.nodes.size(); ++i) {
    const DeviceNode& before = base.nodes[i];
    const DeviceNode& after = scenario.nodes[i];
    // A bond that a change adds makes no step shorter.
    if (before.queue != after.queue || (before.after != kNowhere && before.after != after.after)) return std::nullopt;
    prof::addTo(ns, lessBy(before.durNs, after.durNs));
    for (const auto delay : {&DeviceNode::launchDelayNs, &DeviceNode::queueGapNs, &DeviceNode::afterGapNs})
      prof::addTo(ns, scenario.removed[i] != 0 ? before.*delay : lessBy(before.*delay, after.*delay));
  }
  return ns / static_cast<std::int64_t>(base.steps);
}

std::int64_t workTakenPerStep(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < base.nodes.size(); ++i) prof::addTo(ns, base.nodes[i].durNs - scenario.nodes[i].durNs);
  return std::max<std::int64_t>(0, ns / static_cast<std::int64_t>(base.steps));
}

/// A wait that goes takes with it what it disturbed. Where steady steps are quicker by more than that, steps differ for
/// other reasons.
std::int64_t leastUnstalled(const Simulator::Model& model, std::span<const Change> changes) {
  const std::int64_t waits = model.baseNs - replay(asRecorded(model, changes));
  return model.baseNs - prof::wholeOf<std::int64_t>(kDisturbed * static_cast<double>(std::max<std::int64_t>(0, waits)));
}

}  // namespace

Simulator::Simulator(std::unique_ptr<Model> model) : model_(std::move(model)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

namespace {

/// The replay adds and multiplies times freely: a trace of more than 52 days, which only a damaged clock makes, would
/// leave it no room.
bool isTooLong(const Store& store) {
  constexpr std::int64_t kLongestNs = std::int64_t{1} << 52;
  const prof::TimeWindow span = store.span();
  return span.startNs < span.endNs - kLongestNs;
}

}  // namespace

std::optional<Simulator> Simulator::create(const Analysis& analysis) {
  if (isTooLong(*analysis.store)) return std::nullopt;
  auto model = buildModel(analysis);
  if (model == nullptr) return std::nullopt;
  model->baseNs = replay(scenarioOf(*model, {}, Bound::Likely));
  return Simulator(std::move(model));
}

prof::Status Simulator::check(const Change& change) const {
  if (change.target == "call" && !namesCalls(change, *model_)) {
    return prof::Error{fmt::format("'{}': no call of the steps replayed has a name with '{}' in it; there are: {}",
                                   change.text(), change.pattern, frequentCalls(*model_))};
  }
  if (change.target != "kernel") return {};
  for (std::size_t i = 0; i < model_->nodes.size(); ++i) {
    if (scales(change, *model_, i)) return {};
  }
  return prof::Error{
      fmt::format("'{}': no kernel of the steps replayed has a name with '{}' in it; the costliest are: {}",
                  change.text(), change.pattern, costliestKernels(*model_))};
}

Prediction Simulator::play(std::span<const Change> changes) const {
  Prediction out;
  out.measuredNsPerStep = model_->measured.typicalNs();
  out.baseNsPerStep = model_->baseNs;
  const auto played = [&](Bound bound) { return replay(scenarioOf(*model_, changes, bound)); };
  const Scenario likely = scenarioOf(*model_, changes, Bound::Likely);
  out.touched = likely.touched;
  out.takenNsPerStep = takenPerStep(likely);
  out.workTakenNsPerStep = workTakenPerStep(likely);
  const std::int64_t playedNs = std::max(replay(likely), likely.unstalled ? leastUnstalled(*model_, changes) : 0);
  out.predictedNsPerStep = out.touched ? playedNs : out.baseNsPerStep;
  // A quicker host takes idle time away, and no more.
  const bool onlyHost = !changes.empty() && std::all_of(changes.begin(), changes.end(), quickensHost);
  const std::int64_t leastNs = onlyHost ? std::min(model_->busyNs, out.baseNsPerStep) : 0;
  out.predictedNsPerStep = std::max(out.predictedNsPerStep, leastNs);
  double doubt = 0;
  bool bounded = false;
  for (const Change& change : changes) {
    doubt = std::max(doubt, knownError(change));
    bounded = bounded || hasBounds(change);
    if (change.target == "overlap") {
      out.notes.push_back(change.text() +
                          " leaves collectives where they are launched, and only the optimizer waits for them; the "
                          "interval reaches from no gain to all of them hidden");
    } else if (change.target == "repeats") {
      out.notes.push_back(change.text() +
                          " takes a loop's work for as long as all of its kernels; the interval reaches to the longest "
                          "of them alone");
    } else if (hasBounds(change)) {
      out.notes.push_back(fmt::format("{} by factors of durations, {} (see the interval)", change.text(),
                                      model_->factors().sourceOf(change.target)));
    }
    if (change.target == "loader.workers" && (model_->hostCores == 0 || model_->loader.cpuShare < 0))
      out.notes.push_back(change.text() + " assumes that the host has the cores to run the workers");
  }
  if (!changes.empty() && !out.touched) {
    out.notes.push_back(
        "nothing that was recorded would change, so the replay cannot tell what this brings: record a run with it and "
        "compare (lacuna diff)");
  }
  if (bounded) {
    const auto most = takenPerStep(scenarioOf(*model_, changes, Bound::Low));
    out.takenNsPerStep =
        out.takenNsPerStep && most ? std::optional(std::max(*out.takenNsPerStep, *most)) : std::nullopt;
  }
  out.lowNsPerStep = bounded ? std::min(out.predictedNsPerStep, played(Bound::Low)) : out.predictedNsPerStep;
  out.highNsPerStep = bounded ? std::max(out.predictedNsPerStep, played(Bound::High)) : out.predictedNsPerStep;
  const auto step = static_cast<double>(std::max<std::int64_t>(1, out.predictedNsPerStep));
  if (coresBind(likely, playedNs)) {
    // Cores may be threads of one core, or lent out: two of them computed 1.1 times what one did on a machine we
    // measured.
    out.highNsPerStep = std::max(out.highNsPerStep, out.baseNsPerStep);
    out.notes.push_back("the loader computes, and the host's cores bound it: the gain may be nothing");
  }
  const auto measured = static_cast<double>(std::max<std::int64_t>(1, out.measuredNsPerStep));
  const double miss = (static_cast<double>(out.baseNsPerStep) - measured) / measured;
  // How busy other programs keep the machine is not the same in the next run.
  const double others = kOthersVary * model_->lostShare;
  if (others > 0 && !changes.empty()) {
    out.notes.push_back(fmt::format(
        "other programs took {:.0f} % of the time that this one's threads wanted to run: the prediction is for a "
        "machine as busy",
        100 * model_->lostShare));
  }
  const double sigma = std::sqrt(doubt * doubt + miss * miss + model_->stepNoise * model_->stepNoise + others * others);
  const auto widen = prof::wholeOf<std::int64_t>(kSigmas * sigma * step);
  if (!changes.empty()) {
    prof::takeFrom(out.lowNsPerStep, std::min(out.lowNsPerStep, widen));
    prof::addTo(out.highNsPerStep, widen);
  }
  for (const Change& change : changes) {
    if (change.target == "batch") out.notes.push_back(samplesNote(change.factor, out));
  }
  out.confidence = confidenceOf(out);
  out.lowNsPerStep = std::max(out.lowNsPerStep, std::min(leastNs, out.predictedNsPerStep));
  return out;
}

DrawnStep Simulator::draw(std::span<const Change> changes) const {
  const Scenario scenario = scenarioOf(*model_, changes, Bound::Likely);
  const auto warm = [&] {
    Replay run(scenario);
    if (scenario.pipelined) run.pass();
    return run;
  };
  Replay first = warm();
  const std::int64_t begin = first.nowNs();
  const auto [from, to] = typicalWindow(first.pass(), begin);
  DrawnStep out{.durNs = to - from, .queues = model_->queues, .queueNames = model_->queueNames, .stretches = {}};
  Replay second = warm();
  second.draw(from, to, &out.stretches);
  second.pass();
  // A change may give work a queue that was not recorded.
  for (const DrawnStep::Stretch& stretch : out.stretches) out.queues = std::max(out.queues, stretch.queue + 1);
  out.queueNames.resize(out.queues);
  return out;
}

Prediction Simulator::play(std::string_view change) const {
  const auto parsed = parseChange(change);
  const std::vector<Change> changes = parsed ? std::vector<Change>{*parsed} : std::vector<Change>{};
  return play(changes);
}

}  // namespace lacuna::analyzer
