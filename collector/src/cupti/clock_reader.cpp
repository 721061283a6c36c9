// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/clock_reader.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/clock.h"

namespace lacuna::collector::cupti {
namespace {

/// Readings of a pair of clocks; the best of them counts, unless one is good enough.
constexpr int kClockReadings = 8;
constexpr std::int64_t kGoodReadingNs = 1000;
/// Readings that are kept: of some hours. No record comes so late that it would need older ones.
constexpr std::size_t kMostClocks = 100'000;
/// A reading during which the thread was kept off the processor is no better than the one before.
constexpr std::int64_t kWorstReadingNs = 500'000;

}  // namespace

std::optional<std::int64_t> ClockReader::stamp() const {
  std::uint64_t stamp = 0;
  if (library_.GetTimestamp(&stamp) != CUPTI_SUCCESS || stamp == 0) return std::nullopt;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(stamp, std::numeric_limits<std::int64_t>::max()));
}

bool ClockReader::read(CaptureWriter* capture) {
  // The middle of two readings bounds the error by half the time between them; the thread may be
  // interrupted there.
  std::int64_t best = 0;
  prof::TimeNs monotonic = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kClockReadings && least > kGoodReadingNs; ++i) {
    const std::int64_t before = nowNs();
    const std::optional<std::int64_t> there = stamp();
    const std::int64_t between = nowNs() - before;
    if (!there || between >= least) continue;
    least = between;
    best = *there;
    monotonic = before + between / 2;
  }
  readAt_ = std::chrono::steady_clock::now();
  if (best == 0) return false;
  if (least > kWorstReadingNs && !map_.empty()) return true;
  map_.add(best, monotonic);
  map_.keepNewest(kMostClocks);
  if (capture != nullptr) capture->clock(best, monotonic);
  return true;
}

bool ClockReader::readAgain(std::chrono::nanoseconds age, CaptureWriter* capture) {
  if (std::chrono::steady_clock::now() - readAt_ < age) return true;
  return read(capture);
}

}  // namespace lacuna::collector::cupti
