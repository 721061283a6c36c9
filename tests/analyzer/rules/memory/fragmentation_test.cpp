// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(FragmentationFinding, FreeMemoryInPiecesTooSmallIsFragmented) {
  const Finding* finding = nullptr;
  const Analysis pieces = allocated(40, false);
  finding = find(pieces, FindingId::Fragmentation);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "the allocator took 48 B more though 48 B were free: the largest piece was 24 B");
  EXPECT_EQ(finding->predictedGainBytes, 48U);
  EXPECT_EQ(find(allocated(60, false), FindingId::Fragmentation), nullptr)
      << "28 bytes were free in all";
  EXPECT_EQ(find(pieces, FindingId::OutOfMemory), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
