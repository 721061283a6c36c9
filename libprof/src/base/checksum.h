// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lacuna::prof::base {

/// XXH3, 64 bits.
std::uint64_t checksum(std::span<const std::byte> bytes);

/// True when the bytes have this checksum. A fuzz target accepts everything, to get past the
/// checksums.
bool checksumMatches(std::span<const std::byte> bytes, std::uint64_t expected);

}  // namespace lacuna::prof::base
