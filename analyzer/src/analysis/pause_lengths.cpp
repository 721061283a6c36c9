// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/pause_lengths.h"

#include <algorithm>
#include <cmath>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
std::size_t PauseLengths::bucketOf(std::int64_t lengthNs) {
  const double octaves = std::log2(static_cast<double>(std::max<std::int64_t>(1, lengthNs)));
  return static_cast<std::size_t>(octaves * kBucketsPerOctave);
}

void PauseLengths::add(std::int64_t lengthNs, std::int64_t countedNs) {
  Bucket& bucket = buckets_[bucketOf(lengthNs)];
  ++bucket.pauses;
  prof::addTo(bucket.countedNs, countedNs);
  ++pauses_;
}

std::int64_t PauseLengths::usualNs() const {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    before += buckets_[i].pauses;
    if (2 * before <= pauses_) continue;
    const double ns = std::exp2(static_cast<double>(i) / kBucketsPerOctave);
    return static_cast<std::int64_t>(std::min(ns, static_cast<double>(kMostLongPauseNs)));
  }
  return kMostLongPauseNs;
}

std::int64_t PauseLengths::longNs() const {
  const std::int64_t ns =
      std::clamp(prof::productOf(kLongPauses, usualNs()), kLeastLongPauseNs, kMostLongPauseNs);
  // The edge of its bucket, so that sums have whole buckets.
  return static_cast<std::int64_t>(
      std::ceil(std::exp2(static_cast<double>(bucketOf(ns)) / kBucketsPerOctave)));
}

std::int64_t PauseLengths::countedLongNs() const {
  std::int64_t ns = 0;
  for (std::size_t i = bucketOf(longNs()); i < buckets_.size(); ++i)
    prof::addTo(ns, buckets_[i].countedNs);
  return ns;
}

}  // namespace lacuna::analyzer
