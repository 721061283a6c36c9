// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/backend.h"

/// 16-bit types in plain loops, and on processors where oneDNN does not compute in them: bf16
/// without AVX-512, and f16. Kernels work on copies of parts in f32, in the workspace that they are
/// given, and round the result once.
namespace lacuna::rt::cpu {

/// True when operands of this type are widened. ONEDNN_MAX_CPU_ISA counts, as for the library
/// itself.
bool isWidened(DType type);

/// Takes copies from the front of a workspace. Without one it only counts, and the views have no
/// memory.
class Widening {
 public:
  Widening() = default;
  explicit Widening(const View& workspace);
  /// Room for a copy; nothing is in it yet.
  View add(const Shape& shape, const Shape& strides);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The memory that is left for the kernel itself.
  [[nodiscard]] View rest() const;

 private:
  View workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace lacuna::rt::cpu
