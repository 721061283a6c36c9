// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for PyTorch's allocator: asks whether somebody profiles memory, and reports if so,
// through calls that the dynamic linker binds.
#include <cstddef>
#include <cstdint>

#define FAKE_API __attribute__((visibility("default")))

namespace c10 {
struct Device {
  std::int8_t type;
  std::int8_t index;
};
FAKE_API bool memoryProfilingEnabled() {
  return false;
}
static std::int64_t reports = 0;
FAKE_API void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) {
  ++reports;
}
}  // namespace c10

extern "C" {
FAKE_API void fakeAllocate(std::uint64_t address, std::int64_t bytes) {
  if (!c10::memoryProfilingEnabled()) return;
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), bytes, 0, 0,
                                   c10::Device{0, -1});
}
FAKE_API std::int64_t fakeReports() {
  return c10::reports;
}
}
