// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace lacuna::prof {
namespace {

GeneratedRows generated(const GenerateOptions& options, int steps) {
  GeneratedRows rows;
  std::map<std::string, std::uint32_t, std::less<>> ids;
  TraceGenerator generator(options, [&](std::string_view text) {
    return StringId(ids.emplace(text, static_cast<std::uint32_t>(ids.size() + 1)).first->second);
  });
  generator.describe(rows);
  for (int i = 0; i < steps; ++i) generator.step(rows);
  return rows;
}

TEST(Generate, TheSameSeedMakesTheSameTrace) {
  EXPECT_EQ(generated({.seed = 5}, 3).kernels.startNs, generated({.seed = 5}, 3).kernels.startNs);
  EXPECT_NE(generated({.seed = 5}, 3).kernels.startNs, generated({.seed = 6}, 3).kernels.startNs);
}

TEST(Generate, KernelsOfAQueueDoNotOverlapAndFollowTheirLaunch) {
  const GeneratedRows rows = generated({.processes = 2}, 3);
  std::map<std::uint64_t, TimeNs> launched;
  for (std::size_t i = 0; i < rows.apiCalls.startNs.size(); ++i) {
    const ApiCall call = rows.apiCalls.row(i);
    launched[(std::uint64_t{call.thread.value > 4} << 60) | call.correlation] =
        call.startNs + call.durNs;
  }
  std::map<QueueId, TimeNs> free;
  for (std::size_t i = 0; i < rows.kernels.startNs.size(); ++i) {
    const Kernel kernel = rows.kernels.row(i);
    ASSERT_GE(kernel.startNs, free[kernel.queue]);
    free[kernel.queue] = kernel.startNs + kernel.durNs;
    const auto launch =
        launched.find((std::uint64_t{kernel.device.value > 1} << 60) | kernel.correlation);
    ASSERT_NE(launch, launched.end());
    ASSERT_GE(kernel.startNs, launch->second);
  }
}

TEST(Generate, AnAddressIsFreeBeforeItIsHandedOutAgain) {
  const GeneratedRows rows = generated({}, 4);
  std::set<std::uint64_t> taken;
  std::size_t reused = 0;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < rows.allocations.timeNs.size(); ++i) {
    const Allocation a = rows.allocations.row(i);
    if (a.action == MemoryAction::Allocate) {
      ASSERT_TRUE(taken.insert(a.address).second);
      reused += !seen.insert(a.address).second;
    } else {
      ASSERT_EQ(taken.erase(a.address), 1u);
    }
  }
  EXPECT_GT(reused, 100u);
}

TEST(Generate, RangesOfAThreadNest) {
  const GeneratedRows rows = generated({.threads = 5}, 2);
  std::map<ThreadId, std::vector<TimeNs>> open;
  for (std::size_t i = 0; i < rows.ranges.startNs.size(); ++i) {
    const Range range = rows.ranges.row(i);
    auto& ends = open[range.thread];
    while (!ends.empty() && ends.back() <= range.startNs) ends.pop_back();
    ASSERT_EQ(ends.size(), range.depth);
    ASSERT_TRUE(ends.empty() || range.startNs + range.durNs <= ends.back());
    ends.push_back(range.startNs + range.durNs);
  }
}

}  // namespace
}  // namespace lacuna::prof
