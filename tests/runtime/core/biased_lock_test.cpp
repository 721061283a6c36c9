// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/biased_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace lacuna::rt {
namespace {

/// Takes the lock so often, and counts with no atomic instruction.
void countUnder(BiasedLock& lock, long& count, int times) {
  for (int i = 0; i < times; ++i) {
    const std::lock_guard guard(lock);
    ++count;
  }
}

TEST(BiasedLockTest, NoCountIsLostAmongManyThreads) {
  BiasedLock lock;
  long count = 0;
  countUnder(lock, count, 1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { countUnder(lock, count, 50'000); });
  countUnder(lock, count, 50'000);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 1000 + 5 * 50'000);
}

// The moment in which the second thread comes is another one each time.
TEST(BiasedLockTest, NoCountIsLostWhenTheFirstOtherThreadTakesItAway) {
  for (int turn = 0; turn < 300; ++turn) {
    BiasedLock lock;
    long count = 0;
    std::atomic<bool> begun{false};
    std::thread other([&] {
      begun.wait(false);
      countUnder(lock, count, 1 + turn);
    });
    countUnder(lock, count, 1);
    begun = true;
    begun.notify_one();
    countUnder(lock, count, 2000);
    other.join();
    ASSERT_EQ(count, 2001 + 1 + turn) << "turn " << turn;
  }
}

TEST(BiasedLockTest, TheOwnerWaitsForTheOneWhoTookItAway) {
  BiasedLock lock;
  lock.lock();
  lock.unlock();
  std::atomic<bool> taken{false};
  bool over = false;
  std::thread other([&] {
    const std::lock_guard guard(lock);
    taken = true;
    taken.notify_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    over = true;
  });
  taken.wait(false);
  lock.lock();
  EXPECT_TRUE(over);
  lock.unlock();
  other.join();
}

TEST(BiasedLockTest, OthersTakeItAfterItsOwnerHasEnded) {
  BiasedLock lock;
  long count = 0;
  for (int i = 0; i < 3; ++i) std::thread([&] { countUnder(lock, count, 10); }).join();
  countUnder(lock, count, 10);
  EXPECT_EQ(count, 40);
}

TEST(BiasedLockTest, ThreadsOfAForkedChildTakeItAwayFromTheThreadThatForked) {
  BiasedLock lock;
  long count = 0;
  countUnder(lock, count, 10);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread other([&] { countUnder(lock, count, 20'000); });
    countUnder(lock, count, 20'000);
    other.join();
    ::_exit(count == 40'010 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Then the one who takes it away is not in the child, and would never be done.
TEST(BiasedLockTest, AForkWaitsForWhoeverTakesItAway) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a fork may catch the other thread in the sanitizer's own allocator";
#endif
  for (int turn = 0; turn < 100; ++turn) {
    BiasedLock lock;
    long count = 0;
    countUnder(lock, count, 1);
    std::atomic<bool> begun{false};
    std::thread other([&] {
      begun = true;
      countUnder(lock, count, 1000);
    });
    while (!begun) {
    }
    lock.lockForFork();
    const pid_t child = ::fork();
    lock.unlock();
    if (child == 0) {
      ::alarm(60);
      countUnder(lock, count, 1);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    other.join();
    ASSERT_EQ(status, 0) << "turn " << turn;
  }
}

}  // namespace
}  // namespace lacuna::rt
