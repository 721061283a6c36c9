// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <xxhash.h>

namespace lacuna::prof::base {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool checksumMatches([[maybe_unused]] std::span<const std::byte> bytes, [[maybe_unused]] std::uint64_t expected) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;
#else
  return checksum(bytes) == expected;
#endif
}

}  // namespace lacuna::prof::base
