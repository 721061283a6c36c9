// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/staging_ring.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/common/queue.h"
#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace {

constexpr std::size_t kRingAlignment = 64;
constexpr const char* kOwner = "loader.staging";

}  // namespace

thread_local constinit StagingFill* StagingFill::tCurrent = nullptr;

StagingRing::StagingRing(Device device, std::size_t slots) : device_(device) {
  stats_.slots = slots;
  for (std::size_t i = 0; i < slots; ++i) {
    slots_.emplace_back().ring = this;
    free_.push_back(&slots_.back());
  }
}

StagingRing::~StagingRing() {
  for (const StagingSlot& slot : slots_) {
    for (const StagingMemory& piece : slot.pieces) {
      externalMemory(piece.data, piece.bytes, kOwner, false);
      freeStaging(device_, piece);
    }
  }
}

void StagingRing::begun(std::uint64_t batch) {
  const std::lock_guard lock(mutex_);
  unserved_.insert(batch);
}

void StagingRing::done(std::uint64_t batch) {
  const std::lock_guard lock(mutex_);
  if (unserved_.erase(batch) > 0) changed_.notify_all();
}

StagingSlot* StagingRing::acquire(bool consumer, std::uint32_t loader, int worker,
                                  std::uint64_t batch) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] {
    const auto earlier = std::distance(unserved_.begin(), unserved_.lower_bound(batch));
    return closed_ || free_.size() > static_cast<std::size_t>(earlier) ||
           ((consumer || consumerWaits_) && !draining());
  };
  if (!ready()) {
    ++stats_.waits;
    const LoaderScope scope(LoaderStage::Put, loader, worker, batch);
    changed_.wait(lock, ready);
  }
  if (unserved_.erase(batch) > 0) changed_.notify_all();
  if (closed_ || free_.empty()) {
    ++stats_.beside;
    return nullptr;
  }
  StagingSlot* slot = free_.front();
  free_.pop_front();
  slot->keepsRing = shared_from_this();
  slot->filling = true;
  ++stats_.batches;
  ++stats_.inUse;
  return slot;
}

Block* StagingRing::allocate(StagingSlot& slot, std::size_t bytes) {
  const std::size_t rounded =
      std::max(kRingAlignment, (bytes + kRingAlignment - 1) / kRingAlignment * kRingAlignment);
  const std::lock_guard lock(mutex_);
  if (slot.pieces.empty() || slot.used + rounded > slot.pieces.back().bytes) {
    slot.pieces.push_back(allocateStaging(device_, std::max(rounded, wantedBytes_)));
    slot.used = 0;
    stats_.bytes += slot.pieces.back().bytes;
    externalMemory(slot.pieces.back().data, slot.pieces.back().bytes, kOwner, true);
  }
  auto* block = new Block;
  block->address = reinterpret_cast<std::uintptr_t>(slot.pieces.back().data) + slot.used;
  block->bytes = rounded;
  block->requested = bytes;
  block->role = Role::Input;
  block->staging = &slot;
  slot.used += rounded;
  ++slot.held;
  return block;
}

void StagingRing::filled(StagingSlot& slot) {
  std::shared_ptr<StagingRing> last;
  const std::lock_guard lock(mutex_);
  slot.filling = false;
  freeIfUnused(slot, last);
}

void StagingRing::toPending(StagingSlot& slot) {
  const std::lock_guard lock(mutex_);
  --slot.held;
  ++slot.pending;
  // A thread that found the consumer holding everything may now wait for the queue instead.
  changed_.notify_all();
}

void StagingRing::release(StagingSlot& slot) {
  std::shared_ptr<StagingRing> last;  // ends after the lock
  const std::lock_guard lock(mutex_);
  --slot.pending;
  freeIfUnused(slot, last);
}

void StagingRing::freeIfUnused(StagingSlot& slot, std::shared_ptr<StagingRing>& last) {
  if (slot.filling || slot.held + slot.pending > 0) return;
  shrinkToOnePiece(slot);
  slot.used = 0;
  last = std::move(slot.keepsRing);
  free_.push_back(&slot);
  --stats_.inUse;
  changed_.notify_all();
}

// Batches are about as large as each other: what did not fit in one piece gets one of the whole
// size.
void StagingRing::shrinkToOnePiece(StagingSlot& slot) {
  if (slot.pieces.size() < 2) return;
  std::size_t total = 0;
  for (const StagingMemory& piece : slot.pieces) {
    total += piece.bytes;
    externalMemory(piece.data, piece.bytes, kOwner, false);
    freeStaging(device_, piece);
  }
  slot.pieces.clear();
  stats_.bytes -= total;
  wantedBytes_ = std::max(wantedBytes_, total);
}

bool StagingRing::draining() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const StagingSlot& slot) {
    return !slot.filling && slot.held == 0 && slot.pending > 0;
  });
}

void StagingRing::consumerWaits(bool waits) {
  const std::lock_guard lock(mutex_);
  consumerWaits_ = waits;
  if (waits) changed_.notify_all();
}

void StagingRing::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

StagingStats StagingRing::stats() {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void releaseStaged(Block* block, QueueMask users) {
  StagingSlot& slot = *block->staging;
  delete block;
  slot.ring->toPending(slot);
  static const Name kRelease{"release_host"};
  CpuQueue::whenPassed(users, kRelease, [&slot] { slot.ring->release(slot); });
}

StagingFill::StagingFill(std::shared_ptr<StagingRing> ring, bool consumer, std::uint32_t loader,
                         int worker, std::uint64_t batch)
    : outer_(tCurrent),
      ring_(std::move(ring)),
      consumer_(consumer),
      loader_(loader),
      worker_(worker),
      batch_(batch) {
  if (ring_) tCurrent = this;
}

StagingFill::~StagingFill() {
  tCurrent = outer_;
  if (slot_ != nullptr) ring_->filled(*slot_);
}

Block* StagingFill::take(std::size_t bytes) {
  if (!std::exchange(asked_, true)) slot_ = ring_->acquire(consumer_, loader_, worker_, batch_);
  return slot_ == nullptr ? nullptr : ring_->allocate(*slot_, bytes);
}

}  // namespace lacuna::rt
