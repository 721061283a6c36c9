// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/pyramid.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tracks/pyramid_codes.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;

namespace {

constexpr std::size_t kEventsPerBucket = 8;
/// Taking parts of buckets in proportion at both ends of a pixel errs by at most 2 · ¼ bucket, so a
/// ninth of a pixel keeps the covered share within 0.06.
constexpr double kBucketsPerPixel = 9;
/// The sixteenths of the finest buckets are known; these may be so much larger.
constexpr double kFinestPerPixel = 0.75;

}  // namespace

struct CellSum {
  double busyNs = 0;
  double count = 0;                 // only where one pixel alone is asked
  double longestNs = -1;            // negative while nothing touches the pixel
  std::size_t event = Lane::kNone;  // the longest, or else the bucket that has it
  std::uint32_t bucketName = 0;

  void add(const CellSum& other) {
    busyNs += other.busyNs;
    if (other.longestNs <= longestNs) return;
    longestNs = other.longestNs;
    event = other.event;
    bucketName = other.bucketName;
  }
  [[nodiscard]] Cell cell(double pixelNs, const EventChunks& events) const {
    if (longestNs < 0) return {};
    const double share = std::clamp(busyNs / pixelNs, 1.0 / 255, 1.0);
    const std::uint32_t name = event != Lane::kNone ? events.name(event) : bucketName;
    return {StringId(name), static_cast<float>(share), static_cast<float>(longestNs),
            static_cast<float>(count)};
  }
};

void Lane::Bucket::merge(const Bucket& other) {
  if (!other.touched) return;
  if (!touched || other.longestNs > longestNs) {
    longestNs = other.longestNs;
    name = other.name;
  }
  busyNs += other.busyNs;
  count += other.count;
  touched = true;
}

void Lane::add(TimeNs startNs, TimeNs durNs, StringId name) {
  assert(startNs >= lastEnd_ || size() == 0);
  if (size() == 0) origin_ = startNs;
  events_.add(startNs, durNs, name.value);
  lastEnd_ = startNs + durNs;
  if (builder_) take(size() - 1, startNs, durNs, name.value);
}

/// The last bucket of a lane of many years may end after the last moment that there is.
TimeNs Lane::bucketStart(std::size_t bucket) const {
  const auto origin = static_cast<std::uint64_t>(origin_);
  const std::uint64_t room = static_cast<std::uint64_t>(INT64_MAX) - origin;
  if (bucket > room >> shift_) return INT64_MAX;
  return static_cast<TimeNs>(origin + (std::uint64_t{bucket} << shift_));
}

/// Adds a stretch within the current bucket. Where that is narrower than sixteen nanoseconds, parts
/// of one are counted.
void Lane::takeSixteenths(TimeNs fromNs, TimeNs toNs) {
  const int finer = std::max(0, 4 - shift_);
  const int shift = shift_ + finer - 4;
  const TimeNs begin = bucketStart(builder_->current);
  auto at = static_cast<std::uint64_t>(fromNs - begin) << finer;
  const auto to = static_cast<std::uint64_t>(toNs - begin) << finer;
  auto part = static_cast<unsigned>(std::min<std::uint64_t>(at >> shift, kParts - 1));
  do {
    const std::uint64_t end = std::min(to, std::uint64_t{part + 1} << shift);
    builder_->covered[part] += end - at;
    builder_->touched |= 1U << part;
    at = end;
    ++part;
  } while (at < to);
}

/// Sums from the first sixteenth on are rounded, not the sixteenths, so that errors do not add up.
std::uint64_t Lane::emitSixteenths() {
  const double full = std::ldexp(1.0, std::max(0, shift_ - 4));
  std::uint64_t sum = 0;
  std::uint64_t before = 0;
  std::uint64_t out = 0;
  for (unsigned i = 0; i < kParts; ++i) {
    sum += builder_->covered[i];
    const auto steps =
        static_cast<std::uint64_t>(kPartSteps * static_cast<double>(sum) / full + 0.5);
    if ((builder_->touched >> i & 1) != 0) out |= (1 + steps - before) << (kPartBits * i);
    before = steps;
  }
  builder_->covered = {};
  builder_->touched = 0;
  return out;
}

void Lane::emit(std::size_t level) {
  std::vector<Bucket>& open = builder_->open;
  if (levels_.size() <= level)
    levels_.emplace_back().shareNs = std::ldexp(1.0, shift_ + static_cast<int>(level)) / 255;
  if (open.size() <= level + 1) open.resize(level + 2);
  const Bucket closed = std::exchange(open[level], {});
  Level& out = levels_[level];
  const double share = static_cast<double>(closed.busyNs) / out.shareNs;
  const auto code = static_cast<std::uint8_t>(std::min(255.0, std::round(share)));
  out.busy.push(closed.touched ? std::max<std::uint8_t>(code, 1) : 0);
  out.longest.push(logCode(closed.longestNs));
  out.count.push(logCode(closed.count));
  out.name.push(closed.name);
  if (level == 0) sixteenths_.push(emitSixteenths());
  open[level + 1].merge(closed);
  if (out.busy.size() % 2 == 0) emit(level + 1);
}

void Lane::take(std::size_t event, TimeNs start, TimeNs length, std::uint32_t name) {
  Builder& build = *builder_;
  const auto advance = [&] {
    emit(0);
    ++build.current;
    first_.push(static_cast<std::uint32_t>(event));
  };
  const TimeNs end = start + length;
  const auto mine = static_cast<std::size_t>((start - origin_) >> shift_);
  while (build.current < mine) advance();
  const auto put = [&](TimeNs from, TimeNs to, std::uint64_t begins) {
    build.open[0].merge({static_cast<std::uint64_t>(to - from), begins,
                         static_cast<std::uint64_t>(length), name, true});
    takeSixteenths(from, to);
  };
  TimeNs from = start;
  while (end > bucketStart(build.current + 1)) {
    put(from, bucketStart(build.current + 1), from == start);
    from = bucketStart(build.current + 1);
    advance();
  }
  put(from, end, from == start);
}

void Lane::close() {
  emit(0);
  for (std::size_t level = 0; levels_[level].busy.size() > 1; ++level) {
    if (levels_[level].busy.size() % 2 == 1) emit(level + 1);
  }
  builder_.reset();
  for (Level& level : levels_) {
    level.busy.shrink();
    level.longest.shrink();
    level.count.shrink();
    level.name.shrink();
  }
  first_.shrink();
  sixteenths_.shrink();
}

int Lane::wantedShift(TimeNs lastEnd) const {
  const auto span = static_cast<std::uint64_t>(lastEnd - origin_);
  const std::uint64_t target = std::max<std::uint64_t>(1, size() / kEventsPerBucket);
  int shift = 0;
  while ((span >> shift) >= target) ++shift;
  return shift;
}

void Lane::buildFrom(const EventChunks& events) {
  levels_.clear();
  first_.clear();
  sixteenths_.clear();
  first_.push(0);
  builder_ = std::make_unique<Builder>();
  builder_->open.resize(1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventChunks::Times times = events.times(i);
    take(i, times.startNs, times.durNs, events.name(i));
  }
}

void Lane::finish() {
  events_.finish();
  if (size() == 0) return;
  if (!builder_) {
    shift_ = wantedShift(endNs(size() - 1));
    buildFrom(events_);
  }
  close();
}

void Lane::keepPyramid() {
  if (size() == 0) return;
  const int wanted = wantedShift(lastEnd_);
  if (builder_ && std::abs(wanted - shift_) < 2) return;
  EventChunks all = events_.copy();
  all.finish();
  shift_ = wanted;
  buildFrom(all);
}

Lane Lane::copy() const {
  Lane out;
  out.events_ = events_.copy();
  out.origin_ = origin_;
  out.lastEnd_ = lastEnd_;
  out.shift_ = shift_;
  if (!builder_) return out;
  out.builder_ = std::make_unique<Builder>(*builder_);
  out.first_ = first_.copy();
  out.sixteenths_ = sixteenths_.copy();
  for (const Level& level : levels_) {
    Level& to = out.levels_.emplace_back();
    to.busy = level.busy.copy();
    to.longest = level.longest.copy();
    to.count = level.count.copy();
    to.name = level.name.copy();
    to.shareNs = level.shareNs;
  }
  return out;
}

std::size_t Lane::lowerBound(TimeNs t) const {
  if (size() == 0 || t <= origin_) return 0;
  const auto bucket = static_cast<std::size_t>((t - origin_) >> shift_);
  if (bucket >= first_.size()) return size();
  std::size_t low = first_[bucket];
  std::size_t high = bucket + 1 < first_.size() ? first_[bucket + 1] : size();
  const auto before = [&](std::size_t i) {
    const EventChunks::Times times = events_.times(i);
    return times.startNs < t && times.startNs + times.durNs <= t;
  };
  while (high - low > 16) {
    const std::size_t middle = (low + high) / 2;
    (before(middle) ? low : high) = before(middle) ? middle + 1 : middle;
  }
  while (low < high && before(low)) ++low;
  return low;
}

std::size_t Lane::at(TimeNs t) const {
  const std::size_t i = lowerBound(t);
  return i < size() && startNs(i) <= t ? i : kNone;
}

/// No branch depends on what a bucket holds: a picture asks a million of them, and no branch among
/// them is foreseeable.
void Lane::addBuckets(const Level& level, std::size_t from, std::size_t to, double weight,
                      CellSum& sum) {
  std::uint64_t shares = 0;
  unsigned best = 0;
  std::size_t where = from;
  for (std::size_t i = from; i < to; ++i) {
    const unsigned longest = level.longest[i];  // 0 where nothing is
    shares += level.busy[i];
    where = longest > best ? i : where;
    best = std::max(best, longest);
  }
  if (shares == 0) return;
  while (where + 1 < to && level.busy[where] == 0)
    ++where;  // instants only, after buckets of nothing
  sum.busyNs += weight * level.shareNs * static_cast<double>(shares);
  const double length = lengthOf(best);
  if (length <= sum.longestNs) return;
  sum.longestNs = length;
  sum.event = kNone;
  sum.bucketName = level.name[where];
}

/// Events that begin between two places of a level, which are in buckets.
double Lane::countIn(const Level& level, double from, double to) {
  double count = 0;
  for (auto i = static_cast<std::size_t>(from);
       i < level.count.size() && static_cast<double>(i) < to; ++i) {
    const auto begin = static_cast<double>(i);
    const double part = std::min(to, begin + 1) - std::max(from, begin);
    count += part * static_cast<double>(countOf(level.count[i]));
  }
  return count;
}

/// Event after event, each in the pixels that it touches.
void Lane::queryExact(const PixelGrid& grid, std::span<Cell> cells) const {
  EventChunks::Reader reader(events_);
  const double npp = grid.nsPerPixel;
  const double perNs = 1 / npp;
  const double shown = npp * grid.width;
  const bool counting = grid.width == 1;
  CellSum sum;
  int x = 0;
  double toNs = npp;  // where pixel x ends
  const auto moveTo = [&](int next) {
    cells[static_cast<std::size_t>(x)] = sum.cell(npp, events_);
    sum = {};
    x = next;
    toNs = (next + 1) * npp;
  };
  for (std::size_t i = lowerBound(grid.startNs); i < size(); ++i) {
    const EventChunks::Times times = reader.times(i);
    auto start = static_cast<double>(times.startNs - grid.startNs);
    const auto length = static_cast<double>(times.durNs);
    const double end = start + length;
    if (start >= shown) break;
    if (start >= toNs) moveTo(std::clamp(static_cast<int>(start * perNs), x + 1, grid.width - 1));
    if (counting) sum.count += start >= 0 ? 1 : 0;
    start = std::max(start, 0.0);
    const bool longest = length > sum.longestNs;
    sum.longestNs = longest ? length : sum.longestNs;
    sum.event = longest ? i : sum.event;
    sum.busyNs += std::min(end, toNs) - std::max(start, toNs - npp);
    while (end > toNs && x + 1 < grid.width) {
      moveTo(x + 1);
      sum.longestNs = length;
      sum.event = i;
      sum.busyNs = std::min(end, toNs) - (toNs - npp);
    }
  }
  moveTo(x);
}

/// A finest bucket that is taken in parts: from and to so many of its sixteenths. Where anything is
/// in a sixteenth, all of that is touched.
struct Lane::Parts {
  std::uint64_t codes = 0;
  double widthNs = 0;
  CellSum full;

  [[nodiscard]] double stepsTo(double at) const {
    const auto part = std::min(kParts - 1, static_cast<unsigned>(at));
    const auto code = static_cast<unsigned>(codes >> (kPartBits * part) & kPartMask);
    return stepsIn(firstParts(codes, part)) + (at - part) * (code == 0 ? 0 : code - 1);
  }
  /// `steps` are those between the two.
  [[nodiscard]] CellSum part(double from, double to, double steps) const {
    const auto first = static_cast<unsigned>(from);
    const auto floor = static_cast<unsigned>(to);
    const unsigned end = to > floor ? floor + 1 : floor;
    if (from >= to || firstParts(codes, end) >> (kPartBits * first) == 0) return {};
    // An event longer than a bucket reaches beyond it, through sixteenths that it fills.
    const bool fromBefore = firstParts(~codes, first + 1) == 0;
    const bool toBehind = ~codes >> (kPartBits * (end - 1)) == 0;
    const bool elsewhere = full.longestNs > widthNs && !fromBefore && !toBehind;
    const double busyNs = steps * widthNs / (kParts * kPartSteps);
    return {busyNs, 0, elsewhere ? 0 : full.longestNs, kNone, full.bucketName};
  }
};

Lane::Parts Lane::partsOf(std::size_t bucket) const {
  const Level& finest = levels_[0];
  Parts parts{sixteenths_[bucket], finest.shareNs * 255, {}};
  addBuckets(finest, bucket, bucket + 1, 1, parts.full);
  return parts;
}

/// Splits those of the finest buckets that an edge of pixels lies in, at the edge.
void Lane::querySplit(const PixelGrid& grid, std::span<Cell> cells) const {
  const Level& finest = levels_[0];
  const double width = std::ldexp(1.0, shift_);
  const double perPixel = grid.nsPerPixel / width;
  const double origin = static_cast<double>(grid.startNs - origin_) / width;
  const auto count = static_cast<double>(finest.busy.size());
  std::size_t next = 0;  // the first bucket that nothing has been taken of
  Parts split;           // the one before it; what is after `at` has not been taken
  double at = kParts;
  double steps = 0;  // up to there
  const auto splitAt = [&](double edge) {
    next = static_cast<std::size_t>(edge);
    at = (edge - static_cast<double>(next)) * kParts;
    split = partsOf(next++);
    steps = split.stepsTo(at);
  };
  if (origin >= count) return;
  if (origin >= 0) splitAt(origin);
  for (int x = 0; x < grid.width && origin + x * perPixel < count; ++x) {
    const double edge = std::min(origin + (x + 1) * perPixel, count);
    if (edge <= 0) continue;
    CellSum sum;
    if (const auto bucket = static_cast<std::size_t>(edge);
        bucket < next) {  // still in the one that is split
      const double to = (edge - static_cast<double>(bucket)) * kParts;
      const double until = split.stepsTo(to);
      sum = split.part(at, to, until - steps);
      at = to;
      steps = until;
    } else {
      sum = split.part(at, kParts, stepsIn(split.codes) - steps);
      addBuckets(finest, next, bucket, 1, sum);
      if (edge < count) {
        splitAt(edge);
        sum.add(split.part(0, at, steps));
      }
    }
    cells[static_cast<std::size_t>(x)] = sum.cell(grid.nsPerPixel, events_);
  }
}

void Lane::queryLevel(const PixelGrid& grid, std::size_t index, std::span<Cell> cells) const {
  const Level& level = levels_[index];
  const double width = std::ldexp(1.0, shift_ + static_cast<int>(index));
  const double perPixel = grid.nsPerPixel / width;
  const double origin = static_cast<double>(grid.startNs - origin_) / width;
  const auto count = static_cast<double>(level.busy.size());
  for (int x = 0; x < grid.width; ++x) {
    const double from = std::clamp(origin + x * perPixel, 0.0, count);
    const double to = std::clamp(origin + (x + 1) * perPixel, 0.0, count);
    if (from >= to) continue;
    const auto first = static_cast<std::size_t>(from);
    const auto final = static_cast<std::size_t>(to);
    CellSum sum;
    if (first == final) {
      addBuckets(level, first, first + 1, (to - from), sum);
    } else {
      addBuckets(level, first, first + 1, (static_cast<double>(first + 1) - from), sum);
      addBuckets(level, first + 1, final, 1, sum);
      const double rest = to - static_cast<double>(final);
      if (rest > 0 && final < level.busy.size()) addBuckets(level, final, final + 1, rest, sum);
    }
    if (grid.width == 1) sum.count = countIn(level, from, to);
    cells[static_cast<std::size_t>(x)] = sum.cell(grid.nsPerPixel, events_);
  }
}

void Lane::query(const PixelGrid& grid, std::span<Cell> cells) const {
  std::fill(cells.begin(), cells.end(), Cell{});
  if (size() == 0) return;
  const double finest = std::ldexp(1.0, shift_);
  // One pixel alone is asked by somebody who wants to know, and takes no time.
  const double fewest = grid.width == 1 ? kBucketsPerPixel : kFinestPerPixel;
  if (grid.nsPerPixel < fewest * finest) return queryExact(grid, cells);
  if (grid.nsPerPixel < kBucketsPerPixel * finest) return querySplit(grid, cells);
  const auto wanted =
      static_cast<std::size_t>(std::log2(grid.nsPerPixel / kBucketsPerPixel / finest));
  queryLevel(grid, std::min(wanted, levels_.size() - 1), cells);
}

std::uint64_t Lane::bytes() const {
  std::uint64_t total = events_.bytes() + first_.bytes() + sixteenths_.bytes();
  for (const Level& level : levels_) {
    total += level.busy.bytes() + level.longest.bytes() + level.count.bytes() + level.name.bytes();
  }
  return total;
}

}  // namespace lacuna::analyzer
