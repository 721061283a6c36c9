// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/layout.h"

/// The parts of the guest. It allocates with mmap only, takes its own locks only, and leaves errno
/// as it found it.
namespace lacuna::prof::recording {

/// A lock on a page that a fork wipes, so that a child never inherits it taken.
class SpinLock {
 public:
  void lock();
  void unlock() { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> taken_;
};

class Locked {
 public:
  explicit Locked(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SpinLock& lock_;
};

/// Wiped in a forked child: epoch 0 means that nothing here is its own.
struct ForkPage {
  std::uint64_t epoch;  ///< accessed through __atomic, as in prof.h
  SpinLock life;        ///< attach, detach, rejoin
  SpinLock names;
  SpinLock kept;  ///< taken before `flight`
  SpinLock flight;
};
/// The page, made when first needed; nullptr when the system has no memory for it.
ForkPage* forkPage();

/// Data that a fork or a stop must not lose: texts, and where the recording is.
struct Mapping {
  View view;
  std::uint32_t maxSegments = 0;
  bool flight = false;
  bool tsc = false;
  std::uint64_t epoch = 0;
  char path[1024] = {};
  std::atomic<std::uint64_t> lastTuple = 0;
  std::atomic<std::uint64_t> growFailedAt = 0;  ///< stamp; 0 when it last went well
  std::uint32_t stringsBacked = 0;
  std::uintptr_t keptCursor =
      0;  ///< as a thread's, of the rows that are kept; under the lock `kept`
  std::uint32_t keptSegments = 0;  ///< under the same
  std::atomic<std::uint64_t> inPageTable[kMaxSegments / 64] =
      {};  ///< a bit for each segment that needs no fault

  [[nodiscard]] bool isInPageTable(std::uint32_t segment) const {
    return (inPageTable[(segment - 1) / 64].load(std::memory_order_relaxed) >> (segment - 1) % 64 &
            1) != 0;
  }
  void noteInPageTable(std::uint32_t segment) {
    inPageTable[(segment - 1) / 64].fetch_or(1ull << (segment - 1) % 64, std::memory_order_relaxed);
  }
};
/// The mapping of this process, or nullptr. It stays mapped after a detach, for threads that are
/// still writing.
Mapping* mapping();

/// Builds a new recording file in `directory` and maps it. Under the life lock. Returns 0 or a
/// negative errno.
int buildMapping(const char* directory, Mapping& out);
/// Backs [offset, offset + bytes) of the recording file with memory. The file is opened anew: the
/// program may have closed any descriptor that was kept, and given its number to a file of its own.
bool backFile(const Mapping& mapping, std::size_t offset, std::size_t bytes);

std::uint64_t stamp(const Mapping& mapping);
void addTuple(Mapping& mapping);

/// Names. The texts live in memory of the process and are copied into each mapping, under the same
/// ids.
LacunaName internText(const char* text, std::size_t length);
LacunaName internSite(const SiteBody& site);
/// Copies every name into a new mapping and makes `publish` happen before any further name is
/// added.
bool copyNames(Mapping& mapping, void (*publish)(Mapping&));

/// A place for a record of `slots` slots that begins with `word`, on the calling thread. Nullptr
/// when nothing records, or when the record was dropped (and counted).
std::uint64_t* reserveSlow(std::uint64_t word, std::size_t slots);
/// Flight recorder: writes a row to where the ring does not overwrite it. False when nothing
/// records, when there is no ring, or when there is no more room for such rows.
bool keepRow(std::uint64_t word, const void* packed, std::size_t bytes);
/// In a forked child: joins the recording of its parent with segments of its own. True when the
/// process may record.
bool rejoinAfterFork();
/// The name that the calling thread was given, 0 for none.
LacunaName threadName();

}  // namespace lacuna::prof::recording
