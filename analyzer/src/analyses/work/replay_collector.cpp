// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/replay_collector.h"

#include <algorithm>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

using prof::ProcessId;
using prof::QueueId;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

bool launchesGraph(std::string_view call) {
  return call.find("GraphLaunch") != std::string_view::npos;
}

prof::Status ReplayCollector::run() {
  for (auto read :
       {&ReplayCollector::readCalls, &ReplayCollector::readWork<prof::Kernel>,
        &ReplayCollector::readWork<prof::Memcpy>, &ReplayCollector::readWork<prof::Memset>}) {
    if (auto status = (this->*read)(); !status) return status;
  }
  std::ranges::sort(work, {}, [](const ReplayedWork& piece) {
    return std::tuple(piece.replay, piece.node, piece.startNs, piece.name);
  });
  firstWork_.assign(replays.size() + 1, 0);
  for (const ReplayedWork& piece : work) ++firstWork_[piece.replay + 1];
  for (std::size_t i = 0; i < replays.size(); ++i) firstWork_[i + 1] += firstWork_[i];
  return {};
}

std::span<const ReplayedWork> ReplayCollector::workOf(std::size_t replay) const {
  return std::span(work).subspan(firstWork_[replay], firstWork_[replay + 1] - firstWork_[replay]);
}

std::uint32_t ReplayCollector::sameGraph(std::uint32_t replay) {
  while (parent_[replay] != replay) {
    parent_[replay] = parent_[parent_[replay]];
    replay = parent_[replay];
  }
  return replay;
}

bool ReplayCollector::isLaunch(StringId name) {
  const auto [known, isNew] = isLaunch_.try_emplace(name, false);
  if (isNew) known->second = launchesGraph(store_.text(name));
  return known->second;
}

std::uint32_t ReplayCollector::addReplay(GraphReplay replay) {
  const auto at = static_cast<std::uint32_t>(replays.size());
  replays.push_back(replay);
  parent_.push_back(at);
  identified_.push_back(false);
  graphIds_.push_back(0);
  return at;
}

/// A runtime's call does its work in a driver's call, which may have a correlation of its own: the
/// two are one launch.
prof::Status ReplayCollector::readCalls() {
  using prof::ApiCall;
  struct Outer {
    TimeNs endNs;
    std::uint32_t replay;
  };
  std::unordered_map<ThreadId, Outer> outer;
  return store_.scan<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::name,
                     &ApiCall::correlation, &ApiCall::returnCode>(
      {}, [&](std::uint64_t, auto start, auto dur, auto thread, auto name, auto correlation,
              auto code) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (correlation[i] == 0 || code[i] != 0 || !thread[i] || !isLaunch(name[i])) continue;
          const ProcessId process = owners_.processOf(thread[i]);
          const TimeNs endNs = start[i] + dur[i];
          const auto [around, isFirst] = outer.try_emplace(thread[i], Outer{INT64_MIN, 0});
          if (endNs > around->second.endNs) {
            around->second = {endNs, addReplay({.process = process,
                                                .correlation = correlation[i],
                                                .thread = thread[i],
                                                .launchNs = start[i],
                                                .queue = {}})};
          }
          byCorrelation_.try_emplace({process, correlation[i]}, around->second.replay);
        }
      });
}

template <class Row>
prof::Status ReplayCollector::readWork() {
  return store_.scan<&Row::startNs, &Row::durNs, &Row::queue, &Row::name, &Row::correlation,
                     &Row::graphId, &Row::graphNodeId>(
      {}, [&](std::uint64_t, auto start, auto dur, auto queue, auto name, auto correlation,
              auto graph, auto node) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const bool isOfGraph = graph[i] != 0 || node[i] != 0;
          if (correlation[i] == 0 || (!isOfGraph && byCorrelation_.empty())) continue;
          const ProcessId process = owners_.processOf(queue[i]);
          auto replay = byCorrelation_.find({process, correlation[i]});
          if (replay == byCorrelation_.end()) {
            if (!isOfGraph) continue;
            const std::uint32_t at = addReplay(
                {.process = process, .correlation = correlation[i], .thread = {}, .queue = {}});
            replay = byCorrelation_.emplace(std::pair(process, correlation[i]), at).first;
          }
          // A launch may be two calls. The work names one of them.
          if (replays[replay->second].lastNs == INT64_MIN)
            replays[replay->second].correlation = correlation[i];
          addWork(replay->second, {replay->second, name[i], node[i], start[i], queue[i]}, dur[i],
                  graph[i]);
        }
      });
}

void ReplayCollector::addWork(std::uint32_t at, const ReplayedWork& piece, std::int64_t durNs,
                              std::uint32_t graphId) {
  GraphReplay& replay = replays[at];
  if (piece.startNs < replay.firstNs) {
    replay.firstNs = piece.startNs;
    replay.queue = piece.queue;
    if (!replay.hasCall()) replay.launchNs = piece.startNs;
  }
  replay.lastNs = std::max(replay.lastNs, piece.startNs + durNs);
  prof::addTo(replay.workNs, durNs);
  if (graphId != 0) graphIds_[at] = graphId;
  if (graphId != 0 || piece.node != 0) unite(at, graphId, piece.node);
  work.push_back(piece);
}

void ReplayCollector::unite(std::uint32_t replay, std::uint32_t graphId, std::uint64_t node) {
  identified_[replay] = true;
  const auto [known, isNew] =
      byIdentity_.try_emplace({replays[replay].process, graphId, node}, replay);
  if (!isNew) parent_[sameGraph(replay)] = sameGraph(known->second);
}

}  // namespace lacuna::analyzer
