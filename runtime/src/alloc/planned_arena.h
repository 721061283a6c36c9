// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alloc/allocator.h"
#include "alloc/arena_plan.h"

namespace lacuna::rt {

/// The piece of memory that planned buffers share. It outlives its plan as long as one of its
/// blocks is held.
struct Arena {
  Block* memory = nullptr;
  std::map<std::uintptr_t, Block*> held;  ///< by address
  bool retired = false;
};

/// The state of the plan in a device's allocator: which iteration is recorded or followed, and
/// where it stands. Everything happens under the allocator's lock.
///
/// Only the thread that began the iteration records and follows, and only on the queue of then.
/// Others take from the cache meanwhile, as do blocks small enough for slabs. Recording gives each
/// block a number, by which its free is noted, whoever frees it.
class PlannedArena {
 public:
  enum class State : std::uint8_t { Outside, Recording, Following, Left };

  void turn(bool on);
  void recordAgain();
  [[nodiscard]] bool on() const { return on_; }

  /// True on the thread whose iteration is recorded or followed, for the queue that it began on.
  [[nodiscard]] bool follows(std::uint8_t queue) const {
    return state_ != State::Outside && owner_ == &tSelf && queue_ == queue;
  }
  [[nodiscard]] State state() const { return state_; }

  /// False when the plan is off, or is one for another queue, or an iteration has begun already, of
  /// this thread or another.
  [[nodiscard]] bool canBegin(std::uint8_t queue) const {
    return on_ && !gaveUp_ && state_ == State::Outside && (!plan_ || queue_ == queue);
  }
  /// False when it cannot.
  bool begin(std::uint8_t queue);
  /// Ends it. `whole` is false when an exception ends it. Returns the buffers to pack, whose plan
  /// finish() takes: packing takes too long for the allocator's lock.
  std::optional<std::vector<PlannedBuffer>> end(bool finished);
  void finish(ArenaPlan plan);
  /// The plan was packed and its arena is not there yet: so many bytes are wanted.
  [[nodiscard]] std::size_t wantedBytes() const {
    return plan_ && arena_ == nullptr ? plan_->bytes : 0;
  }
  void install(Block* memory);
  /// There is no memory for the arena.
  void refuse(const std::string& why);

  void recordAllocation(Block& block, std::size_t bytes);
  void recordFree(Block& block);
  /// The next block of the iteration, in the arena. Null where the cache must serve: the buffer
  /// outlives the iteration, or the iteration has left the plan.
  Block* take(std::size_t bytes, const char* op);
  /// Takes back a block of an arena; the memory of the arena when nobody needs that any more.
  Block* giveBack(Block* block);
  /// Retires the arena when none of its blocks is held, for an allocator that is short of memory:
  /// its memory, or null.
  Block* surrender();
  /// Memory of arenas that ended while nothing was held in them; null: no more.
  Block* takeUnneeded();

  template <class F>
  void eachHeld(const F& f) const {
    for (const Arena* arena : arenas_) {
      for (const auto& [address, block] : arena->held) f(*block);
    }
  }
  [[nodiscard]] MemoryPlanStats stats() const;

 private:
  void leave(const std::string& why);
  void retire();
  bool overlapsHeld(std::uintptr_t address, std::size_t bytes) const;
  void mark(const char* message) const;

  static thread_local constinit char tSelf;  ///< its address identifies the thread
  const char* owner_ = nullptr;
  std::uint8_t queue_ = 0;  ///< in whose order the arena is used
  bool on_ = false;
  bool gaveUp_ = false;
  State state_ = State::Outside;
  std::vector<PlannedBuffer> recorded_;
  std::vector<Block*> live_;  ///< of recorded_, null when freed
  std::uint64_t clock_ = 0;
  std::optional<ArenaPlan> plan_;
  Arena* arena_ = nullptr;
  std::vector<Arena*> arenas_;  ///< arena_ and the retired ones
  std::size_t next_ = 0;        ///< of plan_->buffers
  int leftInARow_ = 0;
  int vain_ = 0;  ///< recordings since an iteration last followed one to its end
  bool proven_ = false;
  std::uint64_t recordings_ = 0;
  std::uint64_t replays_ = 0;
  std::uint64_t fallbacks_ = 0;
  std::string lastFallback_;
};

}  // namespace lacuna::rt
