// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "tune/tuner.h"

namespace lacuna::cli::tune {

/// Facts about a recorded program that decide which settings fit it.
struct Situation {
  std::uint32_t cores = 1;
  bool onGpu = false;
  std::optional<std::uint32_t> workers{};  ///< nothing without a data loader
  std::uint32_t prefetch = 0;
  bool pinned = false;
  bool debug = true;  ///< a debugging mode is on, or nobody knows
};

/// A setting to price, and where its price comes from.
struct Candidate {
  collector::Setting setting;
  /// The finding that prices it, if one does.
  std::optional<analyzer::FindingId> finding{};
  bool replayed = true;
};

/// The settings that can be added to `kept`, in no order. `names` limits them to those names;
/// empty: all that can be priced.
std::vector<Candidate> candidates(const Situation& situation,
                                  std::span<const collector::Setting> kept,
                                  std::span<const std::string> names);

}  // namespace lacuna::cli::tune
