// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

/// The floor that the cost of an event is measured against: two TSC reads and two 16-byte appends
/// to a thread-local ring, nothing else.
namespace lacuna::bench {

/// Ranges of a round: short, because a burst is far faster than any drainer on a second core.
constexpr int kRanges = 10'000;

inline double nowNs(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// The median of what each was to its floor at the time: a machine shared with others changes its
/// speed meanwhile.
inline double medianRatio(const std::vector<double>& values, const std::vector<double>& floors) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i) ratios.push_back(values[i] / floors[i]);
  return median(ratios);
}

template <class Work>
double nsPerCall(int calls, Work&& work) {
  const double start = nowNs();
  for (int i = 0; i < calls; ++i) work();
  return (nowNs() - start) / calls;
}

inline std::uint64_t stamp() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(nowNs());
#endif
}

/// The floor's ring fits into the nearest caches.
constexpr std::size_t kRingWords = 1 << 13;
static thread_local std::uint64_t ring[kRingWords];
static thread_local std::size_t ringAt;

inline void appendToRing(std::uint64_t word) {
  std::uint64_t* slot = ring + (ringAt & (kRingWords - 2));
  ringAt += 2;
  __atomic_store_n(slot + 1, word, __ATOMIC_RELAXED);
  __atomic_store_n(slot, stamp(), __ATOMIC_RELAXED);
}

__attribute__((noinline)) inline double floorRound(int ranges = kRanges) {
  return nsPerCall(ranges, [] {
    appendToRing(1);
    appendToRing(2);
  });
}

/// The floor and `work`, which take turns in who comes first. The second one runs beside the
/// drainer of the first.
template <class Work>
void inTurns(int round, std::vector<double>& floors, std::vector<double>& times, Work&& work) {
  if (round % 2 == 0) floors.push_back(floorRound());
  times.push_back(work());
  if (round % 2 != 0) floors.push_back(floorRound());
}

}  // namespace lacuna::bench
