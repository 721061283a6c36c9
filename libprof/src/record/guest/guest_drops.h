// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "record/guest/guest.h"

/// Counts what a guest has no room for.
namespace lacuna::prof::recording {

/// Stores before it come before stores after it, as an observer sees them after this process was
/// killed.
inline void inOrder() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Once per process, before the first thread records.
bool makeDropKey();
void addLost(ThreadEntry& entry, const LostEvents& lost);
/// A record of the calling thread, whose entry it is, found no room.
void countDrop(ThreadEntry& entry, std::uint64_t word);
/// The same for a thread that has no entry.
void countDrop(Mapping& mapping, std::uint64_t word);
/// The calling thread has got its entry, perhaps after it dropped records.
void noteFoundEntry(Mapping& mapping, ThreadEntry& entry);

}  // namespace lacuna::prof::recording
