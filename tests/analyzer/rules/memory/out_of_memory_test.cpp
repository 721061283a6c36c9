// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(OutOfMemoryFinding, MemoryThatRanOutIsAFault) {
  const Analysis analysis = allocated(40, true);
  const Finding* finding = find(analysis, FindingId::OutOfMemory);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::High);
  EXPECT_EQ(finding->title, "out of memory on cuda:0: 48 bytes wanted, 8 free on the device");
  ASSERT_EQ(finding->evidence.size(), 1U);
  EXPECT_EQ(finding->evidence[0].startNs, 5);
}

}  // namespace
}  // namespace lacuna::analyzer
