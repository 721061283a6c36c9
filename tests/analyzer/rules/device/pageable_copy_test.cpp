// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

prof::Memcpy pageable(std::int64_t startNs, std::int64_t durNs, std::uint64_t bytes) {
  return {
      .startNs = startNs, .durNs = durNs, .bytes = bytes, .sourceKind = prof::MemoryKind::Pageable};
}

TEST(PageableCopyFinding, IsTheFirstFaultAndCostsWhatTheCopiesTake) {
  const Analysis analysis = analysed({.pageableCopyNs = 2'000'000});
  ASSERT_FALSE(analysis.of<Findings>().empty());
  const Finding& finding = analysis.of<Findings>().front();
  ASSERT_EQ(finding.id, FindingId::PageableCopy);
  EXPECT_GE(finding.costNsPerStep, 2'000'000);
  EXPECT_LE(finding.costNsPerStep, 2'200'000) << "the host waits for them besides";
  EXPECT_EQ(finding.count, 12U);
  EXPECT_THAT(finding.title, testing::StartsWith("12 copies of 768 MiB use pageable host memory"));
  EXPECT_EQ(finding.knob, "loader.pin=on");
  EXPECT_THAT(finding.advice, testing::StartsWith("pin the loader's batches"));
}

TEST(PageableCopyFinding, BeginsAtItsShareOfTheStep) {
  const auto least = static_cast<std::int64_t>(thresholdOf(FindingId::PageableCopy, "least") * 1e6);
  EXPECT_EQ(
      find(copiedInEachStep({pageable(850'000, least - 100, 1u << 20)}), FindingId::PageableCopy),
      nullptr);
  const Analysis analysis = copiedInEachStep({pageable(850'000, least, 1u << 20)});
  ASSERT_NE(find(analysis, FindingId::PageableCopy), nullptr);
  EXPECT_EQ(find(analysis, FindingId::PageableCopy)->costNsPerStep, least);
}

TEST(PageableCopyFinding, CopiesThatTheDriverStagesAreNone) {
  const auto staged = static_cast<std::uint64_t>(thresholdOf(FindingId::PageableCopy, "staged"));
  RunPlan plan{.pageableCopyNs = 2'000'000, .pageableCopyBytes = staged};
  EXPECT_EQ(find(analysed(plan), FindingId::PageableCopy), nullptr);
  ++plan.pageableCopyBytes;
  EXPECT_NE(find(analysed(plan), FindingId::PageableCopy), nullptr);
}

TEST(PageableCopyFinding, SmallCopiesNeitherHideALargeOneNorAddToItsCost) {
  std::vector<prof::Memcpy> copies{pageable(820'000, 100'000, 1u << 20)};
  for (int i = 0; i < 40; ++i) copies.push_back(pageable(930'000 + i * 1'000, 500, 8));
  const Analysis analysis = copiedInEachStep(copies);
  const Finding* finding = find(analysis, FindingId::PageableCopy);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 100'000);
  EXPECT_EQ(finding->count, 20U);
}

TEST(PageableCopyFinding, PinnedBatchesAreNone) {
  EXPECT_EQ(find(analysed({.blockingCopyNs = 2'000'000}), FindingId::PageableCopy), nullptr);
}

TEST(PageableCopyFinding, CopiesOfTheSetUpBelongToNoStep) {
  EXPECT_EQ(
      find(analysed({.syncEachStep = true, .setupCopyNs = 300'000'000}), FindingId::PageableCopy),
      nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
