// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <atomic>
#include <thread>

namespace lacuna::rt {

/// A lock for sections of some nanoseconds: one locked instruction to take it, none to give it back. Waiters yield.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) [[unlikely]] wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  void wait() {
    for (int spin = 0; held_.load(std::memory_order_relaxed); ++spin) {
      if (spin < 100) {
        _mm_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace lacuna::rt
