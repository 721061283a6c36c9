// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::ThreadId;

class FlameTest : public ::testing::Test {
 protected:
  void range(std::uint32_t thread, prof::TimeNs start, prof::TimeNs length, std::string_view name) {
    trace_.append(prof::Range{.startNs = start,
                              .durNs = length,
                              .thread = ThreadId(thread),
                              .name = trace_.intern(name)});
  }
  /// "name total self count" of every node, parents first.
  std::vector<std::string> show(prof::TimeWindow window = {}) {
    const auto store = trace_.build();
    const FlameGraph graph = *flameGraph(*store, window);
    std::vector<std::string> out;
    for (const FlameNode& node : graph.nodes) {
      if (node.depth < 2) continue;
      out.push_back(std::string(store->text(node.name)) + " " + std::to_string(node.totalNs) + " " +
                    std::to_string(node.selfNs) + " " + std::to_string(node.count));
    }
    return out;
  }
  StoreBuilder trace_;
};

TEST_F(FlameTest, MergesEqualStacks) {
  for (int i = 0; i < 3; ++i) {
    range(1, i * 100, 80, "step " + std::to_string(i));
    range(1, i * 100 + 10, 30, "forward");
    range(1, i * 100 + 20, 10, "relu");
  }
  EXPECT_THAT(show(), testing::ElementsAre("step 0 240 150 3", "forward 90 60 3", "relu 30 30 3"));
}

TEST_F(FlameTest, NamesStacksOfSeveralSteps) {
  range(1, 0, 80, "step 0");
  range(1, 10, 30, "forward");
  range(1, 100, 80, "step 1");
  const auto store = trace_.build();
  const auto merged = [&](prof::TimeWindow window) {
    std::vector<std::string> names;
    const FlameGraph graph = *flameGraph(*store, window);
    for (const FlameNode& node : graph.nodes) {
      if (node.mergesSteps) names.emplace_back(store->text(node.name));
    }
    return names;
  };
  EXPECT_THAT(merged({}), testing::ElementsAre("step 0"));
  EXPECT_THAT(merged({0, 90}), testing::IsEmpty());
}

TEST_F(FlameTest, CutsWhatReachesOutOfTheWindowOrItsParent) {
  range(1, 0, 100, "a");
  range(1, 50, 100, "b");
  EXPECT_THAT(show({20, 80}), testing::ElementsAre("a 60 30 1", "b 30 30 1"));
}

TEST_F(FlameTest, KeepsThreadsApart) {
  range(1, 0, 100, "a");
  range(2, 0, 40, "a");
  const FlameGraph graph = *flameGraph(*trace_.build());
  EXPECT_EQ(graph.nodes[0].totalNs, 140);
  ASSERT_EQ(graph.nodes[0].children.size(), 2u);
  EXPECT_EQ(graph.nodes[graph.nodes[0].children[0]].thread, ThreadId(1));
  EXPECT_EQ(graph.nodes[graph.nodes[0].children[1]].totalNs, 40);
}

TEST_F(FlameTest, KinetosOwnRowsAreNoWork) {
  const auto traced = [&](std::uint32_t thread, prof::TimeNs length, std::string_view name) {
    trace_.append(prof::Range{.durNs = length,
                              .thread = ThreadId(thread),
                              .category = trace_.intern("Trace"),
                              .name = trace_.intern(name)});
  };
  traced(9, 1000, "PyTorch Profiler (0)");
  traced(1, 50, "work of a program");
  range(1, 100, 40, "PyTorch Profiler (0)");
  EXPECT_THAT(show(),
              testing::ElementsAre("work of a program 50 50 1", "PyTorch Profiler (0) 40 40 1"));
}

}  // namespace
}  // namespace lacuna::analyzer
