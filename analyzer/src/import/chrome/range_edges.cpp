// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/range_edges.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lacuna::analyzer {

/// The range that each end ends, kEnd where there is none, in the order of the edges; `isSound`
/// becomes false where an end comes before its begin, or alone.
std::vector<std::size_t> RangeEdges::match(const prof::Range::Columns& ranges,
                                           bool& isSound) const {
  const auto& starts = ranges.startNs;
  std::map<std::pair<bool, std::uint64_t>, std::vector<std::size_t>> open;
  std::vector<std::size_t> ended(edges_.size(), Edge::kEnd);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    auto& rows = open[{edge.isAsync, edge.key}];
    if (edge.row != Edge::kEnd) {
      rows.push_back(edge.row);
    } else if (rows.empty()) {
      isSound = false;
    } else {
      ended[i] = rows.back();
      rows.pop_back();
      isSound = isSound && starts[ended[i]] <= edge.timeNs;
    }
  }
  return ended;
}

std::uint64_t RangeEdges::pair(prof::Range::Columns& ranges, std::vector<ArgJoin>& joins) {
  std::uint64_t unmatched = 0;
  bool isSound = true;
  auto ended = match(ranges, isSound);
  if (!isSound) {
    std::ranges::stable_sort(edges_, {}, &Edge::timeNs);
    ended = match(ranges, isSound);
  }
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.row != Edge::kEnd) continue;
    if (ended[i] != Edge::kEnd) {
      endRange(ranges, ended[i], edge, joins);
    } else {
      ++unmatched;
      if (edge.args) joins.push_back({edge.args, {}});
    }
  }
  edges_ = std::vector<Edge>();
  return unmatched;
}

void RangeEdges::endRange(prof::Range::Columns& ranges, std::size_t row, const Edge& end,
                          std::vector<ArgJoin>& joins) {
  ranges.durNs[row] = end.timeNs - ranges.startNs[row];
  ranges.flags[row] = 0;
  if (ranges.thread[row].value != end.location) ranges.endThread[row].value = end.location;
  if (!end.args) return;
  if (ranges.args[row]) {
    joins.push_back({end.args, ranges.args[row]});
  } else {
    ranges.args[row] = end.args;
  }
}

}  // namespace lacuna::analyzer
