// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::analyzer {

/// How long the events of one name take. Buckets are equally wide on a logarithmic scale from shortest to longest.
struct DurationHistogram {
  std::vector<std::uint64_t> counts;
  std::uint64_t events = 0;
  std::int64_t shortestNs = 0;
  std::int64_t longestNs = 0;
  std::int64_t totalNs = 0;
  std::int64_t medianNs = 0;
  std::int64_t p95Ns = 0;

  /// The shortest duration of bucket i; i may be counts.size(), for the end of the last one.
  [[nodiscard]] double bucketStartNs(std::size_t i) const;
};

/// All events of a name on tracks of one kind (device work, ranges, …). Linear in the tracks' events; gives up, with
/// what it has, when progress answers false.
DurationHistogram durationHistogram(const TrackSet& tracks, TrackKind kind, prof::StringId name,
                                    std::size_t buckets = 48, const Progress& progress = {});

}  // namespace lacuna::analyzer
