// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "lacuna/prof/bounds.h"
#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// Fewer steps of one kind have no typical one: a median of four is a mean of two.
constexpr std::size_t kAlike = 5;
/// One in so many is as quick as the quickest that are no accident: kernels of a warm CPU were
/// within 9 % of that.
constexpr std::size_t kQuickestRuns = 10;
/// Steps that nothing stalls still take a little more than the medians of their pieces add up to.
/// So much is allowed for that: a convention.
constexpr double kMostDisturbed = 1.04;
/// Fewer completions have no median; their mean counts.
constexpr std::size_t kFewestCompletions = 4;
/// The spread of fewer completions means nothing.
constexpr std::size_t kFewestForNoise = 8;
/// The spread that is assumed then.
constexpr double kUnknownNoise = 0.05;
/// Width of a normal distribution's middle half, in standard deviations.
constexpr double kQuartilesApart = 1.349;
/// An odd number with its bits well mixed: 2^64 over the golden ratio.
constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15u;
constexpr unsigned kHalfOfBits = 32;  ///< two numbers of 32 bits in one of 64
/// The upper quartile is the third of four parts.
constexpr std::size_t kQuarters = 4, kUpperQuartile = 3;

/// Where the items of each step begin; one more than there are steps.
std::vector<std::size_t> beginsOf(const Simulator::Model& model) {
  std::vector<std::size_t> begins(model.steps + 1, model.items.size());
  for (std::size_t i = model.items.size(); i-- > 0;) begins[model.items[i].step] = i;
  for (std::size_t step = model.steps; step-- > 0;)
    begins[step] = std::min(begins[step], begins[step + 1]);
  return begins;
}

std::uint64_t signature(const Simulator::Model& model, std::size_t from, std::size_t to) {
  std::uint64_t hash = to - from;
  for (std::size_t i = from; i < to; ++i) {
    const HostItem& item = model.items[i];
    const auto name = item.kind == HostItemKind::Launch ? model.nodes[item.node].name.value : 0u;
    hash = (hash ^ (static_cast<std::uint64_t>(item.kind) << kHalfOfBits | name)) * kMixer;
  }
  return hash;
}

/// The longest that a step may be, as a multiple of the medians of its pieces. The limit is higher
/// where other programs used the cores, because no change of the program gives that back.
double mostDisturbed(double lostShare) {
  return std::max(kMostDisturbed, 1 / (1 - lostShare));
}

/// The median over runs of neighbouring values, per value.
double typicalOf(const std::vector<std::int64_t>& values) {
  std::vector<double> runs;
  const std::size_t length = std::min(kRun, values.size());
  for (std::size_t i = 0; i + length <= values.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < length; ++k) sum += static_cast<double>(values[i + k]);
    runs.push_back(sum / static_cast<double>(length));
  }
  std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2),
                   runs.end());
  return runs[runs.size() / 2];
}

/// Steps of the same program: the same sort of item, of the same name, at each position.
class Alike {
 public:
  /// `lostShare`: of the time that the program's threads wanted to run, what other programs took.
  /// No change gives that back.
  Alike(SteadyProgram& model, const std::vector<std::size_t>& begins,
        const std::vector<std::size_t>& steps, double lostShare)
      : model_(model),
        begins_(begins),
        steps_(steps),
        lostShare_(lostShare),
        count_(begins[steps.front() + 1] - begins[steps.front()]) {}

  /// Gives one field its median over the steps, position by position, scaled up to the median of
  /// the steps' sums as far as that is what steady steps show.
  template <class Pick>
  void level(HostItemKind kind, bool isPiece, Pick&& pick) {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < count_; ++i) {
      if (model_.items[begins_[steps_.front()] + i].kind == kind) positions.push_back(i);
    }
    std::vector<std::int64_t> sums(steps_.size(), 0);
    std::vector<std::int64_t> medians;
    std::vector<std::int64_t> values(steps_.size());
    std::int64_t sumOfMedians = 0;
    for (const std::size_t position : positions) {
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        values[s] = pick(begins_[steps_[s]] + position);
        prof::addTo(sums[s], values[s]);
      }
      medians.push_back(medianOf(values));
      prof::addTo(sumOfMedians, medians.back());
    }
    const double scale =
        sumOfMedians <= 0 ? 1 : typicalOf(sums) / static_cast<double>(sumOfMedians);
    const double most = mostDisturbed(lostShare_);
    if (isPiece) noteLimit(static_cast<double>(sumOfMedians), scale, most);
    for (std::size_t p = 0; p < positions.size(); ++p) {
      const auto value = prof::wholeOf<std::int64_t>(static_cast<double>(medians[p]) *
                                                     std::clamp(scale, 1.0, most));
      for (const std::size_t step : steps_) pick(begins_[step] + positions[p]) = value;
    }
  }
  /// The share of its typical time that a node takes where its like is quickest. Before its time is
  /// levelled. Where other programs used the cores the quickest are those that they let run, and
  /// show nothing of caches.
  void learnWarmShares() {
    std::vector<std::int64_t> values(steps_.size());
    for (std::size_t i = 0; i < count_; ++i) {
      if (model_.items[begins_[steps_.front()] + i].kind != HostItemKind::Launch) continue;
      const auto nodeOf = [&](std::size_t step) -> DeviceNode& {
        return model_.nodes[model_.items[begins_[step] + i].node];
      };
      for (std::size_t s = 0; s < steps_.size(); ++s) values[s] = nodeOf(steps_[s]).durNs;
      std::sort(values.begin(), values.end());
      const auto typical =
          static_cast<double>(std::max<std::int64_t>(1, values[values.size() / 2]));
      const double share =
          std::min(1.0, static_cast<double>(values[values.size() / kQuickestRuns]) / typical /
                            (1 - lostShare_));
      for (const std::size_t step : steps_) nodeOf(step).warmShare = share;
    }
  }
  void levelItems(HostItemKind kind, std::int64_t HostItem::*field) {
    const bool isPiece = field == &HostItem::gapNs || field == &HostItem::durNs;
    level(kind, isPiece, [&](std::size_t i) -> std::int64_t& { return model_.items[i].*field; });
  }
  void levelNodes(std::int64_t DeviceNode::*field) {
    level(HostItemKind::Launch, field == &DeviceNode::durNs, [&](std::size_t i) -> std::int64_t& {
      return model_.nodes[model_.items[i].node].*field;
    });
  }

 private:
  /// Notes the limit of pieces that follow each other, in all of these steps.
  void noteLimit(double sumNs, double scale, double most) {
    const auto inAll = [&](double factor) {
      return prof::wholeOf<std::int64_t>(sumNs * factor * static_cast<double>(steps_.size()));
    };
    prof::addTo(model_.limit.beforeNs, inAll(std::max(1.0, scale)));
    prof::addTo(model_.limit.limitNs, inAll(most));
    prof::addTo(model_.limit.afterNs, inAll(std::clamp(scale, 1.0, most)));
  }

  SteadyProgram& model_;
  const std::vector<std::size_t>& begins_;
  const std::vector<std::size_t>& steps_;
  double lostShare_;
  std::size_t count_;
};

void levelSteps(SteadyProgram& model, const std::vector<std::size_t>& begins,
                const std::vector<std::size_t>& steps, double lostShare, bool loaderInStep) {
  Alike alike(model, begins, steps, lostShare);
  std::vector<HostItemKind> kinds{HostItemKind::Launch, HostItemKind::Sync};
  // Workers make some steps wait and others not; the median of that would be a loader that nobody
  // waits for.
  if (loaderInStep) kinds.push_back(HostItemKind::LoaderWait);
  for (const HostItemKind kind : kinds) {
    for (const auto field : {&HostItem::gapNs, &HostItem::driverNs, &HostItem::betweenNs,
                             &HostItem::durNs, &HostItem::periodNs})
      alike.levelItems(kind, field);
  }
  alike.learnWarmShares();
  for (const auto field : {&DeviceNode::durNs, &DeviceNode::launchDelayNs, &DeviceNode::queueGapNs,
                           &DeviceNode::afterGapNs})
    alike.levelNodes(field);
}

std::vector<double> runsOf(const Completions& completions) {
  const auto& at = completions.atNs;
  std::vector<double> runs;
  const std::size_t length = std::min(completions.runLength, at.size() - 1);
  for (std::size_t i = 0; i + length < at.size(); ++i)
    runs.push_back(static_cast<double>(at[i + length] - at[i]) / static_cast<double>(length));
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

std::size_t runLengthOf(const LoaderModel& loader, std::size_t steps) {
  const std::size_t round = loader.serial ? 1 : std::max(1u, loader.workers);
  const std::size_t rounded = (kRun + round - 1) / round * round;
  return std::min(rounded, std::max(kRun, steps / 2));
}

std::int64_t Completions::typicalNs() const {
  if (atNs.size() < kFewestCompletions)
    return totalNs / static_cast<std::int64_t>(std::max<std::size_t>(1, atNs.size()));
  const auto runs = runsOf(*this);
  return prof::wholeOf<std::int64_t>(runs[(runs.size() - 1) / 2]);
}

std::int64_t Simulator::Model::shortenedNs(const Completions& changed) const {
  if (replayed.totalNs <= 0) return changed.typicalNs();
  const double takenNs =
      static_cast<double>(replayed.totalNs) - static_cast<double>(changed.totalNs);
  const auto typicalNs = static_cast<double>(baseNs);
  // A typical step is shorter than the mean one, or longer; it loses no more than its share, and no
  // more than the mean.
  const double ofItsShare = takenNs * typicalNs / static_cast<double>(replayed.totalNs);
  const double ofTheMean = takenNs / static_cast<double>(steps);
  return prof::wholeOf<std::int64_t>(typicalNs -
                                     (takenNs > 0 ? std::min(ofItsShare, ofTheMean) : ofTheMean));
}

/// From the interquartile range of the runs of steps; runs that overlap count once.
double stepNoise(const Completions& completions) {
  if (completions.atNs.size() < kFewestForNoise) return kUnknownNoise;
  const auto runs = runsOf(completions);
  const double middle = std::max(1.0, runs[runs.size() / 2]);
  const double sigma =
      (runs[runs.size() * kUpperQuartile / kQuarters] - runs[runs.size() / kQuarters]) /
      kQuartilesApart;
  return sigma / middle /
         std::sqrt(static_cast<double>(runs.size()) / static_cast<double>(completions.runLength));
}

SteadyProgram steadyProgram(const Simulator::Model& model) {
  SteadyProgram steady{model.nodes, model.items, {}};
  const double most = mostDisturbed(model.lostShare);
  const bool others = most > kMostDisturbed;
  steady.limit = {
      .name = "pieces",
      .reason = others ? "other programs took cores, which no change gives back: pieces may take "
                         "longer than their medians by as much"
                       : "steady steps take little more than the medians of their pieces add up to",
      .of = GainLimit::Of::Pieces,
      .constant = others ? NamedNumber{"1 / (1 − lost share)", most} : LACUNA_NAMED(kMostDisturbed),
      .isMost = true};
  const auto begins = beginsOf(model);
  std::map<std::uint64_t, std::vector<std::size_t>> kinds;
  for (std::size_t step = 0; step < model.steps; ++step)
    kinds[signature(model, begins[step], begins[step + 1])].push_back(step);
  for (const auto& [hash, steps] : kinds) {
    if (steps.size() >= kAlike)
      levelSteps(steady, begins, steps, model.lostShare, model.loader.serial);
  }
  const auto perStep = [&](std::int64_t& ns) { ns /= static_cast<std::int64_t>(model.steps); };
  perStep(steady.limit.beforeNs);
  perStep(steady.limit.limitNs);
  perStep(steady.limit.afterNs);
  if (steady.limit.isHeld())
    steady.limit.limitNs = steady.limit.afterNs;  // some of the pieces are at theirs
  return steady;
}

}  // namespace lacuna::analyzer
