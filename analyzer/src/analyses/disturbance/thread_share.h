// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Counters of threads, in percent of the time since the value before.
inline constexpr std::string_view kThreadCpu = "thread CPU", kWaitingForCore = "waiting for a core";

/// The mean of such a counter over the window, 0 … 1; -1 where the thread has none.
prof::Result<double> threadShare(const Store& store, prof::ThreadId thread,
                                 std::string_view counter, prof::TimeWindow window);

/// Time that threads ran or waited for a core in the window, all together; -1 where none of them
/// has such counters.
prof::Result<double> wantedNs(const Store& store, std::span<const prof::ThreadId> threads,
                              prof::TimeWindow window);

/// The thread that sets the steps, and its process, from the first steady step to the last.
struct StepThread {
  double ranShare = -1;     ///< of the time; -1: not recorded
  double waitedShare = -1;  ///< for a core
  /// Threads of the process that wanted a core for a twentieth of the time or more; threads of a
  /// loader are left out.
  std::uint32_t busyThreads = 0;
  double waitingThreads = 0;  ///< how many of them waited for a core at a time, on average
  double wantedCores = 0;     ///< how many of them ran or waited
};

}  // namespace lacuna::analyzer
