// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// Outermost operators of the forward pass that have a place in the graph of gradients, by whether
/// a backward pass came back to them. An operator and its backward share a sequence number.
struct GradientUse {
  std::uint64_t used = 0;
  std::uint64_t unused = 0;
  std::int64_t unusedNs = 0;  ///< that those took on their threads
  /// The time of the kernels that those launched. 0 where they are fewer than kFewUnused.
  std::int64_t unusedDeviceNs = 0;
  std::string costliest;  ///< of those, by name
  std::int64_t costliestNs = 0;
  prof::TimeWindow longest{0, 0};  ///< the longest of those

  /// The unused part of all operators. It is 0 where no backward is known: some sources have no
  /// sequence numbers.
  [[nodiscard]] double unusedShare() const {
    return used == 0 ? 0 : static_cast<double>(unused) / static_cast<double>(used + unused);
  }
};
/// A smaller part of all operators are values for a log, and none of the passes of the network.
inline constexpr double kFewUnused = 0.05;
/// Counts operators of the window, in steps and between them.
prof::Result<GradientUse> gradientUse(const Store& store, prof::TimeWindow window,
                                      const Selection& only = {});

}  // namespace lacuna::analyzer
