// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/synthetic_run.h"

namespace lacuna::test {

/// A run with something to show in most sections of a report.
inline RunPlan richPlan(const char* kernelName) {
  return {.steps = 30,
          .ranks = 2,
          .kernelName = kernelName,
          .batchNs = 20'000'000,
          .workers = 1,
          .syncEveryOperators = 2,
          .pageableCopyNs = 2'000'000,
          .zeroGradNs = 1'000'000,
          .mallocNs = 1'000'000,
          .asleepNs = 1'000'000,
          .leakBytes = 2 << 20,
          .memorySpike = true,
          .allocationChurn = true,
          .collectiveNs = 3'000'000,
          .lateNs = 2'000'000,
          .tinyRepeats = 40,
          .biasBeforeNorm = true};
}

}  // namespace lacuna::test
