// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lacuna/analyzer/ledger.h"

/// The bound on a step, in the tiers that input pipelines are judged by.
/// docs/analyses/bottleneck.md.
namespace lacuna::analyzer {

enum class BoundBy : std::uint8_t {
  Device,         ///< compute takes the step
  Input,          ///< waiting for batches
  Host,           ///< what the host does or waits for: launching, calls, its own work, the profiler
  Communication,  ///< that no compute hides
  Copy,           ///< likewise
  Other,          ///< a queue that waits for another, and what has no cause in the trace
  Nothing,        ///< no device did any work
};
inline constexpr std::size_t kBoundCount = 6;
/// "device", "input", "host", "communication", "copy", "other", "nothing"
std::string_view boundName(BoundBy bound);

enum class Tier : std::uint8_t { None, Moderate, High };
/// "none", "moderate", "high"
std::string_view tierName(Tier tier);

struct BoundShare {
  std::int64_t nsPerStep = 0;
  double share = 0;  ///< of the step with what lies between it and the next one
  Tier tier = Tier::None;
};

struct Bottleneck {
  BoundBy by = BoundBy::Nothing;
  std::array<BoundShare, kBoundCount> shares{};  ///< by BoundBy; they sum to one
  [[nodiscard]] const BoundShare& operator[](BoundBy bound) const {
    return shares[static_cast<std::size_t>(bound)];
  }
};
/// Judges a step of devices that did some work.
Bottleneck bottleneckOf(const Ledger& step);

}  // namespace lacuna::analyzer
