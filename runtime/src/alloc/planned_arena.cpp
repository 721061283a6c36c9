// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/planned_arena.h"

#include <utility>

#include "instrument/observer.h"

namespace lacuna::rt {

namespace {

constexpr int kVainRecordings = 4;
constexpr int kLeftInARow = 2;

}  // namespace

thread_local constinit char PlannedArena::tSelf = 0;

void PlannedArena::turn(bool on) {
  on_ = on;
  if (on) {
    gaveUp_ = false;
    vain_ = 0;
  } else if (state_ == State::Outside) {
    retire();
  }
}

void PlannedArena::recordAgain() {
  gaveUp_ = false;
  vain_ = 0;
  if (state_ == State::Following) leave("a new recording was asked for");
  if (state_ != State::Recording) retire();
}

bool PlannedArena::begin(std::uint8_t queue) {
  if (!canBegin(queue)) return false;
  owner_ = &tSelf;
  queue_ = queue;
  next_ = 0;
  state_ = plan_ ? State::Following : State::Recording;
  return true;
}

std::optional<std::vector<PlannedBuffer>> PlannedArena::end(bool finished) {
  const State was = std::exchange(state_, State::Outside);
  if (was == State::Recording) {
    for (Block* block : live_) {
      if (block != nullptr) block->recorded = 0;
    }
    live_.clear();
    clock_ = 0;
    std::vector<PlannedBuffer> recorded = std::exchange(recorded_, {});
    if (finished && on_) return recorded;
  } else if (was == State::Following) {
    const bool complete = finished && plan_ && next_ == plan_->buffers.size();
    replays_ += complete ? 1 : 0;
    if (complete) {
      proven_ = true;
      leftInARow_ = vain_ = 0;
    }
  } else if (was == State::Left && plan_ && (!proven_ || ++leftInARow_ >= kLeftInARow)) {
    retire();
  }
  if (!on_) retire();
  return std::nullopt;
}

void PlannedArena::finish(ArenaPlan plan) {
  ++recordings_;
  proven_ = false;
  leftInARow_ = 0;
  if (++vain_ > kVainRecordings) {
    gaveUp_ = true;
    mark(LACUNA_RT_MSG_PLAN_GIVEN_UP);
    return;
  }
  plan_ = std::move(plan);
  mark(LACUNA_RT_MSG_PLAN_RECORDED);
}

void PlannedArena::install(Block* memory) {
  memory->slab = true;  // cut up, like one: its blocks are listed instead
  arena_ = new Arena{memory, {}, false};
  arenas_.push_back(arena_);
}

void PlannedArena::refuse(const std::string& why) {
  lastFallback_ = why;
  ++fallbacks_;
  gaveUp_ = true;
  plan_.reset();
  mark(LACUNA_RT_MSG_PLAN_GIVEN_UP);
}

void PlannedArena::recordAllocation(Block& block, std::size_t bytes) {
  recorded_.push_back({bytes, ++clock_, 0, 0});
  live_.push_back(&block);
  block.recorded = static_cast<std::uint32_t>(recorded_.size());
}

void PlannedArena::recordFree(Block& block) {
  const std::size_t index = std::exchange(block.recorded, 0) - 1;
  recorded_[index].freed = ++clock_;
  live_[index] = nullptr;
}

Block* PlannedArena::take(std::size_t bytes, const char* op) {
  if (state_ != State::Following) return nullptr;
  const auto at = [&] {
    return "allocation " + std::to_string(next_ + 1) + " of the iteration, by " + op + ": ";
  };
  if (next_ == plan_->buffers.size()) {
    leave(at() + "the recorded iteration had no more");
    return nullptr;
  }
  const PlannedBuffer& wanted = plan_->buffers[next_];
  if (wanted.bytes != bytes) {
    leave(at() + std::to_string(bytes) + " bytes where " + std::to_string(wanted.bytes) +
          " were recorded");
    return nullptr;
  }
  if (wanted.outlives()) {
    ++next_;
    return nullptr;
  }
  const std::uintptr_t address = arena_->memory->address + wanted.offset;
  if (overlapsHeld(address, bytes)) {
    leave(at() + "its place is still held by a tensor that was gone by then when it was recorded");
    return nullptr;
  }
  ++next_;
  auto* block = new Block;
  block->address = address;
  block->bytes = bytes;
  block->queue = queue_;
  block->arena = arena_;
  arena_->held.emplace(address, block);
  return block;
}

bool PlannedArena::overlapsHeld(std::uintptr_t address, std::size_t bytes) const {
  const auto after = arena_->held.lower_bound(address);
  if (after != arena_->held.end() && after->first < address + bytes) return true;
  if (after == arena_->held.begin()) return false;
  const Block& before = *std::prev(after)->second;
  return before.address + before.bytes > address;
}

Block* PlannedArena::giveBack(Block* block) {
  Arena* arena = block->arena;
  arena->held.erase(block->address);
  delete block;
  return arena->retired ? takeUnneeded() : nullptr;
}

Block* PlannedArena::surrender() {
  if (arena_ == nullptr || !arena_->held.empty()) return nullptr;
  if (state_ == State::Following) leave("the allocator was short of memory");
  retire();
  return takeUnneeded();
}

Block* PlannedArena::takeUnneeded() {
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    Arena* arena = arenas_[i];
    if (!arena->retired || !arena->held.empty()) continue;
    arenas_.erase(arenas_.begin() + static_cast<std::ptrdiff_t>(i));
    Block* memory = arena->memory;
    memory->slab = false;
    delete arena;
    return memory;
  }
  return nullptr;
}

void PlannedArena::retire() {
  if (arena_ != nullptr) arena_->retired = true;
  arena_ = nullptr;
  plan_.reset();
}

void PlannedArena::leave(const std::string& why) {
  state_ = State::Left;
  ++fallbacks_;
  lastFallback_ = why;
  mark(LACUNA_RT_MSG_PLAN_LEFT);
}

void PlannedArena::mark(const char* message) const {
  if (instrument::sinks() != 0) [[unlikely]]
    instrument::memoryMark(message);
}

MemoryPlanStats PlannedArena::stats() const {
  MemoryPlanStats out;
  out.on = on_;
  out.gaveUp = gaveUp_;
  out.recordings = recordings_;
  out.replays = replays_;
  out.fallbacks = fallbacks_;
  out.lastFallback = lastFallback_;
  if (!plan_) return out;
  out.bytes = plan_->bytes;
  out.bound = plan_->bound;
  for (const PlannedBuffer& buffer : plan_->buffers)
    ++(buffer.outlives() ? out.outliving : out.buffers);
  return out;
}

}  // namespace lacuna::rt
