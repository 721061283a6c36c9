// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/loops.h"

namespace lacuna::rt {

namespace {

template <class T>
void addTo(const View& sum, const View& x) {
  const auto loop = cpu::makeLoop<2>({&sum, &x});
  auto* to = static_cast<float*>(sum.data);
  const auto* from = static_cast<const T*>(x.data);
  const std::int64_t so = loop.strides[0][0];
  const std::int64_t sx = loop.strides[1][0];
  cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
      to[at[0] + i * so] += static_cast<float>(from[at[1] + i * sx]);
  });
}

}  // namespace

void kernel::addWidened(const View& sum, const View& x) {
  x.dtype == DType::BF16 ? addTo<BFloat16>(sum, x) : addTo<Float16>(sum, x);
}

}  // namespace lacuna::rt
