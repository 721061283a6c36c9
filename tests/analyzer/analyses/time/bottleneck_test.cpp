// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "analyses/time/bottleneck.h"
#include "lacuna/analyzer/analysis.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using test::RunPlan;

Analysis analysed(const RunPlan& plan) {
  auto analysis = analyse(test::makeRun(plan));
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Bottleneck, IsWhatTakesMuchOfTheStep) {
  EXPECT_EQ(analysed({}).of<Bottleneck>().by, BoundBy::Device);
  EXPECT_EQ(analysed({.batchNs = 20'000'000, .workers = 0}).of<Bottleneck>().by, BoundBy::Input);
  EXPECT_EQ(
      analysed({.batchNs = 20'000'000, .workers = 0, .waitIsMarked = false}).of<Bottleneck>().by,
      BoundBy::Input);
  EXPECT_EQ(analysed({.hostPauseNs = 3'000'000}).of<Bottleneck>().by, BoundBy::Host);
  EXPECT_EQ(analysed({.ranks = 2, .collectiveNs = 3'000'000}).of<Bottleneck>().by,
            BoundBy::Communication);
  EXPECT_EQ(analysed({.pageableCopyNs = 3'000'000}).of<Bottleneck>().by, BoundBy::Copy);
}

TEST(Bottleneck, TiersAreThoseOfInputPipelines) {
  // 4 ms of kernels in a step.
  const auto inputOf = [](std::int64_t batchNs) {
    return analysed({.steps = 30, .batchNs = batchNs, .workers = 0, .syncEachStep = true})
        .of<Bottleneck>()[BoundBy::Input];
  };
  EXPECT_EQ(inputOf(100'000).tier, Tier::None);
  EXPECT_EQ(inputOf(500'000).tier, Tier::Moderate);
  EXPECT_EQ(inputOf(2'000'000).tier, Tier::High);
  EXPECT_NEAR(inputOf(2'000'000).share, 1.0 / 3, 0.02);
  double sum = 0;
  for (const BoundShare& part :
       analysed({.batchNs = 2'000'000, .workers = 0}).of<Bottleneck>().shares)
    sum += part.share;
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace lacuna::analyzer
