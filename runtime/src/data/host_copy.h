// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

/// Writes the elements of `tensor`, which may be any view of host memory, in row-major order to `to`, on the calling
/// thread: workers must not enqueue. `to` has room for tensor.sizeBytes().
void copyElements(const Tensor& tensor, std::byte* to);

}  // namespace lacuna::rt
