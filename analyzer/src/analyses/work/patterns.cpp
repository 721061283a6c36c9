// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analyses/memory/gradient_clearing.h"
#include "analyses/parts.h"
#include "analyses/time/interval_set.h"
#include "analyses/work/launch_index.h"
#include "analyses/work/name_guesses.h"
#include "analyses/work/patterns.h"
#include "analyses/work/repeats.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/nvtx_mapper.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

/// Times of ranges, by thread.
class Cover {
 public:
  void add(const HostSpan& span) { byThread_[span.thread].add({span.startNs, span.endNs}); }
  void finish() {
    for (auto& [thread, spans] : byThread_) spans.join();
  }
  [[nodiscard]] bool holds(const HostSpan& launch) const {
    const auto found = byThread_.find(launch.thread);
    return found != byThread_.end() && found->second.touches(launch.startNs);
  }

 private:
  std::unordered_map<ThreadId, IntervalSet> byThread_;
};

struct OptimizerPhases {
  Cover zeroing, optimizer;
};

OptimizerPhases phasesOf(const Store& store, const Timeline& timeline) {
  OptimizerPhases phases;
  for (const HostSpan* span : gradientClearing(store, timeline)) phases.zeroing.add(*span);
  std::unordered_map<StringId, bool> optimizes;
  for (const HostSpan& span : timeline.host) {
    if (span.activity != Activity::Annotation && span.activity != Activity::Operator) continue;
    const auto [optimizer, isNew] = optimizes.try_emplace(span.name, false);
    if (isNew) {
      const std::string_view name = store.text(span.name);
      optimizer->second = belongsToOptimizer(name) || isOptimizerOperator(name);
    }
    if (optimizer->second) phases.optimizer.add(span);
  }
  phases.zeroing.finish();
  phases.optimizer.finish();
  return phases;
}

/// Finds loops that one operator would do, in the launches of one queue.
class LoopStats {
 public:
  LoopStats(const Store& store, const StepSpans& steps, PatternStats& stats)
      : steps_(steps),
        stats_(stats),
        repeats_(store, [this](const Repeats::Run& run) { add(run); }) {}
  LoopStats(const LoopStats&) = delete;

  void add(const DeviceSpan& span, const HostSpan* launch) {
    kernels_.push_back(
        {span.endNs - span.startNs, launch == nullptr ? span.startNs : launch->startNs});
    repeats_.add(span.name, span.endNs - span.startNs);
  }
  void finish() { repeats_.finish(); }

 private:
  struct Launched {
    std::int64_t durNs;
    TimeNs launchedNs;
  };

  void add(const Repeats::Run& run) {
    stats_.repeatedLaunches += run.to - run.from;
    for (std::size_t i = run.from; i < run.to; ++i)
      prof::addTo(stats_.repeatedDeviceNs, kernels_[i].durNs);
    // Where a plain step or a pause lies between two launches, the host does something else there.
    for (std::size_t i = run.from + 1; i < run.to; ++i) {
      const TimeWindow between{kernels_[i - 1].launchedNs, kernels_[i].launchedNs};
      if (steps_.holdAll(between))
        prof::addTo(stats_.repeatedHostNs, between.endNs - between.startNs);
    }
    const std::size_t rounds = (run.to - run.from) / run.period;
    if (rounds <= stats_.mostRepeats) return;
    stats_.mostRepeats = rounds;
    stats_.repeatedSequence = repeats_.sequenceOf(run);
  }

  const StepSpans& steps_;
  PatternStats& stats_;
  std::vector<Launched> kernels_;
  Repeats repeats_;
};

/// Before memory goes back to the system the device must be done with it: such a synchronisation is
/// the allocator's.
std::uint64_t countReleaseSyncs(const Store& store, const Timeline& timeline, TimeWindow window,
                                const StepSpans& steps) {
  using prof::Allocation;
  std::unordered_map<ThreadId, std::vector<const HostSpan*>> byThread;
  for (const HostSpan& span : timeline.host) {
    if (span.activity == Activity::Sync || span.activity == Activity::Launch)
      byThread[span.thread].push_back(&span);
  }
  for (auto& [thread, spans] : byThread)
    std::sort(spans.begin(), spans.end(),
              [](const HostSpan* a, const HostSpan* b) { return a->endNs < b->endNs; });
  std::unordered_set<const HostSpan*> found;
  const auto status = store.scan<&Allocation::timeNs, &Allocation::thread, &Allocation::action>(
      window, [&](std::uint64_t, auto time, auto thread, auto action) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          if (action[i] != prof::MemoryAction::Release || time[i] < window.startNs ||
              time[i] >= window.endNs)
            continue;
          const auto spans = byThread.find(thread[i]);
          if (spans == byThread.end()) continue;
          const auto after =
              std::upper_bound(spans->second.begin(), spans->second.end(), time[i],
                               [](TimeNs at, const HostSpan* span) { return at < span->endNs; });
          if (after == spans->second.begin()) continue;
          const HostSpan* last = *(after - 1);
          if (last->activity == Activity::Sync && steps.hold(last->startNs)) found.insert(last);
        }
      });
  return status ? found.size() : 0;
}

/// True when the third input of an operator is there: "f32[8,4] f32[2,4] f32[2]" or "[[8, 4], [2,
/// 4], [2]]".
bool hasThirdInput(std::string_view shapes) {
  if (shapes.starts_with("[[")) shapes.remove_prefix(1);
  std::size_t count = 0;
  for (std::size_t at = shapes.find('['); at != std::string_view::npos;
       at = shapes.find('[', at + 1)) {
    if (++count == 3) return at + 1 < shapes.size() && shapes[at + 1] != ']';
  }
  return false;
}

/// Shape of the first input: "[8,4]" of "f32[8,4] f32[2]", "[8, 4]" of "[[8, 4], [2]]".
std::string_view firstShape(std::string_view shapes) {
  if (shapes.starts_with("[[")) shapes.remove_prefix(1);
  const std::size_t from = shapes.find('[');
  const std::size_t to = shapes.find(']');
  return from < to && to != std::string_view::npos ? shapes.substr(from, to - from + 1)
                                                   : std::string_view();
}

/// Type of the first input; Kineto has the types in an argument of their own.
std::string_view firstType(const Args& args, prof::ArgSetId set, std::string_view shapes) {
  if (!shapes.starts_with('[')) return shapes.substr(0, shapes.find('['));
  const std::string_view types = args.text(set, "Input type").value_or(std::string_view());
  return types.substr(0, types.find(','));
}

}  // namespace

PatternStats launchPatterns(const Store& store, const Timeline& timeline,
                            const LaunchIndex& launches, TimeWindow window, const StepSpans& steps,
                            const Steps& all) {
  PatternStats stats;
  const OptimizerPhases phases = phasesOf(store, timeline);
  std::map<prof::QueueId, LoopStats> loops;
  std::unordered_map<StringId, std::uint64_t> optimizer;
  std::set<const Step*> filling;
  const std::vector<Step> steadySteps = all.steady();
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    if (!steps.hold(launch != nullptr ? launch->startNs : span.startNs)) continue;
    // The runtime's work for itself is no loop of the program.
    const bool upkeep = launch != nullptr && store.text(launch->name) == prof::kUpkeepCall;
    if (span.kind == DeviceSpanKind::Kernel && !upkeep)
      loops.try_emplace(span.queue, store, steps, stats).first->second.add(span, launch);
    if (span.kind == DeviceSpanKind::Kernel && checksNumbers(store.text(span.name)))
      ++stats.numberChecks;
    if (launch == nullptr) continue;
    const bool clears = phases.zeroing.holds(*launch) &&
                        (span.kind == DeviceSpanKind::Memset || fillsMemory(store.text(span.name)));
    if (clears) {
      ++stats.zeroFills;
      prof::addTo(stats.zeroFillNs, span.endNs - span.startNs);
      if (const Step* step = stepAt(steadySteps, launch->startNs); step != nullptr)
        filling.insert(step);
    } else if (span.kind == DeviceSpanKind::Kernel && phases.optimizer.holds(*launch)) {
      ++optimizer[span.name];
    }
  }
  for (auto& [queue, loop] : loops) loop.finish();
  stats.zeroFillSteps = filling.size();
  stats.releaseSyncs = countReleaseSyncs(store, timeline, window, steps);
  for (const auto& [name, count] : optimizer) {
    if (count <= stats.optimizerLaunches) continue;
    stats.optimizerLaunches = count;
    stats.optimizerKernel = store.text(name);
  }
  return stats;
}

void mergePatterns(PatternStats& into, const PatternStats& more) {
  into.zeroFills += more.zeroFills;
  prof::addTo(into.zeroFillNs, more.zeroFillNs);
  into.zeroFillSteps += more.zeroFillSteps;
  into.optimizerLaunches += more.optimizerLaunches;
  if (into.optimizerKernel.empty()) into.optimizerKernel = more.optimizerKernel;
  into.repeatedLaunches += more.repeatedLaunches;
  prof::addTo(into.repeatedDeviceNs, more.repeatedDeviceNs);
  prof::addTo(into.repeatedHostNs, more.repeatedHostNs);
  into.numberChecks += more.numberChecks;
  into.releaseSyncs += more.releaseSyncs;
  if (more.mostRepeats > into.mostRepeats) {
    into.mostRepeats = more.mostRepeats;
    into.repeatedSequence = more.repeatedSequence;
  }
}

prof::Result<OperatorPatterns> operatorPatterns(const Store& store, TimeWindow window,
                                                const TableScope& scope,
                                                std::vector<TimeWindow>* roundTrips) {
  using prof::Range;
  OperatorPatterns stats;
  struct Last {
    TimeNs startNs = INT64_MIN;
    TimeNs endNs = INT64_MIN;
    StringId name, shapes;
    prof::ArgSetId args;
    std::uint64_t sequence = 0;  ///< in the graph of gradients; 0: not known
    bool copies = false;         ///< it converts indeed, as the copy inside of it shows
    bool goesOn = false;         ///< by its place in that graph it converts what was just converted
  };
  std::unordered_map<ThreadId, Last> lastOf;
  std::optional<Args> args;
  // A converted tensor is converted again: the same shape, of another type than before.
  const auto goesOn = [&](const Last& before, const Last& after) {
    const std::string_view from = store.text(before.shapes), to = store.text(after.shapes);
    if (firstShape(from).empty() || firstShape(from) != firstShape(to)) return false;
    if (!args) args.emplace(store);
    return firstType(*args, before.args, from) != firstType(*args, after.args, to);
  };
  // Sources without shapes: the next number in the graph of gradients.
  const auto followsInGraph = [&](const Last& before, const Last& after) {
    const bool hasShapes = !firstShape(store.text(before.shapes)).empty();
    return !hasShapes && before.copies && before.sequence != 0 &&
           after.sequence == before.sequence + 1;
  };
  const StringId copy = store.find("aten::_to_copy");
  NameClasses classes(store);
  std::unordered_map<StringId, int> kinds;  // 1 takes a bias, 2 batch norm, 3 converts
  std::unordered_map<StringId, bool> half;
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain,
                                 &Range::category, &Range::name, &Range::text, &Range::queue,
                                 &Range::args, &Range::payload, &Range::payloadType>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
                  auto name, auto text, auto queue, auto set, auto payload, auto type) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (queue[i] || start[i] < window.startNs || start[i] >= window.endNs) continue;
          if (!scope.only.holds(thread[i]) || !scope.steps.hold(start[i])) continue;
          if (classes.ofRange(domain[i], category[i], name[i]) != Activity::Operator) continue;
          Last& last = lastOf[thread[i]];
          const auto countTrip = [&](TimeNs from, TimeNs to) {
            ++stats.roundTrips;
            if (roundTrips != nullptr) roundTrips->push_back({from, to});
          };
          if (start[i] < last.endNs) {  // inside the one before
            if (name[i] == copy && copy && !last.copies) {
              last.copies = true;
              if (last.goesOn) countTrip(last.startNs, last.endNs);
            }
            continue;
          }
          const auto [kind, isNew] = kinds.try_emplace(name[i], 0);
          if (isNew) {
            const std::string_view op = store.text(name[i]);
            kind->second = takesBias(op)             ? 1
                           : isBatchNormOperator(op) ? 2
                           : convertsType(op)        ? 3
                                                     : 0;
          }
          if (kind->second == 2 && last.name && kinds[last.name] == 1 &&
              hasThirdInput(store.text(last.shapes))) {
            ++stats.biasedNorms;
            if (stats.biasedNorm.empty()) stats.biasedNorm = store.text(last.name);
          }
          Last now{start[i], start[i] + dur[i], name[i], text[i], set[i]};
          if (type[i] == prof::PayloadType::U64) now.sequence = payload[i];
          if (kind->second == 3 && last.name && kinds[last.name] == 3) {
            if (goesOn(last, now)) countTrip(start[i], now.endNs);
            now.goesOn = followsInGraph(last, now);
          }
          if (isMatrixWork(store.text(name[i]))) {
            const auto [isHalf, unseen] = half.try_emplace(text[i], false);
            if (unseen) isHalf->second = containsAnyCase(store.text(text[i]), "f16[");
            ++stats.matrixOperators;
            stats.halfMatrixOperators += isHalf->second ? 1 : 0;
          }
          last = now;
        }
      });
  if (!status) return status.error();
  return stats;
}

namespace of_patterns {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  mergePatterns(analysis.of<PatternStats>(),
                launchPatterns(*analysis.store, chunk.timeline, chunk.index, chunk.inSteps,
                               analysis.scope.steps, analysis.steps));
}

}  // namespace
}  // namespace of_patterns

constinit const AnalysisPart parts::patterns{
    .name = "patterns",
    .add = of_patterns::add,
};

namespace of_operator_patterns {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis,
              analyzer::operatorPatterns(*analysis.store, analysis.window, analysis.scope));
}

}  // namespace
}  // namespace of_operator_patterns

constinit const AnalysisPart parts::operatorPatterns{
    .name = "operator patterns",
    .compute = of_operator_patterns::compute,
};

}  // namespace lacuna::analyzer
