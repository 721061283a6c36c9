// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyses/work/graph_replays.h"
#include "lacuna/analyzer/links.h"

namespace lacuna::analyzer {

/// A piece of recorded work of a replay.
struct ReplayedWork {
  std::uint32_t replay = 0;
  prof::StringId name;
  std::uint64_t node = 0;  ///< 0: not recorded
  prof::TimeNs startNs = 0;
  prof::QueueId queue;
};

/// Reads the launches of graphs and their work, and finds out which launches are of one graph, as
/// far as the driver's numbers show it: those of the nodes, else that of the graph. A graph that
/// was instantiated twice has other nodes each time.
class ReplayCollector {
 public:
  explicit ReplayCollector(const Store& store) : store_(store), owners_(store.links().owners()) {}

  prof::Status run();

  std::vector<GraphReplay> replays;
  std::vector<ReplayedWork> work;  ///< by replay, node and start
  /// The work of one replay.
  [[nodiscard]] std::span<const ReplayedWork> workOf(std::size_t replay) const;
  /// The same number for all replays that are known to be of one graph.
  [[nodiscard]] std::uint32_t sameGraph(std::uint32_t replay);
  /// True where the driver's numbers show which graph it was of.
  [[nodiscard]] bool isIdentified(std::size_t replay) const { return identified_[replay]; }
  [[nodiscard]] std::uint32_t graphIdOf(std::size_t replay) const { return graphIds_[replay]; }

 private:
  prof::Status readCalls();
  template <class Row>
  prof::Status readWork();
  std::uint32_t addReplay(GraphReplay replay);
  void addWork(std::uint32_t at, const ReplayedWork& piece, std::int64_t durNs,
               std::uint32_t graphId);
  void unite(std::uint32_t replay, std::uint32_t graphId, std::uint64_t node);
  [[nodiscard]] bool isLaunch(prof::StringId name);

  const Store& store_;
  const OwnerTree& owners_;
  std::unordered_map<prof::StringId, bool> isLaunch_;
  std::map<std::pair<prof::ProcessId, std::uint64_t>, std::uint32_t> byCorrelation_;
  /// Replays by a node; 0 for work of a graph whose nodes are not numbered.
  std::map<std::tuple<prof::ProcessId, std::uint32_t, std::uint64_t>, std::uint32_t> byIdentity_;
  std::vector<std::uint32_t> parent_;  ///< of each replay, in the sets that share a graph
  std::vector<bool> identified_;
  std::vector<std::uint32_t> graphIds_;
  std::vector<std::size_t> firstWork_;  ///< by replay, and one more
};

}  // namespace lacuna::analyzer
