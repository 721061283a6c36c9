// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/memory_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace lacuna::gui {
namespace {

using analyzer::LiveBlock;
using Kind = MapTile::Kind;
using prof::MemoryRole;

constexpr Tile kArea{10, 20, 480, 320};

class MemoryMapTest : public ::testing::Test {
 protected:
  void add(std::size_t count, MemoryRole role, std::uint64_t bytes, const std::string& op,
           const std::string& tensor = {}) {
    names_.push_back(op);
    const std::string_view opName = names_.back();
    for (std::size_t n = 0; n < count; ++n) {
      LiveBlock block;
      block.tensor.bytes = bytes;
      block.tensor.role = role;
      block.tensor.op = opName;
      if (!tensor.empty()) names_.push_back(tensor + std::to_string(n) + ".weight");
      if (!tensor.empty()) block.tensor.tensor = names_.back();
      live_.push_back(block);
    }
  }
  std::vector<MapTile> layOut() {
    std::stable_sort(live_.begin(), live_.end(), [](const LiveBlock& a, const LiveBlock& b) {
      return a.tensor.bytes > b.tensor.bytes;
    });
    tree_ = groupBlocks(live_);
    return layOutBlocks(tree_, kArea);
  }
  /// Number of times that each block is in a tile that is no frame.
  [[nodiscard]] std::vector<int> held(const std::vector<MapTile>& tiles) const {
    std::vector<int> times(live_.size());
    for (const MapTile& tile : tiles) {
      if (tile.kind == Kind::Role || tile.kind == Kind::Origin) continue;
      std::uint64_t bytes = 0;
      for (std::size_t n = tile.first; n < tile.first + tile.count; ++n) {
        ++times[tree_.order[n]];
        bytes += live_[tree_.order[n]].tensor.bytes;
        EXPECT_EQ(live_[tree_.order[n]].tensor.role, tile.role);
      }
      EXPECT_EQ(bytes, tile.bytes);
    }
    return times;
  }
  static std::size_t count(const std::vector<MapTile>& tiles, Kind kind) {
    return static_cast<std::size_t>(std::count_if(
        tiles.begin(), tiles.end(), [&](const MapTile& tile) { return tile.kind == kind; }));
  }

  std::deque<std::string> names_;
  std::vector<LiveBlock> live_;
  BlockTree tree_;
};

TEST_F(MemoryMapTest, FewBlocksHaveATileEach) {
  add(1, MemoryRole::Parameter, 96 << 20, "", "fc");
  add(8, MemoryRole::Activation, 4 << 20, "conv2d");
  const auto tiles = layOut();
  EXPECT_EQ(count(tiles, Kind::Role), 2U);
  EXPECT_EQ(count(tiles, Kind::Block), 9U);
  EXPECT_EQ(tiles.size(), 11U);
  EXPECT_EQ(tiles[0].role, MemoryRole::Parameter);
  EXPECT_GT(tiles[0].header.height, 0);
}

TEST_F(MemoryMapTest, ThousandsOfBlocksAreShownByWhatMadeThem) {
  add(9000, MemoryRole::Activation, 3 << 20, "aten::conv2d");
  add(3000, MemoryRole::Activation, 2 << 20, "aten::relu");
  add(216, MemoryRole::Gradient, 1 << 20, "aten::mm");
  const auto tiles = layOut();
  std::vector<std::string> names;
  for (const MapTile& tile : tiles) {
    if (tile.group != nullptr && tile.count > 1 && tile.kind != Kind::Rest)
      names.push_back(tile.group->name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"aten::conv2d", "aten::relu", "aten::mm"}));
  EXPECT_EQ(held(tiles), std::vector<int>(live_.size(), 1));
}

TEST_F(MemoryMapTest, TheLargestOfAGroupStandAloneInIt) {
  add(2, MemoryRole::Activation, 512 << 20, "attention");
  add(5000, MemoryRole::Activation, 100'000, "attention");
  add(1, MemoryRole::Activation, 256 << 20, "softmax");
  const auto tiles = layOut();
  EXPECT_EQ(count(tiles, Kind::Origin), 1U);
  EXPECT_EQ(count(tiles, Kind::Block), 3U);
  const auto rest = std::find_if(tiles.begin(), tiles.end(),
                                 [](const MapTile& t) { return t.kind == Kind::Rest; });
  ASSERT_NE(rest, tiles.end());
  EXPECT_EQ(rest->count, 5000U);
  EXPECT_EQ(rest->group->name, "attention");
  EXPECT_EQ(held(tiles), std::vector<int>(live_.size(), 1));
}

TEST_F(MemoryMapTest, NumbersInNamesOfTensorsDoNotSeparateThem) {
  add(300, MemoryRole::Parameter, 1 << 20, "", "layer.");
  add(10, MemoryRole::Parameter, 7 << 20, "");
  add(1, MemoryRole::Parameter, 9 << 20, "", "head.");
  layOut();
  ASSERT_EQ(tree_.roles.size(), 1U);
  const auto& groups = tree_.roles[0].groups;
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].name, "layer.#.weight");
  EXPECT_EQ(groups[1].name, "");
  EXPECT_EQ(groups[2].name, "head.0.weight");
}

TEST_F(MemoryMapTest, BlocksWithoutANameGoByTheirSize) {
  add(400, MemoryRole::Other, 2 << 20, "");
  add(300, MemoryRole::Other, 1 << 20, "");
  layOut();
  ASSERT_EQ(tree_.roles[0].groups.size(), 2U);
  EXPECT_EQ(tree_.roles[0].groups[0].count, 400U);
}

TEST_F(MemoryMapTest, SmallOriginsShareATileThatCountsThem) {
  add(1, MemoryRole::Activation, 1 << 30, "large");
  for (int n = 0; n < 400; ++n) add(2, MemoryRole::Activation, 1000, "op" + std::to_string(n));
  const auto tiles = layOut();
  const MapTile& rest = tiles.back();
  EXPECT_EQ(rest.kind, Kind::Rest);
  EXPECT_EQ(rest.group, nullptr);
  EXPECT_EQ(rest.count, 800U);
}

TEST_F(MemoryMapTest, WhateverIsAliveEachBlockIsInOneTileInsideItsFrame) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    live_.clear();
    for (int n = 0; n < 30; ++n) {
      add(1 + random() % 200, static_cast<MemoryRole>(random() % analyzer::kRoleCount),
          random() % 100'000'000, "op" + std::to_string(random() % 20));
    }
    const auto tiles = layOut();
    EXPECT_EQ(held(tiles), std::vector<int>(live_.size(), 1));
    Tile frame = kArea;
    for (const MapTile& tile : tiles) {
      if (tile.kind == Kind::Role) frame = kArea;
      EXPECT_GE(tile.place.x, frame.x - 1e-6);
      EXPECT_GE(tile.place.y, frame.y - 1e-6);
      EXPECT_LE(tile.place.x + tile.place.width, frame.x + frame.width + 1e-6);
      EXPECT_LE(tile.place.y + tile.place.height, frame.y + frame.height + 1e-6);
      if (tile.kind == Kind::Role) frame = tile.place;
    }
  }
}

TEST_F(MemoryMapTest, NothingAliveHasNoTile) {
  EXPECT_TRUE(layOut().empty());
}

}  // namespace
}  // namespace lacuna::gui
