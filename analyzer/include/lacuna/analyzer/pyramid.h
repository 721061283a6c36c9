// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

/// A growing array of plain values for columns of 10^8 entries. Unlike std::vector it grows by
/// realloc, which the C library does for large blocks by moving pages, so that growing never holds
/// two copies.
template <class T>
class PodArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PodArray() = default;
  PodArray(PodArray&& other) noexcept { swap(other); }
  PodArray& operator=(PodArray&& other) noexcept {
    swap(other);
    return *this;
  }
  PodArray(const PodArray&) = delete;
  PodArray& operator=(const PodArray&) = delete;
  ~PodArray() { std::free(data_); }

  [[nodiscard]] PodArray copy() const {
    PodArray out;
    if (size_ == 0) return out;
    out.resizeForOverwrite(size_);
    std::memcpy(out.data_, data_, size_ * sizeof(T));
    return out;
  }
  void push(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(std::size_t count, T value) {
    if (size_ + count > capacity_) grow(size_ + count);
    for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = value;
    size_ += count;
  }
  void clear() { size_ = 0; }
  /// Room for exactly this many values, which are not set.
  void resizeForOverwrite(std::size_t count) {
    if (count > capacity_) reallocate(count);
    size_ = count;
  }
  void shrink() {
    if (size_ > 0 && size_ < capacity_) reallocate(size_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] const T& back() const { return data_[size_ - 1]; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] std::span<const T> view() const { return {data_, size_}; }
  [[nodiscard]] std::size_t bytes() const { return capacity_ * sizeof(T); }

 private:
  void swap(PodArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t least) {
    const std::size_t wanted = capacity_ + capacity_ / 2 + 16;
    reallocate(wanted > least ? wanted : least);
  }
  void reallocate(std::size_t capacity) {
    void* grown = std::realloc(data_, capacity * sizeof(T));
    if (!grown) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Starts, lengths and names of events in time order, packed in some 5 bytes an event. They lie in
/// chunks of groups, each with as many bits a number as it needs. So any event is read in constant
/// time. Built by add() and finish(), or taken from a file whose chunks are read when they are
/// first touched. Safe for many threads once built.
class EventChunks {
 public:
  static constexpr std::size_t kGroup = 64;
  static constexpr std::size_t kChunk = 16384;

  /// True when sums and differences can be taken of a time that a file gives.
  [[nodiscard]] static constexpr bool isNearZero(prof::TimeNs time) {
    constexpr prof::TimeNs kMost = prof::TimeNs{1} << 62;
    return time >= -kMost && time <= kMost;
  }

  /// Fills the bytes of a chunk; false when they cannot be had.
  using Load = std::function<bool(std::size_t chunk, std::span<std::byte> out)>;

  EventChunks() = default;
  /// Chunks of a file: what starts when, and how many bytes each has.
  EventChunks(std::size_t events, std::vector<prof::TimeNs> chunkStarts,
              std::vector<std::uint32_t> chunkBytes, Load load);
  EventChunks(EventChunks&& other) noexcept = default;
  EventChunks& operator=(EventChunks&& other) noexcept = default;
  ~EventChunks() = default;

  /// While building: the same events again, to be added to and finished apart. Shares the chunks
  /// that are closed.
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
  /// Reads one event after the other for less than times() asks; any order is right. Ends before
  /// what it reads.
  class Reader {
   public:
    explicit Reader(const EventChunks& events) : events_(&events) {}
    Times times(std::size_t i) {
      if (i - first_ >= kGroup) enter(i);
      const std::size_t at = i - first_;
      return {
          start_ + static_cast<prof::TimeNs>(bitsAt(words_, at * startBits_, startBits_)),
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
  /// True when a reader would take all chunks from a file; of some times no sums and differences
  /// can be taken.
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
  [[nodiscard]] static std::uint64_t bits(const Group& group, unsigned width, std::size_t before,
                                          std::size_t i) {
    // A column of equal values has no bits, and may stand after the last word.
    if (width == 0) return 0;
    return bitsAt(wordsOf(group), before + i * width, width);
  }
  [[nodiscard]] static const std::byte* wordsOf(const Group& group) {
    return reinterpret_cast<const std::byte*>(&group) + group.word * sizeof(std::uint64_t);
  }
  [[nodiscard]] static std::uint64_t bitsAt(const std::byte* words, std::size_t at,
                                            unsigned width) {
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

// Level of detail: what each pixel of a row shows, in time that depends on the pixels and not on
// the events.

struct CellSum;

/// The pixels of a row: pixel x covers [startNs + x·nsPerPixel, startNs + (x + 1)·nsPerPixel).
struct PixelGrid {
  prof::TimeNs startNs = 0;
  double nsPerPixel = 1;
  int width = 0;
};

/// The content of one pixel of a lane.
struct Cell {
  prof::StringId name;  ///< of the longest event that touches it
  float busy =
      0;  ///< covered share of its time; more than 0 where anything touches it, even an instant
  float longestNs = 0;  ///< length of that event, within 10 %
  float count = 0;      ///< events that begin in it, within 20 % where they are many; only where it
                        ///< alone is asked for
  [[nodiscard]] bool occupied() const { return busy > 0; }
};

class ByteInput;
class ByteOutput;

/// Events that do not overlap, in time order: one nesting depth of one track. An event takes 5 or 6
/// bytes, and about 2.6 more for the pyramid. The pyramid has power-of-two time buckets, halved in
/// number per level. Each bucket has its covered share, longest event and count. The finest ones
/// also hold the covered share of each of their sixteenths.
class Lane {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// Appends an event; starts must not precede the end of the one before.
  void add(prof::TimeNs startNs, prof::TimeNs durNs, prof::StringId name);
  /// Builds the pyramid. No add() after it.
  void finish();
  /// While building: keeps the pyramid of what there is from now on, so that finishing a copy costs
  /// what was added since and not what there is. To be called now and then; rebuilds it when events
  /// have become denser or rarer.
  void keepPyramid();
  /// While building: the same lane again, to be added to and finished apart from this one.
  [[nodiscard]] Lane copy() const;

  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] prof::TimeNs startNs(std::size_t i) const { return events_.startNs(i); }
  [[nodiscard]] prof::TimeNs durNs(std::size_t i) const { return events_.durNs(i); }
  [[nodiscard]] prof::TimeNs endNs(std::size_t i) const {
    const EventChunks::Times times = events_.times(i);
    return times.startNs + times.durNs;
  }
  [[nodiscard]] prof::StringId name(std::size_t i) const { return prof::StringId(events_.name(i)); }
  /// The first event that ends after t, or begins at or after it; size() when there is none. After
  /// finish().
  [[nodiscard]] std::size_t lowerBound(prof::TimeNs t) const;
  /// The event that covers t, or kNone.
  [[nodiscard]] std::size_t at(prof::TimeNs t) const;
  /// Fills one cell a pixel; cells.size() must be grid.width.
  void query(const PixelGrid& grid, std::span<Cell> cells) const;
  [[nodiscard]] std::uint64_t bytes() const;

  /// Everything but the events' chunks, as FORMAT.md has it for derived blocks.
  void write(ByteOutput& out) const;
  [[nodiscard]] const EventChunks& events() const { return events_; }
  /// The same back; chunks of `chunkBytes` are loaded when they are touched. False when the bytes
  /// make no sense.
  bool read(ByteInput& in, std::vector<std::uint32_t> chunkBytes, EventChunks::Load load);

 private:
  struct Level {
    PodArray<std::uint8_t> busy, longest, count;  // share × 255; logarithmic codes
    PodArray<std::uint32_t> name;
    double shareNs = 0;  // time that one step of `busy` stands for
  };
  struct Bucket {
    std::uint64_t busyNs = 0;
    std::uint64_t count = 0;
    std::uint64_t longestNs = 0;
    std::uint32_t name = 0;
    bool touched = false;

    void merge(const Bucket& other);
  };
  static constexpr unsigned kParts = 16;  ///< of a finest bucket
  struct Builder {
    std::vector<Bucket> open;  ///< one a level, still being filled
    std::size_t current = 0;   ///< the finest one's number
    std::array<std::uint64_t, kParts>
        covered{};              ///< of the sixteenths of the finest one, in parts of a nanosecond
    std::uint32_t touched = 0;  ///< a bit for each of them
  };
  [[nodiscard]] int wantedShift(prof::TimeNs lastEnd) const;
  void buildFrom(const EventChunks& events);
  void take(std::size_t event, prof::TimeNs startNs, prof::TimeNs durNs, std::uint32_t name);
  void close();
  void takeSixteenths(prof::TimeNs fromNs, prof::TimeNs toNs);
  std::uint64_t emitSixteenths();
  void emit(std::size_t level);
  void queryLevel(const PixelGrid& grid, std::size_t level, std::span<Cell> cells) const;
  void queryExact(const PixelGrid& grid, std::span<Cell> cells) const;
  void querySplit(const PixelGrid& grid, std::span<Cell> cells) const;
  struct Parts;
  [[nodiscard]] Parts partsOf(std::size_t bucket) const;
  static double countIn(const Level& level, double from, double to);
  static void addBuckets(const Level& level, std::size_t from, std::size_t to, double weight,
                         CellSum& sum);
  [[nodiscard]] prof::TimeNs bucketStart(std::size_t bucket) const;

  EventChunks events_;
  prof::TimeNs origin_ = 0;
  prof::TimeNs lastEnd_ = INT64_MIN;  // while building
  PodArray<std::uint32_t> first_;     // lowerBound() of each finest bucket's start
  PodArray<std::uint64_t>
      sixteenths_;  // of each finest bucket, four bits each: 0 untouched, else 1 + share × 14
  std::vector<Level> levels_;
  std::unique_ptr<Builder> builder_;  // while the pyramid is being built
  int shift_ = 0;                     // log2 of the finest bucket's width in ns
};

}  // namespace lacuna::analyzer
