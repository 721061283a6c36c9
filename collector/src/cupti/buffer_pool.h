// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace lacuna::collector::cupti {

/// Buffers that CUPTI fills. request() and complete() are what CUPTI's callbacks do, on any thread: they pop and push,
/// no more. Memory is never given back: CUPTI may still own any of it.
class BufferPool {
 public:
  struct Full {
    std::byte* data;
    std::size_t bytes;  ///< valid ones
  };

  BufferPool(std::size_t bufferBytes, std::size_t count, std::size_t most);

  /// Null when all buffers are in use and no more may be taken.
  std::byte* request();
  /// Leaves memory alone that is not this pool's.
  void complete(std::byte* data, std::size_t validBytes);
  /// A completed buffer, waiting up to `seconds` for one; it goes back with recycle().
  std::optional<Full> take(double seconds);
  void recycle(std::byte* data);
  /// Ends a wait in take().
  void wake();

  [[nodiscard]] std::size_t bufferBytes() const { return bufferBytes_; }
  [[nodiscard]] std::uint64_t refused() const;

 private:
  /// Null when there is no memory or the pool is as large as it may be.
  std::byte* allocate();
  std::size_t bufferBytes_;
  std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  // None ever grows beyond what it was given at the start: growing could throw, in the middle of a call to CUDA.
  std::vector<std::byte*> all_;
  std::vector<std::byte*> free_;
  std::vector<Full> full_;  ///< the oldest first
  std::uint64_t refused_ = 0;
  bool awake_ = false;
};

}  // namespace lacuna::collector::cupti
