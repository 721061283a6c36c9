// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/biased_lock.h"

#include <immintrin.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "core/process_barrier.h"

namespace lacuna::rt {

namespace {

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

void waitWhile(const std::atomic<bool>& held) {
  for (int spin = 0; held.load(std::memory_order_acquire); ++spin) {
    if (spin < 100) {
      _mm_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

bool processBarrierThere() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  static const bool there = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return there;
#endif
}

void processBarrier() {
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void BiasedLock::lockShared() {
  while (held_.exchange(true, std::memory_order_acquire)) waitWhile(held_);
  if (shared_.load(std::memory_order_relaxed)) return;
  const void* owner = owner_.load(std::memory_order_relaxed);
  if (owner == thisThread()) return;
  if (owner == nullptr && processBarrierThere()) {
    owner_.store(thisThread(), std::memory_order_relaxed);
    return;
  }
  shared_.store(true, std::memory_order_relaxed);
  if (owner == nullptr) return;
  // After it the owner has either published that it is inside, or will see that it may no longer go in.
  processBarrier();
  waitWhile(inside_);
  owner_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace lacuna::rt
