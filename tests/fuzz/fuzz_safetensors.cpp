// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/safetensors_header.h"
#include "lacuna/runtime/error.h"

/// Any bytes as a file of saved tensors: its header is refused in words, or gives each byte after
/// it to one tensor.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna::rt;
  std::array<unsigned char, kSafetensorsLengthBytes> raw{};
  if (size < raw.size()) return 0;
  std::copy_n(data, raw.size(), raw.begin());
  try {
    const auto length = static_cast<std::size_t>(safetensorsHeaderBytes("fuzz", raw, size));
    const std::string json(reinterpret_cast<const char*>(data) + raw.size(), length);
    const std::uint64_t behind = size - raw.size() - length;
    std::uint64_t bytes = 0;
    for (const SafetensorsEntry& tensor : parseSafetensorsHeader("fuzz", json, behind).tensors) {
      if (static_cast<std::uint64_t>(tensor.shape.numel()) * itemSize(tensor.dtype) !=
          tensor.end - tensor.begin)
        std::abort();
      bytes += tensor.end - tensor.begin;
    }
    if (bytes != behind) std::abort();
  } catch (const Error& error) {
    if (std::string(error.what()).find("fuzz: ") == std::string::npos) std::abort();
  }
  return 0;
}
