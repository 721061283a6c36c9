// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/loops.h"
#include "backend/nn_kernels.h"

namespace lacuna::rt {

using cpu::WideT;

void kernel::leakyRelu(const View& y, const View& x, double slope, double gain) {
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = WideT<T>;
    const W above = static_cast<W>(gain);
    const W below = static_cast<W>(gain * slope);
    parallelFor(y.shape.numel(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      auto* to = static_cast<T*>(y.data);
      const auto* from = static_cast<const T*>(x.data);
      for (std::int64_t i = begin; i < end; ++i) {
        const W v = static_cast<W>(from[i]);
        to[i] = T(v * (v > 0 ? above : below));
      }
    });
  });
}

void kernel::leakyReluGrad(const View& gradX, const View& gradY, const View& y, double slope,
                           double gain) {
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = WideT<T>;
    const W above = static_cast<W>(gain);
    const W below = static_cast<W>(gain * slope);
    parallelFor(y.shape.numel(), cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      auto* to = static_cast<T*>(gradX.data);
      const auto* g = static_cast<const T*>(gradY.data);
      const auto* from = static_cast<const T*>(y.data);
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = T(static_cast<W>(g[i]) * (static_cast<W>(from[i]) > 0 ? above : below));
      }
    });
  });
}

}  // namespace lacuna::rt
