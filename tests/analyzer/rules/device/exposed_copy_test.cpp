// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

/// A copy so long that begins so long after the begin of a step of 1 ms, whose kernel takes 0.8 ms.
Analysis copiedAt(std::int64_t startNs, std::int64_t durNs) {
  return copiedInEachStep({{.startNs = startNs, .durNs = durNs, .bytes = 1u << 20}});
}

TEST(ExposedCopyFinding, CostsWhatCopiesTakeWithNothingBesideThem) {
  const Analysis analysis = analysed({.blockingCopyNs = 2'000'000});
  const Finding* finding = find(analysis, FindingId::ExposedCopy);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->costNsPerStep), 2e6, 0.02e6);
  EXPECT_EQ(finding->gainBasis, GainBasis::UpperBound);
  EXPECT_LE(finding->predictedGainNsPerStep, finding->costNsPerStep);
  EXPECT_EQ(finding->gainLowNsPerStep, 0);
  EXPECT_EQ(finding->knob, "") << "only code moves a copy";
  EXPECT_THAT(finding->advice, testing::StartsWith("copy on a queue of its own"));
}

TEST(ExposedCopyFinding, BeginsAtItsShareOfTheStep) {
  const auto least = static_cast<std::int64_t>(thresholdOf(FindingId::ExposedCopy, "least") * 1e6);
  EXPECT_EQ(find(copiedAt(850'000, least - 1'000), FindingId::ExposedCopy), nullptr);
  const Analysis analysis = copiedAt(850'000, least);
  ASSERT_NE(find(analysis, FindingId::ExposedCopy), nullptr);
  EXPECT_EQ(find(analysis, FindingId::ExposedCopy)->costNsPerStep, least);
}

TEST(ExposedCopyFinding, OfACopyOnAQueueOfItsOwnOnlyThePartBehindTheKernelCounts) {
  EXPECT_EQ(find(copiedAt(100'000, 700'000), FindingId::ExposedCopy), nullptr);
  const Analysis analysis = copiedAt(100'000, 850'000);
  ASSERT_NE(find(analysis, FindingId::ExposedCopy), nullptr);
  EXPECT_EQ(find(analysis, FindingId::ExposedCopy)->costNsPerStep, 150'000);
}

TEST(ExposedCopyFinding, CopiesOfPageableMemoryHaveTheirReason) {
  const Analysis analysis = analysed({.pageableCopyNs = 2'000'000});
  EXPECT_NE(find(analysis, FindingId::PageableCopy), nullptr);
  EXPECT_EQ(find(analysis, FindingId::ExposedCopy), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
