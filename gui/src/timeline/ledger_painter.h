// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/charts.h"
#include "timeline/strip_renderer.h"

namespace lacuna::gui {

/// Draws a device's ledger. Each pixel column is divided among the causes by their share of its
/// time. So a far view shows proportions, and a close one plain stretches. Keeps its buffers; one
/// thread at a time.
class LedgerPainter {
 public:
  void paint(const analyzer::LedgerStrip& strip, const analyzer::PixelGrid& grid, bool dark,
             int top, int height, const Canvas& canvas);

 private:
  struct Share {
    Colour colour = 0;
    float busy = 0;
  };
  std::vector<analyzer::Cell> cells_;
  std::vector<std::vector<Share>> columns_;
};

}  // namespace lacuna::gui
