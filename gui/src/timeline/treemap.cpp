// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/treemap.h"

#include <algorithm>
#include <numeric>

namespace lacuna::gui {

namespace {

/// The worst ratio of sides when `sum` is laid along a side of this length, greatest and least of
/// its parts known.
double worstRatio(double greatest, double least, double sum, double side) {
  const double square = side * side;
  return std::max(square * greatest / (sum * sum), sum * sum / (square * least));
}

}  // namespace

// Bruls, Huizing and van Wijk, "Squarified treemaps": rows are filled while that makes their tiles
// squarer.
std::vector<Tile> treemap(std::span<const double> sizes, const Tile& into) {
  std::vector<Tile> tiles(sizes.size());
  std::size_t count = 0;
  while (count < sizes.size() && sizes[count] > 0) ++count;
  const double total =
      std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
  if (total <= 0 || into.width <= 0 || into.height <= 0) return tiles;
  const double scale = into.width * into.height / total;
  Tile rest = into;
  std::size_t at = 0;
  while (at < count) {
    const double side = std::min(rest.width, rest.height);
    double sum = sizes[at] * scale;
    double worst = worstRatio(sum, sum, sum, side);
    std::size_t end = at + 1;
    for (; end < count; ++end) {
      const double more = sum + sizes[end] * scale;
      const double ratio = worstRatio(sizes[at] * scale, sizes[end] * scale, more, side);
      if (ratio > worst) break;
      worst = ratio;
      sum = more;
    }
    const bool beside = rest.width >= rest.height;  // a column at the left, or a row on top
    const double thick = side > 0 ? sum / side : 0;
    double along = 0;
    for (; at < end; ++at) {
      const double length = thick > 0 ? sizes[at] * scale / thick : 0;
      tiles[at] = beside ? Tile{rest.x, rest.y + along, thick, length}
                         : Tile{rest.x + along, rest.y, length, thick};
      along += length;
    }
    if (beside) {
      rest.x += thick;
      rest.width = std::max(0.0, rest.width - thick);
    } else {
      rest.y += thick;
      rest.height = std::max(0.0, rest.height - thick);
    }
  }
  return tiles;
}

}  // namespace lacuna::gui
