// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lacuna/analyzer/event_chunks.h"
#include "lacuna/analyzer/pod_array.h"
#include "lacuna/prof/ids.h"

/// Level of detail: what each pixel of a row shows, in time that depends on the pixels and not on the events.
namespace lacuna::analyzer {

struct CellSum;

/// The pixels of a row: pixel x covers [startNs + x·nsPerPixel, startNs + (x + 1)·nsPerPixel).
struct PixelGrid {
  prof::TimeNs startNs = 0;
  double nsPerPixel = 1;
  int width = 0;
};

/// What one pixel of a lane shows.
struct Cell {
  prof::StringId name;  ///< of the longest event that touches it
  float busy = 0;       ///< covered share of its time; more than 0 where anything touches it, even an instant
  float longestNs = 0;  ///< length of that event, within 10 %
  float count = 0;      ///< events that begin in it, within 20 % where they are many; only where it alone is asked for
  [[nodiscard]] bool occupied() const { return busy > 0; }
};

class ByteInput;
class ByteOutput;

/// Events that do not overlap, in time order: one nesting depth of one track. 5 or 6 bytes an event, and about 2.6 for
/// the pyramid: power-of-two time buckets, each with its covered share, longest event and count, halved in number per
/// level. The finest ones also tell the covered share of each of their sixteenths.
class Lane {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// Appends an event; starts must not precede the end of the one before.
  void add(prof::TimeNs startNs, prof::TimeNs durNs, prof::StringId name);
  /// Builds the pyramid. No add() after it.
  void finish();
  /// While building: keeps the pyramid of what there is from now on, so that finishing a copy costs what was added
  /// since and not what there is. To be called now and then; rebuilds it when events have become denser or rarer.
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
  /// The first event that ends after t, or begins at or after it; size() when there is none. After finish().
  [[nodiscard]] std::size_t lowerBound(prof::TimeNs t) const;
  /// The event that covers t, or kNone.
  [[nodiscard]] std::size_t at(prof::TimeNs t) const;
  /// Fills one cell a pixel; cells.size() must be grid.width.
  void query(const PixelGrid& grid, std::span<Cell> cells) const;
  [[nodiscard]] std::uint64_t bytes() const;

  /// Everything but the events' chunks, as FORMAT.md has it for derived blocks.
  void write(ByteOutput& out) const;
  [[nodiscard]] const EventChunks& events() const { return events_; }
  /// The same back; chunks of `chunkBytes` are loaded when they are touched. False when the bytes make no sense.
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
    std::vector<Bucket> open;                     ///< one a level, still being filled
    std::size_t current = 0;                      ///< the finest one's number
    std::array<std::uint64_t, kParts> covered{};  ///< of the sixteenths of the finest one, in parts of a nanosecond
    std::uint32_t touched = 0;                    ///< a bit for each of them
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
  static void addBuckets(const Level& level, std::size_t from, std::size_t to, double weight, CellSum& sum);
  [[nodiscard]] prof::TimeNs bucketStart(std::size_t bucket) const;

  EventChunks events_;
  prof::TimeNs origin_ = 0;
  prof::TimeNs lastEnd_ = INT64_MIN;    // while building
  PodArray<std::uint32_t> first_;       // lowerBound() of each finest bucket's start
  PodArray<std::uint64_t> sixteenths_;  // of each finest bucket, four bits each: 0 untouched, else 1 + share × 14
  std::vector<Level> levels_;
  std::unique_ptr<Builder> builder_;  // while the pyramid is being built
  int shift_ = 0;                     // log2 of the finest bucket's width in ns
};

}  // namespace lacuna::analyzer
