// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Kernel;
using prof::ProcessId;
using prof::Range;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

/// The domain of steps that the program marks itself, with lacuna.step() of the Python package.
constexpr std::string_view kProgramStepDomain = "lacuna";

/// The hook for PyTorch gives this name to a step in which it watches no operator, module or
/// allocation.
constexpr std::string_view kPlainStep = "plain step";

/// The rank of its steps.
constexpr int kProgramStep = -1;

/// Which sort of marker to prefer where a program has several; the smaller the better.
std::optional<int> markerRank(std::string_view category, std::string_view name) {
  if (!isStepMarker(category, name)) return std::nullopt;
  if (name.starts_with("ProfilerStep#")) return 0;
  return category == "step" ? 1 : 2;
}

struct MarkerSet {
  std::vector<Step> steps;

  /// Markers come by start. One inside another of its kind is not a step of its own. Rounded times
  /// may make one begin a little before the other has ended; then it ends the other.
  void add(std::string_view name, TimeNs startNs, TimeNs durNs) {
    if (!steps.empty() && startNs < steps.back().endNs) {
      Step& before = steps.back();
      const TimeNs shared = before.endNs - startNs;
      if (2 * shared >= std::min(durNs, before.endNs - before.startNs)) return;
      before.endNs = before.markEndNs = startNs;
    }
    steps.push_back({.index = steps.size(),
                     .name = std::string(name),
                     .startNs = startNs,
                     .endNs = startNs + durNs,
                     .markEndNs = startNs + durNs,
                     .samples = 0,
                     .warmUp = false,
                     .isPlain = name == kPlainStep});
  }
};
/// By process, then preference, then thread.
using Markers = std::map<ProcessId, std::map<std::pair<int, ThreadId>, MarkerSet>>;

/// The phases of a thread, by start.
class ThreadPhases {
 public:
  void add(PhaseSpan phase, std::string_view name) {
    if (name == kLoadPhase) {
      if (!batchNs_) batchNs_ = phase.startNs;
    } else if (name == kEvaluation) {
      addEvaluation(phase);
    } else if (name == "forward" || name == "backward" || name.starts_with("optimizer")) {
      if (name == "backward") backwardStarts.push_back(phase.startNs);
      batchNs_.reset();
      evaluation_.reset();
    } else if (own.empty() || phase.startNs >= own.back().endNs) {
      own.push_back(phase);
    }
  }

  std::vector<PhaseSpan> own;  ///< those of Steps::phases
  std::vector<TimeNs> backwardStarts;

 private:
  /// An evaluation has a range for each of its batches. It begins where the first of them is asked
  /// for, and includes the collections and waits between them.
  void addEvaluation(PhaseSpan phase) {
    if (evaluation_) {
      own.resize(*evaluation_ + 1);
      own.back().endNs = std::max(own.back().endNs, phase.endNs);
    } else {
      if (batchNs_) phase.startNs = own.empty() ? *batchNs_ : std::max(*batchNs_, own.back().endNs);
      evaluation_ = own.size();
      own.push_back(phase);
    }
    batchNs_.reset();
  }

  std::optional<TimeNs> batchNs_;          ///< when a batch was asked for that no phase has taken
  std::optional<std::size_t> evaluation_;  ///< the one that lasts
};
using Phases = std::unordered_map<ThreadId, ThreadPhases>;

prof::Status collectMarkers(const Store& store, const Topology& topology, Markers& markers,
                            Phases& phases) {
  std::unordered_map<std::uint64_t, std::optional<int>> ranks;
  const StringId programDomain = store.find(kProgramStepDomain);
  const StringId phaseCategory = store.find("phase");
  return store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain,
                    &Range::category, &Range::name, &Range::queue, &Range::flags>(
      {}, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
              auto name, auto queue, auto flags) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          // A marker that was never closed lasts until the recording ends, whatever the program did
          // after its step.
          if (queue[i] || !thread[i] || (flags[i] & prof::kUnfinished) != 0) continue;
          if (phaseCategory && category[i] == phaseCategory)
            phases[thread[i]].add({start[i], start[i] + dur[i], name[i]}, store.text(name[i]));
          const auto key = (std::uint64_t{category[i].value} << 32) | name[i].value;
          const auto [rank, isNew] = ranks.try_emplace(key);
          if (isNew) rank->second = markerRank(store.text(category[i]), store.text(name[i]));
          if (!rank->second || dur[i] <= 0) continue;
          const bool isProgramStep = programDomain && domain[i] == programDomain;
          const int preference = isProgramStep ? kProgramStep : *rank->second;
          const auto process = topology.processOfThread.find(thread[i]);
          markers[process == topology.processOfThread.end() ? ProcessId() : process->second]
                 [{preference, thread[i]}]
                     .add(store.text(name[i]), start[i], dur[i]);
        }
      });
}

std::vector<ProcessId> processesByRank(const Store& store) {
  std::vector<std::tuple<std::int64_t, ProcessId>> order;
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto process = store.row<prof::Process>(i);
    order.emplace_back(process.rank < 0 ? INT64_MAX : process.rank, process.id);
  }
  std::sort(order.begin(), order.end());
  std::vector<ProcessId> out;
  for (const auto& [rank, id] : order) out.push_back(id);
  out.push_back(ProcessId());
  return out;
}

Steps fromMarkers(const Markers::mapped_type& sets, ProcessId process) {
  const auto better = [](const auto& a, const auto& b) {
    return std::tuple(a.first.first, b.second.steps.size()) <
           std::tuple(b.first.first, a.second.steps.size());
  };
  const auto best = std::min_element(sets.begin(), sets.end(), better);
  return {StepSource::Marker, process, best->first.second, best->second.steps, {}};
}

/// The phases that a pause may be for. A garbage collection interrupts whatever runs, an iteration,
/// too.
std::vector<PauseWork> pauseWorkOf(const Store& store, std::span<const PhaseSpan> phases) {
  std::vector<PauseWork> out;
  for (const PhaseSpan& phase : phases) {
    const std::string_view name = store.text(phase.name);
    if (name != kGarbageCollection) out.push_back({{phase.startNs, phase.endNs}, phase.name});
  }
  return out;
}

std::vector<prof::TimeWindow> evaluationsOf(const Store& store, std::span<const PhaseSpan> phases) {
  std::vector<prof::TimeWindow> out;
  for (const PhaseSpan& phase : phases) {
    if (store.text(phase.name) == kEvaluation) out.push_back({phase.startNs, phase.endNs});
  }
  return out;
}

struct Launch {
  TimeNs startNs;
  TimeNs endNs;
  StringId name;
};

/// The kernels of the queue with the most of them.
prof::Result<std::vector<Launch>> busiestQueue(const Store& store, const Topology& topology,
                                               ProcessId process) {
  std::unordered_map<prof::QueueId, std::uint64_t> counts;
  auto status = store.scan<&Kernel::queue>({}, [&](std::uint64_t, auto queue) {
    for (const prof::QueueId id : queue) {
      const auto owner = topology.processOfQueue.find(id);
      if (!process || (owner != topology.processOfQueue.end() && owner->second == process))
        ++counts[id];
    }
  });
  if (!status) return status.error();
  std::vector<Launch> out;
  if (counts.empty()) return out;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.second, b.first) < std::tuple(b.second, a.first);
      });
  status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name>(
      {}, [&](std::uint64_t, auto start, auto dur, auto queue, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (queue[i] == most->first) out.push_back({start[i], start[i] + dur[i], name[i]});
        }
      });
  if (!status) return status.error();
  return out;
}

/// Where in the period the queue pauses longest on average: that is where people would put the
/// step's border.
std::size_t pausePosition(const std::vector<Launch>& work, Period period) {
  std::vector<TimeNs> pause(period.period, 0);
  for (std::size_t i = period.offset + 1; i < work.size(); ++i) {
    prof::addTo(pause[(i - period.offset) % period.period],
                std::max<TimeNs>(0, work[i].startNs - work[i - 1].endNs));
  }
  const auto longest = std::max_element(pause.begin(), pause.end());
  return period.offset + static_cast<std::size_t>(longest - pause.begin());
}

Steps fromPeriod(const std::vector<Launch>& work, ProcessId process) {
  // Long enough for hundreds of steps of any model, short enough to stay cheap.
  constexpr std::size_t kLongest = 2'000'000;
  std::vector<std::uint32_t> names;
  for (std::size_t i = 0; i < std::min(work.size(), kLongest); ++i)
    names.push_back(work[i].name.value);
  const Period period = findPeriod(names);
  Steps steps;
  if (period.period == 0) return steps;
  steps.source = StepSource::Period;
  steps.process = process;
  for (std::size_t at = pausePosition(work, period); at + period.period <= work.size();
       at += period.period) {
    const std::size_t next = at + period.period;
    const TimeNs end = next < work.size() ? work[next].startNs : work.back().endNs;
    steps.all.push_back({.index = steps.all.size(),
                         .name = "period " + std::to_string(steps.all.size()),
                         .startNs = work[at].startNs,
                         .endNs = end,
                         .markEndNs = end,
                         .samples = 0,
                         .warmUp = false});
  }
  return steps;
}

double matchShare(std::span<const std::uint32_t> sequence, std::size_t period, std::size_t offset) {
  if (offset + period >= sequence.size()) return 0;
  std::size_t same = 0;
  for (std::size_t i = offset; i + period < sequence.size(); ++i)
    same += sequence[i] == sequence[i + period] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(sequence.size() - offset - period);
}

/// Fewer steps have no usual length.
constexpr std::size_t kFewestUsual = 4;

/// The distance above their median from which these times are unusual: a quarter of it, or five
/// times the median deviation.
std::int64_t usualDeviation(std::vector<std::int64_t> values) {
  const std::int64_t median = medianOf(values);
  for (std::int64_t& value : values) value = std::abs(value - median);
  return std::max(median / 4, prof::productOf<std::int64_t>(5, medianOf(std::move(values))));
}

/// Which of the pauses between steps hold work of a name that fewer than half of them have.
std::vector<bool> ownPauses(std::span<const Step> steps, std::span<const PauseWork> work) {
  std::map<StringId, std::set<std::size_t>> pausesWith;
  for (const PauseWork& piece : work) {
    // The step after the pause that the piece begins in, if it does not begin in a step.
    const std::size_t next = countBy(steps, &Step::startNs, piece.window.startNs);
    if (next == 0 || next == steps.size() || piece.window.startNs < steps[next - 1].endNs) continue;
    pausesWith[piece.name].insert(next - 1);
  }
  std::vector<bool> own(steps.size() - 1, false);
  for (const auto& [name, pauses] : pausesWith) {
    if (2 * pauses.size() >= own.size()) continue;
    for (const std::size_t pause : pauses) own[pause] = true;
  }
  return own;
}

}  // namespace

std::int64_t medianOf(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

std::span<const Step> Steps::afterWarmUp() const {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Step& step) { return !step.warmUp; });
  return std::span(all).subspan(static_cast<std::size_t>(first - all.begin()));
}

std::vector<Step> Steps::steady() const {
  std::vector<Step> out;
  std::ranges::copy_if(afterWarmUp(), std::back_inserter(out),
                       [](const Step& step) { return !step.isPlain; });
  return out;
}

std::size_t countBy(std::span<const Step> steps, TimeNs Step::*edge, TimeNs at) {
  const auto behind = std::partition_point(steps.begin(), steps.end(),
                                           [&](const Step& s) { return s.*edge <= at; });
  return static_cast<std::size_t>(behind - steps.begin());
}

const Step* stepAt(std::span<const Step> steps, TimeNs at) {
  const std::size_t next = countBy(steps, &Step::endNs, at);
  return next == steps.size() || steps[next].startNs > at ? nullptr : &steps[next];
}

std::vector<Step> Steps::afterWarmUpWithin(prof::TimeWindow window) const {
  std::vector<Step> out;
  std::ranges::copy_if(afterWarmUp(), std::back_inserter(out),
                       [&](const Step& step) { return step.within(window); });
  return out;
}

std::vector<Step> Steps::steadyWithin(prof::TimeWindow window) const {
  std::vector<Step> out = afterWarmUpWithin(window);
  std::erase_if(out, [](const Step& step) { return step.isPlain; });
  return out;
}

std::int64_t Steps::medianNs() const {
  std::vector<std::int64_t> durations;
  for (const Step& step : steady()) durations.push_back(step.durNs());
  return medianOf(std::move(durations));
}

std::int64_t Steps::spreadNs() const {
  const std::int64_t median = medianNs();
  std::vector<std::int64_t> distances;
  for (const Step& step : steady()) distances.push_back(std::abs(step.durNs() - median));
  return medianOf(std::move(distances));
}

void joinUsualPauses(std::vector<Step>& steps, std::span<const PauseWork> work) {
  if (steps.size() < 2) return;
  const std::vector<bool> isOwn = ownPauses(steps, work);
  std::vector<std::int64_t> pauses, iterations;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    pauses.push_back(steps[i].startNs - steps[i - 1].endNs);
    iterations.push_back(steps[i].startNs - steps[i - 1].startNs);
  }
  const bool areFew = steps.size() < kFewestUsual;
  const std::int64_t usual = areFew ? *std::ranges::min_element(pauses) : medianOf(pauses);
  std::int64_t most = usual;
  if (!areFew) prof::addTo(most, usualDeviation(std::move(iterations)));
  steps.back().isCut = usual > 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    prof::addTo(steps[i - 1].endNs, pauses[i - 1] <= most && !isOwn[i - 1]
                                        ? pauses[i - 1]
                                        : std::min(usual, pauses[i - 1]));
}

void leaveOutEvaluations(std::vector<Step>& steps, std::span<const prof::TimeWindow> evaluations,
                         std::span<const TimeNs> backwardStarts) {
  std::vector<std::pair<std::size_t, TimeNs>> begins;
  auto evaluation = evaluations.begin();
  auto backward = backwardStarts.begin();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    while (backward != backwardStarts.end() && *backward < step.startNs) ++backward;
    // Without a backward it is not known what in the step comes in front of the training.
    if (backward == backwardStarts.end()) break;
    const TimeNs untilNs = std::min(*backward, step.endNs);
    while (evaluation != evaluations.end() && evaluation->endNs <= step.startNs) ++evaluation;
    TimeNs beginNs = step.startNs;
    for (; evaluation != evaluations.end() && evaluation->endNs <= untilNs; ++evaluation)
      beginNs = evaluation->endNs;
    if (beginNs > step.startNs) begins.emplace_back(i, beginNs);
  }
  if (2 * begins.size() >= steps.size()) return;
  for (const auto& [step, beginNs] : begins) steps[step].startNs = beginNs;
}

void markWarmUp(std::vector<Step>& steps) {
  std::vector<std::int64_t> all;
  for (const Step& step : steps) {
    if (!step.isPlain) all.push_back(step.durNs());
  }
  if (all.size() < kFewestUsual) return;
  std::vector<std::int64_t> settled(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                                    all.end());
  std::int64_t limit = medianOf(settled);
  prof::addTo(limit, usualDeviation(std::move(settled)));
  std::size_t most = all.size() / 2;
  for (Step& step : steps) {
    if (!step.isPlain && (most-- == 0 || step.durNs() <= limit)) return;
    step.warmUp = true;
  }
}

Period findPeriod(std::span<const std::uint32_t> sequence) {
  constexpr double kEnough = 0.9;
  // The head of a run is set-up work; a third of it may be skipped.
  const std::size_t offset = sequence.size() / 3;
  std::map<std::size_t, std::size_t> distances;
  std::unordered_map<std::uint32_t, std::size_t> last;
  for (std::size_t i = offset; i < sequence.size(); ++i) {
    const auto [entry, isNew] = last.try_emplace(sequence[i], i);
    if (!isNew) ++distances[i - entry->second];
    entry->second = i;
  }
  // Work that happens once a step repeats at the step's distance, so the true period is among the
  // distances seen.
  std::size_t tried = 0;
  for (const auto& [distance, count] : distances) {
    if (distance < 2 || count < 2 || 3 * distance > sequence.size() || ++tried > 2'000) continue;
    if (matchShare(sequence.subspan(0, std::min(sequence.size(), offset + 4 * distance)), distance,
                   offset) < kEnough)
      continue;
    if (matchShare(sequence, distance, offset) < kEnough) continue;
    std::size_t begin = offset;
    while (begin > 0 && sequence[begin - 1] == sequence[begin - 1 + distance]) --begin;
    if (sequence.size() - begin >= 3 * distance) return {distance, begin};
  }
  return {};
}

prof::Result<Steps> findSteps(const Store& store, ProcessId process) {
  const Topology topology = loadTopology(store);
  Markers markers;
  Phases phases;
  if (auto status = collectMarkers(store, topology, markers, phases); !status)
    return status.error();
  const std::vector<ProcessId> order = process ? std::vector{process} : processesByRank(store);
  for (const ProcessId candidate : order) {
    const auto found = markers.find(candidate);
    if (found == markers.end()) continue;
    Steps steps = fromMarkers(found->second, candidate);
    ThreadPhases& own = phases[steps.thread];
    steps.phases = std::move(own.own);
    leaveOutEvaluations(steps.all, evaluationsOf(store, steps.phases), own.backwardStarts);
    joinUsualPauses(steps.all, pauseWorkOf(store, steps.phases));
    markWarmUp(steps.all);
    return steps;
  }
  auto work = busiestQueue(store, topology, process);
  if (!work) return work.error();
  Steps steps = fromPeriod(*work, process);
  markWarmUp(steps.all);
  return steps;
}

}  // namespace lacuna::analyzer
