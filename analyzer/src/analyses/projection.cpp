// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/projection.h"

#include <algorithm>
#include <tuple>

#include "analyses/host_nesting.h"
#include "analyses/launch_index.h"

namespace lacuna::analyzer {
namespace {

bool isNamedByUser(const HostSpan& span) {
  return span.activity == Activity::Annotation;
}

}  // namespace

void Projection::add(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                     const StepSpans& steps, const Store& store) {
  const ByThread ranges = sortedByThread(timeline, isNamedByUser);
  Parents parents;
  for (const auto& [thread, spans] : ranges) parents[thread] = parentsOf(spans);
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    const auto spans = launch == nullptr ? ranges.end() : ranges.find(launch->thread);
    if (spans == ranges.end()) continue;
    const auto& up = parents.at(launch->thread);
    for (std::size_t at = spanAt(spans->second, up, launch->startNs); at != kNoSpan; at = up[at]) {
      const HostSpan& range = *spans->second[at];
      const auto [found, isNew] = open_.try_emplace({range.thread, range.startNs, range.endNs, range.name});
      Instance& instance = found->second;
      if (isNew) {
        instance.hostNs = range.endNs - range.startNs;
        instance.firstNs = instance.untilNs = span.startNs;
        instance.name = steps.foldedName(store.text(range.name));
      }
      // Work comes in the order of its starts, so the union grows at its end.
      instance.busyNs += std::max<std::int64_t>(0, span.endNs - std::max(instance.untilNs, span.startNs));
      instance.untilNs = std::max(instance.untilNs, span.endNs);
      instance.lastNs = std::max(instance.lastNs, span.endNs);
      ++instance.work;
    }
  }
  // What ended before this piece has launched what there is.
  std::erase_if(open_, [&](const auto& entry) {
    const bool isDone = std::get<2>(entry.first) < window.startNs;
    if (isDone) close(entry.second);
    return isDone;
  });
}

void Projection::close(const Instance& instance) {
  ProjectedRange& row = rows_[instance.name];
  const std::int64_t ns = instance.lastNs - instance.firstNs;
  row.minNs = row.count == 0 ? ns : std::min(row.minNs, ns);
  row.maxNs = std::max(row.maxNs, ns);
  ++row.count;
  row.work += instance.work;
  row.hostNs += instance.hostNs;
  row.projectedNs += ns;
  row.busyNs += instance.busyNs;
}

std::vector<ProjectedRange> Projection::take() {
  for (const auto& [key, instance] : open_) close(instance);
  open_.clear();
  std::vector<ProjectedRange> out;
  for (auto& [name, row] : rows_) {
    row.name = name;
    out.push_back(std::move(row));
  }
  rows_.clear();
  std::ranges::sort(out, [](const ProjectedRange& a, const ProjectedRange& b) {
    return std::tie(b.projectedNs, a.name) < std::tie(a.projectedNs, b.name);
  });
  return out;
}

}  // namespace lacuna::analyzer
