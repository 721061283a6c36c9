// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/projection.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyses/parts.h"
#include "analyses/work/host_nesting.h"
#include "analyses/work/launch_index.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

bool isNamedByUser(const HostSpan& span) {
  return span.activity == Activity::Annotation;
}

}  // namespace

void Projection::extend(Instance& instance, const DeviceSpan& span) {
  if (instance.work == 0) instance.firstNs = instance.untilNs = span.startNs;
  // The union grows at its end.
  prof::addTo(instance.busyNs,
              std::max<std::int64_t>(0, span.endNs - std::max(instance.untilNs, span.startNs)));
  instance.untilNs = std::max(instance.untilNs, span.endNs);
  ++instance.work;
}

void Projection::join(Instance& into, const Instance& more) {
  if (into.work == 0) {
    into = more;
    return;
  }
  // Time that the pieces share counts once.
  prof::addTo(into.busyNs,
              more.busyNs - std::clamp<std::int64_t>(into.untilNs - more.firstNs, 0, more.busyNs));
  into.untilNs = std::max(into.untilNs, more.untilNs);
  into.work += more.work;
}

void Projection::add(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                     const StepSpans& steps, const Store& store) {
  const ByThread ranges = sortedByThread(timeline, isNamedByUser);
  Parents parents;
  std::unordered_map<prof::ThreadId, std::vector<Instance>> instances;
  for (const auto& [thread, spans] : ranges) {
    parents[thread] = parentsOf(spans);
    instances[thread].resize(spans.size());
  }
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    if (launch == nullptr) continue;
    addMade(ranges, parents, span, *launch, steps, store);
    const auto spans = ranges.find(launch->thread);
    if (spans == ranges.end()) continue;
    const auto& up = parents.at(launch->thread);
    auto& found = instances.at(launch->thread);
    for (std::size_t at = spanAt(spans->second, up, launch->startNs); at != kNoSpan; at = up[at])
      extend(found[at], span);
  }
  for (const auto& [thread, spans] : ranges) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Instance& found = instances.at(thread)[i];
      if (found.work == 0) continue;
      const HostSpan& range = *spans[i];
      join(open_[{thread, range.startNs, range.endNs, range.name}], found);
      if (const auto [name, isNew] = names_.try_emplace(range.name); isNew)
        name->second = steps.foldedName(store.text(range.name));
    }
  }
  // Ranges that ended before this piece have launched all their work.
  std::erase_if(open_, [&](const auto& entry) {
    const bool isDone = std::get<2>(entry.first) < window.startNs;
    if (isDone) close(entry.first, entry.second);
    return isDone;
  });
}

/// The ranges in which a graph's node was made are its work's in each replay, too, without any time
/// of the host. Those around the replay itself have it already.
void Projection::addMade(const ByThread& ranges, const Parents& parents, const DeviceSpan& work,
                         const HostSpan& launch, const StepSpans& steps, const Store& store) {
  const auto spans = work.madeBy ? ranges.find(work.madeBy) : ranges.end();
  if (spans == ranges.end()) return;
  const auto& up = parents.at(work.madeBy);
  for (std::size_t at = spanAt(spans->second, up, work.madeNs); at != kNoSpan; at = up[at]) {
    const HostSpan& range = *spans->second[at];
    if (range.startNs <= launch.startNs && launch.startNs < range.endNs &&
        range.thread == launch.thread)
      continue;
    extend(open_[{work.madeBy, launch.startNs, launch.startNs, range.name}], work);
    if (const auto [name, isNew] = names_.try_emplace(range.name); isNew)
      name->second = steps.foldedName(store.text(range.name));
  }
}

void Projection::close(const Key& key, const Instance& instance) {
  const auto& [thread, startNs, endNs, name] = key;
  ProjectedRange& row = rows_[names_.at(name)];
  const std::int64_t ns = instance.untilNs - instance.firstNs;
  row.minNs = row.count == 0 ? ns : std::min(row.minNs, ns);
  row.maxNs = std::max(row.maxNs, ns);
  ++row.count;
  row.work += instance.work;
  prof::addTo(row.hostNs, endNs - startNs);
  prof::addTo(row.projectedNs, ns);
  prof::addTo(row.busyNs, instance.busyNs);
}

ProjectedRanges Projection::take() {
  for (const auto& [key, instance] : open_) close(key, instance);
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

namespace of_projection {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  analysis.of<Projection>().add(chunk.timeline, chunk.index, chunk.window, analysis.scope.steps,
                                *analysis.store);
}

void finish(Analysis& analysis) {
  analysis.of<ProjectedRanges>() = std::exchange(analysis.of<Projection>(), {}).take();
}

}  // namespace
}  // namespace of_projection

constinit const AnalysisPart parts::projection{
    .name = "projection",
    .add = of_projection::add,
    .finish = of_projection::finish,
};

}  // namespace lacuna::analyzer
