// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lacuna/analyzer/charts.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// Events of no length still need a place on a logarithmic scale.
double logOf(std::int64_t ns) {
  return std::log(static_cast<double>(std::max<std::int64_t>(1, ns)));
}

std::vector<std::int64_t> lengthsOf(const TrackSet& tracks, TrackKind kind, prof::StringId name,
                                    const Progress& progress) {
  std::vector<std::int64_t> lengths;
  for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
    for (const Track& track : tracks.groups[g].tracks) {
      if (track.kind != kind) continue;
      for (const Lane& lane : track.lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
          if (lane.name(i) == name) lengths.push_back(lane.durNs(i));
        }
      }
      if (progress && !progress(static_cast<double>(g) / static_cast<double>(tracks.groups.size())))
        return lengths;
    }
  }
  return lengths;
}

}  // namespace

double DurationHistogram::bucketStartNs(std::size_t i) const {
  const double low = logOf(shortestNs);
  return std::exp(low + (logOf(longestNs) - low) * static_cast<double>(i) /
                            static_cast<double>(counts.size()));
}

DurationHistogram durationHistogram(const TrackSet& tracks, TrackKind kind, prof::StringId name,
                                    std::size_t buckets, const Progress& progress) {
  DurationHistogram out;
  std::vector<std::int64_t> lengths = lengthsOf(tracks, kind, name, progress);
  if (lengths.empty() || buckets == 0) return out;
  std::sort(lengths.begin(), lengths.end());
  out.events = lengths.size();
  out.shortestNs = lengths.front();
  out.longestNs = lengths.back();
  out.medianNs = lengths[(lengths.size() - 1) / 2];
  out.p95Ns = lengths[(lengths.size() - 1) * 95 / 100];
  out.counts.resize(buckets);
  const double low = logOf(out.shortestNs);
  const double range = std::max(logOf(out.longestNs) - low, 1e-9);
  for (const std::int64_t ns : lengths) {
    prof::addTo(out.totalNs, ns);
    const double at = (logOf(ns) - low) / range * static_cast<double>(buckets);
    ++out.counts[std::min(buckets - 1, static_cast<std::size_t>(std::max(0.0, at)))];
  }
  return out;
}

}  // namespace lacuna::analyzer
