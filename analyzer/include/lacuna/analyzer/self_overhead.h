// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/steps.h"

/// What recording itself cost, from what the recorder measured of its own events (environment `self.cost.…`) and from
/// overheads that were recorded as such. docs/analyses/self-overhead.md.
namespace lacuna::analyzer {

struct OverheadPart {
  std::string kind;  ///< "range", "mark", or the name of a recorded overhead
  std::uint64_t events = 0;
  double nsEach = 0;
  std::int64_t nsPerStep = 0;
};

struct SelfOverhead {
  bool known = false;  ///< the trace says what an event costs, or holds overheads
  std::vector<OverheadPart> parts;
  /// Of all threads of processes with steps or devices together, so the most that a step can have become longer by.
  std::int64_t nsPerStep = 0;
};

/// Counts what starts within the window; `steps` is what it is divided by.
prof::Result<SelfOverhead> selfOverhead(const Store& store, prof::TimeWindow window, std::int64_t steps);

}  // namespace lacuna::analyzer
