// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "import/arg_joining.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Pairs the begins of ranges with their ends. A begin has its row in the table of ranges already;
/// pairing gives it the end.
class RangeEdges {
 public:
  /// A begin or an end that waits for its counterpart.
  struct Edge {
    prof::TimeNs timeNs = 0;
    std::uint64_t key =
        0;  ///< what counterparts share: their place, or category and id of an asynchronous range
    std::size_t row = kEnd;
    std::uint32_t location = 0;
    bool isAsync = false;
    prof::ArgSetId args;  ///< of an end
    static constexpr std::size_t kEnd = SIZE_MAX;
  };

  void add(const Edge& edge) { edges_.push_back(edge); }
  /// Pairs edges as the file has them, or in the order of time where that makes no sense: writers'
  /// threads may hand over their events by the piece. Appends the arguments of ends to `joins`.
  /// Returns the number of ends without a begin, and forgets the edges.
  std::uint64_t pair(prof::Range::Columns& ranges, std::vector<ArgJoin>& joins);

 private:
  [[nodiscard]] std::vector<std::size_t> match(const prof::Range::Columns& ranges,
                                               bool& isSound) const;
  static void endRange(prof::Range::Columns& ranges, std::size_t row, const Edge& end,
                       std::vector<ArgJoin>& joins);

  std::vector<Edge> edges_;
};

}  // namespace lacuna::analyzer
