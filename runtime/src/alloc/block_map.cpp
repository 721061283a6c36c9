// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/block_map.h"

#include <algorithm>

namespace lacuna::rt {

namespace {

bool joinsWith(const Block& neighbour, const Block& block) {
  return neighbour.free && neighbour.committed == block.committed && neighbour.queue == block.queue;
}

}  // namespace

Block* BlockMap::fitIn(const Blocks& blocks, std::size_t bytes, std::uint8_t queue) {
  Block key;
  key.queue = queue;
  key.bytes = bytes;
  const auto found = blocks.lower_bound(&key);
  return found != blocks.end() && (*found)->queue == queue ? *found : nullptr;
}

Block* BlockMap::take(Block* block, std::size_t bytes, std::uint8_t queue) {
  setOf(*block).erase(block);
  block->free = false;
  if (block->committed && block->queue != queue) {
    block->queue = queue;
    block->freedAt = 0;
  }
  if (block->bytes - bytes > smallestRest_) {
    auto* rest = new Block;
    rest->address = block->address + bytes;
    rest->bytes = block->bytes - bytes;
    rest->before = block;
    rest->after = block->after;
    rest->free = true;
    rest->committed = block->committed;
    rest->queue = block->queue;
    rest->freedAt = block->freedAt;
    if (rest->after != nullptr) rest->after->before = rest;
    if (last_ == block) last_ = rest;
    block->after = rest;
    block->bytes = bytes;
    setOf(*rest).insert(rest);
  }
  block->queue = queue;
  return block;
}

void BlockMap::free(Block* block, bool committed) {
  block->free = true;
  block->committed = committed;
  if (!committed) block->queue = 0;
  if (Block* after = block->after; after != nullptr && joinsWith(*after, *block)) {
    setOf(*after).erase(after);
    absorb(block, after);
  }
  if (Block* before = block->before; before != nullptr && joinsWith(*before, *block)) {
    setOf(*before).erase(before);
    block = absorb(before, block);
  }
  setOf(*block).insert(block);
}

Block* BlockMap::absorb(Block* keep, Block* gone) {
  keep->bytes += gone->bytes;
  keep->freedAt = std::max(keep->freedAt, gone->freedAt);
  keep->after = gone->after;
  if (gone->after != nullptr) gone->after->before = keep;
  if (last_ == gone) last_ = keep;
  delete gone;
  return keep;
}

void BlockMap::append(Block* block) {
  block->before = last_;
  (last_ != nullptr ? last_->after : first_) = block;
  last_ = block;
  free(block, true);
}

std::size_t BlockMap::tail(std::uint8_t queue) const {
  return last_ != nullptr && last_->free && last_->committed && last_->queue == queue ? last_->bytes
                                                                                      : 0;
}

std::vector<Block*> BlockMap::takeCommitted(std::uint8_t below) {
  Block key;
  key.queue = below;
  const auto end = committed_.lower_bound(&key);
  std::vector<Block*> blocks(committed_.begin(), end);
  committed_.erase(committed_.begin(), end);
  return blocks;
}

void BlockMap::giveToFirst(std::uint8_t queue, std::uint64_t freedAt) {
  std::vector<Block*> cached;
  for (Block* block = first_; block != nullptr; block = block->after) {
    if (block->queue != queue) continue;
    if (block->free && block->committed) {
      cached.push_back(block);
    } else {
      block->queue = 0;
    }
  }
  for (Block* block : cached) committed_.erase(block);
  for (Block* block : cached) {
    block->queue = 0;
    block->freedAt = freedAt;
    block->free = false;  // so that none joins a neighbour before its own turn
  }
  for (Block* block : cached) free(block, true);
}

}  // namespace lacuna::rt
