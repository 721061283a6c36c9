// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>

namespace lacuna::collector::cupti {

BufferPool::BufferPool(std::size_t bufferBytes, std::size_t count, std::size_t most)
    : bufferBytes_(bufferBytes), most_(most) {
  all_.reserve(most);
  free_.reserve(most);
  full_.reserve(most);
  while (free_.size() < count) {
    std::byte* buffer = allocate();
    if (buffer == nullptr) break;
    free_.push_back(buffer);
  }
}

std::byte* BufferPool::allocate() {
  if (all_.size() >= most_) return nullptr;
  // Populated now, so that CUPTI's first records do not wait for page faults in the middle of a launch.
  void* memory =
      ::mmap(nullptr, bufferBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return all_.emplace_back(static_cast<std::byte*>(memory));
}

std::byte* BufferPool::request() {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  std::byte* buffer = allocate();
  refused_ += buffer == nullptr ? 1 : 0;
  return buffer;
}

void BufferPool::complete(std::byte* data, std::size_t validBytes) {
  std::lock_guard lock(mutex_);
  // CUPTI may hand back late what another tracer of this process gave it.
  if (std::find(all_.begin(), all_.end(), data) == all_.end() || full_.size() == most_) return;
  full_.push_back({data, std::min(validBytes, bufferBytes_)});
  arrived_.notify_one();
}

std::optional<BufferPool::Full> BufferPool::take(double seconds) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !full_.empty() || awake_; });
  awake_ = false;
  if (full_.empty()) return std::nullopt;
  const Full full = full_.front();
  full_.erase(full_.begin());
  return full;
}

void BufferPool::recycle(std::byte* data) {
  std::lock_guard lock(mutex_);
  if (free_.size() < most_) free_.push_back(data);
}

void BufferPool::wake() {
  std::lock_guard lock(mutex_);
  awake_ = true;
  arrived_.notify_all();
}

std::uint64_t BufferPool::refused() const {
  std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace lacuna::collector::cupti
