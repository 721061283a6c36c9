// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "python/layout.h"

namespace lacuna::collector::python {

/// The line of the instruction `offset` bytes after the first one. Nothing where the table has none
/// for it, or makes no sense.
std::optional<std::uint32_t> lineOf(LineTable kind, std::span<const std::byte> table,
                                    std::int32_t firstLine, std::uint64_t offset);

}  // namespace lacuna::collector::python
