// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "analyses/disturbance/recording_bands.h"
#include "analyses/parts.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

bool inside(TimeWindow window, TimeNs at) {
  return at >= window.startNs && at < window.endNs;
}

constexpr std::string_view kCostPrefix = "self.cost.";
/// The supervisor measures the first two, the watcher of PyTorch in the program the others.
constexpr std::pair<std::string_view, double EventCosts::*> kCosts[] = {
    {"self.cost.range", &EventCosts::rangeNs},
    {"self.cost.mark", &EventCosts::markNs},
    {"knob.self.cost.operator", &EventCosts::operatorNs},
    {"knob.self.cost.module", &EventCosts::moduleNs},
    {"knob.self.cost.memory", &EventCosts::memoryNs},
};

/// No event takes a millisecond: a trace with a greater cost is damaged.
constexpr double kMostCostNs = 1e6;

/// Whatever the locale, which a program with windows takes from its user; 0 for what is no number
/// of nanoseconds.
double costIn(std::string_view text) {
  double ns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ns);
  const bool isCost =
      error == std::errc() && end == text.data() + text.size() && ns > 0 && ns <= kMostCostNs;
  return isCost ? ns : 0;
}

/// Anything that belongs to no thread is everybody's.
bool holdsThread(const Selection& only, prof::ThreadId thread) {
  return !thread || only.holds(thread);
}

/// Events, by what one of them costs.
struct EventCounts {
  std::uint64_t ranges = 0;
  std::uint64_t watched[kCostKinds] = {};  ///< of those, by who records them
  std::uint64_t marks = 0;
  std::uint64_t allocations = 0;  ///< of those
};

prof::Status countRanges(const Store& store, TimeWindow window, const Selection& only,
                         EventCounts& counts) {
  using prof::Kernel;
  using prof::Range;
  CostKinds kinds(store);
  auto status = store.scan<&Range::startNs, &Range::thread, &Range::category>(
      window, [&](std::uint64_t, auto start, auto thread, auto category) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!thread[i] || !inside(window, start[i]) || !only.holds(thread[i])) continue;
          ++counts.ranges;
          ++counts.watched[static_cast<std::size_t>(kinds.of(category[i]))];
        }
      });
  const auto host = cpuDevices(store);
  if (!status || host.empty()) return status;
  return store.scan<&Kernel::startNs, &Kernel::device>(
      window, [&](std::uint64_t, auto start, auto device) {
        for (std::size_t i = 0; i < start.size(); ++i)
          counts.ranges +=
              host.contains(device[i]) && inside(window, start[i]) && only.holds(device[i]) ? 1 : 0;
      });
}

template <auto Time, auto Thread>
prof::Status countRows(const Store& store, TimeWindow window, const Selection& only,
                       std::uint64_t& count) {
  return store.scan<Time, Thread>(window, [&](std::uint64_t, auto time, auto thread) {
    for (std::size_t i = 0; i < time.size(); ++i)
      count += inside(window, time[i]) && holdsThread(only, thread[i]) ? 1 : 0;
  });
}

prof::Status countSamples(const Store& store, TimeWindow window, const Selection& only,
                          std::uint64_t& count) {
  using prof::CounterSample;
  std::unordered_set<prof::TrackId> others;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    const bool isHeld =
        track.thread ? only.holds(track.thread) : !track.process || only.holds(track.process);
    if (!isHeld) others.insert(track.id);
  }
  return store.scan<&CounterSample::timeNs, &CounterSample::track>(
      window, [&](std::uint64_t, auto time, auto track) {
        for (std::size_t i = 0; i < time.size(); ++i)
          count += inside(window, time[i]) && !others.contains(track[i]) ? 1 : 0;
      });
}

prof::Status addRecorded(const Store& store, TimeWindow window, std::int64_t steps,
                         const Selection& only, SelfOverhead& out) {
  using prof::Overhead;
  std::map<prof::StringId, std::pair<std::uint64_t, std::int64_t>> byName;
  const auto status =
      store.scan<&Overhead::startNs, &Overhead::durNs, &Overhead::thread, &Overhead::name>(
          window, [&](std::uint64_t, auto start, auto dur, auto thread, auto name) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (!inside(window, start[i]) || !holdsThread(only, thread[i])) continue;
              ++byName[name[i]].first;
              prof::addTo(byName[name[i]].second, dur[i]);
            }
          });
  for (const auto& [name, sum] : byName) {
    out.known = true;
    out.parts.push_back({std::string(store.text(name)), sum.first,
                         static_cast<double>(sum.second) / static_cast<double>(sum.first),
                         sum.second / steps});
  }
  return status;
}

/// A counter holds its last value for good, and a trace ends.
void addTaken(const Store& store, TimeWindow work, std::int64_t steps, const ShareCurve& taken,
              SelfOverhead& out) {
  if (taken.empty()) return;
  out.known = true;
  const TimeWindow span = store.span();
  const double ns =
      taken.between(std::max(work.startNs, span.startNs), std::min(work.endNs, span.endNs));
  if (ns > 0)
    out.parts.push_back(
        {std::string(kUseOfCores), 0, 0, std::llround(ns / static_cast<double>(steps))});
}

/// From the first work of any device or step to the last; all of the run where there are none.
/// While a program imports and sets up no step becomes longer.
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

}  // namespace

std::int64_t SelfOverhead::coresNsPerStep() const {
  const auto part =
      std::find_if(parts.begin(), parts.end(), [](const auto& p) { return p.kind == kUseOfCores; });
  return part == parts.end() ? 0 : part->nsPerStep;
}

EventCosts eventCosts(const Store& store) {
  EventCosts costs;
  for (std::uint64_t i = 0; i < store.rows<prof::Environment>(); ++i) {
    const auto row = store.row<prof::Environment>(i);
    const std::string_view key = store.text(row.key);
    if (key.find(kCostPrefix) == std::string_view::npos) continue;
    const double ns = costIn(store.text(row.value));
    // The dearest of several recordings in one trace counts for all: figures are bounds.
    for (const auto& [part, cost] : kCosts) {
      if (key == part) costs.*cost = std::max(costs.*cost, ns);
    }
  }
  return costs;
}

std::unordered_set<prof::DeviceId> cpuDevices(const Store& store) {
  std::unordered_set<prof::DeviceId> devices;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.kind == prof::DeviceKind::Cpu) devices.insert(device.id);
  }
  return devices;
}

CostKind CostKinds::of(prof::StringId category) {
  const auto [entry, isNew] = kinds_.try_emplace(category, CostKind::Other);
  if (isNew) {
    const std::string_view text = store_.text(category);
    constexpr std::string_view kPython[] = {"module", "phase", "step", "loader"};
    if (text == "operator") entry->second = CostKind::Operator;
    if (std::ranges::find(kPython, text) != std::end(kPython)) entry->second = CostKind::Python;
  }
  return entry->second;
}

double CostKinds::costNs(const EventCosts& costs, prof::StringId category) {
  switch (of(category)) {
    case CostKind::Operator:
      return costs.rangeNs + costs.operatorNs;
    case CostKind::Python:
      return costs.rangeNs + costs.moduleNs;
    case CostKind::Other:
      break;
  }
  return costs.rangeNs;
}

std::int64_t RecordedEvents::costNs(const EventCosts& costs) const {
  return std::llround(static_cast<double>(ranges) * costs.rangeNs +
                      static_cast<double>(operators) * (costs.rangeNs + costs.operatorNs) +
                      static_cast<double>(allocations) * costs.allocationNs());
}

prof::Result<SelfOverhead> selfOverhead(const Store& store, TimeWindow window, std::int64_t steps) {
  auto taken = takenCores(store, {});
  if (!taken) return taken.error();
  return selfOverheadOf(store, window, steps, {.only = {}, .steps = {}, .taken = std::move(*taken)},
                        window);
}

prof::Result<SelfOverhead> selfOverheadOf(const Store& store, TimeWindow window, std::int64_t steps,
                                          const TableScope& scope, TimeWindow work) {
  const Selection& only = scope.only;
  steps = std::max<std::int64_t>(1, steps);
  SelfOverhead out;
  const EventCosts costs = eventCosts(store);
  EventCounts counts;
  if (costs.known()) {
    using prof::Allocation;
    using prof::Mark;
    for (const prof::Status& status :
         {countRanges(store, window, only, counts),
          countRows<&Mark::timeNs, &Mark::thread>(store, window, only, counts.marks),
          countRows<&Allocation::timeNs, &Allocation::thread>(store, window, only,
                                                              counts.allocations),
          countSamples(store, window, only, counts.marks)}) {
      if (!status) return status.error();
    }
    counts.marks += counts.allocations;
  }
  const auto watched = [&](CostKind kind) {
    return counts.watched[static_cast<std::size_t>(kind)];
  };
  for (const auto& [kind, each, events] :
       {std::tuple("range", costs.rangeNs, counts.ranges),
        std::tuple("mark", costs.markNs, counts.marks),
        std::tuple("operator", costs.operatorNs, watched(CostKind::Operator)),
        std::tuple("module", costs.moduleNs, watched(CostKind::Python)),
        std::tuple("memory", costs.memoryNs, counts.allocations)}) {
    if (events == 0 || each <= 0) continue;
    out.known = true;
    out.parts.push_back(
        {kind, events, each, std::llround(each * static_cast<double>(events)) / steps});
  }
  if (auto status = addRecorded(store, window, steps, only, out); !status) return status.error();
  addTaken(store, work, steps, scope.taken, out);
  for (const OverheadPart& part : out.parts) prof::addTo(out.nsPerStep, part.nsPerStep);
  std::sort(out.parts.begin(), out.parts.end(), [](const OverheadPart& a, const OverheadPart& b) {
    return a.nsPerStep != b.nsPerStep ? a.nsPerStep > b.nsPerStep : a.kind < b.kind;
  });
  return out;
}

namespace of_overhead {
namespace {

/// Fewer have no median worth comparing.
constexpr std::size_t kFewestCompared = 5;

/// A figure and its standard error.
struct Measured {
  double ns = 0, error = 0;
};

/// The error of a median of values that are spread as their median deviation from it shows.
Measured medianWithError(std::vector<std::int64_t> values) {
  constexpr double kDeviationToError = 1.4826 * 1.2533;
  const auto count = static_cast<double>(values.size());
  const std::int64_t median = medianOf(values);
  for (std::int64_t& value : values) value = std::abs(value - median);
  return {static_cast<double>(median),
          kDeviationToError * static_cast<double>(medianOf(std::move(values))) / std::sqrt(count)};
}

/// The error of a step's bands, as a part of their sum. Measured: the root mean square of eleven
/// drawn PyTorch programs with even steps.
constexpr double kBandsDiffer = 0.5;

/// The mean of both figures, weighted by how sure they are.
double weighted(const Measured& one, const Measured& other) {
  if (one.error == 0) return one.ns;
  if (other.error == 0) return other.ns;
  const double weight = 1 / (one.error * one.error), others = 1 / (other.error * other.error);
  return (weight * one.ns + others * other.ns) / (weight + others);
}

/// Compares the steps in detail with the plain ones. Where either are uneven, the costs of the
/// events count for more.
void addMeasured(const Analysis& analysis, SelfOverhead& overhead) {
  std::vector<std::int64_t> detailed, plain;
  for (const Step& step : analysis.steps.afterWarmUpWithin(analysis.window)) {
    if (!step.isCut) (step.isPlain ? plain : detailed).push_back(step.durNs());
  }
  if (std::min(detailed.size(), plain.size()) < kFewestCompared) return;
  const auto share =
      static_cast<double>(detailed.size()) / static_cast<double>(detailed.size() + plain.size());
  overhead.known = true;
  overhead.plainSteps = plain.size();
  const Measured longer = medianWithError(std::move(detailed)),
                 shorter = medianWithError(std::move(plain));
  const Measured difference{longer.ns - shorter.ns, std::hypot(longer.error, shorter.error)};
  const auto bandsNs = static_cast<double>(analysis.meanStepBands().totalNs());
  const double detailNs =
      bandsNs > 0 ? weighted(difference, {bandsNs, kBandsDiffer * bandsNs}) : difference.ns;
  overhead.detailNsPerStep = std::max<std::int64_t>(0, std::llround(detailNs));
  const std::int64_t measured = std::llround(share * static_cast<double>(overhead.detailNsPerStep));
  overhead.nsPerStep = std::max(overhead.nsPerStep, measured + overhead.coresNsPerStep());
}

prof::Status compute(Analysis& analysis) {
  auto overhead = selfOverheadOf(*analysis.store, analysis.window, analysis.everyStepCount(),
                                 analysis.scope, workStretch(analysis));
  if (overhead) addMeasured(analysis, *overhead);
  return keep(analysis, std::move(overhead));
}

}  // namespace
}  // namespace of_overhead

constinit const AnalysisPart parts::overhead{
    .name = "self overhead",
    .compute = of_overhead::compute,
};

}  // namespace lacuna::analyzer
