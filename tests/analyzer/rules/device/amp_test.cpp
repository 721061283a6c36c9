// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

constexpr const char* kFullProduct = "ampere_sgemm_128x64_nn";

TEST(AmpFinding, ProductsInFullPrecisionGainByTheFactorOfHalfPrecision) {
  const Analysis analysis = analysed({.kernelName = kFullProduct, .syncEachStep = true});
  const Finding* finding = find(analysis, FindingId::Amp);
  ASSERT_NE(finding, nullptr);
  // 40 of 41 kernels of 0.1 ms are products.
  EXPECT_THAT(finding->title,
              testing::StartsWith("97.6 % of the device's compute time is matrix work"));
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 0.65 * 4e6 + 0.15 * 0.1e6,
              0.05e6);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_EQ(finding->costNsPerStep, 0) << "an opportunity loses nothing";
  EXPECT_EQ(finding->knob, "amp=on");
  EXPECT_THAT(finding->advice, testing::HasSubstr("mixed precision"));
}

TEST(AmpFinding, BeginsAtItsShareOfMatrixWork) {
  const std::int64_t edge = edgeOf(
      FindingId::Amp,
      [](std::int64_t count) { return hundredKernels(kFullProduct, static_cast<int>(count)); }, 1,
      90);
  EXPECT_EQ(edge, std::llround(100 * thresholdOf(FindingId::Amp, "matrix")));
}

TEST(AmpFinding, BeginsAtItsGain) {
  const auto paused = [](std::int64_t ns) {
    return RunPlan{.kernelName = kFullProduct, .syncEachStep = true, .hostPauseNs = ns};
  };
  const std::int64_t edge = edgeOf(FindingId::Amp, paused, 200'000'000, 1'000'000);
  expectBegins(FindingId::Amp, "gain", find(analysed(paused(edge)), FindingId::Amp)->gainShare());
}

TEST(AmpFinding, HalfPrecisionIsNotProposedTwice) {
  const auto withKnob = [](const char* value) {
    return RunPlan{
        .kernelName = kFullProduct, .syncEachStep = true, .knob = "amp", .knobValue = value};
  };
  for (const char* value : {"on", "bf16", "f16"})
    EXPECT_EQ(find(analysed(withKnob(value)), FindingId::Amp), nullptr) << value;
  EXPECT_NE(find(analysed(withKnob("off")), FindingId::Amp), nullptr);
  EXPECT_EQ(
      find(analysed({.kernelName = "ampere_bf16_s16816gemm_bf16_128x64", .syncEachStep = true}),
           FindingId::Amp),
      nullptr)
      << "its products run on tensor cores";
}

TEST(AmpFinding, ACpuDeviceMayHaveNoUnitsForIt) {
  EXPECT_EQ(find(analysed({.kernelName = kFullProduct, .syncEachStep = true, .cpuDevice = true}),
                 FindingId::Amp),
            nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
