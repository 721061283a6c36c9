// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lacuna/runtime/error.h"
#include "lacuna/runtime/serialize.h"

/// Any bytes as a file of saved tensors: it is refused in words, or its tensors are as large as their bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int kFile = ::memfd_create("fuzz", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (::ftruncate(kFile, 0) != 0 || ::pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  try {
    const lacuna::rt::LoadedTensors loaded = lacuna::rt::loadTensors(kPath);
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : loaded.tensors) bytes += tensor.sizeBytes();
    if (bytes > size) std::abort();
  } catch (const lacuna::rt::Error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
