// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "backend/common/queue.h"

namespace lacuna::rt {

/// The parts of a queue that operators never touch.
struct CpuQueue::State {
  std::string name;
  std::thread thread;
  std::mutex errorMutex;
  std::string error;
  std::mutex runMutex;        ///< synchronous mode: tasks of several threads, one after the other
  bool throwsAtOnce = false;  ///< LACUNA_SYNC: an error is thrown where the task was enqueued

  /// Throws the error that was kept, if one was, and forgets it.
  void throwKept(std::atomic<bool>& failed) {
    if (!failed.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(errorMutex);
    failed = false;
    throw Error(error);
  }
};

}  // namespace lacuna::rt
