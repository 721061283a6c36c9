// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// Ten operators of a device, one after the other: so many linear layers, some of them on half
/// precision, then norms.
Analysis layers(int linear, int half, prof::DeviceKind kind = prof::DeviceKind::Cpu) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = kind});
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  for (int i = 0; i < 10; ++i) {
    builder.append(prof::Range{
        .startNs = 100'000 * i,
        .durNs = 90'000,
        .thread = prof::ThreadId(1),
        .category = builder.intern("cpu_op"),
        .name = builder.intern(i < linear ? "linear" : "layer_norm"),
        .text = builder.intern(i < half ? "bf16[8,4] bf16[2,4]" : "f32[8,4] f32[2,4]")});
    builder.append(prof::Kernel{.startNs = 100'000 * i,
                                .durNs = 80'000,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("linear")});
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(HalfOnCpuFinding, HasNoGainForTheTraceDoesNotNameTheCpusUnits) {
  const Analysis analysis = layers(8, 4);
  const Finding* finding = find(analysis, FindingId::HalfOnCpu);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::Opportunity);
  EXPECT_THAT(
      finding->title,
      testing::StartsWith("50.0 % of the matrix operators on the CPU work in half precision"));
  EXPECT_EQ(finding->count, 4U);
  EXPECT_EQ(finding->costNsPerStep, 0);
  EXPECT_EQ(finding->gainBasis, GainBasis::None);
  EXPECT_THAT(finding->notPredicted, testing::HasSubstr("short run in f32 (lacuna diff)"));
  EXPECT_EQ(finding->knob, "");
  EXPECT_THAT(finding->advice, testing::HasSubstr("compute in f32"));
}

TEST(HalfOnCpuFinding, BeginsAtItsShareOfTheMatrixOperators) {
  ASSERT_EQ(thresholdOf(FindingId::HalfOnCpu, "least"), 1.0 / 5);
  EXPECT_NE(find(layers(5, 1), FindingId::HalfOnCpu), nullptr);
  EXPECT_EQ(find(layers(6, 1), FindingId::HalfOnCpu), nullptr);
}

TEST(HalfOnCpuFinding, OperatorsInFullPrecisionAreNone) {
  EXPECT_EQ(find(layers(10, 0), FindingId::HalfOnCpu), nullptr);
}

TEST(HalfOnCpuFinding, NormsAreNoMatrixOperators) {
  EXPECT_EQ(find(layers(0, 10), FindingId::HalfOnCpu), nullptr);
}

TEST(HalfOnCpuFinding, AGpuHasUnitsForIt) {
  EXPECT_EQ(find(layers(8, 8, prof::DeviceKind::Cuda), FindingId::HalfOnCpu), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
