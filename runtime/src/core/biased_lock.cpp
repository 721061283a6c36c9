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

constexpr int kSpins = 100;
constexpr int kPatience = 300;
constexpr int kForEver = -1;

void pause(int round) {
  if (round < kSpins) {
    _mm_pause();
  } else {
    std::this_thread::yield();
  }
}

/// False when `rounds` were not enough.
bool waitWhile(const std::atomic<bool>& held, int rounds = kForEver) {
  for (int round = 0; held.load(std::memory_order_acquire); round += round < kPatience ? 1 : 0) {
    if (round == rounds) return false;
    pause(round);
  }
  return true;
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

// A thread that takes the lock again and again, such as one that enqueues to a full queue, would
// leave others no moment to take it in. So who waits long claims it. A claim that lasts may be that
// of a thread which a fork left behind.
void BiasedLock::lockShared() {
  if (!waitWhile(claimed_, kPatience)) return claim();
  while (held_.exchange(true, std::memory_order_acquire)) {
    if (!waitWhile(held_, kPatience)) return claim();
  }
  settleOwner();
}

void BiasedLock::lockForFork() {
  claim();
}

void BiasedLock::claim() {
  for (int round = 0; held_.exchange(true, std::memory_order_acquire);
       round += round < kPatience ? 1 : 0) {
    claimed_.store(true, std::memory_order_relaxed);
    pause(round);
  }
  claimed_.store(false, std::memory_order_relaxed);
  settleOwner();
}

void BiasedLock::settleOwner() {
  if (shared_.load(std::memory_order_relaxed)) return;
  const void* owner = owner_.load(std::memory_order_relaxed);
  if (owner == thisThread()) return;
  if (owner == nullptr && processBarrierThere()) {
    owner_.store(thisThread(), std::memory_order_relaxed);
    return;
  }
  shared_.store(true, std::memory_order_relaxed);
  if (owner == nullptr) return;
  // After it the owner has either published that it is inside, or will see that it may no longer go
  // in.
  processBarrier();
  waitWhile(inside_);
  owner_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace lacuna::rt
