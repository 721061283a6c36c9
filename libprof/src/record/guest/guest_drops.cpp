// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/guest/guest_drops.h"

#include <pthread.h>

namespace lacuna::prof::recording {
namespace {

constexpr std::uint32_t kTooManyDomains = kGapDomains + 1;

pthread_key_t gOpenKey;  ///< see openWithoutEntry()

/// Ranges that the calling thread has begun without an entry and not ended. Kept beside the number
/// of the recording, for the next one knows nothing of them.
std::uint64_t openWithoutEntry(const Mapping& mapping) {
  const auto kept = reinterpret_cast<std::uintptr_t>(pthread_getspecific(gOpenKey));
  return kept >> 32 == (mapping.epoch & 0xffffffff) ? kept & 0xffffffff : 0;
}

void setOpenWithoutEntry(const Mapping& mapping, std::uint64_t open) {
  const std::uint64_t kept = open == 0 ? 0 : (mapping.epoch & 0xffffffff) << 32 | open;
  pthread_setspecific(gOpenKey, reinterpret_cast<void*>(static_cast<std::uintptr_t>(kept)));
}

/// The thread ends without having got an entry.
void leaveWithoutEntry(void* value) {
  Mapping* active = mapping();
  const auto kept = reinterpret_cast<std::uintptr_t>(value);
  if (active == nullptr || kept >> 32 != (active->epoch & 0xffffffff) ||
      __atomic_load_n(&forkPage()->epoch, __ATOMIC_RELAXED) != active->epoch) {
    return;
  }
  Header& header = active->view.header();
  header.droppedOpen.fetch_sub(kept & 0xffffffff, std::memory_order_relaxed);
  header.dropped.fetch_add(kept & 0xffffffff, std::memory_order_relaxed);
}

/// Nullptr when the gap has too many domains to follow their nesting.
GapDomain* gapOf(ThreadEntry& entry, std::uint32_t domain) {
  if (entry.gapDomains > kGapDomains) return nullptr;
  for (std::uint32_t i = 0; i < entry.gapDomains; ++i) {
    if (entry.gap[i].domain == domain) return &entry.gap[i];
  }
  if (entry.gapDomains == kGapDomains) return nullptr;
  GapDomain& fresh = entry.gap[entry.gapDomains];
  fresh = {domain, 0, 0};
  inOrder();
  ++entry.gapDomains;
  return &fresh;
}

/// Does what a dropped begin or end would have done to the nesting of ranges, so that later ends
/// meet their own beginnings. The gap counts the ranges that are lost: those whose begin and end
/// are both dropped. One that is open after it, or was before it, has a row. Answers how many are
/// lost beside those of the gap.
std::uint64_t countNesting(ThreadEntry& entry, std::uint64_t word) {
  const bool opens = kindOf(word) != Kind::Pop;
  GapDomain* gap = gapOf(entry, domainOf(word));
  if (gap == nullptr) {
    // A reader cannot know which ends belong to ranges of the gap, so it leaves all of them out.
    entry.gapDomains = kTooManyDomains;
    return opens ? 1 : 0;
  }
  if (!opens && gap->pushes() == 0) {
    ++gap->pops;
    return 0;
  }
  constexpr std::uint64_t kBegins = 1, kEnds = (std::uint64_t{1} << 32) - 1;
  __atomic_store_n(&gap->ranges, gap->ranges + (opens ? kBegins : kEnds), __ATOMIC_RELAXED);
  return 0;
}

}  // namespace

bool makeDropKey() {
  return pthread_key_create(&gOpenKey, leaveWithoutEntry) == 0;
}

void addLost(ThreadEntry& entry, const LostEvents& lost) {
  entry.dropped.fetch_add(lost.events, std::memory_order_relaxed);
  entry.droppedStarts.fetch_add(lost.starts, std::memory_order_relaxed);
}

void countDrop(ThreadEntry& entry, std::uint64_t word) {
  const Kind kind = kindOf(word);
  LostEvents lost;
  ++entry.gapRecords;
  if (opensRange(kind) || kind == Kind::Pop) {
    lost.events = countNesting(entry, word);
  } else {
    lost.add(word);
  }
  addLost(entry, lost);
}

void countDrop(Mapping& mapping, std::uint64_t word) {
  Header& header = mapping.view.header();
  const Kind kind = kindOf(word);
  LostEvents lost;
  if (opensRange(kind)) {
    setOpenWithoutEntry(mapping, openWithoutEntry(mapping) + 1);
    header.droppedOpen.fetch_add(1, std::memory_order_relaxed);
  } else if (const std::uint64_t open = openWithoutEntry(mapping); kind == Kind::Pop && open > 0) {
    setOpenWithoutEntry(mapping, open - 1);
    header.droppedOpen.fetch_sub(1, std::memory_order_relaxed);
    lost.events = 1;
  } else {
    lost.add(word);
  }
  header.dropped.fetch_add(lost.events, std::memory_order_relaxed);
  header.droppedStarts.fetch_add(lost.starts, std::memory_order_relaxed);
}

void noteFoundEntry(Mapping& mapping, ThreadEntry& entry) {
  const std::uint64_t open = openWithoutEntry(mapping);
  if (open == 0) return;
  setOpenWithoutEntry(mapping, 0);
  mapping.view.header().droppedOpen.fetch_sub(open, std::memory_order_relaxed);
  // The reader of a ring takes each end without a begin for one whose begin was overwritten.
  if (mapping.flight) entry.dropped.fetch_add(open, std::memory_order_relaxed);
}

}  // namespace lacuna::prof::recording
