// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fork_locks.h"

#include <array>
#include <cstddef>

namespace lacuna::rt {

namespace {

struct Registered {
  ForkLock::Action lock = nullptr;  ///< null: this build has no such lock
  ForkLock::Action unlock = nullptr;
};

// Registrations come while static objects are made, so this must be ready before them.
constinit std::array<Registered, static_cast<std::size_t>(LockOrder::Count)> gForkLocks{};

}  // namespace

ForkLock::ForkLock(LockOrder order, Action lock, Action unlock) {
  gForkLocks[static_cast<std::size_t>(order)] = {lock, unlock};
}

void lockForFork() {
  for (const Registered& one : gForkLocks) {
    if (one.lock != nullptr) one.lock();
  }
}

void unlockAfterFork() {
  for (std::size_t i = gForkLocks.size(); i-- > 0;) {
    if (gForkLocks[i].unlock != nullptr) gForkLocks[i].unlock();
  }
}

}  // namespace lacuna::rt
