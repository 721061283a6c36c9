// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/tree_run.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Ranges that nest at random in each step, in units of 1,000 ns, and what each path takes in each
/// step.
struct RandomTree {
  static constexpr int kSteps = 7;
  TreeRun run{kSteps};
  std::map<std::string, std::vector<std::int64_t>> ownNs;

  explicit RandomTree(std::mt19937& random) {
    for (int step = 0; step < kSteps; ++step) nest(random, step, 0, 100, "", 0);
  }
  void nest(std::mt19937& random, int step, TimeNs from, TimeNs to, const std::string& path,
            int depth) {
    const auto below = [&](TimeNs most) {
      return static_cast<TimeNs>(random() % static_cast<unsigned>(most));
    };
    std::int64_t own = to - from;
    for (TimeNs at = from + below(5); at < to && depth < 4;) {
      TimeNs end = std::min(to, at + 1 + below(40));
      // No order is known of two ranges with the same times.
      if (at == from && end == to && --end == at) break;
      const std::string name(1, static_cast<char>('a' + below(3)));
      run.opIn(step, 1'000 * at, 1'000 * end, name);
      nest(random, step, at, end, path.empty() ? name : path + " > " + name, depth + 1);
      own -= end - at;
      at = end + below(6);
    }
    if (path.empty()) return;
    auto& values = ownNs[path];
    values.resize(kSteps);
    values[static_cast<std::size_t>(step)] += 1'000 * own;
  }
};

TEST(RunTrees, RandomTreesDifferAsEachUnitOfTheirTimeDoes) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    RandomTree before(random), after(random);
    std::set<std::string> paths;
    for (const auto& [path, values] : before.ownNs) paths.insert(path);
    for (const auto& [path, values] : after.ownNs) paths.insert(path);
    std::vector<std::pair<std::int64_t, std::string>> expected;
    for (const std::string& path : paths) {
      const std::int64_t change = medianOf(after.ownNs[path]) - medianOf(before.ownNs[path]);
      if (std::abs(change) > kFloorNs)
        expected.emplace_back(-std::abs(change), path + " " + std::to_string(change));
    }
    std::ranges::sort(expected);
    const RunDiff diff = diffOf(before.run, after.run);
    std::vector<std::pair<std::int64_t, std::string>> found;
    for (const Difference& row : diff.tree)
      found.emplace_back(-std::abs(row.changeNs), row.path + " " + std::to_string(row.changeNs));
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, [](const auto& row) { return row.first; }));
    std::ranges::sort(found);
    EXPECT_EQ(found, expected) << round;
  }
}

TEST(RunTrees, OfARunWithItselfNothingDiffers) {
  std::mt19937 random(11);
  for (int round = 0; round < 5; ++round) {
    RandomTree tree(random);
    const RunDiff diff = diffOf(tree.run, tree.run);
    EXPECT_TRUE(diff.tree.empty()) << round;
    EXPECT_EQ(diff.pathsBefore, tree.ownNs.size());
    EXPECT_EQ(diff.pathsCommon, tree.ownNs.size());
  }
}

}  // namespace
}  // namespace lacuna::analyzer
