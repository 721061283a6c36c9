// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/staging.h"
#include "lacuna/runtime/error.h"

namespace lacuna::rt {

void* cuda::allocatePinned(std::size_t /*bytes*/) {
  fail("DataLoader",
       "this build has no CUDA backend, so no page-locked memory; build where the CUDA toolkit is");
}
void cuda::freePinned(void* /*data*/) {}

}  // namespace lacuna::rt
