// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(SlowBackendFinding, WhatTheReplayDoesNotSeeOfIsNotCalledWorthless) {
  const Analysis analysis = analysed({.gloo = true});
  const Finding* finding = find(analysis, FindingId::SlowBackend);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gainBasis, GainBasis::None);
  EXPECT_THAT(finding->notPredicted, testing::HasSubstr("what others lose by it is not replayed"));
}

}  // namespace
}  // namespace lacuna::analyzer
