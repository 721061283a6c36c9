// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "whatif/changes/change_type.h"

/// Pieces of descriptors that several changes share.
namespace lacuna::analyzer {

/// Shown by the cases slow-loader, starved-workers and heavy-decode.
inline constexpr KnownError kMeasuredOnLoaders{
    0.05, "`scripts/bench predict`: slow, starved and decoding loaders"};
/// Shown by the debug-mode cases.
inline constexpr KnownError kMeasuredOnWaits{0.1, "`scripts/bench predict`: debug mode"};
/// Twice the greatest error that was measured.
inline constexpr KnownError kNotMeasured{0.2, "not measured; twice the greatest measured error"};

/// The words of a switch, on and off in turn.
inline constexpr auto kSwitchWords = [] {
  std::array<std::string_view, kOnWords.size() + kOffWords.size()> words;
  for (std::size_t i = 0; i < kOnWords.size(); ++i) {
    words[2 * i] = kOnWords[i];
    words[2 * i + 1] = kOffWords[i];
  }
  return words;
}();

inline bool always(const Change&) {
  return true;
}
inline bool alwaysStalls(const Change&, const Simulator::Model&) {
  return true;
}
/// Names the source of the factors on durations.
std::string noteOfFactors(const Change& change, const Simulator::Model& model);

}  // namespace lacuna::analyzer
