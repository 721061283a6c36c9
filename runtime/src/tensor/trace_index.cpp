// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/trace_index.h"

#include <atomic>
#include <cstdint>

#include "alloc/allocator.h"
#include "backend/common/queue.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::rt::graph {

namespace {

/// Bit n: the index kMost + n is in use, or is not given out again.
std::atomic<std::uint32_t> gTaken{0}, gKept{0};

std::uint32_t bitOf(int index) {
  return std::uint32_t{1} << (index - CpuQueue::kMost);
}

}  // namespace

int takeTraceIndex() {
  std::uint32_t taken = gTaken.load(std::memory_order_relaxed);
  while (taken != ~std::uint32_t{0}) {
    const int free = __builtin_ctz(~taken);
    if (gTaken.compare_exchange_weak(taken, taken | (std::uint32_t{1} << free)))
      return CpuQueue::kMost + free;
  }
  return -1;
}

void keepTraceIndex(int index) {
  gKept.fetch_or(bitOf(index));
}

void giveTraceIndexBack(int index) {
  allocatorOf(kCpu).endIndex(static_cast<std::uint8_t>(index));
  if ((gKept.load() & bitOf(index)) == 0) gTaken.fetch_and(~bitOf(index));
}

}  // namespace lacuna::rt::graph
