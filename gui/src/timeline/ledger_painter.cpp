// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/ledger_painter.h"

#include <algorithm>
#include <cmath>

namespace lacuna::gui {

void LedgerPainter::paint(const analyzer::LedgerStrip& strip, const analyzer::PixelGrid& grid,
                          bool dark, int top, int height, const Canvas& canvas) {
  const auto width = static_cast<std::size_t>(grid.width);
  cells_.resize(width);
  columns_.resize(width);
  for (auto& column : columns_) column.clear();
  for (const analyzer::CauseLane& cause : strip.causes) {
    cause.lane.query(grid, cells_);
    const Colour colour = causeColour(cause.cause, dark);
    for (std::size_t x = 0; x < width; ++x) {
      if (cells_[x].occupied()) columns_[x].push_back({colour, cells_[x].busy});
    }
  }
  const int last = std::min(top + height, canvas.height);
  for (std::size_t x = 0; x < width; ++x) {
    float sum = 0;
    for (const Share& share : columns_[x]) sum += share.busy;
    if (sum <= 0) continue;
    // Busy shares are known within a few hundredths; a full column must be full all the same.
    const double scale = sum > 0.9F ? height / static_cast<double>(sum) : height;
    double bottom = top + height;
    for (const Share& share : columns_[x]) {
      const double above = bottom - share.busy * scale;
      for (int y = std::max(static_cast<int>(std::lround(above)), std::max(top, 0));
           y < std::min(static_cast<int>(std::lround(bottom)), last); ++y) {
        canvas.pixels[static_cast<std::ptrdiff_t>(y) * canvas.stride +
                      static_cast<std::ptrdiff_t>(x)] = share.colour;
      }
      bottom = above;
    }
  }
}

}  // namespace lacuna::gui
