// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

RunPlan callingFor(std::int64_t ns) {
  return {.mallocNs = ns, .driverCall = "cudaEventCreate"};
}

TEST(DriverCallsFinding, IsTheFirstFaultAndCostsWhatTheCallTakes) {
  for (const char* call : {"cudaMalloc", "cudaEventCreate"}) {
    const Analysis analysis = analysed({.mallocNs = 3'000'000, .driverCall = call});
    ASSERT_FALSE(analysis.of<Findings>().empty()) << call;
    const Finding& finding = analysis.of<Findings>().front();
    ASSERT_EQ(finding.id, FindingId::DriverCalls) << call;
    EXPECT_NEAR(static_cast<double>(finding.costNsPerStep), 3e6, 0.05 * 3e6) << call;
    EXPECT_THAT(finding.advice, testing::StartsWith(std::string(call) +
                                                    " takes the most: keep memory in the caching"));
    EXPECT_EQ(finding.knob, "") << "only code makes a call elsewhere";
    EXPECT_FALSE(finding.evidence.empty()) << call;
  }
}

TEST(DriverCallsFinding, WithoutTheCallAHostBoundStepGainsItsTime) {
  const Analysis analysis = analysed(with(kHostBound, [](RunPlan& plan) {
    plan.mallocNs = 3'000'000;
    plan.driverCall = "cudaEventCreate";
  }));
  const Finding* finding = find(analysis, FindingId::DriverCalls);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::Replay);
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 3e6, 0.05 * 3e6);
  EXPECT_GE(finding->costNsPerStep, finding->predictedGainNsPerStep);
}

TEST(DriverCallsFinding, BeginsAtItsShareOfTheStep) {
  const std::int64_t edge = edgeOf(FindingId::DriverCalls, callingFor, 10'000, 3'000'000);
  expectBegins(FindingId::DriverCalls, "least", partOfStep(analysed(callingFor(edge)), edge));
}

TEST(DriverCallsFinding, CallsThatADeviceAtWorkHidesAreNone) {
  // Without a synchronisation the device has 40 kernels to work off while the host makes the call.
  EXPECT_EQ(
      find(analysed({.operators = 400, .setupCallNs = 3'000'000, .setupCall = "cudaEventCreate"}),
           FindingId::DriverCalls),
      nullptr);
}

TEST(DriverCallsFinding, CallsInFrontOfTheLoopBelongToNoStep) {
  EXPECT_EQ(find(analysed({.setupCallNs = 900'000'000}), FindingId::DriverCalls), nullptr);
  const Analysis both = analysed({.mallocNs = 3'000'000, .setupCallNs = 900'000'000});
  ASSERT_NE(find(both, FindingId::DriverCalls), nullptr);
  EXPECT_THAT(find(both, FindingId::DriverCalls)->advice,
              testing::StartsWith("cudaMalloc takes the most"));
}

TEST(DriverCallsFinding, CallsOfAnAllocatorThatGivesMemoryBackAreItsFault) {
  const Analysis analysis = analysed({.mallocNs = 3'000'000, .allocationChurn = true});
  EXPECT_NE(find(analysis, FindingId::AllocationChurn), nullptr);
  EXPECT_EQ(find(analysis, FindingId::DriverCalls), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
