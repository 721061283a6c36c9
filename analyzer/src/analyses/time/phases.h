// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

enum class PhasePlace : std::uint8_t { BeforeSteps, InSteps, BetweenSteps, BehindSteps };
/// "before the steps", "in steps", "between steps", "behind the steps"
std::string_view phasePlaceName(PhasePlace place);

/// Work of a program that is no usual part of an iteration.
struct PhaseUse {
  std::string name;  ///< empty where nothing in the trace names it
  PhasePlace place = PhasePlace::BetweenSteps;
  std::uint64_t count = 0;  ///< pauses between steps that have it; in steps, its ranges
  std::int64_t totalNs = 0;
  prof::TimeWindow longest{0, 0};
};

/// A run of steps by its phases. Those in and between steps are counted from the first steady step
/// to the last.
struct RunPhases {
  std::vector<PhaseUse> uses;   ///< in the order of the places, then the costliest first
  std::int64_t trainingNs = 0;  ///< the steady steps and all that lies between them
  std::uint64_t steps = 0;      ///< steady ones

  /// The mean time from one step to the next, with the pauses between steps.
  [[nodiscard]] std::int64_t iterationNs() const {
    return steps == 0 ? 0 : trainingNs / static_cast<std::int64_t>(steps);
  }
  [[nodiscard]] std::int64_t perStep(std::int64_t ns) const {
    return steps == 0 ? 0 : ns / static_cast<std::int64_t>(steps);
  }
  /// The time of all that has this name at this place.
  [[nodiscard]] std::int64_t totalNs(std::string_view name, PhasePlace place) const;
};

}  // namespace lacuna::analyzer
