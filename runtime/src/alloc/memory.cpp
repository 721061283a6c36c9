// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/memory.h"

#include <cstdlib>
#include <string>

#include "alloc/allocator.h"

namespace lacuna::rt {

std::size_t memoryLimitFromEnvironment() {
  const char* text = std::getenv("LACUNA_MEMORY_LIMIT");
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  const std::string suffix = end;
  double factor = 1;
  if (suffix == "K" || suffix == "k") factor = 1024;
  if (suffix == "M" || suffix == "m") factor = 1024.0 * 1024;
  if (suffix == "G" || suffix == "g") factor = 1024.0 * 1024 * 1024;
  const double bytes = value * factor;
  const bool isSize =
      bytes == 0 || (bytes >= 1 && bytes < 0x1p63);  // none is less than a byte, or not a number
  if (end == text || !isSize || (factor == 1 && !suffix.empty())) {
    fail("LACUNA_MEMORY_LIMIT",
         "'" + std::string(text) +
             "' is no size; write bytes or a number with K, M or G (0 for no limit)");
  }
  return static_cast<std::size_t>(bytes);
}

MemoryStats memoryStats(Device device) {
  return allocatorOf(device).stats();
}
void resetPeakMemory(Device device) {
  allocatorOf(device).resetPeak();
}
void releaseCachedMemory(Device device) {
  synchronize();
  allocatorOf(device).trim();
}
void setMemoryLimit(std::size_t bytes, Device device) {
  allocatorOf(device).setLimit(bytes);
}
void planMemory(bool on, Device device) {
  allocatorOf(device).planIterations(on);
}
void recordMemoryPlan(Device device) {
  allocatorOf(device).recordPlanAgain();
}
MemoryPlanStats memoryPlanStats(Device device) {
  return allocatorOf(device).planStats();
}
std::string largestTensors(std::size_t count, Device device) {
  return allocatorOf(device).largest(count);
}

}  // namespace lacuna::rt
