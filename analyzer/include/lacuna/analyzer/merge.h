// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// How a trace's clock was brought to that of the first one.
enum class AlignedBy : std::uint8_t {
  Reference,    ///< it is the first one
  Collectives,  ///< the ends of the collectives that both took part in
  Clocks,       ///< what both clocks say of the time of day
  Markers,      ///< the starts of the steps with the same marker
  Start,        ///< nothing better: both traces' first moments are laid on each other
};
std::string_view nameOf(AlignedBy how);

struct Alignment {
  AlignedBy how = AlignedBy::Reference;
  std::int64_t offsetNs = 0;  ///< was added to the trace's times
  std::uint64_t matches = 0;  ///< collectives or markers that say so
  std::int64_t spreadNs = 0;  ///< median distance of single matches from the offset
};

struct Merged {
  std::shared_ptr<const Store> store;
  std::vector<Alignment> alignments;  ///< one for each input
};

/// Puts traces of one job, such as its ranks, on the first one's clock into one trace. Processes, threads, devices and
/// queues stay apart (devices with the same unique id are one); processes without a rank get the number of their trace
/// when no trace has ranks. Everything is held in memory.
///
/// Collectives: the k-th of each name within each step of both traces belong together where both have as many; all
/// ranks leave a collective at nearly the same time, so the offset is the median difference of the ends.
/// Fails where a trace turns out to be damaged while it is read.
prof::Result<Merged> mergeTraces(std::span<const std::shared_ptr<const Store>> inputs);

}  // namespace lacuna::analyzer
