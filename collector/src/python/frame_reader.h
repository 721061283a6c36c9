// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "python/code_cache.h"
#include "python/layout.h"
#include "python/memory.h"

namespace lacuna::collector::python {

/// More are cut on the outer side.
inline constexpr std::size_t kMostFrames = 256;

struct Frame {
  std::uint32_t function = 0;  ///< its number, of NumberOf
  std::uint32_t line = 0;      ///< 0: not known
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct ThreadStack {
  std::uint32_t tid = 0;      ///< as its process numbers it
  std::vector<Frame> frames;  ///< from the inside out
};

/// Reads where all threads of an interpreter are while they run. Data that changes during the read
/// mostly makes no sense; it is recognised and counted as torn.
class FrameReader {
 public:
  /// `memory` outlives it.
  FrameReader(const Layout& layout, Memory& memory, NumberOf numberOf);
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  /// Appends the stacks of threads that are in Python code. False when not even the list of threads
  /// can be read.
  bool read(std::vector<ThreadStack>& into);
  /// Stacks that were left out, since the beginning.
  [[nodiscard]] std::uint64_t torn() const { return torn_; }

 private:
  struct Thread {
    std::uint64_t next = 0, id = 0, frame = 0;
    std::uint64_t chunk = 0, chunkEnd = 0;  ///< memory with frames, as far as it is in use
    std::uint32_t tid = 0;
  };
  struct Raw {
    std::uint64_t frame = 0, code = 0;
    std::int64_t offset = 0;  ///< of the instruction, in bytes
  };
  using Stack = std::vector<Raw>;
  std::optional<Thread> readThread(std::uint64_t state);
  bool completeThread(Thread& thread);
  bool readStack(std::uint64_t state, Thread& thread, std::vector<Frame>& frames);
  void copyChunk(const Thread& thread);
  bool walk(std::uint64_t frame);
  /// Moves on to the frame's caller.
  bool takeFrame(std::uint64_t& frame);
  std::size_t stillThere(const Stack& before) const;
  bool nameFrames(std::size_t fresh, std::vector<Frame>& frames);

  const Layout layout_;
  Memory& memory_;
  CodeCache codes_;
  std::uint64_t torn_ = 0;
  // The stack that is being read.
  std::uint64_t chunk_ = 0;
  std::vector<std::byte> chunkBytes_;
  std::vector<std::byte> one_;
  Stack raw_;
  std::unordered_map<std::uint64_t, Stack> before_;  ///< of each thread, by its state
  std::vector<std::byte> heads_;
};

}  // namespace lacuna::collector::python
