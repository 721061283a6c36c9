// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "alloc/allocator.h"
#include "backend/common/queue.h"
#include "backend/staging.h"
#include "lacuna/runtime/data.h"

namespace lacuna::rt {

class StagingRing;

/// One batch's memory. Memory handed out of it counts as held until its tensor is dropped. Then it
/// counts as pending until the queue has passed the work enqueued before. The slot is filled again
/// when nothing is held or pending.
struct StagingSlot {
  StagingRing* ring = nullptr;
  std::shared_ptr<StagingRing>
      keepsRing;  ///< while it is not free: tensors may outlive their loader
  std::vector<StagingMemory>
      pieces;            ///< one, but for the first batches, which show how large they are
  std::size_t used = 0;  ///< bytes of the last piece
  std::size_t held = 0;
  std::size_t pending = 0;
  bool filling = false;
};

/// A loader's slots, used in turn. All functions may be called from any thread.
class StagingRing : public std::enable_shared_from_this<StagingRing> {
 public:
  StagingRing(Device device, std::size_t slots);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  /// A worker took the task of this batch, or is done with it. Between the two a slot is kept for
  /// it before all later batches, so that the one which the consumer needs next is never left
  /// without.
  void begun(std::uint64_t batch);
  void done(std::uint64_t batch);
  /// A slot to fill; waits for the queue to give one back. None when the loader ends, and when
  /// waiting could last for ever: the consumer itself asks or waits for a batch, and holds all the
  /// others.
  StagingSlot* acquire(bool consumer, std::uint32_t loader, int worker, std::uint64_t batch);
  Block* allocate(StagingSlot& slot, std::size_t bytes);
  void filled(StagingSlot& slot);
  /// The consumer waits for a batch, or does no longer.
  void consumerWaits(bool waits);
  /// Nobody waits for a slot from now on.
  void close();
  [[nodiscard]] StagingStats stats();

 private:
  friend void releaseStaged(Block* block, QueueMask users);
  void release(StagingSlot& slot);
  void toPending(StagingSlot& slot);
  void freeIfUnused(StagingSlot& slot, std::shared_ptr<StagingRing>& last);
  [[nodiscard]] bool draining() const;
  void shrinkToOnePiece(StagingSlot& slot);

  const Device device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StagingSlot> slots_;
  std::deque<StagingSlot*> free_;
  std::set<std::uint64_t> unserved_;  ///< batches begun that have no slot yet
  bool consumerWaits_ = false;
  bool closed_ = false;
  std::size_t wantedBytes_ = 0;  ///< of a piece: the largest batch so far
  StagingStats stats_;
};

/// Gives back a staged block in the order of the queues that used it.
void releaseStaged(Block* block, QueueMask users);

/// While it lives, emptyHost() on this thread takes memory of one slot of the ring, acquired when
/// first needed.
class StagingFill {
 public:
  /// Does nothing without a ring.
  StagingFill(std::shared_ptr<StagingRing> ring, bool consumer, std::uint32_t loader, int worker,
              std::uint64_t batch);
  ~StagingFill();
  StagingFill(const StagingFill&) = delete;
  StagingFill& operator=(const StagingFill&) = delete;

  /// Memory for emptyHost(); null where it must come from elsewhere.
  static Block* allocate(std::size_t bytes) {
    return tCurrent == nullptr ? nullptr : tCurrent->take(bytes);
  }

 private:
  Block* take(std::size_t bytes);

  static thread_local constinit StagingFill* tCurrent;
  StagingFill* outer_;
  std::shared_ptr<StagingRing> ring_;
  StagingSlot* slot_ = nullptr;
  bool asked_ = false;
  bool consumer_;
  std::uint32_t loader_;
  int worker_;
  std::uint64_t batch_;
};

}  // namespace lacuna::rt
