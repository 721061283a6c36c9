// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/phases.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analyses/parts.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

std::int64_t lengthOf(TimeWindow window) {
  return window.endNs - window.startNs;
}

/// Sums what has the same name and place.
class Uses {
 public:
  void add(PhasePlace place, std::string_view name, TimeWindow window, std::int64_t ns) {
    PhaseUse& use = byName_[{place, std::string(name)}];
    use.name = name;
    use.place = place;
    ++use.count;
    prof::addTo(use.totalNs, ns);
    if (lengthOf(window) > lengthOf(use.longest)) use.longest = window;
  }
  [[nodiscard]] std::vector<PhaseUse> sorted() const {
    std::vector<PhaseUse> out;
    for (const auto& [key, use] : byName_) out.push_back(use);
    std::ranges::stable_sort(out, [](const PhaseUse& a, const PhaseUse& b) {
      return std::tuple(a.place, b.totalNs) < std::tuple(b.place, a.totalNs);
    });
    return out;
  }

 private:
  std::map<std::pair<PhasePlace, std::string>, PhaseUse> byName_;
};

/// One pause between two steps. Time in phases is theirs. The rest, such as metrics, belongs to the
/// longest phase, as long as it is the smaller part. A pause of other work does not get the name of
/// a short phase in it.
class Pause {
 public:
  Pause(const Store& store, TimeWindow window) : store_(store), window_(window) {}

  void add(const PhaseSpan& phase) {
    const TimeNs startNs = std::max(phase.startNs, window_.startNs),
                 endNs = std::min(phase.endNs, window_.endNs);
    if (startNs >= endNs) return;
    prof::addTo(named_[store_.text(phase.name)], endNs - startNs);
  }

  void addTo(Uses& uses) const {
    std::int64_t restNs = lengthOf(window_), namedNs = 0;
    for (const auto& [name, ns] : named_) prof::addTo(namedNs, ns);
    restNs -= namedNs;
    const auto longest =
        std::ranges::max_element(named_, {}, [](const auto& entry) { return entry.second; });
    const bool isServed = longest != named_.end() && restNs <= lengthOf(window_) / 2;
    for (const auto& [name, ns] : named_)
      uses.add(PhasePlace::BetweenSteps, name, window_,
               isServed && name == longest->first ? ns + restNs : ns);
    if (!isServed && restNs > 0) uses.add(PhasePlace::BetweenSteps, {}, window_, restNs);
  }

 private:
  const Store& store_;
  TimeWindow window_;
  std::map<std::string_view, std::int64_t> named_;
};

void addPauses(const Store& store, std::span<const Step> steps, std::span<const PhaseSpan> phases,
               Uses& uses) {
  auto phase = phases.begin();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].startNs <= steps[i - 1].endNs) continue;
    Pause pause(store, {steps[i - 1].endNs, steps[i].startNs});
    while (phase != phases.end() && phase->endNs <= steps[i - 1].endNs) ++phase;
    for (; phase != phases.end() && phase->startNs < steps[i].startNs; ++phase) pause.add(*phase);
    pause.addTo(uses);
  }
}

void addInSteps(const Store& store, std::span<const Step> steps, std::span<const PhaseSpan> phases,
                Uses& uses) {
  for (const PhaseSpan& phase : phases) {
    const Step* step = stepAt(steps, phase.startNs);
    // One that reaches into the pause after the step is that pause's.
    if (step == nullptr || phase.endNs > step->endNs) continue;
    uses.add(PhasePlace::InSteps, store.text(phase.name), {phase.startNs, phase.endNs},
             phase.endNs - phase.startNs);
  }
}

}  // namespace

std::string_view phasePlaceName(PhasePlace place) {
  switch (place) {
    case PhasePlace::BeforeSteps:
      return "before the steps";
    case PhasePlace::InSteps:
      return "in steps";
    case PhasePlace::BetweenSteps:
      return "between steps";
    case PhasePlace::BehindSteps:
      return "behind the steps";
  }
  return "";
}

std::int64_t RunPhases::totalNs(std::string_view name, PhasePlace place) const {
  std::int64_t ns = 0;
  for (const PhaseUse& use : uses) {
    if (use.place == place && use.name == name) prof::addTo(ns, use.totalNs);
  }
  return ns;
}

namespace of_phases {
namespace {

prof::Status compute(Analysis& analysis) {
  // Plain steps record these phases, too.
  const std::vector<Step> steady = analysis.steps.afterWarmUpWithin(analysis.window);
  if (steady.empty()) return {};
  const Store& store = *analysis.store;
  RunPhases& run = analysis.of<RunPhases>();
  run.steps = steady.size();
  run.trainingNs = steady.back().endNs - steady.front().startNs;
  Uses uses;
  // A choice of steps has no set-up.
  if (!analysis.options.steps) {
    const TimeWindow before{analysis.window.startNs, analysis.steps.all.front().startNs};
    const TimeWindow behind{analysis.steps.all.back().endNs, analysis.window.endNs};
    if (lengthOf(before) > 0) uses.add(PhasePlace::BeforeSteps, "set-up", before, lengthOf(before));
    if (lengthOf(behind) > 0) uses.add(PhasePlace::BehindSteps, "end", behind, lengthOf(behind));
  }
  addInSteps(store, steady, analysis.steps.phases, uses);
  addPauses(store, steady, analysis.steps.phases, uses);
  run.uses = uses.sorted();
  return {};
}

}  // namespace
}  // namespace of_phases

constinit const AnalysisPart parts::phases{
    .name = "phases",
    .compute = of_phases::compute,
};

}  // namespace lacuna::analyzer
