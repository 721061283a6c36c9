// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "collector/cupti/generations.h"
#include "collector/cupti/row_collector.h"
#include "cupti/capture.h"

/// Any bytes where CUPTI would write: the first decides whether the rest is a buffer of CUPTI 13,
/// one of CUPTI 12, or a raw capture file.
namespace {

using namespace lacuna;
using namespace lacuna::collector::cupti;

void decodeBuffer(const std::byte* bytes, std::size_t size, const Strides& strides) {
  // A copy of just that size, so that a read beyond its end is seen.
  const std::vector<std::byte> buffer(bytes, bytes + size);
  ClockMap clock;
  clock.add(1'000'000, 0);
  DecoderHooks hooks;
  hooks.text = [](const void* pointer) {
    return std::string_view(pointer != nullptr ? "text" : "");
  };
  hooks.apiName = [](bool, std::uint32_t id) { return "call_v" + std::to_string(id); };
  hooks.clock = &clock;
  RowCollector rows;
  Decoder decoder(rows, hooks);
  const std::size_t used = decoder.decodeBuffer(buffer.data(), buffer.size(), strides);
  if (used > size || decoder.stats().records > size / sizeof(std::uint32_t)) std::abort();
  const auto& kernels = rows.all<prof::Kernel>();
  for (const prof::Kernel& kernel : kernels) {
    // Every row's device and queue were declared before it.
    if (kernel.durNs < 0 || rows.all<prof::Device>().empty() || rows.all<prof::Queue>().empty())
      std::abort();
  }
}

void readFile(const std::uint8_t* data, std::size_t size) {
  static const int kFile = ::memfd_create("fuzz", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (::ftruncate(kFile, 0) != 0 || ::pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  std::string complaint;
  const auto capture = readCapture(kPath, &complaint);
  if (!capture.ok()) return;
  RowCollector rows;
  (void)replay(*capture, rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  if (data[0] % 3 == 0) decodeBuffer(bytes, size - 1, compiledStrides());
  if (data[0] % 3 == 1) decodeBuffer(bytes, size - 1, stridesOf12());
  if (data[0] % 3 == 2) readFile(data + 1, size - 1);
  return 0;
}
