// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "analyses/time/chunks.h"
#include "analyses/work/graph_replays.h"
#include "analysis/device_ledgers.h"
#include "analysis/devices.h"
#include "analysis/host_before_steps.h"
#include "analysis/nothing_to_report.h"
#include "analysis/run_parts.h"
#include "analysis/without_devices.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeWindow;

/// Where the parts of an analysis end, of 1: about as long as each took of traces of some millions
/// of events.
constexpr double kStepsUntil = 0.06;
constexpr double kDevicesUntil = 0.1;
constexpr double kLedgersUntil = 0.7;
constexpr double kTablesUntil = 0.92;

prof::Result<TimeWindow> chooseWindow(const Analysis& analysis) {
  if (!analysis.options.steps) return TimeWindow{};
  const auto [first, last] = *analysis.options.steps;
  const auto& steps = analysis.steps.all;
  if (steps.empty()) {
    return prof::Error{
        fmt::format("{}: no steps were found (no step markers, no repetition), so --steps cannot "
                    "select any; mark steps with an NVTX range named \"step\"",
                    analysis.store->path().string())};
  }
  if (first >= last) {
    return prof::Error{
        fmt::format("{}: steps {}:{} are none: {}", analysis.store->path().string(), first, last,
                    first == last ? "the second number is that of the step behind the last"
                                  : "the first is behind the last")};
  }
  if (last > steps.size()) {
    return prof::Error{fmt::format("{}: steps {}:{} are not there; it has steps 0:{}",
                                   analysis.store->path().string(), first, last, steps.size())};
  }
  return TimeWindow{steps[first].startNs, steps[last - 1].endNs};
}

/// The value announced last counts: a program's first loader may be a validation's, and a mode may
/// be switched later.
void setKnob(Analysis& analysis, std::string_view name, std::string_view value) {
  const auto known = std::ranges::find(analysis.of<ProgramFacts>().knobs, name,
                                       &std::pair<std::string, std::string>::first);
  if (known == analysis.of<ProgramFacts>().knobs.end()) {
    analysis.of<ProgramFacts>().knobs.emplace_back(name, value);
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
      std::from_chars(value.data(), value.data() + value.size(),
                      analysis.of<ProgramFacts>().hostCores);
  }
  for (std::uint64_t i = 0; i < store.rows<prof::Drop>(); ++i) {
    prof::addTo(analysis.of<ProgramFacts>().droppedEvents, store.row<prof::Drop>(i).count);
  }
}

prof::ProcessId processOfRank(const Store& store, std::int32_t rank) {
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto process = store.row<prof::Process>(i);
    if (process.rank == rank) return process.id;
  }
  return {};
}

/// Memory rows of the host are the processes'; those of a device are its own, and of a CPU device
/// its owner's.
Selection selectionOf(const Analysis& analysis, const Topology& topology) {
  Selection only;
  only.everything = analysis.options.device.empty() && !analysis.options.rank;
  only.processOfThread = topology.processOfThread;
  for (const DeviceAccount& device : analysis.devices) {
    only.devices.insert(device.id);
    for (const QueueAccount& queue : device.queues) {
      only.queues.insert(queue.id);
      const auto owner = topology.processOfQueue.find(queue.id);
      if (owner != topology.processOfQueue.end() && owner->second)
        only.processes.insert(owner->second);
    }
  }
  const Store& store = *analysis.store;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>() && analysis.options.device.empty();
       ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.process && only.processes.contains(device.process)) only.devices.insert(device.id);
  }
  return only;
}

}  // namespace

prof::Status account(Analysis& analysis, WorkProgress& progress, PartList parts) {
  const AnalysisOptions& options = analysis.options;
  const Store& trace = *analysis.store;
  if (timelineRows(trace) == 0 && trace.rows<prof::Allocation>() == 0) {
    return prof::Error{fmt::format("{}: {}", trace.path().string(), nothingToReport(trace))};
  }
  if (!progress.next(kStepsUntil)) return cancelled();
  auto steps =
      findSteps(trace, options.rank ? processOfRank(trace, *options.rank) : prof::ProcessId());
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
  auto replays = findGraphReplays(trace);
  if (!replays) return replays.error();
  analysis.of<GraphReplays>() = *std::move(replays);
  if (auto status = findWithoutDevices(analysis); !status) return status.error();
  if (!progress.next(kLedgersUntil)) return cancelled();
  if (auto status = accountDevices(analysis, parts, topology, progress); !status)
    return status.error();
  if (auto status = findHostBeforeSteps(analysis); !status) return status.error();
  return computeParts(analysis, parts, progress, kLedgersUntil, kTablesUntil);
}

}  // namespace lacuna::analyzer
