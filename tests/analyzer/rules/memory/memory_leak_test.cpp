// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

#include "lacuna/analyzer/memory.h"

namespace lacuna::analyzer {
namespace {

std::vector<FindingId> faultsOfSteps(const RunPlan& plan, std::uint64_t first, std::uint64_t last) {
  return faults(plan, {.steps = std::pair(first, last), .device = {}, .rank = {}, .progress = {}});
}

TEST(MemoryLeakFinding, GrowingMemoryIsALeakAndNothingElse) {
  EXPECT_EQ(faults({.steps = 40, .leakBytes = 16 << 20}),
            std::vector<FindingId>{FindingId::MemoryLeak});
}

TEST(MemoryLeakFinding, ALeakIsFoundInTheStepsThatWereAskedFor) {
  EXPECT_THAT(faultsOfSteps({.steps = 60, .leakBytes = 16 << 20}, 10, 40),
              testing::Contains(FindingId::MemoryLeak));
  EXPECT_THAT(faultsOfSteps({.steps = 60}, 10, 40), testing::IsEmpty());
}

TEST(MemoryLeakFinding, ALongRunThatIsNearlyAllLeakIsStillOne) {
  // 120 MiB are there all along; the leak is 1 MiB a step, and 3 GiB at the peak.
  const Analysis analysis = analysed({.steps = 3'000, .operators = 2, .leakBytes = 1 << 20});
  EXPECT_NE(find(analysis, FindingId::MemoryLeak), nullptr);
}

TEST(MemoryLeakFinding, ALeakIsNamedThoughTheProgramFreesAllInTheEnd) {
  const Analysis analysis = analysed({.steps = 40, .leakBytes = 16 << 20, .givesAllBack = true});
  const Finding* leak = find(analysis, FindingId::MemoryLeak);
  ASSERT_NE(leak, nullptr);
  EXPECT_FALSE(leak->evidence.empty());
  EXPECT_THAT(leak->advice, testing::HasSubstr("aten::loss"));
  EXPECT_EQ(analysis.of<MemoryTables>().all.leaked.at(0).bytes, 16U << 20);
}

}  // namespace
}  // namespace lacuna::analyzer
