// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checksum.h"

#include <array>
#include <cinttypes>
#include <cstdio>

// Compiled in here, so that who links the runtime needs no library for it.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lacuna::rt {
namespace {

std::string hexadecimal(std::uint64_t sum) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, sum);
  return text.data();
}

}  // namespace

std::string checksumOf(const std::string& described, const void* data, std::size_t bytes) {
  return hexadecimal(
      XXH3_64bits_withSeed(data, bytes, XXH3_64bits(described.data(), described.size())));
}

std::string checksumOf(const Metadata& metadata) {
  std::string all;
  for (const auto& [key, value] : metadata)
    all.append(key).append(1, '\0').append(value).append(1, '\0');
  return hexadecimal(XXH3_64bits(all.data(), all.size()));
}

}  // namespace lacuna::rt
