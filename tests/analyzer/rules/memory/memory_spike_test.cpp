// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"

namespace lacuna::analyzer {
namespace {

TEST(MemorySpikeFinding, MemoryIsGainedInBytes) {
  constexpr std::uint64_t kMiB = 1u << 20;
  const Analysis leaking = analysed({.leakBytes = 2 << 20});
  const Finding* leak = find(leaking, FindingId::MemoryLeak);
  ASSERT_NE(leak, nullptr);
  EXPECT_EQ(leak->gainBasis, GainBasis::Bytes);
  // The peak is in the last of twelve steps, before that step's leak.
  EXPECT_EQ(leak->predictedGainBytes, 11 * 2 * kMiB);
  EXPECT_EQ(leak->predictedGainNsPerStep, 0);
  EXPECT_THAT(renderText(leaking, {{"findings"}, 200, false}),
              testing::HasSubstr("gain  frees 22.0 MiB, confidence 85 %"));
  EXPECT_THAT(renderJson(leaking), testing::HasSubstr("\"predicted_gain_bytes\": 23068672"));
  const Analysis spiking = analysed({.memorySpike = true});
  ASSERT_NE(find(spiking, FindingId::MemorySpike), nullptr);
  EXPECT_EQ(find(spiking, FindingId::MemorySpike)->predictedGainBytes, 300 * kMiB);
  // 80 MiB of parameters and 40 of activations are there beside one tensor of 200 in each step.
  const Analysis large = analysed({.largeBytes = 200 * kMiB});
  ASSERT_NE(find(large, FindingId::MemorySpike), nullptr);
  EXPECT_THAT(find(large, FindingId::MemorySpike)->title,
              testing::StartsWith("one tensor is 62.5 % of the 320 MiB peak"));
  EXPECT_EQ(find(large, FindingId::MemorySpike)->predictedGainBytes, 200 * kMiB);
}

TEST(MemorySpikeFinding, ASpikeThatTheDeviceHardlyNoticesIsNone) {
  const RunPlan plan{.memorySpike = true, .deviceBytes = 100ull << 30};
  EXPECT_NE(find(analysed(plan), FindingId::MemorySpike), nullptr) << "300 MiB of 100 GiB";
  const RunPlan large{.memorySpike = true, .deviceBytes = 400ull << 30};
  EXPECT_EQ(find(analysed(large), FindingId::MemorySpike), nullptr) << "of 400 GiB";
}

TEST(MemorySpikeFinding, ALargeTensorThatStaysIsNoSpike) {
  const RunPlan plan{.largeBytes = 200 << 20, .keepsLarge = true};
  EXPECT_EQ(find(analysed(plan), FindingId::MemorySpike), nullptr)
      << "a batch, alive for all of the step";
}

}  // namespace
}  // namespace lacuna::analyzer
