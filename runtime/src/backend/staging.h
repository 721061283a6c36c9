// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "lacuna/runtime/tensor.h"

/// Host memory in which batches wait for a device, behind one header for every backend.
namespace lacuna::rt {

struct StagingMemory {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< whole pages
};

/// For copies to `device`: page-locked memory for CUDA, pages of their own for the CPU. Throws
/// OutOfMemory, and Error for a device that this build or this machine has not.
StagingMemory allocateStaging(Device device, std::size_t bytes);
void freeStaging(Device device, const StagingMemory& memory);

namespace cuda {
/// Filled by backend/cuda, or by backend/no_cuda where the toolkit is missing.
void* allocatePinned(std::size_t bytes);
void freePinned(void* data);
}  // namespace cuda

}  // namespace lacuna::rt
