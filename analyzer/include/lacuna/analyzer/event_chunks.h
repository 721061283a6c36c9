// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lacuna/analyzer/pod_array.h"
#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

/// Starts, lengths and names of events in time order, packed in some 5 bytes an event: chunks of groups, each with as
/// many bits a number as it needs, so that any event is had in constant time. Built by add() and finish(), or taken
/// from a file whose chunks are read when they are first touched. Safe for many threads once built.
class EventChunks {
 public:
  static constexpr std::size_t kGroup = 64;
  static constexpr std::size_t kChunk = 16384;

  /// Whether a time that a file gives is one that sums and differences can be taken of.
  [[nodiscard]] static constexpr bool isNearZero(prof::TimeNs time) {
    constexpr prof::TimeNs kMost = prof::TimeNs{1} << 62;
    return time >= -kMost && time <= kMost;
  }

  /// Fills the bytes of a chunk; false when they cannot be had.
  using Load = std::function<bool(std::size_t chunk, std::span<std::byte> out)>;

  EventChunks() = default;
  /// Chunks of a file: what starts when, and how many bytes each has.
  EventChunks(std::size_t events, std::vector<prof::TimeNs> chunkStarts, std::vector<std::uint32_t> chunkBytes,
              Load load);
  EventChunks(EventChunks&& other) noexcept = default;
  EventChunks& operator=(EventChunks&& other) noexcept = default;
  ~EventChunks() = default;

  /// While building: the same events again, to be added to and finished apart. Shares the chunks that are closed.
  [[nodiscard]] EventChunks copy() const;
  /// Durations must not be negative.
  void add(prof::TimeNs startNs, prof::TimeNs durNs, std::uint32_t name);
  void finish();

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] prof::TimeNs startNs(std::size_t i) const {
    const Group& group = groupOf(i);
    return group.start + static_cast<prof::TimeNs>(bits(group, group.startBits, 0, i % kGroup));
  }
  [[nodiscard]] prof::TimeNs durNs(std::size_t i) const {
    const Group& group = groupOf(i);
    const std::size_t before = std::size_t{group.startBits} * countOf(i);
    return static_cast<prof::TimeNs>(group.least + bits(group, group.durBits, before, i % kGroup));
  }
  struct Times {
    prof::TimeNs startNs, durNs;
  };
  /// Both at the price of little more than one.
  [[nodiscard]] Times times(std::size_t i) const {
    const Group& group = groupOf(i);
    const std::size_t at = i % kGroup;
    const std::size_t before = std::size_t{group.startBits} * countOf(i);
    return {group.start + static_cast<prof::TimeNs>(bits(group, group.startBits, 0, at)),
            static_cast<prof::TimeNs>(group.least + bits(group, group.durBits, before, at))};
  }
  /// Reads one event after the other for less than times() asks; any order is right. Ends before what it reads.
  class Reader {
   public:
    explicit Reader(const EventChunks& events) : events_(&events) {}
    Times times(std::size_t i) {
      if (i - first_ >= kGroup) enter(i);
      const std::size_t at = i - first_;
      return {start_ + static_cast<prof::TimeNs>(bitsAt(words_, at * startBits_, startBits_)),
              static_cast<prof::TimeNs>(least_ + bitsAt(words_, durations_ + at * durBits_, durBits_))};
    }

   private:
    void enter(std::size_t i) {
      const Group& group = events_->groupOf(i);
      first_ = i / kGroup * kGroup;
      words_ = wordsOf(group);
      start_ = group.start;
      least_ = group.least;
      startBits_ = group.startBits;
      durBits_ = group.durBits;
      durations_ = std::size_t{group.startBits} * events_->countOf(i);
    }

    const EventChunks* events_;
    std::size_t first_ = SIZE_MAX - kGroup;  // no event is within a group of it
    const std::byte* words_ = nullptr;
    prof::TimeNs start_ = 0;
    std::uint64_t least_ = 0;
    unsigned startBits_ = 0;
    unsigned durBits_ = 0;
    std::size_t durations_ = 0;  // where they begin, in bits
  };
  [[nodiscard]] std::uint32_t name(std::size_t i) const {
    const Group& group = groupOf(i);
    const std::size_t before = (std::size_t{group.startBits} + group.durBits) * countOf(i);
    return group.name + static_cast<std::uint32_t>(bits(group, group.nameBits, before, i % kGroup));
  }

  [[nodiscard]] std::size_t chunkCount() const { return starts_.size(); }
  [[nodiscard]] prof::TimeNs chunkStart(std::size_t chunk) const { return starts_[chunk]; }
  /// The bytes of a chunk as they go to a file; reads them if need be.
  [[nodiscard]] std::span<const std::byte> chunkBytes(std::size_t chunk) const {
    return {chunkAt(chunk), sizes_[chunk]};
  }
  /// Whether a reader would take all chunks from a file; of some times no sums and differences can be taken.
  [[nodiscard]] bool canBeKept() const;
  /// Bytes in memory.
  [[nodiscard]] std::uint64_t bytes() const;
  /// True when a chunk could not be read, and shows instants instead of its events.
  [[nodiscard]] bool damaged() const { return source_ && source_->damaged; }

 private:
  struct Group {
    prof::TimeNs start;
    std::uint64_t least;  // of the lengths
    std::uint32_t name;   // the least
    std::uint32_t word;   // where its bits begin
    std::uint8_t startBits, durBits, nameBits;
    std::uint8_t zero[5];
  };
  static_assert(sizeof(Group) == 32);
  struct Source {
    Load load;
    std::mutex mutex;
    std::atomic<bool> damaged = false;
  };
  using Chunk = std::shared_ptr<std::byte[]>;
  /// Numbers of so many bits lie within the eight bytes that begin with theirs.
  static constexpr unsigned kOneLoad = 57;

  [[nodiscard]] const std::byte* chunkAt(std::size_t chunk) const {
    const std::byte* bytes = ready_[chunk].load(std::memory_order_acquire);
    return bytes != nullptr ? bytes : read(chunk);
  }
  [[nodiscard]] const Group& groupOf(std::size_t i) const {
    return reinterpret_cast<const Group*>(chunkAt(i / kChunk))[i % kChunk / kGroup];
  }
  /// Events in the group of event i.
  [[nodiscard]] std::size_t countOf(std::size_t i) const {
    const std::size_t first = i / kGroup * kGroup;
    return size_ - first < kGroup ? size_ - first : kGroup;
  }
  [[nodiscard]] static std::uint64_t bits(const Group& group, unsigned width, std::size_t before, std::size_t i) {
    // A column of equal values has no bits, and may stand behind the last word.
    if (width == 0) return 0;
    return bitsAt(wordsOf(group), before + i * width, width);
  }
  [[nodiscard]] static const std::byte* wordsOf(const Group& group) {
    return reinterpret_cast<const std::byte*>(&group) + group.word * sizeof(std::uint64_t);
  }
  [[nodiscard]] static std::uint64_t bitsAt(const std::byte* words, std::size_t at, unsigned width) {
    std::uint64_t low = 0;
    if (width <= kOneLoad) {
      std::memcpy(&low, words + at / 8, sizeof low);
      return (low >> (at % 8)) & ((std::uint64_t{1} << width) - 1);
    }
    std::uint64_t high = 0;
    std::memcpy(&low, words + at / 64 * 8, sizeof low);
    std::memcpy(&high, words + at / 64 * 8 + 8, sizeof high);
    const unsigned shift = at % 64;
    const std::uint64_t value = (low >> shift) | ((high << 1) << (63 - shift));
    return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
  }
  const std::byte* read(std::size_t chunk) const;
  [[nodiscard]] bool plausible(std::size_t chunk, std::span<const std::byte> bytes) const;
  [[nodiscard]] Chunk placeholder(std::size_t chunk) const;
  void closeGroup();
  void closeChunk();

  std::size_t size_ = 0;
  std::vector<prof::TimeNs> starts_;
  std::vector<std::uint32_t> sizes_;
  mutable std::vector<Chunk> chunks_;  // guarded by source_->mutex while there is a source
  std::unique_ptr<std::atomic<const std::byte*>[]> ready_;
  std::unique_ptr<Source> source_;

  struct Pending {
    std::array<prof::TimeNs, kGroup> start, dur;
    std::array<std::uint32_t, kGroup> name;
    std::size_t count = 0;
    std::vector<Group> groups;
    PodArray<std::uint64_t> words;
  };
  std::unique_ptr<Pending> pending_;  // while building
};

}  // namespace lacuna::analyzer
