// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <xxhash.h>

#ifdef LACUNA_FUZZED
// libFuzzer's entry, which only its programs have.
extern "C" [[gnu::weak]] int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
#endif

namespace lacuna::prof::base {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool checksumMatches(std::span<const std::byte> bytes, std::uint64_t expected) {
#ifdef LACUNA_FUZZED
  if (&LLVMFuzzerTestOneInput != nullptr) return true;  // so that it gets past the checksums
#endif
  return checksum(bytes) == expected;
}

}  // namespace lacuna::prof::base
