// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

constexpr const char* kPointwise = "vectorized_elementwise_kernel";

TEST(FuseFinding, NeighboursThatBecomeOneKernelGainAllButTheirRest) {
  const Analysis analysis = analysed({.kernelName = kPointwise, .syncEachStep = true});
  const Finding* finding = find(analysis, FindingId::Fuse);
  ASSERT_NE(finding, nullptr);
  // The first of 40 neighbours of 0.1 ms stays, with 0.15 of each of the others. The update is a
  // 41st.
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 0.85 * 40 * 0.1e6, 0.1e6);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_EQ(finding->knob, "fuse=on");
  EXPECT_THAT(finding->title,
              testing::StartsWith("492 pointwise kernels take 100.0 % of the compute time"))
      << "of 12 steps";
  EXPECT_THAT(finding->advice, testing::HasSubstr("fuse chains of elementwise operators"));
}

TEST(FuseFinding, BeginsAtItsShareOfPointwiseWork) {
  const std::int64_t edge = edgeOf(
      FindingId::Fuse,
      [](std::int64_t count) { return hundredKernels(kPointwise, static_cast<int>(count)); }, 1,
      90);
  EXPECT_EQ(edge + 1, std::llround(100 * thresholdOf(FindingId::Fuse, "pointwise")))
      << "and the update";
}

TEST(FuseFinding, BeginsAtItsGain) {
  const auto paused = [](std::int64_t ns) {
    return RunPlan{.kernelName = kPointwise, .syncEachStep = true, .hostPauseNs = ns};
  };
  const std::int64_t edge = edgeOf(FindingId::Fuse, paused, 400'000'000, 1'000'000);
  expectBegins(FindingId::Fuse, "gain", find(analysed(paused(edge)), FindingId::Fuse)->gainShare());
}

TEST(FuseFinding, ACompiledRunIsFusedAlready) {
  EXPECT_EQ(
      find(analysed(
               {.kernelName = kPointwise, .syncEachStep = true, .knob = "fuse", .knobValue = "on"}),
           FindingId::Fuse),
      nullptr);
}

TEST(FuseFinding, KernelsBetweenOthersAreNoChain) {
  // Each of the softmaxes stands alone in front of the one update.
  EXPECT_EQ(find(analysed({.kernelName = "softmax_row", .syncEachStep = true}), FindingId::Fuse),
            nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
