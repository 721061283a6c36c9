// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A lane in a file: its pyramid, and when the chunks of its events begin.
#include <algorithm>
#include <cmath>

#include "lacuna/analyzer/pyramid.h"
#include "tracks/byte_stream.h"

namespace lacuna::analyzer {

using prof::TimeNs;

void Lane::write(ByteOutput& out) const {
  out.put(static_cast<std::uint64_t>(size()));
  out.put(static_cast<std::uint32_t>(shift_));
  out.put(static_cast<std::uint32_t>(levels_.size()));
  out.put(static_cast<std::uint32_t>(events_.chunkCount()));
  out.put(static_cast<std::uint32_t>(first_.size()));
  for (std::size_t i = 0; i < events_.chunkCount(); ++i) out.put(events_.chunkStart(i));
  out.putAll(first_);
  out.putAll(sixteenths_);
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
  const auto shift = in.take<std::uint32_t>();
  const auto levels = in.take<std::uint32_t>();
  const auto chunks = in.take<std::uint32_t>();
  const auto buckets = in.take<std::uint32_t>();
  const std::uint64_t needed =
      events / EventChunks::kChunk + (events % EventChunks::kChunk != 0 ? 1 : 0);
  if (!in.ok() || events == 0 || chunks != needed || chunks != chunkBytes.size() || shift > 62 ||
      levels > 64 || levels == 0) {
    return false;
  }
  shift_ = static_cast<int>(shift);
  std::vector<TimeNs> starts;
  for (std::uint32_t i = 0; i < chunks && in.ok(); ++i) starts.push_back(in.take<TimeNs>());
  if (!std::ranges::is_sorted(starts) || !std::ranges::all_of(starts, EventChunks::isNearZero))
    return false;
  if (!in.takeAll(first_, buckets) || !in.takeAll(sixteenths_, buckets)) return false;
  if (!std::ranges::is_sorted(first_.view()) || (buckets > 0 && first_.back() > events))
    return false;
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

}  // namespace lacuna::analyzer
