// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lacuna/analyzer/links.h"

namespace lacuna::analyzer {

/// The nodes of graphs by the moments at which the program made them: while it captured a stream,
/// or one by one. An executable graph has copies of nodes. The origin of a copy is the node that
/// was copied.
class GraphNodes {
 public:
  /// A moment of the program, and the call in which it lies.
  struct Origin {
    prof::ThreadId thread;
    prof::TimeNs atNs = 0;
  };

  GraphNodes() = default;
  explicit GraphNodes(const Store& store);

  [[nodiscard]] bool empty() const { return made_.empty(); }
  /// Null for a node whose making was not recorded.
  [[nodiscard]] const Origin* originOf(prof::ProcessId process, std::uint64_t node) const;

  /// The nodes that do device work and were copied together with this one, itself included: those
  /// of its executable graph. Empty where the calls that made them are not recorded. Needs
  /// findCalls().
  [[nodiscard]] const std::vector<std::uint64_t>& copiedWith(prof::ProcessId process,
                                                             std::uint64_t node) const;
  /// Reads the calls in which nodes were made.
  prof::Status findCalls(const Store& store);

 private:
  static constexpr std::uint64_t kNoCall = UINT64_MAX;
  using Key = std::pair<prof::ProcessId, std::uint64_t>;
  struct Made {
    Origin origin;
    std::uint64_t original = 0;
    std::uint64_t call = kNoCall;  ///< the row of the innermost call around
    bool works = false;            ///< that call hands over device work
  };

  [[nodiscard]] const Made* rootOf(const Key& key) const;
  void groupCopies();

  std::map<Key, Made> made_;
  std::map<std::pair<prof::ProcessId, std::uint64_t>, std::vector<std::uint64_t>>
      copies_;  ///< by call
};

}  // namespace lacuna::analyzer
