// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/gradient_use.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyses/parts.h"
#include "analyses/work/launched_within.h"
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

/// Ranges come by start, those that enclose others first.
class Graph {
 public:
  Graph(const Store& store, const Topology& topology) : store_(store), topology_(topology) {}

  void add(ThreadId thread, std::uint64_t sequence, TimeNs startNs, TimeNs endNs, StringId name) {
    // An operator without a number of its own, as of a recurrent network, has none that others
    // share.
    if (sequence == 0) return;
    TimeNs& busyUntil = busyUntil_[thread];
    const bool isOutermost = startNs >= busyUntil;
    busyUntil = std::max(busyUntil, endNs);
    const auto owner = topology_.processOfThread.find(thread);
    const ProcessId process =
        owner == topology_.processOfThread.end() ? ProcessId() : owner->second;
    const bool isForward = isOutermost && !isBackward(name);
    const auto [found, isNew] = operators_[process].try_emplace(
        sequence, Forward{startNs, endNs, name, thread, false, isForward});
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
        if (op.endNs - op.startNs > out.longest.endNs - out.longest.startNs)
          out.longest = {op.startNs, op.endNs};
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

  [[nodiscard]] ThreadStretches unused() const {
    ThreadStretches out;
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

prof::Result<GradientUse> gradientUse(const Store& store, prof::TimeWindow window,
                                      const Selection& only) {
  const Topology topology = loadTopology(store);
  Graph graph(store, topology);
  NameClasses classes(store);
  // The execution of an operator has a number of its own, which is none in the graph.
  const StringId execution = store.find("execution");
  const auto status =
      store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain, &Range::category,
                 &Range::name, &Range::queue, &Range::payload, &Range::payloadType>(
          window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
                      auto name, auto queue, auto payload, auto type) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (queue[i] || start[i] < window.startNs || start[i] >= window.endNs ||
                  !only.holds(thread[i]))
                continue;
              if (execution && category[i] == execution) continue;
              if (classes.ofRange(domain[i], category[i], name[i]) != Activity::Operator) continue;
              graph.add(thread[i], type[i] == prof::PayloadType::U64 ? payload[i] : 0, start[i],
                        start[i] + dur[i], name[i]);
            }
          });
  if (!status) return status.error();
  GradientUse use = graph.use();
  if (use.unusedShare() < kFewUnused) return use;
  const auto deviceNs = kernelNsLaunchedIn(store, topology, window, graph.unused());
  if (!deviceNs) return deviceNs.error();
  use.unusedDeviceNs = *deviceNs;
  return use;
}

namespace of_gradient_use {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis,
              analyzer::gradientUse(*analysis.store, analysis.window, analysis.scope.only));
}

}  // namespace
}  // namespace of_gradient_use

constinit const AnalysisPart parts::gradientUse{
    .name = "gradient use",
    .compute = of_gradient_use::compute,
};

}  // namespace lacuna::analyzer
