// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lacuna/analyzer/pod_array.h"
#include "lacuna/analyzer/pyramid.h"
#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

/// The extremes of a counter within one pixel.
struct CounterCell {
  double low = 0;
  double high = 0;
  double last = 0;  ///< value at the pixel's end
  bool known = false;
};

/// Samples of one counter, each holding until the next; extremes are exact at every zoom.
class CounterLane {
 public:
  void add(prof::TimeNs timeNs, double value);
  void finish();
  /// Before finish(): the same samples again, to be added to and finished apart.
  [[nodiscard]] CounterLane copy() const;

  [[nodiscard]] std::size_t size() const { return time_.size(); }
  [[nodiscard]] prof::TimeNs timeNs(std::size_t i) const { return time_[i]; }
  [[nodiscard]] double value(std::size_t i) const { return value_[i]; }
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] double highest() const { return highest_; }
  /// The last sample at or before t; SIZE_MAX before the first.
  [[nodiscard]] std::size_t at(prof::TimeNs t) const;
  void query(const PixelGrid& grid, std::span<CounterCell> cells) const;
  [[nodiscard]] std::uint64_t bytes() const;
  void write(ByteOutput& out) const;
  bool read(ByteInput& in);

 private:
  struct Extremes {
    double low, high;
  };
  void extremes(std::size_t from, std::size_t to, Extremes& out) const;

  PodArray<prof::TimeNs> time_;
  PodArray<double> value_;
  std::vector<PodArray<Extremes>> levels_;  // of 16 samples, then of 8 of the level below
  double lowest_ = 0;
  double highest_ = 0;
};

}  // namespace lacuna::analyzer
