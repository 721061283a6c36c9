// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/side_work.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyses/parts.h"
#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

/// The part that a range plays in the training of its thread.
enum class Part : std::uint8_t {
  Other,
  Operator,
  Inputs,  ///< an iteration, or an evaluation, begins: a batch or a forward
  Backward,
  Optimizer,
  Apart  ///< neither training nor work beside it: gradients set to zero, a checkpoint, a garbage
         ///< collection
};

struct SideOperator {
  TimeWindow time;
  StringId name;
};

/// One thread. Ranges come by start, those that enclose others first.
class SideOfThread {
 public:
  SideOfThread(ThreadId thread, const StepSpans& steps, SideWork& out)
      : thread_(thread), steps_(steps), out_(out) {}

  void add(Part part, TimeWindow time, StringId name) {
    if (part == Part::Operator) return addOperator(time, name);
    // One that lies in another is a part of it.
    if (time.startNs >= coveredUntil_) addPhase(part, time);
    coveredUntil_ = std::max(coveredUntil_, time.endNs);
  }
  /// Behind the last optimizer's step of a recording comes no other phase.
  void finish() {
    if (after_ != Part::Optimizer) return;
    endStretch(INT64_MAX);
    keep();
  }
  [[nodiscard]] const std::unordered_map<StringId, std::int64_t>& byName() const { return byName_; }

 private:
  void addOperator(TimeWindow time, StringId name) {
    if (time.startNs < coveredUntil_) return;
    coveredUntil_ = time.endNs;
    if (after_ != Part::Other && steps_.hold(time.startNs)) operators_.push_back({time, name});
  }
  void addPhase(Part part, TimeWindow time) {
    endStretch(time.startNs);
    startNs_ = time.endNs;
    if (part == Part::Apart) return;
    if (part == Part::Inputs && after_ != Part::Other) keep();
    operators_.clear();
    stretches_.clear();
    after_ = part == Part::Inputs ? Part::Other : part;
  }
  void endStretch(TimeNs endNs) {
    if (after_ != Part::Other && steps_.hold(startNs_)) stretches_.push_back({startNs_, endNs});
  }
  void keep() {
    for (const TimeWindow& stretch : stretches_) out_.stretches.add(thread_, stretch);
    for (const auto& [time, name] : operators_) {
      const std::int64_t ns = time.endNs - time.startNs;
      ++out_.operators;
      prof::addTo(out_.operatorsNs, ns);
      prof::addTo(byName_[name], ns);
      if (ns > out_.longest.endNs - out_.longest.startNs) out_.longest = time;
    }
  }

  ThreadId thread_;
  const StepSpans& steps_;
  SideWork& out_;
  TimeNs coveredUntil_ = INT64_MIN;  ///< by a phase or an operator
  Part after_ = Part::Other;  ///< Backward or Optimizer: the phase of the training that ended last
  TimeNs startNs_ = 0;        ///< of the stretch that goes on since
  std::vector<TimeWindow>
      stretches_;  ///< since that phase: side work, unless the training goes on with the optimizer
  std::vector<SideOperator> operators_;  ///< in them
  std::unordered_map<StringId, std::int64_t> byName_;
};

/// The parts of ranges, each name judged once.
class Parts {
 public:
  explicit Parts(const Store& store)
      : store_(store),
        classes_(store),
        phase_(store.find("phase")),
        execution_(store.find("execution")) {}

  Part of(StringId domain, StringId category, StringId name) {
    // The execution of an operator lies in the operator.
    if (execution_ && category == execution_) return Part::Other;
    if (phase_ && category == phase_) return ofPhase(name);
    const Activity activity = classes_.ofRange(domain, category, name);
    if (activity == Activity::Operator) return Part::Operator;
    return activity == Activity::Annotation && clears(name) ? Part::Apart : Part::Other;
  }

 private:
  Part ofPhase(StringId name) {
    const auto [part, isNew] = phases_.try_emplace(name, Part::Apart);
    if (!isNew) return part->second;
    const std::string_view text = store_.text(name);
    if (text == kLoadPhase || text == "forward" || text == kEvaluation) part->second = Part::Inputs;
    if (text == "backward") part->second = Part::Backward;
    if (text.starts_with("optimizer")) part->second = Part::Optimizer;
    return part->second;
  }
  bool clears(StringId name) {
    const auto [known, isNew] = clears_.try_emplace(name, false);
    if (isNew) known->second = clearsGradients(store_.text(name));
    return known->second;
  }

  const Store& store_;
  NameClasses classes_;
  StringId phase_, execution_;
  std::unordered_map<StringId, Part> phases_;
  std::unordered_map<StringId, bool> clears_;
};

std::string costliestOf(const Store& store,
                        const std::unordered_map<ThreadId, SideOfThread>& threads) {
  std::unordered_map<StringId, std::int64_t> sums;
  for (const auto& [thread, its] : threads) {
    for (const auto& [name, ns] : its.byName()) prof::addTo(sums[name], ns);
  }
  std::pair<std::int64_t, std::string_view> most{0, {}};
  for (const auto& [name, ns] : sums) most = std::max(most, {ns, store.text(name)});
  return std::string(most.second);
}

}  // namespace

prof::Result<SideWork> sideWork(const Store& store, TimeWindow window, const TableScope& scope) {
  SideWork out;
  Parts parts(store);
  std::unordered_map<ThreadId, SideOfThread> threads;
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain,
                                 &Range::category, &Range::name, &Range::queue>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
                  auto name, auto queue) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (queue[i] || start[i] < window.startNs || start[i] >= window.endNs ||
              !scope.only.holds(thread[i]))
            continue;
          const Part part = parts.of(domain[i], category[i], name[i]);
          if (part == Part::Other) continue;
          threads.try_emplace(thread[i], thread[i], scope.steps, out)
              .first->second.add(part, {start[i], start[i] + dur[i]}, name[i]);
        }
      });
  if (!status) return status.error();
  for (auto& [thread, its] : threads) its.finish();
  out.costliest = costliestOf(store, threads);
  out.stretches.finish();
  if (out.operators == 0) return out;
  const auto deviceNs = kernelNsLaunchedIn(store, loadTopology(store), window, out.stretches);
  if (!deviceNs) return deviceNs.error();
  out.deviceNs = *deviceNs;
  return out;
}

namespace of_side_work {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis, analyzer::sideWork(*analysis.store, analysis.window, analysis.scope));
}

}  // namespace
}  // namespace of_side_work

constinit const AnalysisPart parts::sideWork{
    .name = "side work",
    .compute = of_side_work::compute,
};

}  // namespace lacuna::analyzer
