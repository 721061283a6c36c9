// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/time/chunks.h"
#include "analyses/work/launch_index.h"
#include "analysis/devices.h"
#include "analysis/host_before_steps.h"
#include "analysis/without_devices.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/source.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

constexpr std::size_t kLongestKept = 5;

/// Where the parts of an analysis end, of 1: about as long as each took of traces of some millions of events.
constexpr double kStepsUntil = 0.06;
constexpr double kDevicesUntil = 0.1;
constexpr double kBooksUntil = 0.7;
constexpr double kTablesUntil = 0.92;

/// The steps that a mean step is of: the steady ones within the window, or those of the warm-up where it holds no
/// others. None: it is all of the run.
std::vector<bool> stepsOfMean(const Analysis& analysis) {
  const auto& steps = analysis.steps.all;
  std::vector<bool> counted(steps.size());
  const auto count = [&](bool warmUp) {
    bool any = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].warmUp != warmUp || !steps[i].within(analysis.window)) continue;
      counted[i] = any = true;
    }
    return any;
  };
  if (!count(false)) count(true);
  return counted;
}

/// What sums over so many steps and all devices are divided by.
std::int64_t partsOfMean(const Analysis& analysis, std::int64_t steps) {
  return std::max<std::int64_t>(1, steps) *
         static_cast<std::int64_t>(std::max<std::size_t>(1, analysis.devices.size()));
}

/// Collects a device's segments into the run, the steps, the details and the evidence.
class Collector {
 public:
  Collector(Analysis& analysis) : analysis_(analysis), counted_(stepsOfMean(analysis)) {
    countedSteps_ = std::count(counted_.begin(), counted_.end(), true);
    analysis.stepLedgers.resize(analysis.steps.all.size());
    analysis.bands.steps.resize(analysis.steps.all.size());
    analysis.loaderWaitsBefore.resize(analysis.steps.all.size());
  }

  /// `bandNs`: how much of the segment may be recording.
  void add(DeviceAccount& device, const LedgerSegment& segment, std::int64_t bandNs) {
    addToSteps(segment, bandNs);
    if (segment.cause == Cause::LoaderWait) addBetweenSteps(segment);
    const TimeNs from = std::max(segment.startNs, device.window.startNs);
    const TimeNs to = std::min(segment.endNs, device.window.endNs);
    if (from >= to) return;
    device.ledger.add(segment.cause, to - from);
    if (segment.cause == Cause::Unknown) addUnknown(from, to);
    if (countedSteps_ == 0) addCall(segment, to - from);
    device.bands.add(segment.cause, share(bandNs, to - from, segment));
    if (segment.cause == Cause::Compute) return;
    DeviceSegment inside{segment, device.id};
    inside.startNs = from;
    inside.endNs = to;
    keepLongest(inside);
    if (isBusy(segment.cause)) return;
    const bool named = segment.cause != Cause::Launch && segment.cause != Cause::Dependency;
    auto& detail = details_[{segment.cause, named ? segment.name : StringId()}];
    detail.first += to - from;
    ++detail.second;
  }

  void finish() {
    addDetails();
    const std::int64_t parts = partsOfMean(analysis_, countedSteps_);
    for (const auto& [key, sum] : calls_) {
      analysis_.stepCalls.push_back(
          {key.first, std::string(analysis_.store->text(key.second)), sum.first / parts, sum.second});
    }
    std::sort(analysis_.details.begin(), analysis_.details.end(),
              [](const CauseDetail& a, const CauseDetail& b) { return a.ns > b.ns; });
    for (const DeviceAccount& device : analysis_.devices) {
      analysis_.ledger += device.ledger;
      analysis_.bands.run += device.bands;
    }
  }

 private:
  /// Steps that are numbered each by its name are one thing.
  void addDetails() {
    std::unordered_set<std::string_view> markers;
    for (const Step& step : analysis_.steps.all) markers.insert(step.name);
    std::map<std::pair<Cause, std::string>, std::pair<std::int64_t, std::uint64_t>> byName;
    for (const auto& [key, sum] : details_) {
      const std::string_view name = analysis_.store->text(key.second);
      const bool isNumbered = markers.size() > 1 && markers.contains(name);
      auto& detail = byName[{key.first, std::string(isNumbered ? "step" : name)}];
      detail.first += sum.first;
      detail.second += sum.second;
    }
    for (const auto& [key, sum] : byName) analysis_.details.push_back({key.first, key.second, sum.first, sum.second});
  }
  static std::int64_t share(std::int64_t bandNs, std::int64_t partNs, const LedgerSegment& segment) {
    if (bandNs == 0 || partNs == segment.durNs()) return bandNs;
    return std::llround(static_cast<double>(bandNs) * static_cast<double>(partNs) /
                        static_cast<double>(segment.durNs()));
  }
  void addToSteps(const LedgerSegment& segment, std::int64_t bandNs) {
    const auto& steps = analysis_.steps.all;
    std::size_t at = countBy(steps, &Step::endNs, segment.startNs);
    for (; at < steps.size() && steps[at].startNs < segment.endNs; ++at) {
      const TimeNs dur = std::min(steps[at].endNs, segment.endNs) - std::max(steps[at].startNs, segment.startNs);
      analysis_.stepLedgers[at].add(segment.cause, dur);
      analysis_.bands.steps[at].add(segment.cause, share(bandNs, dur, segment));
      if (counted_[at]) addCall(segment, dur);
    }
  }
  void addUnknown(TimeNs from, TimeNs to) {
    const auto& steps = analysis_.steps.all;
    if (steps.empty()) return;
    UnknownPlaces& places = analysis_.unknown;
    const TimeNs begin = std::clamp(steps.front().startNs, from, to), end = std::clamp(steps.back().endNs, from, to);
    std::int64_t inSteps = 0;
    for (std::size_t at = countBy(steps, &Step::endNs, begin); at < steps.size() && steps[at].startNs < end; ++at)
      prof::addTo(inSteps, std::min(steps[at].endNs, end) - std::max(steps[at].startNs, begin));
    prof::addTo(places.beforeNs, begin - from);
    prof::addTo(places.inStepsNs, inSteps);
    prof::addTo(places.betweenNs, end - begin - inSteps);
    prof::addTo(places.behindNs, to - end);
  }
  void addCall(const LedgerSegment& segment, std::int64_t durNs) {
    if (segment.cause != Cause::DriverCall && segment.cause != Cause::Synchronisation) return;
    auto& call = calls_[{segment.cause, segment.name}];
    prof::addTo(call.first, durNs);
    ++call.second;
  }
  void addBetweenSteps(const LedgerSegment& segment) {
    const auto& steps = analysis_.steps.all;
    std::size_t at = std::max<std::size_t>(1, countBy(steps, &Step::endNs, segment.startNs));
    for (; at < steps.size() && steps[at - 1].endNs < segment.endNs; ++at) {
      const TimeNs dur = std::min(steps[at].startNs, segment.endNs) - std::max(steps[at - 1].endNs, segment.startNs);
      prof::addTo(analysis_.loaderWaitsBefore[at], std::max<TimeNs>(0, dur));
    }
  }
  void keepLongest(const DeviceSegment& segment) {
    auto& kept = analysis_.longest[static_cast<std::size_t>(segment.cause)];
    if (kept.size() == kLongestKept && kept.back().durNs() >= segment.durNs()) return;
    const auto at =
        std::find_if(kept.begin(), kept.end(), [&](const DeviceSegment& k) { return k.durNs() < segment.durNs(); });
    kept.insert(at, segment);
    if (kept.size() > kLongestKept) kept.pop_back();
  }

  Analysis& analysis_;
  std::map<std::pair<Cause, StringId>, std::pair<std::int64_t, std::uint64_t>> details_;
  std::vector<bool> counted_;  ///< by position in steps.all
  std::int64_t countedSteps_ = 0;
  std::map<std::pair<Cause, StringId>, std::pair<std::int64_t, std::uint64_t>> calls_;
};

template <class Row>
std::string keyOf(const Row& row) {
  if constexpr (requires { row.shapes; }) return row.name + '\n' + row.shapes;
  if constexpr (requires { row.communicator; }) return row.name + '\n' + row.communicator;
  return row.name;
}

template <class Row, class Merge>
void mergeByName(std::vector<Row>& into, std::vector<Row> more, Merge merge) {
  if (into.empty()) {
    into = std::move(more);
    return;
  }
  std::unordered_map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < into.size(); ++i) at[keyOf(into[i])] = i;
  for (Row& row : more) {
    const auto found = at.find(keyOf(row));
    if (found == at.end()) {
      into.push_back(std::move(row));
    } else {
      merge(into[found->second], row);
    }
  }
}

/// `chunk`: what the timeline is for; `window`: of that, what was asked for. Work of the window's steps may run behind
/// it.
void mergeTables(Analysis& analysis, const Timeline& timeline, TimeWindow chunk, TimeWindow window,
                 const RecordedCosts& costs, StepWork& stepWork, Projection& projection, WorkProgress& progress) {
  const Store& store = *analysis.store;
  const StepSpans& steps = analysis.scope.steps;
  const LaunchIndex index(timeline);
  // A part takes a moment for each; nobody is kept waiting for more than one of them.
  const auto wanted = [&] { return progress.at(0); };
  const auto addOperator = [](OperatorRow& a, const OperatorRow& b) {
    a.count += b.count;
    prof::addTo(a.totalNs, b.totalNs);
    prof::addTo(a.selfNs, b.selfNs);
    prof::addTo(a.deviceNs, b.deviceNs);
    prof::addTo(a.stepSelfNs, b.stepSelfNs);
    prof::addTo(a.stepDeviceNs, b.stepDeviceNs);
    prof::addTo(a.memBytes, b.memBytes);
    prof::addTo(a.selfMemBytes, b.selfMemBytes);
    prof::addTo(a.recordingNs, b.recordingNs);
    prof::addTo(a.selfRecordingNs, b.selfRecordingNs);
    prof::addTo(a.deviceRecordingNs, b.deviceRecordingNs);
  };
  const ShareCurve& taken = analysis.scope.taken;
  mergeByName(analysis.operators, operatorTable(store, timeline, index, window, GroupBy::Name, steps, taken),
              addOperator);
  if (!wanted()) return;
  mergeByName(analysis.operatorShapes, operatorTable(store, timeline, index, window, GroupBy::NameAndShapes, {}, taken),
              addOperator);
  if (!wanted()) return;
  mergeByName(analysis.calls, callTable(store, timeline, index, window, &costs, steps),
              [](CallRow& a, const CallRow& b) {
                a.count += b.count;
                prof::addTo(a.totalNs, b.totalNs);
                a.stepCount += b.stepCount;
                prof::addTo(a.stepNs, b.stepNs);
                prof::addTo(a.recordingNs, b.recordingNs);
                a.copies += b.copies;
                a.stepLargeCount += b.stepLargeCount;
                prof::addTo(a.stepLargeNs, b.stepLargeNs);
                if (a.caller.empty()) a.caller = b.caller;
              });
  if (!wanted()) return;
  const CommunicationStats comm = communicationStats(store, timeline, window, &costs);
  prof::addTo(analysis.communication.totalNs, comm.totalNs);
  prof::addTo(analysis.communication.exposedNs, comm.exposedNs);
  prof::addTo(analysis.communication.recordingNs, comm.recordingNs);
  mergeByName(analysis.communication.collectives, comm.collectives, [](CollectiveRow& a, const CollectiveRow& b) {
    a.count += b.count;
    prof::addTo(a.totalNs, b.totalNs);
    prof::addTo(a.exposedNs, b.exposedNs);
    prof::addTo(a.recordingNs, b.recordingNs);
    a.calls += b.calls;
    prof::addTo(a.bytes, b.bytes);
    prof::addTo(a.bytesNs, b.bytesNs);
    prof::addTo(a.algorithmBytes, b.algorithmBytes);
    prof::addTo(a.algorithmNs, b.algorithmNs);
    prof::addTo(a.busBytes, b.busBytes);
    prof::addTo(a.busNs, b.busNs);
    if (a.ranks == 0) a.ranks = b.ranks;
  });
  if (!wanted()) return;
  const TimeWindow inSteps = steps.everything() ? window : chunk;
  mergePatterns(analysis.patterns, launchPatterns(store, timeline, index, inSteps, steps, analysis.steps));
  mergeSequences(analysis.sequences, kernelSequences(store, timeline, index, inSteps, analysis.steps, steps));
  if (!wanted()) return;
  addStepWork(timeline, index, inSteps, steps, stepWork);
  addQueueLengths(timeline, index, window, analysis.window, analysis.queueLengths);
  projection.add(timeline, index, window, steps, store);
  const LaunchStats more = launchStats(timeline, index, window, &costs);
  LaunchStats& launches = analysis.launches;
  const auto sum = static_cast<double>(launches.launches + more.launches);
  if (sum > 0) {
    launches.meanQueueDepth = (launches.meanQueueDepth * static_cast<double>(launches.launches) +
                               more.meanQueueDepth * static_cast<double>(more.launches)) /
                              sum;
  }
  // Of several chunks the one with the most launches speaks for the medians.
  if (more.launches > launches.launches) {
    launches.medianCallNs = more.medianCallNs;
    launches.medianDelayNs = more.medianDelayNs;
    launches.callRecordingNs = more.callRecordingNs;
    launches.delayRecordingNs = more.delayRecordingNs;
  }
  launches.launches += more.launches;
  launches.shorterThanCall += more.shorterThanCall;
  launches.foundQueueEmpty += more.foundQueueEmpty;
  launches.unmatched += more.unmatched;
}

prof::Result<TimeWindow> chooseWindow(const Analysis& analysis) {
  if (!analysis.options.steps) return TimeWindow{};
  const auto [first, last] = *analysis.options.steps;
  const auto& steps = analysis.steps.all;
  if (steps.empty()) {
    return prof::Error{
        fmt::format("{}: no steps were found (no step markers, no repetition), so --steps cannot select any; "
                    "mark steps with an NVTX range named \"step\"",
                    analysis.store->path().string())};
  }
  if (first >= last) {
    return prof::Error{fmt::format(
        "{}: steps {}:{} are none: {}", analysis.store->path().string(), first, last,
        first == last ? "the second number is that of the step behind the last" : "the first is behind the last")};
  }
  if (last > steps.size()) {
    return prof::Error{fmt::format("{}: steps {}:{} are not there; it has steps 0:{}", analysis.store->path().string(),
                                   first, last, steps.size())};
  }
  return TimeWindow{steps[first].startNs, steps[last - 1].endNs};
}

/// What the ledgers must cover: the devices' own windows and the steps.
TimeWindow coverOf(const Analysis& analysis) {
  TimeWindow cover = analysis.window;
  for (const DeviceAccount& device : analysis.devices) {
    cover.startNs = std::min(cover.startNs, device.window.startNs);
    cover.endNs = std::max(cover.endNs, device.window.endNs);
  }
  if (!analysis.steps.all.empty()) {
    cover.startNs = std::min(cover.startNs, analysis.steps.all.front().startNs);
    cover.endNs = std::max(cover.endNs, analysis.steps.all.back().endNs);
  }
  return cover;
}

/// The ledger of one device at a time, and of its queues, from one chunk after the other.
class DeviceBooks {
 public:
  DeviceBooks(DeviceAccount& device, const Topology& topology) : account_(device) {
    const auto owner = topology.processOfQueue.find(device.queues.front().id);
    const prof::ProcessId process = owner == topology.processOfQueue.end() ? prof::ProcessId() : owner->second;
    whole_ = BandAttribution(device.id, process);
    queues_.assign(device.queues.size(), whole_);
  }

  void add(const LedgerAccountant& accountant, TimeWindow window, const RecordedCosts& costs, Collector& collector) {
    accountant.account({account_.id, {}}, window, [&](const LedgerSegment& segment) {
      collector.add(account_, segment, whole_.of(costs, segment));
    });
    const TimeWindow inside{std::max(window.startNs, account_.window.startNs),
                            std::min(window.endNs, account_.window.endNs)};
    if (inside.startNs >= inside.endNs) return;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      QueueAccount& queue = account_.queues[i];
      accountant.account({account_.id, queue.id}, inside, [&](const LedgerSegment& segment) {
        queue.ledger.add(segment.cause, segment.durNs());
        queue.bands.add(segment.cause, queues_[i].of(costs, segment));
      });
    }
  }

 private:
  DeviceAccount& account_;
  BandAttribution whole_{{}, {}};
  std::vector<BandAttribution> queues_;
};

/// Tables that were added up from several chunks of the trace, in the order that each of them has.
void sortMerged(Analysis& analysis) {
  sortOperators(analysis.operators);
  sortOperators(analysis.operatorShapes);
  sortCalls(analysis.calls);
  sortCollectives(analysis.communication.collectives);
}

prof::Status accountDevices(Analysis& analysis, const Topology& topology, StepWork& stepWork, WorkProgress& progress) {
  Collector collector(analysis);
  Projection projection;
  const EventCosts eventCost = eventCosts(*analysis.store);
  std::size_t chunks = 0;
  std::vector<DeviceBooks> books;
  for (DeviceAccount& device : analysis.devices) books.emplace_back(device, topology);
  const auto status = forEachChunk(
      *analysis.store, coverOf(analysis), [&](const Timeline& timeline, TimeWindow window) -> prof::Status {
        const auto costs = RecordedCosts::load(*analysis.store, eventCost, timeline, window, analysis.scope.taken);
        if (!costs) return costs.error();
        const LedgerAccountant accountant(timeline);
        for (DeviceBooks& book : books) {
          if (!progress.at(0)) return cancelled();
          book.add(accountant, window, *costs, collector);
        }
        if (!progress.at(0)) return cancelled();
        const TimeWindow tables{std::max(window.startNs, analysis.window.startNs),
                                std::min(window.endNs, analysis.window.endNs)};
        ++chunks;
        const Selection& only = analysis.scope.only;
        if (only.everything) {
          mergeTables(analysis, timeline, window, tables, *costs, stepWork, projection, progress);
        } else {
          mergeTables(analysis, only.of(timeline), window, tables, *costs, stepWork, projection, progress);
        }
        return {};
      });
  collector.finish();
  analysis.launches.stepLaunches = stepWork.launches;
  analysis.projectedRanges = projection.take();
  if (chunks > 1) sortMerged(analysis);
  return status;
}

/// What is told last counts: a program's first loader may be a validation's, and a mode may be switched later.
void setKnob(Analysis& analysis, std::string_view name, std::string_view value) {
  const auto known = std::ranges::find(analysis.knobs, name, &std::pair<std::string, std::string>::first);
  if (known == analysis.knobs.end()) {
    analysis.knobs.emplace_back(name, value);
  } else if (!value.empty()) {
    known->second = value;
  }
}

void readEnvironment(Analysis& analysis) {
  const Store& store = *analysis.store;
  for (std::uint64_t i = 0; i < store.rows<prof::Environment>(); ++i) {
    const auto row = store.row<prof::Environment>(i);
    const std::string_view key = store.text(row.key);
    const std::string_view value = store.text(row.value);
    if (key.starts_with("knob.")) setKnob(analysis, key.substr(5), value);
    if (key == "host.cores" || key == "cpu.count")
      std::from_chars(value.data(), value.data() + value.size(), analysis.hostCores);
  }
  for (std::uint64_t i = 0; i < store.rows<prof::Drop>(); ++i) {
    prof::addTo(analysis.droppedEvents, store.row<prof::Drop>(i).count);
  }
}

prof::ProcessId processOfRank(const Store& store, std::int32_t rank) {
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto process = store.row<prof::Process>(i);
    if (process.rank == rank) return process.id;
  }
  return {};
}

/// What recording cost a rank is on its devices' books. A rank waits for another, so for what recording cost that one.
void bandRanks(Analysis& analysis) {
  std::unordered_map<std::int32_t, Ledger> costs;
  for (const DeviceAccount& device : analysis.devices) costs[device.rank] += device.bands;
  for (RankRow& row : analysis.ranks.rows) {
    std::int64_t others = 0;
    for (const auto& [rank, cost] : costs) {
      if (rank != row.rank) others = std::max(others, cost.totalNs());
    }
    const Ledger& own = costs[row.rank];
    row.waitRecordingNs = std::min(row.waitNs, others);
    row.transferRecordingNs = std::min(row.transferNs, own[Cause::ExposedCommunication]);
    row.heldUpRecordingNs = std::min(row.heldUpNs, own.totalNs());
    row.computeRecordingNs = std::min(row.computeNs, own[Cause::Compute]);
  }
}

/// Memory rows of the host are the processes'; those of a device are its own, and of a CPU device its owner's.
Selection selectionOf(const Analysis& analysis, const Topology& topology) {
  Selection only;
  only.everything = analysis.options.device.empty() && !analysis.options.rank;
  only.processOfThread = topology.processOfThread;
  for (const DeviceAccount& device : analysis.devices) {
    only.devices.insert(device.id);
    for (const QueueAccount& queue : device.queues) {
      only.queues.insert(queue.id);
      const auto owner = topology.processOfQueue.find(queue.id);
      if (owner != topology.processOfQueue.end() && owner->second) only.processes.insert(owner->second);
    }
  }
  const Store& store = *analysis.store;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>() && analysis.options.device.empty(); ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.process && only.processes.contains(device.process)) only.devices.insert(device.id);
  }
  return only;
}

Selection onlyMemoryOf(prof::DeviceId device) {
  Selection one;
  one.everything = false;
  one.devices.insert(device);
  return one;
}

prof::Status fillMemory(Analysis& analysis) {
  const Store& store = *analysis.store;
  const Selection& only = analysis.scope.only;
  auto memory = memoryStats(store, analysis.window, analysis.steps, only);
  if (!memory) return memory.error();
  analysis.memory = std::move(*memory);
  auto devices = deviceMemory(store, analysis.window);
  if (!devices) return devices.error();
  std::erase_if(*devices, [&](const DeviceMemory& memory) { return !only.holds(memory.device); });
  analysis.memoryByDevice = std::move(*devices);
  for (const DeviceMemory& device : analysis.memoryByDevice) {
    if (analysis.memoryByDevice.size() == 1) break;
    auto stats = memoryStats(store, analysis.window, analysis.steps, onlyMemoryOf(device.device));
    if (!stats) return stats.error();
    analysis.memoryStatsByDevice.push_back(std::move(*stats));
  }
  return {};
}

/// Of each device's own peak.
prof::Status findPeakEdits(Analysis& analysis) {
  const auto find = [&](const MemoryStats& memory, prof::DeviceId device, const Selection& only) -> prof::Status {
    auto edits = peakEdits(memory, analysis.steps, analysis.operators);
    for (PeakEdit& edit : edits) edit.device = device;
    const auto status = foreseePeaks(*analysis.store, analysis.window, analysis.steps, edits, only);
    analysis.peakEdits.insert(analysis.peakEdits.end(), edits.begin(), edits.end());
    return status;
  };
  if (analysis.memoryStatsByDevice.empty()) return find(analysis.memory, {}, analysis.scope.only);
  for (std::size_t i = 0; i < analysis.memoryStatsByDevice.size(); ++i) {
    const prof::DeviceId device = analysis.memoryByDevice[i].device;
    if (auto status = find(analysis.memoryStatsByDevice[i], device, onlyMemoryOf(device)); !status) return status;
  }
  return {};
}

/// From the first steady step to the end of the last; all of the run where there are none. What a thread waits for
/// while it imports and sets up says nothing of a step.
TimeWindow steadyStretch(const Analysis& analysis) {
  const std::vector<Step> steady = analysis.steps.steadyWithin(analysis.window);
  return steady.empty() ? analysis.window : TimeWindow{steady.front().startNs, steady.back().endNs};
}

/// From the first work of any device or step to the last; all of the run where there are none. While a program imports
/// and sets up no step becomes longer.
TimeWindow workStretch(const Analysis& analysis) {
  std::vector<TimeWindow> work;
  for (const DeviceAccount& device : analysis.devices) work.push_back(device.window);
  for (const Step& step : analysis.steps.all) {
    if (step.within(analysis.window)) work.push_back({step.startNs, step.endNs});
  }
  if (work.empty()) return analysis.window;
  TimeWindow hull = work.front();
  for (const TimeWindow& one : work) {
    hull.startNs = std::min(hull.startNs, one.startNs);
    hull.endNs = std::max(hull.endNs, one.endNs);
  }
  return hull;
}

prof::Status fillTables(Analysis& analysis, const StepWork& stepWork, WorkProgress& progress) {
  const Store& store = *analysis.store;
  const TableScope& scope = analysis.scope;
  const TimeWindow window = analysis.window;
  const auto take = [](auto& into, auto result) -> prof::Status {
    if (!result) return result.error();
    into = std::move(*result);
    return {};
  };
  const std::function<prof::Status()> tables[] = {
      [&] { return take(analysis.kernels, kernelTable(store, window, scope, stepWork)); },
      [&] { return take(analysis.loader, loaderStats(store, window, scope)); },
      [&] { return take(analysis.copies, copyStats(store, window, scope, stepWork)); },
      [&] { return take(analysis.operatorPatterns, operatorPatterns(store, window, scope)); },
      [&] { return fillMemory(analysis); },
      [&] {
        return take(analysis.contention,
                    coreContention(store, steadyStretch(analysis), scope.only, analysis.hostCores));
      },
      [&] { return take(analysis.ranks, rankStats(store, window, analysis.devices, scope.steps)); },
      [&] {
        return take(analysis.overhead,
                    selfOverheadOf(store, window, analysis.stepCount(), scope, workStretch(analysis)));
      },
      [&] {
        return take(analysis.efficiency, efficiencyStats(store, window, analysis.devices, analysis.operatorShapes,
                                                         analysis.kernels, scope.only));
      }};
  for (std::size_t n = 0; n < std::size(tables); ++n) {
    const double share = static_cast<double>(n + 1) / static_cast<double>(std::size(tables));
    if (!progress.next(kBooksUntil + (kTablesUntil - kBooksUntil) * share)) return cancelled();
    if (auto status = tables[n](); !status) return status;
  }
  bandRanks(analysis);
  if (auto status = findPeakEdits(analysis); !status) return status;
  const Ledger step = analysis.meanStepLedger();
  const Analysis::BetweenSteps between = analysis.betweenSteps();
  analysis.loaderVerdict = loaderVerdict(analysis.loader, analysis.meanStepNs() + between.ns,
                                         step[Cause::LoaderWait] + between.loaderWaitNs, step[Cause::ExposedCopy]);
  if (!analysis.devices.empty()) analysis.bottleneck = bottleneckOf(step, between.loaderWaitNs);
  return {};
}

/// The mean of those steps for one device; without any, all of the run.
Ledger meanOf(const Analysis& analysis, const std::vector<Ledger>& steps, const Ledger& run) {
  const std::vector<bool> counted = stepsOfMean(analysis);
  Ledger mean;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    if (counted[i]) mean += steps[i];
  }
  const std::int64_t count = std::count(counted.begin(), counted.end(), true);
  if (count == 0) mean = run;
  const std::int64_t parts = partsOfMean(analysis, count);
  for (std::int64_t& ns : mean.ns) ns /= parts;
  return mean;
}

constexpr std::size_t kDamageNamed = 3;

/// What to do about a trace of which too little is readable.
std::string remedyOf(const Store& trace) {
  const std::string path = trace.path().string();
  const auto kind = sniff(trace.path());
  if (!kind || *kind != SourceKind::Lcn) return "write it again, or record with `lacuna run -- PROGRAM`";
  std::error_code none;
  if (std::filesystem::exists(path + ".recording", none))
    return fmt::format("`lacuna recover {}.recording` makes the trace of what the recording left", path);
  return fmt::format(
      "`lacuna recover {}` makes a whole file of what is readable; for more, record again with `lacuna run -- PROGRAM`",
      path);
}

std::string nothingToReport(const Store& trace) {
  constexpr std::string_view kNeeded = "ranges, calls, device work or allocations, so there is nothing to report";
  const std::vector<std::string> damage = trace.warnings();
  if (damage.empty()) return fmt::format("the trace holds no {}; record with `lacuna run -- PROGRAM`", kNeeded);
  std::string out = fmt::format("what is readable of the trace holds no {}", kNeeded);
  for (std::size_t i = 0; i < std::min(damage.size(), kDamageNamed); ++i) out += "; " + oneLine(damage[i]);
  if (damage.size() > kDamageNamed) out += fmt::format("; and {} more", damage.size() - kDamageNamed);
  return out + "; " + remedyOf(trace);
}

}  // namespace

prof::Status account(Analysis& analysis, WorkProgress& progress) {
  const AnalysisOptions& options = analysis.options;
  const Store& trace = *analysis.store;
  if (timelineRows(trace) == 0 && trace.rows<prof::Allocation>() == 0) {
    return prof::Error{fmt::format("{}: {}", trace.path().string(), nothingToReport(trace))};
  }
  if (!progress.next(kStepsUntil)) return cancelled();
  auto steps = findSteps(trace, options.rank ? processOfRank(trace, *options.rank) : prof::ProcessId());
  if (!steps) return steps.error();
  analysis.steps = std::move(*steps);
  auto window = chooseWindow(analysis);
  if (!window) return window.error();
  if (!progress.next(kDevicesUntil)) return cancelled();
  auto devices = listDevices(trace, *window, options);
  if (!devices) return devices.error();
  analysis.devices = std::move(*devices);
  const TimeWindow span = trace.span();
  analysis.window = {std::max(window->startNs, span.startNs), std::min(window->endNs, span.endNs)};
  readEnvironment(analysis);
  const Topology topology = loadTopology(trace);
  const Selection only = selectionOf(analysis, topology);
  auto taken = takenCores(trace, only);
  if (!taken) return taken.error();
  analysis.scope = {only, StepSpans(analysis.steps, analysis.window), std::move(*taken)};
  if (auto status = findWithoutDevices(analysis); !status) return status.error();
  StepWork stepWork;
  if (!progress.next(kBooksUntil)) return cancelled();
  if (auto status = accountDevices(analysis, topology, stepWork, progress); !status) return status.error();
  if (auto status = findHostBeforeSteps(analysis); !status) return status.error();
  if (auto status = fillTables(analysis, stepWork, progress); !status) return status.error();
  return {};
}

std::int64_t Analysis::stepCount() const {
  std::int64_t count = 0;
  for (const Step& step : steps.all) count += step.within(window) ? 1 : 0;
  return std::max<std::int64_t>(1, count);
}

std::int64_t Analysis::processCount() const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(scope.only.processes.size()));
}

std::int64_t Analysis::stepNs() const {
  if (const std::int64_t median = steps.medianNs(); median > 0) return median;
  return window.endNs - window.startNs;
}

Ledger Analysis::meanStepLedger() const {
  return meanOf(*this, stepLedgers, ledger);
}

Ledger Analysis::meanStepBands() const {
  return meanOf(*this, bands.steps, bands.run);
}

std::int64_t Analysis::stepBandNs(std::size_t step) const {
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(1, devices.size()));
  return step < bands.steps.size() ? bands.steps[step].totalNs() / parts : 0;
}

std::int64_t Analysis::meanStepNs() const {
  const std::int64_t ns = meanStepLedger().totalNs();
  return ns > 0 ? ns : stepNs();
}

Analysis::BetweenSteps Analysis::betweenSteps() const {
  std::vector<std::int64_t> gaps, waits;
  for (std::size_t i = 1; i < std::min(steps.all.size(), loaderWaitsBefore.size()); ++i) {
    const Step& before = steps.all[i - 1];
    if (before.warmUp || !before.within(window) || !steps.all[i].within(window)) continue;
    gaps.push_back(std::max<TimeNs>(0, steps.all[i].startNs - before.endNs));
    waits.push_back(loaderWaitsBefore[i]);
  }
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(1, devices.size()));
  return {medianOf(std::move(gaps)), medianOf(std::move(waits)) / parts};
}

}  // namespace lacuna::analyzer
