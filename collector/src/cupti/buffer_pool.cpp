// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffer_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace lacuna::collector::cupti {

BufferPool::BufferPool(std::size_t bufferBytes, std::size_t ready, std::size_t most)
    : bufferBytes_(bufferBytes), ready_(ready), most_(most) {
  for (; most_ > 0; most_ /= 2) {
    void* memory = ::mmap(nullptr, most_ * bufferBytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    memory_ = static_cast<std::byte*>(memory);
    break;
  }
  free_.reserve(most_);
  full_.reserve(most_);
  prepare();
}

std::byte* BufferPool::takeUnused() {
  return unused_ < most_ ? memory_ + bufferBytes_ * unused_++ : nullptr;
}

std::byte* BufferPool::request() {
  std::lock_guard lock(mutex_);
  if (free_.size() <= ready_ / 2 && unused_ < most_) {
    awake_ = true;
    arrived_.notify_one();
  }
  if (!free_.empty()) {
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  std::byte* buffer = takeUnused();
  refused_ += buffer == nullptr ? 1 : 0;
  return buffer;
}

void BufferPool::prepare() {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (;;) {
    std::unique_lock lock(mutex_);
    std::byte* buffer = free_.size() < ready_ ? takeUnused() : nullptr;
    lock.unlock();
    if (buffer == nullptr) return;
    for (std::size_t at = 0; at < bufferBytes_; at += page)
      static_cast<volatile std::byte*>(buffer)[at] = std::byte{};
    lock.lock();
    free_.push_back(buffer);
  }
}

void BufferPool::complete(std::byte* data, std::size_t validBytes) {
  std::lock_guard lock(mutex_);
  // CUPTI may hand back late what another tracer of this process gave it.
  const bool isOurs = data >= memory_ && data < memory_ + most_ * bufferBytes_;
  if (!isOurs || full_.size() == most_) return;
  full_.push_back({data, std::min(validBytes, bufferBytes_)});
  arrived_.notify_one();
}

std::optional<BufferPool::Full> BufferPool::take(double seconds) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return !full_.empty() || awake_; });
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
