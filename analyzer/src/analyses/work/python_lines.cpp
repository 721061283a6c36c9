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

/// A sample with what else was recorded at its moment.
struct Sample {
  TimeNs timeNs = 0;
  std::int64_t weightNs = 0;
  prof::FrameId stack;
  prof::ThreadState state = prof::ThreadState::Unknown;
  Activity activity = Activity::None;
  bool isPreparing = false;  ///< in a stage of the loader
  prof::StringId phase{};
  TimeNs phaseStartNs = INT64_MIN;
  bool isStalled = false;  ///< in a phase that has a finding of its own
  // The devices have nothing to do from the one to the other; nothing while they work.
  TimeNs idleFromNs = INT64_MIN, idleToNs = INT64_MAX;
  bool isDeviceBusy = false;
};
using Samples = std::vector<Sample>;  ///< by time

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

/// Sums by the line, while samples are counted.
struct Sum {
  PythonLine line;
  std::map<std::string, std::int64_t> inside;
  std::map<prof::StringId, std::int64_t> phases;
  std::vector<TimeWindow> idle;
};
using Key = std::tuple<prof::StringId, prof::StringId, std::uint32_t>;

/// The devices have nothing to do for longer than a call of an operator takes.
bool isInLongGap(const Sample& sample) {
  const bool isOpen = sample.idleFromNs == INT64_MIN || sample.idleToNs == INT64_MAX;
  return isOpen || sample.idleToNs - sample.idleFromNs >= kLongHostWorkNs;
}

bool isAsleep(const Sample& sample) {
  return sample.state == prof::ThreadState::Sleeping || sample.state == prof::ThreadState::Blocked;
}

/// A call of an operator does not sleep, so a gap of any length counts in which the program does.
/// The framework's own code may wait for its other threads.
bool naps(const Sample& sample, bool isFrameworks) {
  return isAsleep(sample) && !isFrameworks && !isInLongGap(sample);
}

void count(Sum& sum, const Sample& sample, bool isFrameworks, bool isBeside) {
  PythonLine& line = sum.line;
  ++line.samples;
  const std::int64_t ns = sample.weightNs;
  prof::addTo(line.ns, ns);
  if (sample.phase) prof::addTo(sum.phases[sample.phase], ns);
  switch (sample.activity) {
    case Activity::Launch:
    case Activity::Operator:
      prof::addTo(line.operatorsNs, ns);
      if (!isBeside || sample.isStalled) return;
      ++line.sideSamples;
      return prof::addTo(line.sideNs, ns);
    case Activity::LoaderWait:
      return prof::addTo(line.loaderNs, ns);
    case Activity::Driver:
    case Activity::Sync:
      return prof::addTo(line.deviceNs, ns);
    case Activity::None:
    case Activity::Annotation:
    case Activity::OffCpu:
    case Activity::Profiler:
      prof::addTo(line.hostNs, ns);
  }
  const bool isNap = naps(sample, isFrameworks);
  if (sample.isDeviceBusy || sample.isStalled || !(isNap || isInLongGap(sample))) return;
  prof::addTo(line.idleNs, ns);
  if (isNap) prof::addTo(line.napsNs, ns);
  if (isAsleep(sample)) {
    prof::addTo(line.asleepNs, ns);
  } else if (isFrameworks) {
    prof::addTo(line.frameworkNs, ns);
  }
  ++line.idleSamples;
  const TimeWindow seen{sample.timeNs - ns, sample.timeNs};
  // A line that sample after sample sees is one stretch.
  if (!sum.idle.empty() && seen.startNs <= sum.idle.back().endNs) {
    sum.idle.back().endNs = seen.endNs;
  } else {
    sum.idle.push_back(seen);
  }
}

template <class Names>
auto longestOf(const Names& names) {
  return std::ranges::max_element(names, {}, [](const auto& entry) { return entry.second; });
}

PythonLine finished(Sum&& sum, const Store& store, std::int64_t parts) {
  PythonLine line = std::move(sum.line);
  if (const auto most = longestOf(sum.inside);
      most != sum.inside.end() && 2 * most->second >= line.ns)
    line.inside = most->first;
  if (const auto most = longestOf(sum.phases);
      most != sum.phases.end() && 2 * most->second >= line.ns)
    line.phase = store.text(most->first);
  keepLongest(sum.idle);
  line.idle = std::move(sum.idle);
  for (std::int64_t* ns :
       {&line.ns, &line.operatorsNs, &line.loaderNs, &line.deviceNs, &line.hostNs, &line.idleNs,
        &line.asleepNs, &line.napsNs, &line.frameworkNs, &line.sideNs}) {
    *ns /= parts;
  }
  return line;
}

/// The lines of samples, as the mean of so many parts.
class LineSums {
 public:
  LineSums(const Store& store, PythonPlaces& places) : store_(store), places_(places) {}

  void take(const Sample& sample, bool ofLoader, bool isBeside = false) {
    const PythonPlace* place = places_.of(sample.stack, ofLoader);
    if (place == nullptr) return;
    Sum& sum = sums_[{place->file, place->function, place->line}];
    if (sum.line.place.empty()) {
      sum.line.place = place->place(store_);
      sum.line.function = store_.text(place->function);
      sum.line.file = store_.text(place->file);
      sum.line.line = place->line;
    }
    if (!place->inside.empty()) prof::addTo(sum.inside[place->inside], sample.weightNs);
    count(sum, sample, place->isFrameworks, isBeside);
    ++samples_;
  }
  std::uint64_t samples() const { return samples_; }
  std::vector<PythonLine> lines(std::int64_t parts) {
    std::vector<PythonLine> lines;
    for (auto& [key, sum] : sums_)
      lines.push_back(finished(std::move(sum), store_, std::max<std::int64_t>(1, parts)));
    std::ranges::sort(lines, [](const PythonLine& a, const PythonLine& b) {
      return std::tie(b.ns, a.place, a.function) < std::tie(a.ns, b.place, b.function);
    });
    return lines;
  }

 private:
  const Store& store_;
  PythonPlaces& places_;
  std::map<Key, Sum> sums_;
  std::uint64_t samples_ = 0;
};

/// The steady steps, or the whole window where there are none.
std::vector<TimeWindow> countedWindows(const Analysis& analysis) {
  std::vector<TimeWindow> windows;
  for (const Step& step : analysis.steps.steadyWithin(analysis.window))
    windows.push_back({step.startNs, step.endNs});
  if (windows.empty()) windows.push_back(analysis.window);
  return windows;
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
  LineSums step(store, *places), before(store, *places), workers(store, *places);
  const std::vector<TimeWindow> windows = countedWindows(analysis);
  const TimeWindow setUp = setUpOf(analysis);
  SetUpParts parts(store, *places);
  const TimeNs firstStepNs =
      analysis.steps.all.empty() ? INT64_MIN : analysis.steps.all.front().startNs;
  for (const auto& [thread, samples] : sampling.threads) {
    if (thread == result.thread) {
      for (const Sample& sample : samples) {
        const auto window = std::ranges::partition_point(
            windows, [&](const TimeWindow& one) { return one.endNs <= sample.timeNs; });
        const bool isInStep = window != windows.end() && window->startNs <= sample.timeNs;
        if (isInStep)
          step.take(sample, false, analysis.of<SideWork>().stretches.hold(thread, sample.timeNs));
        result.statesKnown |= isInStep && sample.state != prof::ThreadState::Unknown;
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
  result.step =
      step.lines(analysis.steps.all.empty() ? 1 : static_cast<std::int64_t>(windows.size()));
  const LoaderStats& loader = analysis.of<LoaderStats>();
  const std::uint64_t batches =
      loader.preparedBatches != 0 ? loader.preparedBatches : loader.batches;
  result.workers = workers.lines(static_cast<std::int64_t>(batches));
  result.before = before.lines(1);
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
