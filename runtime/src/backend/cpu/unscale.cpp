// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <bit>

#include "backend/cpu/loops.h"

/// The gradients of a scaled loss, brought back and looked through in one pass.
namespace lacuna::rt {

using cpu::WideT;

namespace {

/// True for an infinite number and NaN. On bits, so that loops over it become vectors.
bool isInfinite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) == 0x7f800000U;
}
bool isInfinite(double value) {
  constexpr std::uint64_t kExponent = std::uint64_t{0x7ff} << 52;
  return (std::bit_cast<std::uint64_t>(value) & kExponent) == kExponent;
}

/// Returns 1 where one of the results is infinite.
template <class O, class I>
LACUNA_RT_EVERY_WIDTH std::uint32_t unscaleRange(O* to, const I* from, WideT<O> factor,
                                                 std::int64_t begin, std::int64_t end) {
  std::uint32_t infinite = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const O result = O(static_cast<WideT<O>>(static_cast<WideT<I>>(from[i])) * factor);
    infinite |= isInfinite(static_cast<WideT<O>>(result)) ? 1U : 0U;
    to[i] = result;
  }
  return infinite;
}

template <class O, class I>
void unscaleItem(const kernel::UnscaleItem& item, double factor, float* infinite) {
  parallelFor(item.count, cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto bad = unscaleRange(static_cast<O*>(item.to), static_cast<const I*>(item.from),
                                  static_cast<WideT<O>>(factor), begin, end);
    if (bad != 0) std::atomic_ref<float>(*infinite).store(1, std::memory_order_relaxed);
  });
}

}  // namespace

void kernel::unscale(const UnscaleItem* items, std::size_t count, double factor, float* infinite) {
  *infinite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cpu::dispatchFloating(items[i].fromType, [&](auto tag) {
      using I = decltype(tag);
      if constexpr (std::is_same_v<I, Float16>) {
        if (items[i].toType == DType::F32) return unscaleItem<float, I>(items[i], factor, infinite);
      }
      unscaleItem<I, I>(items[i], factor, infinite);
    });
  }
}

}  // namespace lacuna::rt
