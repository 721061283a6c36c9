// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/python_lines.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyses/loader/loader.h"
#include "analyses/parts.h"
#include "analyses/work/python_line_sums.h"
#include "analyses/work/python_places.h"
#include "analyses/work/side_work.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace of_python_lines {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

constexpr std::array<std::string_view, 5> kPhases{"load", "forward", "backward", "evaluation",
                                                  "optimizer"};

/// The samples of all threads, which the chunks of the trace add to.
struct Sampling {
  bool isLoaded = false;
  std::unordered_map<prof::ThreadId, Samples> threads;
  std::unordered_set<prof::ThreadId> workers;
  std::unordered_set<prof::StringId> phases, stalls, stages;
};

prof::Status load(const Analysis& analysis, Sampling& into) {
  using prof::PythonSample;
  const Store& store = *analysis.store;
  into.isLoaded = true;
  if (store.rows<PythonSample>() == 0) return {};
  for (const std::string_view name : kPhases) {
    if (const auto id = store.find(name)) into.phases.insert(id);
  }
  for (const std::string_view name : kStallPhases) {
    if (const auto id = store.find(name)) into.stalls.insert(id);
  }
  for (const std::string_view name : kLoaderStages) {
    if (const auto id = store.find(name)) into.stages.insert(id);
  }
  const auto status = store.scan<&PythonSample::timeNs, &PythonSample::thread, &PythonSample::stack,
                                 &PythonSample::weightNs, &PythonSample::state>(
      analysis.window,
      [&](std::uint64_t, auto time, auto thread, auto stack, auto weight, auto state) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          const bool isIn = time[i] >= analysis.window.startNs && time[i] < analysis.window.endNs;
          if (!isIn || !thread[i] || !stack[i]) continue;
          // A row may claim anything.
          const auto most =
              static_cast<std::uint64_t>(analysis.window.endNs - analysis.window.startNs);
          into.threads[thread[i]].push_back(
              {.timeNs = time[i],
               .weightNs = static_cast<std::int64_t>(std::min(weight[i], most)),
               .stack = stack[i],
               .state = state[i]});
        }
      });
  for (auto& [thread, samples] : into.threads)
    std::ranges::stable_sort(samples, {}, &Sample::timeNs);
  return status;
}

/// Calls each(sample) for those of the interval.
template <class Each>
void within(Samples& samples, TimeNs startNs, TimeNs endNs, Each&& each) {
  for (auto at = std::ranges::lower_bound(samples, startNs, {}, &Sample::timeNs);
       at != samples.end() && at->timeNs < endNs; ++at) {
    each(*at);
  }
}

void addHost(Sampling& sampling, const HostSpan& span, TimeWindow window) {
  const auto thread = sampling.threads.find(span.thread);
  if (thread == sampling.threads.end()) return;
  const bool isStage = sampling.stages.contains(span.name),
             isStall = sampling.stalls.contains(span.name);
  const bool isPhase = isStall || sampling.phases.contains(span.name);
  if (isStage) sampling.workers.insert(span.thread);
  within(
      thread->second, std::max(span.startNs, window.startNs), std::min(span.endNs, window.endNs),
      [&](Sample& sample) {
        sample.activity = std::max(sample.activity, span.activity);
        sample.isPreparing |= isStage;
        if (!isPhase || span.activity != Activity::Annotation || span.startNs < sample.phaseStartNs)
          return;
        sample.phase = span.name;
        sample.phaseStartNs = span.startNs;
        sample.isStalled = isStall;
      });
}

/// Marks the samples at which the devices of the process had nothing to do, and for how long.
void addDevices(const Timeline& timeline, prof::ProcessId process, TimeWindow window,
                Samples& samples) {
  TimeNs busyUntilNs = INT64_MIN;
  const auto end = std::ranges::lower_bound(samples, window.endNs, {}, &Sample::timeNs);
  auto at = std::ranges::lower_bound(samples, window.startNs, {}, &Sample::timeNs);
  for (const DeviceSpan& span : timeline.device) {
    const auto owner = timeline.topology.processOfQueue.find(span.queue);
    if (process && owner != timeline.topology.processOfQueue.end() && owner->second != process)
      continue;
    for (; at != end && at->timeNs < span.startNs; ++at) {
      at->isDeviceBusy = at->timeNs < busyUntilNs;
      at->idleFromNs = busyUntilNs;
      at->idleToNs = span.startNs;
    }
    if (at == end) return;
    busyUntilNs = std::max(busyUntilNs, span.endNs);
  }
  for (; at != end; ++at) {
    at->isDeviceBusy = at->timeNs < busyUntilNs;
    at->idleFromNs = busyUntilNs;
  }
}

void add(Analysis& analysis, const TraceChunk& chunk) {
  Sampling& sampling = analysis.of<Sampling>();
  // Samples that cannot be read are left out. Other analyses read the same blocks and report the
  // error.
  if (!sampling.isLoaded && !load(analysis, sampling)) sampling.threads.clear();
  if (sampling.threads.empty()) return;
  for (const HostSpan& span : chunk.timeline.host) addHost(sampling, span, chunk.window);
  const auto own = sampling.threads.find(analysis.steps.thread);
  if (own != sampling.threads.end())
    addDevices(chunk.timeline, analysis.steps.process, chunk.window, own->second);
}

/// The steps that count: those behind the warm-up, or the whole window where there are none in
/// detail.
struct CountedSteps {
  std::vector<Step> steps;
  StepCounts counts;

  const Step* at(TimeNs timeNs) const { return stepAt(steps, timeNs); }
};

CountedSteps countedSteps(const Analysis& analysis) {
  CountedSteps counted{analysis.steps.afterWarmUpWithin(analysis.window), {}};
  counted.counts.plain = std::ranges::count_if(counted.steps, &Step::isPlain);
  counted.counts.detailed = std::ssize(counted.steps) - counted.counts.plain;
  if (counted.counts.detailed > 0) return counted;
  Step all;
  all.startNs = analysis.window.startNs;
  all.endNs = analysis.window.endNs;
  return {{all}, {1, 0}};
}

/// Between the devices' first work and the first step.
TimeWindow setUpOf(const Analysis& analysis) {
  if (analysis.devices.empty() || analysis.steps.all.empty()) return {0, 0};
  TimeNs work = INT64_MAX;
  for (const DeviceAccount& device : analysis.devices) work = std::min(work, device.window.startNs);
  return {work, std::max(work, analysis.steps.all.front().startNs)};
}

/// The parts of what a thread does before the first step.
class SetUpParts {
 public:
  SetUpParts(const Store& store, PythonPlaces& places) : store_(store), places_(places) {}

  void take(const Sample& sample) {
    const PythonPlace* place = places_.of(sample.stack, false);
    if (place == nullptr) return;
    std::string name(place->package);
    const std::string_view file = store_.text(place->file);
    if (name.empty()) name = isPythonLibrary(file) ? "Python" : file.substr(file.rfind('/') + 1);
    SetUpPart& part = parts_[name];
    part.name = name;
    ++part.samples;
    prof::addTo(part.ns, sample.weightNs);
  }
  std::vector<SetUpPart> parts() const {
    std::vector<SetUpPart> parts;
    for (const auto& [name, part] : parts_) parts.push_back(part);
    std::ranges::stable_sort(parts, std::greater(), &SetUpPart::ns);
    return parts;
  }

 private:
  const Store& store_;
  PythonPlaces& places_;
  std::map<std::string, SetUpPart> parts_;
};

/// Without steps there is no thread that sets them: the one that was seen longest.
prof::ThreadId threadOf(const Analysis& analysis, const Sampling& sampling) {
  if (analysis.steps.thread) return analysis.steps.thread;
  prof::ThreadId most;
  std::size_t samples = 0;
  for (const auto& [thread, its] : sampling.threads) {
    const bool isMore =
        its.size() > samples || (its.size() == samples && thread.value < most.value);
    if (isMore) std::tie(most, samples) = std::pair(thread, its.size());
  }
  return most;
}

prof::Status compute(Analysis& analysis) {
  const Sampling sampling = std::exchange(analysis.of<Sampling>(), {});
  if (sampling.threads.empty()) return {};
  const Store& store = *analysis.store;
  auto places = PythonPlaces::load(store);
  if (!places) return places.error();
  PythonLines& result = analysis.of<PythonLines>();
  result.thread = threadOf(analysis, sampling);
  const std::int64_t longPauseNs = analysis.of<IdleCauses>().longPauseNs;
  LineSums step(store, *places, longPauseNs), before(store, *places, longPauseNs),
      workers(store, *places, longPauseNs);
  const CountedSteps counted = countedSteps(analysis);
  const TimeWindow setUp = setUpOf(analysis);
  SetUpParts parts(store, *places);
  const TimeNs firstStepNs =
      analysis.steps.all.empty() ? INT64_MIN : analysis.steps.all.front().startNs;
  for (const auto& [thread, samples] : sampling.threads) {
    if (thread == result.thread) {
      for (const Sample& sample : samples) {
        const Step* in = counted.at(sample.timeNs);
        if (in != nullptr && in->isPlain) {
          step.takePlain(sample);
        } else if (in != nullptr) {
          step.take(sample, false, analysis.of<SideWork>().stretches.hold(thread, sample.timeNs));
        }
        result.statesKnown |= in != nullptr && sample.state != prof::ThreadState::Unknown;
        if (sample.timeNs >= setUp.startNs && sample.timeNs < setUp.endNs)
          before.take(sample, false);
        if (sample.timeNs < firstStepNs) parts.take(sample);
      }
    } else if (sampling.workers.contains(thread)) {
      for (const Sample& sample : samples) {
        if (sample.isPreparing) workers.take(sample, true);
      }
    }
  }
  result.step = step.lines(counted.counts);
  const LoaderStats& loader = analysis.of<LoaderStats>();
  const std::uint64_t batches =
      loader.preparedBatches != 0 ? loader.preparedBatches : loader.batches;
  result.workers = workers.lines({static_cast<std::int64_t>(batches), 0});
  result.before = before.lines({1, 0});
  result.setUp = parts.parts();
  result.samples = step.samples();
  result.workerSamples = workers.samples();
  return {};
}

constexpr std::array kInputs{&parts::loader, &parts::sideWork};

}  // namespace
}  // namespace of_python_lines

constinit const AnalysisPart parts::pythonLines{
    .name = "python lines",
    .inputs = of_python_lines::kInputs,
    .add = of_python_lines::add,
    .compute = of_python_lines::compute,
};

}  // namespace lacuna::analyzer
