// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffer_pool.h"

#include <sys/mman.h>

#include <chrono>

namespace lacuna::collector::cupti {

BufferPool::BufferPool(std::size_t bufferBytes, std::size_t count, std::size_t most)
    : bufferBytes_(bufferBytes), most_(most), taken_(0) {
  for (; taken_ < count; ++taken_) {
    std::byte* buffer = allocate();
    if (buffer == nullptr) break;
    free_.push_back(buffer);
  }
}

std::byte* BufferPool::allocate() const {
  // Populated now, so that CUPTI's first records do not wait for page faults in the middle of a launch.
  void* memory =
      ::mmap(nullptr, bufferBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

std::byte* BufferPool::request() {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  std::byte* buffer = taken_ < most_ ? allocate() : nullptr;
  buffer != nullptr ? ++taken_ : ++refused_;
  return buffer;
}

void BufferPool::complete(std::byte* data, std::size_t validBytes) {
  std::lock_guard lock(mutex_);
  full_.push_back({data, validBytes <= bufferBytes_ ? validBytes : bufferBytes_});
  arrived_.notify_one();
}

std::optional<BufferPool::Full> BufferPool::take(double seconds) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !full_.empty() || awake_; });
  awake_ = false;
  if (full_.empty()) return std::nullopt;
  const Full full = full_.front();
  full_.pop_front();
  return full;
}

void BufferPool::recycle(std::byte* data) {
  std::lock_guard lock(mutex_);
  free_.push_back(data);
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
