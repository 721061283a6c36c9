// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"
#include "support/small_trace.h"

#include <cstdint>
#include <tuple>

namespace lacuna::analyzer {
namespace {

/// A forward of 2 ms and its backward in each step of 10.
CpuTraining& forwardAndBackward(CpuTraining& training) {
  return training.work(kMs / 10, 2 * kMs, "aten::linear", 1)
      .work(5 * kMs, 4 * kMs, "AddmmBackward0", 1);
}

TEST(UnusedGradientsFinding, AForwardThatRunsTwiceIsFoundWithItsCost) {
  CpuTraining training;
  forwardAndBackward(training).work(2 * kMs + 200'000, 2 * kMs, "aten::linear", 2);
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::UnusedGradients);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 2 * kMs);
  EXPECT_EQ(finding->count, 12U);
  EXPECT_THAT(
      finding->title,
      testing::HasSubstr("50.0 % of the forward operators record gradients that no backward"));
  EXPECT_THAT(finding->title, testing::HasSubstr("aten::linear"));
  EXPECT_FALSE(finding->notPredicted.empty());
}

TEST(UnusedGradientsFinding, OnADeviceItsKernelsCount) {
  test::SmallTrace trace;
  std::uint64_t correlation = 1'000;
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = step * 10'000;
    trace.step(at, at + 9'900);
    for (const auto& [host, device, sequence, name] : {std::tuple(100, 500, 1, "linear"),
                                                       {200, 3'000, 2, "linear"},
                                                       {300, 6'000, 1, "AddmmBackward0"}}) {
      trace.builder.append(
          prof::Range{.startNs = 1'000 * (at + host),
                      .durNs = 50'000,
                      .thread = test::SmallTrace::kThread,
                      .category = trace.builder.intern("operator"),
                      .name = trace.builder.intern(name),
                      .payloadType = prof::PayloadType::U64,
                      .payload = static_cast<std::uint64_t>(10 * step + sequence)});
      trace.call(at + host + 10, at + host + 20, "cudaLaunchKernel", ++correlation);
      trace.kernel(at + device, at + device + 2'000, "gemm", correlation);
    }
  }
  const Analysis analysis = trace.analysed();
  const Finding* finding = find(analysis, FindingId::UnusedGradients);
  ASSERT_NE(finding, nullptr) << "the host's 50 µs are nothing, the kernel's 2 ms are";
  EXPECT_EQ(finding->costNsPerStep, 2'000'000);
}

TEST(UnusedGradientsFinding, AForwardWithItsBackwardIsNone) {
  CpuTraining training;
  EXPECT_EQ(find(forwardAndBackward(training).analysed(), FindingId::UnusedGradients), nullptr);
}

TEST(UnusedGradientsFinding, AForwardWithoutGradientsIsNone) {
  CpuTraining training;
  forwardAndBackward(training).work(2 * kMs + 200'000, 2 * kMs, "aten::linear");
  EXPECT_EQ(find(training.analysed(), FindingId::UnusedGradients), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
