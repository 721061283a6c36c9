// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Batch, ALargerBatchLeavesTheHostsPartAsItIs) {
  // 0.6 ms of kernels behind 3 ms of launching them.
  const RunPlan plan{.steps = 20, .operators = 200, .kernelNs = 3'000, .batchNs = 1'000};
  const Prediction two = play(plan, "batch*2");
  EXPECT_NEAR(static_cast<double>(two.predictedNsPerStep), static_cast<double>(two.baseNsPerStep),
              0.01 * static_cast<double>(two.baseNsPerStep));
  // Gaps between kernels stay too.
  EXPECT_NEAR(static_cast<double>(play(plan, "batch*10").predictedNsPerStep), 201 * 31e3,
              0.01 * 201 * 31e3);
}

TEST(Batch, ANumberOfSamplesIsRefusedWithWhatToDo) {
  for (const char* text : {"batch", "batch=64"}) {
    const auto change = parseChange(text);
    ASSERT_FALSE(change) << text;
    EXPECT_THAT(change.error().message,
                testing::StartsWith("'" + std::string(text) + "' cannot be replayed: "));
    EXPECT_THAT(change.error().message, testing::HasSubstr("lacuna ")) << text;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
