// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace lacuna::prof::recording {

/// Finds and clears pages, and enters them into this process's page table, by one system call
/// instead of a fault each. Kernels before 5.14 refuse, and the faults come after all.
inline void populate(void* at, std::size_t bytes) {
  madvise(at, bytes, MADV_POPULATE_WRITE);
}

}  // namespace lacuna::prof::recording
