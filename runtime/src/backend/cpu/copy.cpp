// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::converted;
using cpu::dispatch;
using cpu::nearest;
using cpu::WideT;

namespace {

template <class O, class I>
LACUNA_RT_EVERY_WIDTH void copyRow(O* to, const I* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = O(converted<WideT<O>>(static_cast<WideT<I>>(from[i])));
}

}  // namespace

void kernel::fill(const View& out, double value) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T v = T(nearest<WideT<T>>(value));
    const auto loop = cpu::makeLoop<1>({&out});
    auto* to = static_cast<T*>(out.data);
    cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
      const std::int64_t step = loop.strides[0][0];
      for (std::int64_t i = 0; i < n; ++i) to[at[0] + i * step] = v;
    });
  });
}

void kernel::arange(const View& out) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto* to = static_cast<T*>(out.data);
    for (std::int64_t i = 0; i < out.shape.numel(); ++i) to[i] = T(static_cast<WideT<T>>(i));
  });
}

void kernel::copy(const View& out, const View& unstretched) {
  const View x = cpu::stretched(unstretched, out.shape);
  const auto loop = cpu::makeLoop<2>({&out, &x});
  dispatch(out.dtype, [&](auto outTag) {
    using O = decltype(outTag);
    dispatch(x.dtype, [&](auto inTag) {
      using I = decltype(inTag);
      auto* to = static_cast<O*>(out.data);
      const auto* from = static_cast<const I*>(x.data);
      const std::int64_t so = loop.strides[0][0];
      const std::int64_t sx = loop.strides[1][0];
      cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
        if (so == 1 && sx == 1) return copyRow(to + at[0], from + at[1], n);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto wide = static_cast<WideT<I>>(from[at[1] + i * sx]);
          to[at[0] + i * so] = O(converted<WideT<O>>(wide));
        }
      });
    });
  });
}

}  // namespace lacuna::rt
