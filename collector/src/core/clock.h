// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace lacuna::collector {

inline std::int64_t clockNs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}
/// The time of a trace.
inline std::int64_t nowNs() {
  return clockNs(CLOCK_MONOTONIC);
}

}  // namespace lacuna::collector
