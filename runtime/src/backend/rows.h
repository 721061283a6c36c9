// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace lacuna::rt::kernel {

/// Up to here a row takes less time than a hand-over to the queue's thread, and not much more than
/// making views of it.
inline constexpr std::int64_t kSmallRow = 64;

/// As binary(), for operands of one type that are one row of memory each.
void binaryRow(Binary op, DType dtype, void* out, void* a, void* b, std::int64_t count,
               double alpha);

}  // namespace lacuna::rt::kernel
