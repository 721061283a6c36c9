// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tracks/path_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(PathTree, GivesAPathOneNumberHoweverOftenItIsAskedFor) {
  PathTree tree;
  const auto step = tree.below(PathTree::kRoot, tree.nameOf("step"));
  const auto conv = tree.below(step, tree.nameOf("conv"));
  EXPECT_EQ(tree.below(tree.below(PathTree::kRoot, tree.nameOf("step")), tree.nameOf("conv")),
            conv);
  EXPECT_NE(tree.below(PathTree::kRoot, tree.nameOf("conv")), conv);
  EXPECT_EQ(tree.text(conv), "step > conv");
  EXPECT_EQ(tree.text(PathTree::kRoot), "");
  EXPECT_EQ(tree.size(), 4U);
}

TEST(PathTree, WalksEachPathBeforeThoseBelowItInOrderOfNames) {
  PathTree tree;
  const auto step = tree.below(PathTree::kRoot, tree.nameOf("step"));
  const auto relu = tree.below(step, tree.nameOf("relu"));
  const auto conv = tree.below(step, tree.nameOf("conv"));
  const auto unnamed = tree.below(conv, tree.nameOf(""));
  const auto load = tree.below(PathTree::kRoot, tree.nameOf("load"));
  std::vector<std::pair<PathTree::Path, std::string>> seen;
  tree.walk(';',
            [&](PathTree::Path path, std::string_view text) { seen.emplace_back(path, text); });
  EXPECT_THAT(seen, ElementsAre(Pair(load, ";load"), Pair(step, ";step"), Pair(conv, ";step;conv"),
                                Pair(unnamed, ";step;conv;"), Pair(relu, ";step;relu")));
  PathTree empty;
  empty.walk(';', [](PathTree::Path, std::string_view) { FAIL(); });
}

TEST(PathTree, ATooLongPathEndsAtItsLastName) {
  PathTree tree;
  auto path = PathTree::kRoot;
  for (std::size_t i = 0; i < PathTree::kMostNames; ++i)
    path = tree.below(path, tree.nameOf(std::to_string(i)));
  EXPECT_EQ(tree.below(path, tree.nameOf("deeper")), path);
  EXPECT_EQ(tree.size(), PathTree::kMostNames + 1);
}

}  // namespace
}  // namespace lacuna::analyzer
