// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "lacuna/analyzer/lanes.h"
#include "tracks/byte_stream.h"

namespace lacuna::analyzer {

using prof::TimeNs;

void CounterLane::write(ByteOutput& out) const {
  out.put(static_cast<std::uint64_t>(size()));
  out.put(lowest_);
  out.put(highest_);
  out.put(static_cast<std::uint32_t>(levels_.size()));
  out.put(std::uint32_t{0});
  out.putAll(time_);
  out.putAll(value_);
  for (const auto& level : levels_) {
    out.put(static_cast<std::uint64_t>(level.size()));
    out.putAll(level);
  }
}

bool CounterLane::read(ByteInput& in) {
  const auto samples = in.take<std::uint64_t>();
  lowest_ = in.take<double>();
  highest_ = in.take<double>();
  const auto levels = in.take<std::uint32_t>();
  (void)in.take<std::uint32_t>();
  if (!in.ok() || levels > 32 || !in.takeAll(time_, samples) || !in.takeAll(value_, samples))
    return false;
  std::uint64_t below = samples;
  for (std::uint32_t i = 0; i < levels; ++i) {
    const auto count = in.take<std::uint64_t>();
    if (count != below / (i == 0 ? 16 : 8) || !in.takeAll(levels_.emplace_back(), count))
      return false;
    below = count;
  }
  return true;
}

void CounterLane::add(TimeNs timeNs, double value) {
  lowest_ = size() == 0 ? value : std::min(lowest_, value);
  highest_ = size() == 0 ? value : std::max(highest_, value);
  time_.push(timeNs);
  value_.push(value);
}

CounterLane CounterLane::copy() const {
  CounterLane out;
  out.time_ = time_.copy();
  out.value_ = value_.copy();
  out.lowest_ = lowest_;
  out.highest_ = highest_;
  return out;
}

void CounterLane::finish() {
  time_.shrink();
  value_.shrink();
  const auto reduce = [&](std::size_t count, std::size_t fan, auto&& extremesOf) {
    PodArray<Extremes> level;
    for (std::size_t i = 0; i + fan <= count; i += fan) {
      Extremes all = extremesOf(i);
      for (std::size_t k = 1; k < fan; ++k) {
        const Extremes one = extremesOf(i + k);
        all = {std::min(all.low, one.low), std::max(all.high, one.high)};
      }
      level.push(all);
    }
    level.shrink();
    levels_.push_back(std::move(level));
  };
  if (size() >= 16)
    reduce(size(), 16, [&](std::size_t i) { return Extremes{value_[i], value_[i]}; });
  while (!levels_.empty() && levels_.back().size() >= 8) {
    const PodArray<Extremes>& below = levels_.back();
    const auto* data = below.data();
    reduce(below.size(), 8, [data](std::size_t i) { return data[i]; });
  }
}

std::size_t CounterLane::at(TimeNs t) const {
  const auto times = time_.view();
  const auto after = std::upper_bound(times.begin(), times.end(), t);
  return after == times.begin() ? SIZE_MAX : static_cast<std::size_t>(after - times.begin()) - 1;
}

void CounterLane::extremes(std::size_t from, std::size_t to, Extremes& out) const {
  const auto take = [&](const Extremes& e) {
    out = {std::min(out.low, e.low), std::max(out.high, e.high)};
  };
  while (from < to) {
    std::size_t width = 1;
    std::size_t best = 0;  // 0: the samples themselves
    for (std::size_t level = 0, span = 16; level < levels_.size(); ++level, span *= 8) {
      if (from % span != 0 || from + span > to || from / span >= levels_[level].size()) break;
      best = level + 1;
      width = span;
    }
    take(best == 0 ? Extremes{value_[from], value_[from]} : levels_[best - 1][from / width]);
    from += width;
  }
}

void CounterLane::query(const PixelGrid& grid, std::span<CounterCell> cells) const {
  std::fill(cells.begin(), cells.end(), CounterCell{});
  const auto boundary = [&](int x) {
    return grid.startNs + static_cast<TimeNs>(std::ceil(x * grid.nsPerPixel));
  };
  const auto times = time_.view();
  auto low = std::lower_bound(times.begin(), times.end(), boundary(0));
  for (int x = 0; x < grid.width; ++x) {
    auto high = low;
    std::ptrdiff_t step = 1;
    while (times.end() - high > step && high[step] < boundary(x + 1)) {
      high += step;
      step *= 2;
    }
    high = std::lower_bound(high, high + std::min(times.end() - high, step + 1), boundary(x + 1));
    auto from = static_cast<std::size_t>(low - times.begin());
    const auto to = static_cast<std::size_t>(high - times.begin());
    low = high;
    if (to == 0) continue;
    // The value that held when the pixel began counts, unless a sample falls on its very edge.
    if (from > 0 && (from == to || time_[from] > boundary(x))) --from;
    Extremes found{value_[from], value_[from]};
    extremes(from, to, found);
    cells[static_cast<std::size_t>(x)] = {found.low, found.high, value_[to - 1], true};
  }
}

std::uint64_t CounterLane::bytes() const {
  std::uint64_t total = time_.bytes() + value_.bytes();
  for (const auto& level : levels_) total += level.bytes();
  return total;
}

}  // namespace lacuna::analyzer
