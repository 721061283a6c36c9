// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/common/queue.h"
#include "core/pooled.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

struct Arena;
struct StagingSlot;

/// A piece of an allocator's address range, in use or free.
struct Block : Pooled<Block> {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;      ///< of the block, rounded up
  std::size_t requested = 0;  ///< as asked for
  Block* before = nullptr;    ///< neighbours in address order
  Block* after = nullptr;
  bool free = false;
  bool committed = false;  ///< free blocks only: backed by memory
  /// Index of the queue in whose order the block is used and cached. Without memory it is nobody's,
  /// and this is 0.
  std::uint8_t queue = 0;
  Role role = Role::Other;
  const char* op = "";             ///< operator that asked, or whoever else did; lives for good
  const char* tensor = "";         ///< name of the tensor; lives for good
  std::uint64_t serial = 0;        ///< order of allocation
  std::uint64_t freedAt = 0;       ///< cached blocks: the last execution of `queue` that may use it
  bool slab = false;               ///< cut up into small blocks, which have no neighbours
  std::uint32_t recorded = 0;      ///< number in the iteration that is being recorded; 0: none
  Arena* arena = nullptr;          ///< of a planned block
  StagingSlot* staging = nullptr;  ///< of a loader's block
};

/// Caching best-fit allocator over one expandable address range per device. Memory is
/// queue-ordered: a freed block may be handed out at once to its queue, because whoever uses it is
/// enqueued after whoever used it. Another queue gets it when its queue has passed the last use. A
/// block that several queues used is cached when all of them are done with it.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Throws OutOfMemory.
  virtual Block* allocate(std::size_t bytes, Role role) = 0;
  /// `users`: the queues that may use it yet.
  virtual void free(Block* block, QueueMask users = 0) = 0;
  /// Sets what a block is for, and reports it where that is news; `tensor` lives for good.
  virtual void describe(Block* block, const char* tensor, Role role) = 0;
  virtual MemoryStats stats() = 0;
  virtual void resetPeak() = 0;
  virtual void trim() = 0;  ///< gives free memory back to the system; the queue must be drained
  virtual void setLimit(std::size_t bytes) = 0;
  virtual std::string largest(std::size_t count) = 0;  ///< the largest live blocks, one a line

  virtual void planIterations(bool on) = 0;
  virtual void recordPlanAgain() = 0;
  virtual MemoryPlanStats planStats() = 0;
  /// An iteration of the calling thread; false when it is not planned, and need not end.
  virtual bool beginIteration() = 0;
  /// `whole` is false when an exception ends it.
  virtual void endIteration(bool finished) = 0;

  /// The blocks in use that were allocated under the index of a trace (see tensor/trace.h).
  [[nodiscard]] virtual std::vector<const Block*> liveUnder(std::uint8_t index) = 0;
  /// The memory of that index belongs to the first queue from now on.
  virtual void endIndex(std::uint8_t index) = 0;
};

Allocator& allocatorOf(Device device);
Allocator& hostAllocator();
/// LACUNA_MEMORY_LIMIT in bytes; 0 where it is not set. Throws Error where it is no size.
std::size_t memoryLimitFromEnvironment();
/// Text that lives for good, for Block::tensor and the like.
const char* internText(std::string_view text);

}  // namespace lacuna::rt
