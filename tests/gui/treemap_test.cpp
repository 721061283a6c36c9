// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/treemap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace lacuna::gui {
namespace {

TEST(Treemap, AreasAreInProportionAndInside) {
  std::mt19937 random(3);
  std::vector<double> sizes(200);
  for (double& size : sizes) size = 1 + static_cast<double>(random() % 10'000);
  std::sort(sizes.rbegin(), sizes.rend());
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const auto tiles = treemap(sizes, {10, 20, 640, 400});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_NEAR(tiles[i].width * tiles[i].height, sizes[i] / total * 640 * 400, 1e-3);
    EXPECT_GE(tiles[i].x, 10 - 1e-6);
    EXPECT_LE(tiles[i].x + tiles[i].width, 650 + 1e-6);
    EXPECT_LE(tiles[i].y + tiles[i].height, 420 + 1e-6);
  }
}

TEST(Treemap, TilesDoNotOverlap) {
  const std::vector<double> sizes{6, 6, 4, 3, 2, 2, 1};
  const auto tiles = treemap(sizes, {0, 0, 6, 4});
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (std::size_t j = i + 1; j < tiles.size(); ++j) {
      const double wide = std::min(tiles[i].x + tiles[i].width, tiles[j].x + tiles[j].width) -
                          std::max(tiles[i].x, tiles[j].x);
      const double high = std::min(tiles[i].y + tiles[i].height, tiles[j].y + tiles[j].height) -
                          std::max(tiles[i].y, tiles[j].y);
      EXPECT_TRUE(wide < 1e-9 || high < 1e-9) << i << " " << j;
    }
  }
}

TEST(Treemap, NothingGetsNoTile) {
  EXPECT_TRUE(treemap({}, {0, 0, 10, 10}).empty());
  const std::vector<double> sizes{5, 0};
  const auto tiles = treemap(sizes, {0, 0, 10, 10});
  EXPECT_DOUBLE_EQ(tiles[0].width * tiles[0].height, 100);
  EXPECT_EQ(tiles[1].width, 0);
}

}  // namespace
}  // namespace lacuna::gui
