// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string>

#include "backend/staging.h"
#include "lacuna/runtime/error.h"

namespace lacuna::rt {

namespace {

/// The part of CUDA's runtime that pinning needs, found by name: a program that links the runtime
/// starts on machines without CUDA.
struct Library {
  decltype(&::cudaHostAlloc) allocate = nullptr;
  decltype(&::cudaFreeHost) release = nullptr;
  decltype(&::cudaGetErrorString) text = nullptr;

  Library() {
    const std::string name = "libcudart.so." + std::to_string(CUDART_VERSION / 1000);
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail("DataLoader", "no page-locked memory: " + name + " was not found");
    allocate = reinterpret_cast<decltype(allocate)>(::dlsym(library, "cudaHostAlloc"));
    release = reinterpret_cast<decltype(release)>(::dlsym(library, "cudaFreeHost"));
    text = reinterpret_cast<decltype(text)>(::dlsym(library, "cudaGetErrorString"));
    if (allocate == nullptr || release == nullptr || text == nullptr) {
      fail("DataLoader", "no page-locked memory: " + name + " lacks what it needs");
    }
  }
};

const Library& library() {
  static const Library one;
  return one;
}

}  // namespace

void* cuda::allocatePinned(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = library().allocate(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    throw OutOfMemory("DataLoader: no page-locked memory for " + std::to_string(bytes) +
                      " bytes of staging");
  }
  if (error != cudaSuccess)
    fail("DataLoader", std::string("no page-locked memory: ") + library().text(error));
  return data;
}

void cuda::freePinned(void* data) {
  (void)library().release(data);
}

}  // namespace lacuna::rt
