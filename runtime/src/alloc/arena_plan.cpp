// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/arena_plan.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace lacuna::rt {

namespace {

using Order = std::function<bool(const PlannedBuffer&, const PlannedBuffer&)>;

bool liveTogether(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.born < b.freed && b.born < a.freed;
}

/// The offset of the smallest gap that fits, or the one after everything that lives at the same
/// time. `placed` is in order of offsets.
std::size_t bestOffset(const PlannedBuffer& buffer,
                       const std::vector<const PlannedBuffer*>& placed) {
  std::size_t best = 0;
  std::size_t bestGap = std::numeric_limits<std::size_t>::max();
  std::size_t end = 0;
  for (const PlannedBuffer* other : placed) {
    if (!liveTogether(buffer, *other)) continue;
    if (other->offset > end) {
      const std::size_t gap = other->offset - end;
      if (gap >= buffer.bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return bestGap == std::numeric_limits<std::size_t>::max() ? end : best;
}

/// Places the buffers one after the other in `order`; returns the bytes needed.
std::size_t place(std::vector<PlannedBuffer>& buffers, const Order& order) {
  std::vector<PlannedBuffer*> queue;
  for (PlannedBuffer& buffer : buffers) {
    if (!buffer.outlives()) queue.push_back(&buffer);
  }
  std::stable_sort(queue.begin(), queue.end(),
                   [&](const PlannedBuffer* a, const PlannedBuffer* b) { return order(*a, *b); });
  std::vector<const PlannedBuffer*> placed;
  std::size_t bytes = 0;
  for (PlannedBuffer* buffer : queue) {
    buffer->offset = bestOffset(*buffer, placed);
    bytes = std::max(bytes, buffer->offset + buffer->bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), buffer,
                         [](const auto* a, const auto* b) { return a->offset < b->offset; }),
        buffer);
  }
  return bytes;
}

std::size_t mostAtOnce(const std::vector<PlannedBuffer>& buffers) {
  std::uint64_t last = 0;
  for (const PlannedBuffer& buffer : buffers) last = std::max({last, buffer.born, buffer.freed});
  std::vector<std::int64_t> change(last + 1);
  for (const PlannedBuffer& buffer : buffers) {
    if (buffer.outlives()) continue;
    change[buffer.born] += static_cast<std::int64_t>(buffer.bytes);
    change[buffer.freed] -= static_cast<std::int64_t>(buffer.bytes);
  }
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const std::int64_t step : change) most = std::max(most, held += step);
  return static_cast<std::size_t>(most);
}

}  // namespace

ArenaPlan packArena(std::vector<PlannedBuffer> buffers) {
  const auto area = [](const PlannedBuffer& b) {
    return static_cast<double>(b.bytes) * static_cast<double>(b.freed - b.born);
  };
  // None of the three is best for every network; the packing is made once, so all are tried.
  const Order orders[] = {
      [](const PlannedBuffer& a, const PlannedBuffer& b) { return a.bytes > b.bytes; },
      [&](const PlannedBuffer& a, const PlannedBuffer& b) { return area(a) > area(b); },
      [](const PlannedBuffer& a, const PlannedBuffer& b) {
        return a.freed - a.born > b.freed - b.born;
      },
  };
  ArenaPlan best;
  best.bound = mostAtOnce(buffers);
  best.bytes = std::numeric_limits<std::size_t>::max();
  for (const Order& order : orders) {
    const std::size_t bytes = place(buffers, order);
    if (bytes < best.bytes) {
      best.bytes = bytes;
      best.buffers = buffers;
    }
    if (bytes == best.bound) break;
  }
  return best;
}

}  // namespace lacuna::rt
