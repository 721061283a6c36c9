// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::analyzer {

/// What the longest chain of waits through a step consists of; the parts sum to the step.
struct StepPath {
  std::int64_t computeNs = 0;
  std::int64_t communicationNs = 0;
  std::int64_t copyNs = 0;
  std::int64_t hostNs = 0;    ///< host work and calls
  std::int64_t launchNs = 0;  ///< from a launch to its start, and between queued work
  std::int64_t loaderNs = 0;  ///< waiting for batches

  [[nodiscard]] std::int64_t totalNs() const {
    return computeNs + communicationNs + copyNs + hostNs + launchNs + loaderNs;
  }
};

}  // namespace lacuna::analyzer
