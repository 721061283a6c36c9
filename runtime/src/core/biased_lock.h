// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace lacuna::rt {

/// A lock for sections of some nanoseconds. It belongs to the first thread that takes it, and that
/// thread takes it with plain stores. A locked instruction would wait for everything that the
/// thread has written to cold memory, such as a profiler's records. The first other thread takes
/// that right away for good, at the price of a system call, and from then on all take it with one
/// locked instruction. Waiters yield. Not recursive.
class BiasedLock {
 public:
  void lock() {
    if (owner_.load(std::memory_order_relaxed) == thisThread()) [[likely]] {
      inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(
          std::memory_order_seq_cst);  // the processor's own fence is up to the one who takes away
      if (!shared_.load(std::memory_order_acquire)) [[likely]]
        return;
      inside_.store(false, std::memory_order_release);
    }
    lockShared();
  }
  /// False where another thread holds it, or is about to take it.
  bool tryLock() {
    if (owner_.load(std::memory_order_relaxed) == thisThread()) [[likely]] {
      inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!shared_.load(std::memory_order_acquire)) [[likely]]
        return true;
      inside_.store(false, std::memory_order_release);
    }
    if (claimed_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire))
      return false;
    settleOwner();
    return true;
  }
  /// As a fork needs it: with nobody on the way to take it, whom the child would wait for. It stays
  /// whose it was.
  void lockForFork();
  void unlock() {
    if (owner_.load(std::memory_order_relaxed) == thisThread() &&
        inside_.load(std::memory_order_relaxed)) [[likely]] {
      inside_.store(false, std::memory_order_release);
    } else {
      held_.store(false, std::memory_order_release);
    }
  }

 private:
  static const void* thisThread() { return __builtin_thread_pointer(); }
  void lockShared();
  void claim();
  /// With held_ taken: makes sure that the owner is not inside.
  void settleOwner();

  std::atomic<const void*> owner_{nullptr};
  std::atomic<bool> inside_{false};  ///< the owner holds it, or is about to look whether it may
  std::atomic<bool> shared_{false};
  std::atomic<bool> claimed_{false};  ///< one waits too long already: others let it go first
  std::atomic<bool> held_{false};     ///< by a thread that took it with a locked instruction
};

}  // namespace lacuna::rt
