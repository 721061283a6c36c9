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

/// Buffers that CUPTI fills. request() and complete() are what CUPTI's callbacks do, on any thread,
/// in the middle of a call to CUDA: they pop and push, no more. All addresses are taken at the
/// start; another thread keeps some of the memory ready. Nothing is ever given back: CUPTI may
/// still own any of it.
class BufferPool {
 public:
  struct Full {
    std::byte* data;
    std::size_t bytes;  ///< valid ones
  };

  /// `most` buffers, fewer where the system refuses the addresses; so many of them ready.
  BufferPool(std::size_t bufferBytes, std::size_t ready, std::size_t most);

  /// Null when all buffers are in use. Ends a wait in take() when few are ready.
  std::byte* request();
  /// Makes as many ready as there were at the start: their pages are there, so that records need
  /// not wait for them.
  void prepare();
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
  std::byte* takeUnused();
  std::size_t bufferBytes_;
  std::size_t ready_;
  std::size_t most_;
  std::byte* memory_ = nullptr;  ///< of all buffers
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  // None ever grows beyond what it was given at the start: growing could throw, in the middle of a
  // call to CUDA.
  std::vector<std::byte*> free_;  ///< with their pages
  std::size_t unused_ = 0;        ///< those from here on were never handed out
  std::vector<Full> full_;        ///< the oldest first
  std::uint64_t refused_ = 0;
  bool awake_ = false;
};

}  // namespace lacuna::collector::cupti
