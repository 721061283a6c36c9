// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/runtime/serialize.h"

/// Checksums in a saved file of its contents, so that damage shows: XXH3 with 64 bits, as 16
/// hexadecimal digits.
namespace lacuna::rt {

/// The checksum of the bytes of a tensor, seeded with that of `described`, its type and shape.
std::string checksumOf(const std::string& described, const void* data, std::size_t bytes);
/// The checksum of keys and values in their order, each followed by a zero byte.
std::string checksumOf(const Metadata& metadata);

}  // namespace lacuna::rt
