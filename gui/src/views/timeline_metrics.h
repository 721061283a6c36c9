// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::gui {

inline constexpr int kRulerHeight = 30;
inline constexpr int kPinWidth = 24;

/// Where a point has no whole number of pixels, the edges of a piece of a picture lie between
/// pixels.
inline bool hasWholePixels(double scale) {
  return scale == static_cast<int>(scale);
}

}  // namespace lacuna::gui
