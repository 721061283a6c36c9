// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/runtime/dtype.h"
#include "lacuna/runtime/serialize.h"
#include "lacuna/runtime/shape.h"

/// The beginning of a file in the safetensors format: the length of a JSON object, and that object,
/// which describes the bytes after it. Nothing here reads a file or makes a tensor.
namespace lacuna::rt {

inline constexpr const char* kSafetensorsTypes[kDTypeCount] = {"F32", "F64", "BF16", "F16",
                                                               "I32", "I64", "U8",   "BOOL"};
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  ///< the format's own limit
inline constexpr std::size_t kSafetensorsLengthBytes = 8;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  std::uint64_t begin = 0;  ///< of its bytes after the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry>
      tensors;  ///< in the order of their bytes; together they are all there are
  Metadata metadata;
};

/// Throws an Error with the reason why a file is refused.
[[noreturn]] void refuseSafetensors(const std::string& file, const std::string& why);

/// Length of the JSON, by the first bytes of a file of this size.
[[nodiscard]] std::uint64_t safetensorsHeaderBytes(
    const std::string& file, const std::array<unsigned char, kSafetensorsLengthBytes>& raw,
    std::uint64_t fileBytes);

/// The JSON's description of the `dataBytes` after it; `file` is named in every complaint.
[[nodiscard]] SafetensorsHeader parseSafetensorsHeader(const std::string& file,
                                                       const std::string& json,
                                                       std::uint64_t dataBytes);

}  // namespace lacuna::rt
