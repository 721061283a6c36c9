// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/ledger.h"

/// Colours, as 0xFFRRGGBB. The categorical ones can be distinguished with any common colour
/// blindness, and differ in lightness too.
namespace lacuna::gui {

using Colour = std::uint32_t;

struct Theme {
  bool dark = true;
  Colour window, panel, raised, line, grid, text, dim, accent, good, warn, bad;
};
const Theme& theme(bool dark);

/// One colour for one name; digits do not count, so that "step 12" and "step 13" look alike.
Colour nameColour(std::string_view name, bool dark);
Colour kindColour(analyzer::WorkKind kind, bool dark);
using analyzer::causeColour;
/// The colour of memory; the same wherever a role is shown.
Colour roleColour(prof::MemoryRole role, bool dark);
/// The colour of a counter's curve: memory by role, others by their place.
Colour counterColour(std::string_view label, std::size_t place, bool dark);
/// The n-th colour of a chart.
Colour chartColour(std::size_t n, bool dark);
/// share 0 gives `under`, 1 gives `over`.
inline Colour mix(Colour under, Colour over, double share) {
  const auto weight = static_cast<Colour>(std::clamp(share, 0.0, 1.0) * 256);
  const Colour redBlue =
      (((under & 0xFF00FF) * (256 - weight) + (over & 0xFF00FF) * weight) >> 8) & 0xFF00FF;
  const Colour green =
      (((under & 0x00FF00) * (256 - weight) + (over & 0x00FF00) * weight) >> 8) & 0x00FF00;
  return 0xFF000000 | redBlue | green;
}
/// Black or white, whichever reads better on it.
Colour inkOn(Colour background);

}  // namespace lacuna::gui
