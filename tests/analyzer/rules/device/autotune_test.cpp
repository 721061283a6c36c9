// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

RunPlan untuned(RunPlan plan) {
  plan.knob = "autotune";
  plan.knobValue = "off";
  return plan;
}

constexpr RunPlan kProducts{.kernelName = "sgemm_128x64", .syncEachStep = true};

TEST(AutotuneFinding, ProductsThatAreNotTunedGainByTheFactorOfTuning) {
  const Analysis analysis = analysed(untuned(kProducts));
  const Finding* finding = find(analysis, FindingId::Autotune);
  ASSERT_NE(finding, nullptr);
  // A tenth of 40 kernels of 0.1 ms.
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 0.1 * 4e6, 0.02e6);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_EQ(finding->knob, "autotune=on");
  EXPECT_THAT(finding->advice, testing::HasSubstr("autotuning"));
}

TEST(AutotuneFinding, BeginsAtItsShareOfMatrixWork) {
  const std::int64_t edge = edgeOf(
      FindingId::Autotune,
      [](std::int64_t count) {
        return untuned(hundredKernels("sgemm_128x64", static_cast<int>(count)));
      },
      1, 90);
  // A tenth of a fifth of the kernels is the least gain, too, but for the gaps between kernels.
  EXPECT_NEAR(static_cast<double>(edge), 100 * thresholdOf(FindingId::Autotune, "matrix"), 1);
}

TEST(AutotuneFinding, BeginsAtItsGain) {
  const auto paused = [](std::int64_t ns) {
    return untuned(with(kProducts, [&](RunPlan& plan) { plan.hostPauseNs = ns; }));
  };
  const std::int64_t edge = edgeOf(FindingId::Autotune, paused, 200'000'000, 1'000'000);
  expectBegins(FindingId::Autotune, "gain",
               find(analysed(paused(edge)), FindingId::Autotune)->gainShare());
}

TEST(AutotuneFinding, NeedsAProgramThatAnnouncesThatItIsOff) {
  EXPECT_EQ(find(analysed(kProducts), FindingId::Autotune), nullptr)
      << "which may have tuned its kernels";
  RunPlan tuned = untuned(kProducts);
  tuned.knobValue = "on";
  EXPECT_EQ(find(analysed(tuned), FindingId::Autotune), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
