// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(MemoryNearlyFullFinding, MemoryThatIsShortIsGainedByTheBestEditOfThePeak) {
  constexpr std::uint64_t kMiB = 1u << 20;
  // The peak is 120 MiB: 80 are parameters, and 40 are of one operator that can be computed again.
  const Analysis full = analysed({.deviceBytes = 125 * kMiB});
  ASSERT_NE(find(full, FindingId::MemoryNearlyFull), nullptr);
  EXPECT_EQ(find(full, FindingId::MemoryNearlyFull)->gainBasis, GainBasis::Bytes);
  EXPECT_EQ(find(full, FindingId::MemoryNearlyFull)->predictedGainBytes, 40 * kMiB);
  EXPECT_THAT(find(full, FindingId::MemoryNearlyFull)->advice,
              testing::HasSubstr("most helps to recompute aten::block"));
  // With a tensor of 30 MiB that is there for a moment the peak is 150, which saves less than
  // the 40.
  const Analysis out = analysed({.largeBytes = 30 * kMiB, .runsOut = true});
  ASSERT_NE(find(out, FindingId::OutOfMemory), nullptr);
  EXPECT_EQ(find(out, FindingId::OutOfMemory)->predictedGainBytes, 40 * kMiB);
  EXPECT_THAT(find(out, FindingId::OutOfMemory)->advice,
              testing::HasSubstr("most helps to recompute aten::block"));
  const Analysis larger = analysed({.largeBytes = 50 * kMiB, .runsOut = true});
  EXPECT_EQ(find(larger, FindingId::OutOfMemory)->predictedGainBytes, 50 * kMiB);
}

}  // namespace
}  // namespace lacuna::analyzer
