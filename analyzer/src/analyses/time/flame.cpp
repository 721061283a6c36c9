// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/bounds.h"
#include "links/recording_spans.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

class FlameBuilder {
 public:
  FlameBuilder(const Store& store, prof::TimeWindow window) : store_(store), window_(window) {
    graph_.nodes.emplace_back();
  }

  void add(ThreadId thread, TimeNs start, TimeNs end, StringId category, StringId name) {
    std::vector<Open>& stack = open_[thread];
    while (!stack.empty() && stack.back().endNs <= start) stack.pop_back();
    // A range that outlives its parent is cut, so that the stacks nest.
    if (!stack.empty()) end = std::min(end, stack.back().endNs);
    const std::uint32_t parent = stack.empty() ? threadNode(thread) : stack.back().node;
    const StringId common = merged(category, name);
    const std::uint32_t node = child(parent, common, {});
    stack.push_back({end, node});
    const TimeNs inside =
        std::max<TimeNs>(0, std::min(end, window_.endNs) - std::max(start, window_.startNs));
    FlameNode& at = graph_.nodes[node];
    at.mergesSteps = at.mergesSteps || common != name;
    ++at.count;
    prof::addTo(at.totalNs, inside);
    prof::addTo(at.selfNs, inside);
    if (at.depth > 2) prof::takeFrom(graph_.nodes[parent].selfNs, inside);
  }

  FlameGraph finish() {
    for (const std::uint32_t thread : std::vector<std::uint32_t>(graph_.nodes[0].children)) {
      FlameNode& node = graph_.nodes[thread];
      for (const std::uint32_t c : node.children)
        prof::addTo(node.totalNs, graph_.nodes[c].totalNs);
      prof::addTo(graph_.nodes[0].totalNs, node.totalNs);
    }
    for (FlameNode& node : graph_.nodes) {
      std::sort(node.children.begin(), node.children.end(), [&](std::uint32_t a, std::uint32_t b) {
        return graph_.nodes[a].totalNs != graph_.nodes[b].totalNs
                   ? graph_.nodes[a].totalNs > graph_.nodes[b].totalNs
                   : a < b;
      });
      graph_.deepest = std::max(graph_.deepest, node.depth);
    }
    return std::move(graph_);
  }

 private:
  struct Open {
    TimeNs endNs;
    std::uint32_t node;
  };

  std::uint32_t threadNode(ThreadId thread) {
    const auto [found, isNew] = threads_.try_emplace(thread, 0);
    if (isNew) found->second = child(0, {}, thread);
    return found->second;
  }

  std::uint32_t child(std::uint32_t parent, StringId name, ThreadId thread) {
    const std::uint64_t key = std::uint64_t{parent} << 32 | (thread ? thread.value : name.value);
    const auto [found, isNew] =
        children_.try_emplace(key, static_cast<std::uint32_t>(graph_.nodes.size()));
    if (isNew) {
      FlameNode node;
      node.name = name;
      node.thread = thread;
      node.parent = parent;
      node.depth = graph_.nodes[parent].depth + 1;
      graph_.nodes.push_back(std::move(node));
      graph_.nodes[parent].children.push_back(found->second);
    }
    return found->second;
  }

  /// "step 12" and "step 13" are one thing.
  StringId merged(StringId category, StringId name) {
    const auto [found, isNew] =
        merged_.try_emplace(std::uint64_t{category.value} << 32 | name.value, name);
    if (isNew && isStepMarker(store_.text(category), store_.text(name))) {
      if (!step_) step_ = name;
      found->second = step_;
    }
    return found->second;
  }

  const Store& store_;
  prof::TimeWindow window_;
  FlameGraph graph_;
  std::unordered_map<ThreadId, std::vector<Open>> open_;
  std::unordered_map<ThreadId, std::uint32_t> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::uint64_t, StringId> merged_;
  StringId step_;
};

}  // namespace

prof::Result<FlameGraph> flameGraph(const Store& store, prof::TimeWindow window,
                                    const Progress& progress) {
  using R = prof::Range;
  FlameBuilder builder(store, window);
  const RecordingSpans spans(store);
  const auto rows = static_cast<double>(std::max<std::uint64_t>(1, store.rows<R>()));
  bool cancelled = false;
  const prof::Status status =
      store.scan<&R::startNs, &R::durNs, &R::thread, &R::queue, &R::kind, &R::category, &R::name>(
          window, [&](std::uint64_t first, auto start, auto length, auto thread, auto queue,
                      auto kind, auto category, auto name) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (!thread[i] || queue[i] || kind[i] != prof::RangeKind::PushPop) continue;
              if (spans.has(category[i], name[i])) continue;
              if (start[i] >= window.endNs || start[i] + length[i] < window.startNs) continue;
              builder.add(thread[i], start[i], start[i] + length[i], category[i], name[i]);
            }
            cancelled = progress && !progress(static_cast<double>(first + start.size()) / rows);
            return !cancelled;
          });
  if (!status) return status.error();
  if (cancelled) return prof::Error{"the flame graph was cancelled"};
  return builder.finish();
}

}  // namespace lacuna::analyzer
