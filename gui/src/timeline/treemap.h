// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace lacuna::gui {

struct Tile {
  double x = 0, y = 0, width = 0, height = 0;
};

/// Divides a rectangle among sizes that come greatest first: tile areas are in proportion, tiles as
/// square as can be. Sizes that are not positive get empty tiles.
std::vector<Tile> treemap(std::span<const double> sizes, const Tile& into);

}  // namespace lacuna::gui
