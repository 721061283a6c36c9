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

/// What a recording shows of a program, as far as it decides what could be set.
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
  /// That prices it; nothing where a replay does, or nothing.
  std::optional<analyzer::FindingId> finding{};
  bool replayed = true;
};

/// What could be set beside `kept`, in no order. `names` are those that are wanted; empty: all that can be priced.
std::vector<Candidate> candidates(const Situation& situation, std::span<const collector::Setting> kept,
                                  std::span<const std::string> names);

}  // namespace lacuna::cli::tune
