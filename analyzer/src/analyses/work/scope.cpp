// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/scope.h"

#include <algorithm>
#include <iterator>

namespace lacuna::analyzer {

Selection Selection::memoryOf(prof::DeviceId device) {
  Selection one;
  one.everything = false;
  one.devices.insert(device);
  return one;
}

bool Selection::holds(prof::ThreadId thread) const {
  if (everything) return true;
  const auto process = processOfThread.find(thread);
  return process != processOfThread.end() && processes.contains(process->second);
}

Timeline Selection::of(const Timeline& timeline) const {
  Timeline out;
  out.topology = timeline.topology;
  const auto keep = [](const auto& from, auto& to, auto wanted) {
    std::copy_if(from.begin(), from.end(), std::back_inserter(to), wanted);
  };
  keep(timeline.host, out.host,
       [&](const HostSpan& span) { return !span.thread || holds(span.thread); });
  keep(timeline.device, out.device, [&](const DeviceSpan& span) { return holds(span.queue); });
  keep(timeline.waits, out.waits, [&](const QueueWait& wait) { return holds(wait.queue); });
  return out;
}

StepSpans::StepSpans(const Steps& steps, prof::TimeWindow window) {
  for (const Step& step : steps.all) markers_.insert(step.name);
  if (markers_.size() == 1) markers_.clear();
  for (const Step& step : steps.all) {
    if (!step.within(window) || step.isPlain) continue;
    if (!spans_.empty() && step.startNs <= spans_.back().endNs) {
      spans_.back().endNs = std::max(spans_.back().endNs, step.endNs);
    } else {
      spans_.push_back({step.startNs, step.endNs});
    }
  }
}

std::string_view StepSpans::foldedName(std::string_view name) const {
  return markers_.contains(name) ? "step" : name;
}

bool StepSpans::hold(prof::TimeNs at) const {
  return holdAll({at, at});
}

bool StepSpans::holdAll(prof::TimeWindow stretch) const {
  if (spans_.empty()) return true;
  const auto after = std::partition_point(
      spans_.begin(), spans_.end(),
      [&](const prof::TimeWindow& span) { return span.endNs <= stretch.startNs; });
  return after != spans_.end() && after->startNs <= stretch.startNs &&
         stretch.endNs <= after->endNs;
}

}  // namespace lacuna::analyzer
