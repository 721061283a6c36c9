// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/pyramid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>

#include "store/byte_stream.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;

namespace {

constexpr std::size_t kEventsPerBucket = 8;
/// Splitting a bucket in proportion at both ends of a pixel errs by at most 2 · ¼ bucket, so a tenth of a pixel keeps
/// the covered share within 0.05.
constexpr double kBucketsPerPixel = 10;
/// From so many buckets a pixel on, no bucket reaches over two edges of pixels, and only buckets at edges are divided.
constexpr double kBucketsToDivide = 1.25;
/// Each of those lies in lines of memory of its own, which are asked for so many pixels ahead.
constexpr int kAhead = 6;

/// Four codes an octave: 0 for 0, exact up to 7, within an eighth above.
std::uint8_t logCode(std::uint64_t value) {
  if (value == 0) return 0;
  const int octave = std::bit_width(value) - 1;
  const auto quarter = octave >= 2 ? (value >> (octave - 2)) & 3 : (value << (2 - octave)) & 3;
  return static_cast<std::uint8_t>(1 + 4 * octave + static_cast<int>(quarter));
}

std::array<float, 256> decodeTable() {
  std::array<float, 256> table{};
  for (int code = 1; code < 256; ++code) {
    const int octave = (code - 1) / 4;
    const double middle = octave > 2 ? 0.5 : 0.0;
    table[static_cast<std::size_t>(code)] = static_cast<float>(std::ldexp(1 + ((code - 1) % 4 + middle) / 4, octave));
  }
  return table;
}

const std::array<float, 256> kDecoded = decodeTable();

}  // namespace

struct CellSum {
  double busyNs = 0;
  double count = 0;
  double longestNs = -1;            // negative while nothing touches the pixel
  std::size_t event = Lane::kNone;  // the longest, or else the bucket that has it
  std::uint32_t bucketName = 0;

  void add(const CellSum& other) {
    busyNs += other.busyNs;
    count += other.count;
    if (other.longestNs <= longestNs) return;
    longestNs = other.longestNs;
    event = other.event;
    bucketName = other.bucketName;
  }
  [[nodiscard]] Cell cell(double pixelNs, const EventChunks& events) const {
    if (longestNs < 0) return {};
    const double share = std::clamp(busyNs / pixelNs, 1.0 / 255, 1.0);
    const std::uint32_t name = event != Lane::kNone ? events.name(event) : bucketName;
    return {StringId(name), static_cast<float>(share), static_cast<float>(longestNs), static_cast<float>(count)};
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

TimeNs Lane::bucketStart(std::size_t bucket) const {
  return origin_ + (static_cast<TimeNs>(bucket) << shift_);
}

void Lane::emit(std::size_t level) {
  std::vector<Bucket>& open = builder_->open;
  if (levels_.size() <= level) levels_.emplace_back().shareNs = std::ldexp(1.0, shift_ + static_cast<int>(level)) / 255;
  if (open.size() <= level + 1) open.resize(level + 2);
  const Bucket closed = std::exchange(open[level], {});
  Level& out = levels_[level];
  const double share = static_cast<double>(closed.busyNs) / out.shareNs;
  const auto code = static_cast<std::uint8_t>(std::min(255.0, std::round(share)));
  out.busy.push(closed.touched ? std::max<std::uint8_t>(code, 1) : 0);
  out.longest.push(logCode(closed.longestNs));
  out.count.push(logCode(closed.count));
  out.name.push(closed.name);
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
    build.open[0].merge(
        {static_cast<std::uint64_t>(to - from), begins, static_cast<std::uint64_t>(length), name, true});
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

/// Adds what lies between two moments, from an event on that is not behind the first one; answers where the stretch
/// behind the second one begins.
std::size_t Lane::addEvents(EventChunks::Reader& reader, std::size_t first, double fromNs, double toNs, TimeNs base,
                            CellSum& sum) const {
  std::size_t next = first;
  for (std::size_t i = first; i < size(); ++i) {
    const EventChunks::Times times = reader.times(i);
    const auto start = static_cast<double>(times.startNs - base);
    if (start >= toNs) return next;
    const auto length = static_cast<double>(times.durNs);
    const double end = start + length;
    next = end > toNs ? i : i + 1;
    if (end <= fromNs && start < fromNs) continue;
    sum.busyNs += std::min(end, toNs) - std::max(start, fromNs);
    sum.count += start >= fromNs ? 1 : 0;
    if (length > sum.longestNs) {
      sum.longestNs = length;
      sum.event = i;
    }
    if (end >= toNs) return next;  // the next one begins behind it
  }
  return next;
}

/// No branch depends on what a bucket holds: a picture asks a million of them, and no branch among them is foreseeable.
void Lane::addBuckets(const Level& level, std::size_t from, std::size_t to, double weight, CellSum& sum) {
  std::uint64_t shares = 0;
  double count = 0;
  unsigned best = 0;
  std::size_t where = from;
  for (std::size_t i = from; i < to; ++i) {
    const unsigned share = level.busy[i];
    const unsigned longest = share == 0 ? 0 : level.longest[i] + 1U;
    shares += share;
    count += kDecoded[level.count[i]];
    where = longest > best ? i : where;
    best = std::max(best, longest);
  }
  if (best == 0) return;
  sum.busyNs += weight * level.shareNs * static_cast<double>(shares);
  sum.count += weight * count;
  const double length = kDecoded[best - 1];
  if (length <= sum.longestNs) return;
  sum.longestNs = length;
  sum.event = kNone;
  sum.bucketName = level.name[where];
}

void Lane::queryExact(const PixelGrid& grid, std::span<Cell> cells) const {
  // Pixels follow one another, so each begins where the one before ended; only the first one has to be searched for.
  std::size_t next = lowerBound(grid.startNs);
  EventChunks::Reader reader(events_);
  for (int x = 0; x < grid.width && next < size(); ++x) {
    CellSum sum;
    next = addEvents(reader, next, x * grid.nsPerPixel, (x + 1) * grid.nsPerPixel, grid.startNs, sum);
    cells[static_cast<std::size_t>(x)] = sum.cell(grid.nsPerPixel, events_);
  }
}

/// Divides a finest bucket at a moment within it. What it holds as a whole is known, so only the events before the
/// moment are looked at.
void Lane::divide(EventChunks::Reader& reader, std::size_t bucket, double atNs, TimeNs base, CellSum& before,
                  CellSum& after) const {
  if (levels_[0].busy[bucket] == 0) return;
  CellSum whole;
  addBuckets(levels_[0], bucket, bucket + 1, 1, whole);
  const auto begin = static_cast<double>(bucketStart(bucket) - base);
  const std::size_t next = addEvents(reader, first_[bucket], begin, atNs, base, before);
  if (next >= size()) return;
  const EventChunks::Times times = reader.times(next);
  if (times.startNs >= bucketStart(bucket + 1)) return;
  after.busyNs = std::max(0.0, whole.busyNs - before.busyNs);
  after.count = std::max(0.0, whole.count - before.count);
  // The longest of all is behind the moment when it is longer than every one before it.
  if (before.longestNs < 0 || logCode(static_cast<std::uint64_t>(before.longestNs)) < levels_[0].longest[bucket]) {
    after.longestNs = whole.longestNs;
    after.bucketName = whole.bucketName;
  } else {
    after.longestNs = static_cast<double>(times.durNs);
    after.event = next;
  }
}

void Lane::queryDivided(const PixelGrid& grid, std::span<Cell> cells) const {
  const Level& finest = levels_[0];
  const double width = std::ldexp(1.0, shift_);
  const double origin = static_cast<double>(grid.startNs - origin_) / width;
  const double perPixel = grid.nsPerPixel / width;
  const auto count = static_cast<double>(finest.busy.size());
  EventChunks::Reader reader(events_);
  const auto edge = [&](int x) { return origin + x * perPixel; };  // in buckets
  const auto eventAhead = [&](int x) {
    const double at = edge(x);
    return at < 0 || at >= count ? 0 : std::size_t{first_[static_cast<std::size_t>(at)]};
  };
  CellSum carried;
  std::size_t next = 0;  // the first bucket of which nothing has been taken
  const auto cross = [&](int x, CellSum& before) {
    const double at = edge(x);
    if (at < 0) return;
    const std::size_t bucket = static_cast<std::size_t>(std::min(at, count));
    if (x > 0) addBuckets(finest, next, bucket, 1, before);
    CellSum part;
    carried = {};
    next = bucket;
    if (at >= count) return;
    divide(reader, bucket, x * grid.nsPerPixel, grid.startNs, part, carried);
    before.add(part);
    next = bucket + 1;
  };
  CellSum none;
  cross(0, none);
  for (int x = 0; x < grid.width && edge(x) < count; ++x) {
    if (const std::size_t i = eventAhead(x + 2 * kAhead); i < size()) events_.foresee(i);
    if (const std::size_t i = eventAhead(x + kAhead); i < size()) events_.prefetch(i);
    CellSum sum = carried;
    cross(x + 1, sum);
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
    cells[static_cast<std::size_t>(x)] = sum.cell(grid.nsPerPixel, events_);
  }
}

void Lane::query(const PixelGrid& grid, std::span<Cell> cells) const {
  std::fill(cells.begin(), cells.end(), Cell{});
  if (size() == 0) return;
  const double finest = std::ldexp(1.0, shift_);
  if (grid.nsPerPixel < kBucketsToDivide * finest) return queryExact(grid, cells);
  if (grid.nsPerPixel < kBucketsPerPixel * finest) return queryDivided(grid, cells);
  const auto wanted = static_cast<std::size_t>(std::log2(grid.nsPerPixel / kBucketsPerPixel / finest));
  queryLevel(grid, std::min(wanted, levels_.size() - 1), cells);
}

std::uint64_t Lane::bytes() const {
  std::uint64_t total = events_.bytes() + first_.bytes();
  for (const Level& level : levels_) {
    total += level.busy.bytes() + level.longest.bytes() + level.count.bytes() + level.name.bytes();
  }
  return total;
}

void Lane::write(ByteOutput& out) const {
  out.put(static_cast<std::uint64_t>(size()));
  out.put(static_cast<std::uint32_t>(shift_));
  out.put(static_cast<std::uint32_t>(levels_.size()));
  out.put(static_cast<std::uint32_t>(events_.chunkCount()));
  out.put(static_cast<std::uint32_t>(first_.size()));
  for (std::size_t i = 0; i < events_.chunkCount(); ++i) out.put(events_.chunkStart(i));
  out.putAll(first_);
  for (const Level& level : levels_) {
    out.put(static_cast<std::uint32_t>(level.busy.size()));
    out.putAll(level.name);
    out.putAll(level.busy);
    out.putAll(level.longest);
    out.putAll(level.count);
  }
}

bool Lane::read(ByteInput& in, std::vector<std::uint32_t> chunkBytes, EventChunks::Load load) {
  const auto events = in.take<std::uint64_t>();
  shift_ = static_cast<int>(in.take<std::uint32_t>());
  const auto levels = in.take<std::uint32_t>();
  const auto chunks = in.take<std::uint32_t>();
  const auto buckets = in.take<std::uint32_t>();
  const std::uint64_t needed = (events + EventChunks::kChunk - 1) / EventChunks::kChunk;
  if (!in.ok() || events == 0 || chunks != needed || chunks != chunkBytes.size() || shift_ > 62 || levels > 64 ||
      levels == 0) {
    return false;
  }
  std::vector<TimeNs> starts;
  for (std::uint32_t i = 0; i < chunks && in.ok(); ++i) starts.push_back(in.take<TimeNs>());
  if (!in.takeAll(first_, buckets)) return false;
  if (!std::ranges::is_sorted(first_.view()) || (buckets > 0 && first_.back() > events)) return false;
  for (std::uint32_t i = 0; i < levels; ++i) {
    Level& level = levels_.emplace_back();
    level.shareNs = std::ldexp(1.0, shift_ + static_cast<int>(i)) / 255;
    const auto count = in.take<std::uint32_t>();
    if (count == 0 || !in.takeAll(level.name, count) || !in.takeAll(level.busy, count) ||
        !in.takeAll(level.longest, count) || !in.takeAll(level.count, count)) {
      return false;
    }
  }
  if (levels_[0].busy.size() != first_.size()) return false;
  origin_ = starts[0];
  events_ = EventChunks(events, std::move(starts), std::move(chunkBytes), std::move(load));
  return true;
}

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
  if (!in.ok() || levels > 32 || !in.takeAll(time_, samples) || !in.takeAll(value_, samples)) return false;
  std::uint64_t below = samples;
  for (std::uint32_t i = 0; i < levels; ++i) {
    const auto count = in.take<std::uint64_t>();
    if (count != below / (i == 0 ? 16 : 8) || !in.takeAll(levels_.emplace_back(), count)) return false;
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
  if (size() >= 16) reduce(size(), 16, [&](std::size_t i) { return Extremes{value_[i], value_[i]}; });
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
  const auto take = [&](const Extremes& e) { out = {std::min(out.low, e.low), std::max(out.high, e.high)}; };
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
  const auto boundary = [&](int x) { return grid.startNs + static_cast<TimeNs>(std::ceil(x * grid.nsPerPixel)); };
  const auto times = time_.view();
  auto low = std::lower_bound(times.begin(), times.end(), boundary(0));
  for (int x = 0; x < grid.width; ++x) {
    auto high = low;
    std::ptrdiff_t step = 1;
    while (times.end() - high > step && high[step] < boundary(x + 1)) {
      high += step;
      step *= 2;
    }
    high = std::lower_bound(high, std::min(times.end(), high + step + 1), boundary(x + 1));
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
