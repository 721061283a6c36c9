// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "alloc/allocator.h"

namespace lacuna::rt {

/// The blocks of an address range: all in address order, and the free ones by size. Free blocks
/// with memory belong to a queue; those without are nobody's. Neighbours join where they are free
/// in the same way. No lock of its own.
class BlockMap {
 public:
  /// Rests of at most so many bytes stay with their block.
  explicit BlockMap(std::size_t smallestRest) : smallestRest_(smallestRest) {}

  /// The smallest free block of that queue that is large enough, or null; it stays free.
  [[nodiscard]] Block* fit(std::size_t bytes, std::uint8_t queue) const {
    return fitIn(committed_, bytes, queue);
  }
  [[nodiscard]] Block* bareFit(std::size_t bytes) const { return fitIn(bare_, bytes, 0); }
  /// Takes a free block for `queue`; what it has too much stays free.
  Block* take(Block* free, std::size_t bytes, std::uint8_t queue);
  /// A block is free from now on.
  void free(Block* block, bool committed);
  /// A new free block behind all others.
  void append(Block* block);
  /// Bytes of the free block at the end, if it is of that queue.
  [[nodiscard]] std::size_t tail(std::uint8_t queue) const;
  /// True when a queue below that index has a free block with memory.
  [[nodiscard]] bool anyCommitted(std::uint8_t below) const {
    return !committed_.empty() && (*committed_.begin())->queue < below;
  }
  /// All free blocks with memory of the queues below that index. The caller frees them again,
  /// without it.
  std::vector<Block*> takeCommitted(std::uint8_t below);
  /// The blocks of that queue belong to the first one from now on: the free ones after its
  /// execution `freedAt`.
  void giveToFirst(std::uint8_t queue, std::uint64_t freedAt);
  template <class F>
  void each(const F& f) const {
    for (const Block* block = first_; block != nullptr; block = block->after) f(*block);
  }

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      if (a->queue != b->queue) return a->queue < b->queue;
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
  };
  using Blocks = std::set<Block*, BySize>;

  static Block* fitIn(const Blocks& blocks, std::size_t bytes, std::uint8_t queue);
  Blocks& setOf(const Block& block) { return block.committed ? committed_ : bare_; }
  Block* absorb(Block* keep, Block* gone);

  const std::size_t smallestRest_;
  Blocks committed_;
  Blocks bare_;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

}  // namespace lacuna::rt
