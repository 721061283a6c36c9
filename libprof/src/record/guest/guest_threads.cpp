// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "record/guest/guest.h"
#include "record/guest/guest_drops.h"
#include "record/guest/guest_threads.h"
#include "record/populate.h"

// A segment goes from thread to thread through a drainer that sees the memory at other addresses,
// or from another process. The thread sanitizer cannot follow it there, so the ends of that path
// are reported to it.
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#else
#define __tsan_acquire(address) static_cast<void>(address)
#define __tsan_release(address) static_cast<void>(address)
#endif

namespace lacuna::prof::recording {
namespace {

constexpr std::uint64_t kTupleEvery = 1ull << 31;  ///< stamps: about a second
constexpr std::uint64_t kRetryGrowth = 1ull << 30;
constexpr std::uint32_t kGrowthStep = 16;
constexpr std::uint32_t kKeptShare = 4;  ///< of the segments at most one in so many

pthread_key_t gEntryKey;
pthread_key_t gNameKey;

ThreadEntry* entryOfThread() {
  return static_cast<ThreadEntry*>(pthread_getspecific(gEntryKey));
}

std::uint64_t threadEpoch(const Mapping& mapping) {
  return mapping.tsc ? mapping.epoch : mapping.epoch | kSlowClock;
}

/// True when the calling thread has its entry there. A forked child that has not joined yet still
/// has the mapping of its parent, and the number of the parent's thread.
bool recordsInto(const Mapping* active) {
  return active != nullptr && lacunaThread_.epoch == threadEpoch(*active) &&
         __atomic_load_n(&forkPage()->epoch, __ATOMIC_RELAXED) == active->epoch;
}

void leaveThread(void* value) {
  Mapping* active = mapping();
  if (recordsInto(active)) {
    auto* entry = static_cast<ThreadEntry*>(value);
    prctl(PR_GET_NAME, entry->comm, 0, 0, 0);
    entry->endStamp = stamp(*active);
    const std::uint32_t last = entry->current.load(std::memory_order_relaxed);
    if (last != 0) __tsan_release(active->view.segmentBase(last));
    entry->state.store(EntryState::Exited, std::memory_order_release);
  }
  lacunaThread_ = {0, 0};
}

/// More segments from the file system, when the free list is empty: one for the caller, the others
/// for the list. The first to count them owns them, so nobody waits for another who may have died.
/// Backing the same part twice does no harm.
std::uint32_t grow(Mapping& mapping) {
  Header& header = mapping.view.header();
  std::uint32_t count = header.segmentCount.load(std::memory_order_relaxed);
  if (count >= mapping.maxSegments || header.closing.load(std::memory_order_relaxed) != 0) return 0;
  const std::uint64_t now = stamp(mapping);
  const std::uint64_t failedAt = mapping.growFailedAt.load(std::memory_order_relaxed);
  if (failedAt != 0 && now - failedAt < kRetryGrowth) return 0;
  const std::uint32_t step = std::min(kGrowthStep, mapping.maxSegments - count);
  if (!backFile(mapping, mapping.view.offsets.segments + count * kSegmentBytes,
                step * kSegmentBytes)) {
    mapping.growFailedAt.store(now, std::memory_order_relaxed);
    return 0;
  }
  mapping.growFailedAt.store(0, std::memory_order_relaxed);
  const std::uint32_t first = count + 1;
  if (!header.segmentCount.compare_exchange_strong(count, count + step, std::memory_order_acq_rel))
    return 0;
  for (std::uint32_t i = 1; i < step; ++i) mapping.view.pushFree(first + i);
  return first;
}

void emptySegment(unsigned char* segment) {
  std::memset(static_cast<void*>(segment + kSegmentHead), 0, kSegmentBytes - kSegmentHead);
}

/// True when the thread can do without its oldest segment: one that runs writes into its last, one
/// that is gone into none.
bool canSpareFirst(const View& view, const ThreadEntry& entry, bool gone) {
  const std::uint32_t first = entry.first.load(std::memory_order_acquire);
  return first != 0 && (gone || view.segment(first).next.load(std::memory_order_acquire) != 0);
}

/// When the thread's oldest segment was taken; 0 when it has none.
std::uint64_t ageOf(const View& view, const ThreadEntry& entry) {
  const std::uint32_t first = entry.first.load(std::memory_order_acquire);
  return first != 0 ? view.segment(first).sequence.load(std::memory_order_relaxed) : 0;
}

/// Flight recorder: whose oldest segment is the oldest that can be overwritten; with `onlyGone`, of
/// the threads that are gone, even without a segment. Under the lock `flight`, as what follows.
ThreadEntry* findOldest(const View& view, bool onlyGone) {
  ThreadEntry* found = nullptr;
  std::uint64_t oldest = ~0ull;
  for (std::uint32_t i = 1; i <= kMaxThreads; ++i) {
    if (i == kKeptEntry) continue;
    ThreadEntry& entry = view.thread(i);
    const bool gone = entry.state.load(std::memory_order_acquire) == EntryState::Exited;
    if (onlyGone ? !gone : !canSpareFirst(view, entry, gone)) continue;
    const std::uint64_t age = ageOf(view, entry);
    if (age < oldest) {
      oldest = age;
      found = &entry;
    }
  }
  return found;
}

/// Takes the oldest segment from a thread. Its events are overwritten and counted as dropped.
std::uint32_t takeFirst(const View& view, ThreadEntry& entry) {
  const std::uint32_t segment = entry.first.load(std::memory_order_relaxed);
  addLost(entry, eventsIn(view.segmentBase(segment)));
  entry.first.store(view.segment(segment).next.load(std::memory_order_relaxed),
                    std::memory_order_release);
  // A copier of the segment sees the new beginning before the first emptied record.
  std::atomic_thread_fence(std::memory_order_release);
  emptySegment(view.segmentBase(segment));
  return segment;
}

/// Frees the entry of a thread that is gone and has nothing left, for another one. Its dropped
/// events stay counted.
void freeEntry(const View& view, ThreadEntry& entry) {
  const std::uint64_t ranges = entry.ended + rangesInGap(entry).all();
  addLost(view.thread(kKeptEntry), {entry.dropped.exchange(0, std::memory_order_relaxed) + ranges,
                                    entry.droppedStarts.exchange(0, std::memory_order_relaxed)});
  entry.gapRecords = 0;
  entry.ended = 0;
  entry.current.store(0, std::memory_order_relaxed);
  entry.name.store(0, std::memory_order_relaxed);
  entry.generation.fetch_add(1, std::memory_order_relaxed);
  entry.state.store(EntryState::Free, std::memory_order_release);
}

/// Flight recorder: the segment that was taken first of all that can be overwritten.
std::uint32_t stealOldest(Mapping& mapping) {
  const View& view = mapping.view;
  if (view.header().closing.load(std::memory_order_acquire) != 0) return 0;
  const Locked lock(forkPage()->flight);
  ThreadEntry* victim = findOldest(view, false);
  if (victim == nullptr) return 0;
  const std::uint32_t segment = takeFirst(view, *victim);
  if (victim->first.load(std::memory_order_relaxed) == 0) freeEntry(view, *victim);
  return segment;
}

/// Flight recorder: gives up all that is left of a thread that is gone. False when there is none.
bool forgetOldestThread(Mapping& mapping) {
  const View& view = mapping.view;
  if (view.header().closing.load(std::memory_order_acquire) != 0) return false;
  const Locked lock(forkPage()->flight);
  ThreadEntry* victim = findOldest(view, true);
  if (victim == nullptr) return false;
  while (victim->first.load(std::memory_order_relaxed) != 0)
    view.pushFree(takeFirst(view, *victim));
  freeEntry(view, *victim);
  return true;
}

/// One system call instead of a fault for each page, and that once: segments come back.
void enterPageTable(Mapping& mapping, std::uint32_t segment) {
  if (mapping.isInPageTable(segment)) return;
  populate(mapping.view.segmentBase(segment), kSegmentBytes);
  mapping.noteInPageTable(segment);
}

std::uint32_t takeSegment(Mapping& mapping) {
  std::uint32_t segment = mapping.view.popFree(mapping.maxSegments);
  // Each failure means that somebody else added segments, until none can be added.
  while (segment == 0 &&
         mapping.view.header().segmentCount.load(std::memory_order_relaxed) < mapping.maxSegments &&
         mapping.growFailedAt.load(std::memory_order_relaxed) == 0 &&
         mapping.view.header().closing.load(std::memory_order_relaxed) == 0) {
    segment = grow(mapping);
    if (segment == 0) segment = mapping.view.popFree(mapping.maxSegments);
  }
  if (segment == 0) segment = grow(mapping);
  if (segment == 0) segment = mapping.view.popFree(mapping.maxSegments);
  if (segment == 0 && mapping.flight) segment = stealOldest(mapping);
  if (segment != 0) enterPageTable(mapping, segment);
  return segment;
}

void linkSegment(Mapping& mapping, ThreadEntry& entry, std::uint32_t index,
                 std::uint32_t threadIndex) {
  const View& view = mapping.view;
  Segment& segment = view.segment(index);
  segment.next.store(0, std::memory_order_relaxed);
  segment.reset.store(kSegmentNormal, std::memory_order_relaxed);
  segment.generation.store(entry.generation.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  segment.sequence.store(view.header().sequence.fetch_add(1, std::memory_order_relaxed),
                         std::memory_order_relaxed);
  segment.owner.store(threadIndex, std::memory_order_release);
  const std::uint32_t previous = entry.current.load(std::memory_order_relaxed);
  __tsan_acquire(view.segmentBase(index));
  if (previous != 0) __tsan_release(view.segmentBase(previous));
  entry.current.store(index, std::memory_order_relaxed);
  if (previous == 0) {
    entry.first.store(index, std::memory_order_release);
  } else {
    view.segment(previous).next.store(index, std::memory_order_release);
  }
}

/// The first record after dropped ones describes them. When the process is killed in between, the
/// number of the last such record shows whether the gap is in it.
std::uintptr_t writeGap(const Mapping& mapping, ThreadEntry& entry, std::uintptr_t cursor) {
  if (entry.gapRecords == 0) return cursor;
  const std::uint32_t domains = entry.gapDomains > kGapDomains ? 0 : entry.gapDomains;
  auto* slot = reinterpret_cast<std::uint64_t*>(cursor);
  slot[2] = entry.gapRecords;
  slot[3] = std::uint64_t{entry.gapNumber} << 1 | (entry.gapDomains > kGapDomains ? 1 : 0);
  for (std::uint32_t i = 0; i < domains; ++i) {
    slot[4 + 2 * i] = entry.gap[i].domain;
    slot[5 + 2 * i] = packPair(entry.gap[i].pops, entry.gap[i].pushes());
  }
  slot[1] = word(Kind::Gap, (1 + domains) << 16, 0);
  entry.endedNext = entry.ended + rangesInGap(entry).lost;
  inOrder();
  __atomic_store_n(slot, stamp(mapping), __ATOMIC_RELEASE);
  inOrder();
  __atomic_store_n(&entry.ended, entry.endedNext, __ATOMIC_RELAXED);
  inOrder();
  entry.gapRecords = 0;
  inOrder();
  entry.gapDomains = 0;
  ++entry.gapNumber;
  return cursor + (2 + domains) * kSlotBytes;
}

/// Moves the thread to an empty segment; nullptr when there is none and the record is dropped.
std::uint64_t* nextSegment(Mapping& mapping, ThreadEntry& entry, std::uint64_t word,
                           std::size_t slots) {
  const View& view = mapping.view;
  std::uint32_t index = entry.current.load(std::memory_order_relaxed);
  std::uint32_t emptied = kSegmentEmptied;
  const bool again = index != 0 && view.segment(index).reset.compare_exchange_strong(
                                       emptied, kSegmentNormal, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  if (!again) {
    const std::uint32_t last = index;
    index = takeSegment(mapping);
    if (index == 0) {
      // Only a sealed segment may be emptied in place, and nothing more goes into it until then.
      std::uint32_t normal = kSegmentNormal;
      if (last != 0)
        view.segment(last).reset.compare_exchange_strong(normal, kSegmentSealed,
                                                         std::memory_order_release);
      lacunaThread_.cursor = 0;
      countDrop(entry, word);
      return nullptr;
    }
    const auto threadIndex = static_cast<std::uint32_t>(
        (reinterpret_cast<unsigned char*>(&entry) - (view.base + view.offsets.threads)) /
            kThreadBytes +
        1);
    linkSegment(mapping, entry, index, threadIndex);
  }
  if (stamp(mapping) - mapping.lastTuple.load(std::memory_order_relaxed) > kTupleEvery)
    addTuple(mapping);
  const auto start = reinterpret_cast<std::uintptr_t>(view.segmentBase(index)) + kSegmentHead;
  const std::uintptr_t cursor = writeGap(mapping, entry, start);
  lacunaThread_.cursor = cursor + slots * kSlotBytes;
  return reinterpret_cast<std::uint64_t*>(cursor);
}

bool takeEntry(Mapping& mapping) {
  static std::atomic<std::uint32_t> hint;
  const std::uint32_t from = hint.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kMaxThreads; ++i) {
    const std::uint32_t number = 1 + (from + i) % kMaxThreads;
    ThreadEntry& entry = mapping.view.thread(number);
    EntryState free = EntryState::Free;
    if (entry.state.load(std::memory_order_relaxed) != EntryState::Free ||
        !entry.state.compare_exchange_strong(free, EntryState::Live, std::memory_order_acq_rel)) {
      continue;
    }
    std::atomic<std::uint32_t>& used = mapping.view.header().entriesUsed;
    std::uint32_t most = used.load(std::memory_order_relaxed);
    while (most < number && !used.compare_exchange_weak(most, number, std::memory_order_release)) {
    }
    entry.osTid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    entry.startStamp = stamp(mapping);
    entry.gapRecords = 0;
    entry.gapDomains = 0;
    entry.gapNumber = 1;
    entry.ended = 0;
    prctl(PR_GET_NAME, entry.comm, 0, 0, 0);
    entry.name.store(threadName(), std::memory_order_relaxed);
    pthread_setspecific(gEntryKey, &entry);
    lacunaThread_ = {0, threadEpoch(mapping)};
    return true;
  }
  return false;
}

/// The thread's first event in this recording.
bool enterThread(Mapping& mapping) {
  if (!takeEntry(mapping) && !(mapping.flight && forgetOldestThread(mapping) && takeEntry(mapping)))
    return false;
  noteFoundEntry(mapping, *entryOfThread());
  return true;
}

std::uint64_t* reserveIn(Mapping& mapping, std::uint64_t word, std::size_t slots) {
  if (lacunaThread_.epoch != threadEpoch(mapping) && !enterThread(mapping)) {
    countDrop(mapping, word);
    return nullptr;
  }
  const std::uintptr_t cursor = lacunaThread_.cursor;
  const std::size_t room = (0 - cursor) & (kSegmentBytes - 1);
  if (room < slots * kSlotBytes) return nextSegment(mapping, *entryOfThread(), word, slots);
  lacunaThread_.cursor = cursor + slots * kSlotBytes;
  return reinterpret_cast<std::uint64_t*>(cursor);
}

/// The mapping that the calling process records into. Nullptr when nothing records.
Mapping* ownMapping() {
  while (const std::uint64_t* gate = __atomic_load_n(&lacunaGate_, __ATOMIC_ACQUIRE)) {
    const std::uint64_t epoch = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
    if (epoch == 0) {
      rejoinAfterFork();
      continue;
    }
    Mapping* active = mapping();
    if (active != nullptr && active->epoch == epoch)
      return active;  // else between two recordings; the gate decides
  }
  return nullptr;
}

/// Under the lock `kept`.
std::uint64_t* reserveKept(Mapping& mapping, std::size_t slots) {
  if (((0 - mapping.keptCursor) & (kSegmentBytes - 1)) < slots * kSlotBytes) {
    if (mapping.keptSegments >= mapping.maxSegments / kKeptShare) return nullptr;
    const std::uint32_t index = takeSegment(mapping);
    if (index == 0) return nullptr;
    linkSegment(mapping, mapping.view.thread(kKeptEntry), index, kKeptEntry);
    ++mapping.keptSegments;
    mapping.keptCursor =
        reinterpret_cast<std::uintptr_t>(mapping.view.segmentBase(index)) + kSegmentHead;
  }
  auto* slot = reinterpret_cast<std::uint64_t*>(mapping.keptCursor);
  mapping.keptCursor += slots * kSlotBytes;
  return slot;
}

}  // namespace

bool makeThreadKeys() {
  return pthread_key_create(&gEntryKey, leaveThread) == 0 &&
         pthread_key_create(&gNameKey, nullptr) == 0 && makeDropKey();
}

LacunaName threadName() {
  return static_cast<LacunaName>(reinterpret_cast<std::uintptr_t>(pthread_getspecific(gNameKey)));
}

void setThreadName(LacunaName name) {
  pthread_setspecific(gNameKey, reinterpret_cast<void*>(static_cast<std::uintptr_t>(name)));
  Mapping* active = mapping();
  if (recordsInto(active)) {
    entryOfThread()->name.store(name, std::memory_order_release);
  }
}

std::uint64_t* reserveSlow(std::uint64_t word, std::size_t slots) {
  const int savedErrno = errno;
  Mapping* active = ownMapping();
  std::uint64_t* slot = active != nullptr ? reserveIn(*active, word, slots) : nullptr;
  errno = savedErrno;
  return slot;
}

bool keepRow(std::uint64_t word, const void* packed, std::size_t bytes) {
  const int savedErrno = errno;
  Mapping* active = ownMapping();
  bool kept = false;
  if (active != nullptr && active->flight) {
    const Locked lock(forkPage()->kept);
    if (std::uint64_t* slot = reserveKept(*active, slotsOf(word))) {
      std::memcpy(slot + 2, packed, bytes);
      slot[1] = word;
      __atomic_store_n(slot, stamp(*active), __ATOMIC_RELEASE);
      kept = true;
    }
  }
  errno = savedErrno;
  return kept;
}

}  // namespace lacuna::prof::recording
