// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A fork copies locks as they are, but only one of the threads. A lock that another thread held
/// would stay locked in the child for good. So the fork handlers of the CPU's queue take all locks
/// that a thread of the child may need, and parent and child release them.
namespace lacuna::rt {

/// The order in which locks nest: a thread that holds one takes later ones only.
enum class LockOrder : std::uint8_t {
  CpuAllocator,
  MetaAllocator,
  HostAllocator,
  AllocatorTexts,
  Leaves,
  KeptWeights,
  Random,
  ProfileTable,
  OperatorRecorder,
  Names,
  Count
};

/// Registers a lock for forks. Define one beside each lock that several threads take:
///
///     const ForkLock kForkLock{LockOrder::Random, [] { gMutex.lock(); }, [] { gMutex.unlock(); }};
class ForkLock {
 public:
  using Action = void (*)();
  ForkLock(LockOrder order, Action lock, Action unlock);
};

/// Takes all registered locks in their order.
void lockForFork();
/// Releases them in the opposite order.
void unlockAfterFork();

}  // namespace lacuna::rt
