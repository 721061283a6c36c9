// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

TEST(Compare, OperatorsAndLedgersTellWhatChanged) {
  const auto before = *analyse(test::makeRun({.batchNs = 8'000'000, .workers = 1}));
  const auto after = *analyse(test::makeRun({.batchNs = 500'000, .workers = 2}));
  bool better = false;
  for (const Comparison& row : compareLedgers(before, after)) {
    EXPECT_FALSE(row.before == 0 && row.after == 0);
    better |= row.what == causeLabel(Cause::LoaderWait) && row.better();
  }
  EXPECT_TRUE(better);
  for (const Comparison& row : compareOperators(before, before)) EXPECT_FALSE(row.worse() || row.better()) << row.what;
  EXPECT_FALSE(compareOperators(before, after).empty());
}

}  // namespace
}  // namespace lacuna::analyzer
