// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include "cupti/decoder.h"

namespace lacuna::collector::cupti {

/// The strides of a CUPTI 12: the structures that its headers had, which those of 13 still declare.
inline Strides stridesOf12() {
  Strides strides = compiledStrides();
  strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = strides[CUPTI_ACTIVITY_KIND_KERNEL] =
      sizeof(CUpti_ActivityKernel9);
  strides[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy5);
  strides[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(CUpti_ActivitySynchronization);
  strides[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(CUpti_ActivityOverhead2);
  strides[CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(CUpti_ActivityMemory3);
  strides[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = sizeof(CUpti_ActivityMemoryPool2);
  strides[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext2);
  strides[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = sizeof(CUpti_ActivityGraphTrace);
  return strides;
}

}  // namespace lacuna::collector::cupti
