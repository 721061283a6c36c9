// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/gradient_use.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyses/parts.h"
#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::ProcessId;
using prof::Range;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

struct Forward {
  TimeNs startNs = 0;
  TimeNs endNs = 0;
  StringId name;
  ThreadId thread;
  bool isUsed = false;
  bool isForward = false;  ///< false: its backward alone was seen
};

/// Operators that no backward came back to, by thread.
class UnusedStretches {
 public:
  void add(ThreadId thread, prof::TimeWindow stretch) { byThread_[thread].push_back(stretch); }
  void finish() {
    for (auto& [thread, stretches] : byThread_) std::ranges::sort(stretches, {}, &prof::TimeWindow::startNs);
  }
  /// Outermost operators of a thread do not overlap.
  [[nodiscard]] bool hold(ThreadId thread, TimeNs at) const {
    const auto found = byThread_.find(thread);
    if (found == byThread_.end()) return false;
    const auto next = std::ranges::upper_bound(found->second, at, {}, &prof::TimeWindow::startNs);
    return next != found->second.begin() && at < std::prev(next)->endNs;
  }

 private:
  std::unordered_map<ThreadId, std::vector<prof::TimeWindow>> byThread_;
};

/// The time of the kernels that were launched within.
prof::Result<std::int64_t> kernelsLaunchedIn(const Store& store, const Topology& topology, prof::TimeWindow window,
                                             const UnusedStretches& stretches) {
  using prof::ApiCall;
  using prof::Kernel;
  std::unordered_map<ProcessId, std::unordered_set<std::uint64_t>> launched;
  const auto take = [&](std::uint64_t, auto start, auto thread, auto correlation) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      if (correlation[i] == 0 || !stretches.hold(thread[i], start[i])) continue;
      const auto owner = topology.processOfThread.find(thread[i]);
      launched[owner == topology.processOfThread.end() ? ProcessId() : owner->second].insert(correlation[i]);
    }
  };
  auto status = store.scan<&Range::startNs, &Range::thread, &Range::correlation>(window, take);
  if (status) status = store.scan<&ApiCall::startNs, &ApiCall::thread, &ApiCall::correlation>(window, take);
  if (!status) return status.error();
  std::int64_t ns = 0;
  status = store.scan<&Kernel::durNs, &Kernel::queue, &Kernel::correlation>(
      window, [&](std::uint64_t, auto dur, auto queue, auto correlation) {
        for (std::size_t i = 0; i < dur.size(); ++i) {
          const auto owner = topology.processOfQueue.find(queue[i]);
          const auto its = launched.find(owner == topology.processOfQueue.end() ? ProcessId() : owner->second);
          if (its != launched.end() && its->second.contains(correlation[i])) prof::addTo(ns, dur[i]);
        }
      });
  if (!status) return status.error();
  return ns;
}

/// Ranges come by start, those that enclose others first.
class Graph {
 public:
  Graph(const Store& store, const Topology& topology) : store_(store), topology_(topology) {}

  void add(ThreadId thread, std::uint64_t sequence, TimeNs startNs, TimeNs endNs, StringId name) {
    // An operator without a number of its own, as of a recurrent network, has none that others share.
    if (sequence == 0) return;
    TimeNs& busyUntil = busyUntil_[thread];
    const bool isOutermost = startNs >= busyUntil;
    busyUntil = std::max(busyUntil, endNs);
    const auto owner = topology_.processOfThread.find(thread);
    const ProcessId process = owner == topology_.processOfThread.end() ? ProcessId() : owner->second;
    const bool isForward = isOutermost && !isBackward(name);
    const auto [found, isNew] =
        operators_[process].try_emplace(sequence, Forward{startNs, endNs, name, thread, false, isForward});
    // Operators inside of it have its number, too.
    if (!isNew && startNs >= found->second.endNs) found->second.isUsed = true;
  }

  [[nodiscard]] GradientUse use() const {
    GradientUse out;
    std::unordered_map<StringId, std::int64_t> byName;
    for (const auto& [process, operators] : operators_) {
      for (const auto& [sequence, op] : operators) {
        if (!op.isForward) continue;
        ++(op.isUsed ? out.used : out.unused);
        if (op.isUsed) continue;
        prof::addTo(out.unusedNs, op.endNs - op.startNs);
        prof::addTo(byName[op.name], op.endNs - op.startNs);
        if (op.endNs - op.startNs > out.longest.endNs - out.longest.startNs) out.longest = {op.startNs, op.endNs};
      }
    }
    for (const auto& [name, ns] : byName) {
      const std::string_view text = store_.text(name);
      if (ns < out.costliestNs || (ns == out.costliestNs && text >= out.costliest)) continue;
      out.costliestNs = ns;
      out.costliest = text;
    }
    return out;
  }

  [[nodiscard]] UnusedStretches unused() const {
    UnusedStretches out;
    for (const auto& [process, operators] : operators_) {
      for (const auto& [sequence, op] : operators) {
        if (op.isForward && !op.isUsed) out.add(op.thread, {op.startNs, op.endNs});
      }
    }
    out.finish();
    return out;
  }

 private:
  bool isBackward(StringId name) {
    const auto [known, isNew] = backward_.try_emplace(name, false);
    if (isNew) known->second = isBackwardKernel(store_.text(name));
    return known->second;
  }

  const Store& store_;
  const Topology& topology_;
  std::unordered_map<ThreadId, TimeNs> busyUntil_;
  std::unordered_map<StringId, bool> backward_;
  std::unordered_map<ProcessId, std::unordered_map<std::uint64_t, Forward>> operators_;
};

}  // namespace

prof::Result<GradientUse> gradientUse(const Store& store, prof::TimeWindow window, const Selection& only) {
  const Topology topology = loadTopology(store);
  Graph graph(store, topology);
  NameClasses classes(store);
  // The execution of an operator has a number of its own, which is none in the graph.
  const StringId execution = store.find("execution");
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain, &Range::category,
                                 &Range::name, &Range::queue, &Range::payload, &Range::payloadType>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category, auto name, auto queue,
                  auto payload, auto type) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (queue[i] || start[i] < window.startNs || start[i] >= window.endNs || !only.holds(thread[i])) continue;
          if (execution && category[i] == execution) continue;
          if (classes.ofRange(domain[i], category[i], name[i]) != Activity::Operator) continue;
          graph.add(thread[i], type[i] == prof::PayloadType::U64 ? payload[i] : 0, start[i], start[i] + dur[i],
                    name[i]);
        }
      });
  if (!status) return status.error();
  GradientUse use = graph.use();
  if (use.unusedShare() < kFewUnused) return use;
  const auto deviceNs = kernelsLaunchedIn(store, topology, window, graph.unused());
  if (!deviceNs) return deviceNs.error();
  use.unusedDeviceNs = *deviceNs;
  return use;
}

namespace of_gradient_use {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis, analyzer::gradientUse(*analysis.store, analysis.window, analysis.scope.only));
}

}  // namespace
}  // namespace of_gradient_use

constinit const AnalysisPart parts::gradientUse{
    .name = "gradient use",
    .compute = of_gradient_use::compute,
};

}  // namespace lacuna::analyzer
