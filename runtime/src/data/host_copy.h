// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

/// Writes the elements of `tensor`, which may be any view of host memory, in row-major order to
/// `to`, on the calling thread: workers must not enqueue. `to` has room for tensor.sizeBytes().
void copyElements(const Tensor& tensor, std::byte* to);
/// Replaces each tensor in f32 by a copy in `dtype`, f16 or bf16, in new host memory, made on the
/// calling thread. The others stay.
void shorten(std::vector<Tensor>& tensors, DType dtype);

}  // namespace lacuna::rt
