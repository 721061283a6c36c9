// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/runtime/shape.h"

namespace lacuna::rt::cpu {

/// The sizes of pictures [n, c, h, w] whose channels lie side by side in memory.
struct Picture {
  std::int64_t n, c, h, w;
  explicit Picture(const Shape& shape) : n(shape[0]), c(shape[1]), h(shape[2]), w(shape[3]) {}
  /// Where the first channel of a pixel is, in elements.
  [[nodiscard]] std::int64_t pixel(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return ((image * h + y) * w + x) * c;
  }
};

}  // namespace lacuna::rt::cpu
