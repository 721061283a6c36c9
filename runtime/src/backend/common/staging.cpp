// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/staging.h"

#include <sys/mman.h>

#include <string>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {

namespace {

constexpr std::size_t kPage = 4096;

void* allocatePages(std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw OutOfMemory("DataLoader: no memory for " + std::to_string(bytes) + " bytes of staging");
  return data;
}

}  // namespace

StagingMemory allocateStaging(Device device, std::size_t bytes) {
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  if (device.type == DeviceType::Cuda) return {cuda::allocatePinned(rounded), rounded};
  if (device.type != DeviceType::Cpu)
    fail("DataLoader", "batches cannot be staged for " + toString(device));
  return {allocatePages(rounded), rounded};
}

void freeStaging(Device device, const StagingMemory& memory) {
  if (device.type == DeviceType::Cuda) return cuda::freePinned(memory.data);
  ::munmap(memory.data, memory.bytes);
}

}  // namespace lacuna::rt
