// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/backend.h"

/// Products of 16-bit types that the library does not make. Blocks of the factors are widened to
/// f32 on the way, and each block of the result is rounded once. So the workspace has the size of a
/// few blocks, whatever the factors'.
namespace lacuna::rt::cpu {

std::size_t widenedProductWorkspace(const View& out, const View& a, const View& b, bool accumulate);
/// As kernel::matmul(), of factors that have elements.
void widenedProduct(const View& out, const View& a, const View& b, bool accumulate,
                    const View& workspace);

}  // namespace lacuna::rt::cpu
