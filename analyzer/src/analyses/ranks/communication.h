// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class RecordedCosts;

struct CollectiveRow {
  std::string name;
  std::string communicator;  ///< empty where the trace lacks it
  std::string kind;          ///< "all_reduce"; empty where neither the trace nor the name shows it
  std::uint32_t ranks = 0;   ///< of the communicator; 0 where the trace lacks it
  std::uint64_t count = 0;
  std::uint64_t calls = 0;  ///< that the kernels carried out; 0 where the trace lacks it
  /// Three sizes: what the ranks of this trace put in, the whole buffers, and what had to cross the
  /// ranks' links (volumeOfInput()). Beside each stands the time of the kernels whose size is
  /// known; 0 where the trace has none.
  std::uint64_t bytes = 0;
  std::int64_t bytesNs = 0;
  std::uint64_t algorithmBytes = 0;
  std::int64_t algorithmNs = 0;
  double busBytes = 0;
  std::int64_t busNs = 0;
  std::int64_t totalNs = 0;
  std::int64_t exposedNs = 0;
  std::int64_t recordingNs = 0;  ///< of totalNs, and of exposedNs, what recording may have added
};
/// As sortCalls().
void sortCollectives(std::vector<CollectiveRow>& collectives);
struct CommunicationStats {
  std::int64_t totalNs = 0;
  std::int64_t exposedNs = 0;
  std::int64_t recordingNs = 0;
  std::vector<CollectiveRow> collectives;
};
CommunicationStats communicationStats(const Store& store, const Timeline& timeline,
                                      prof::TimeWindow window,
                                      const RecordedCosts* costs = nullptr);

}  // namespace lacuna::analyzer
