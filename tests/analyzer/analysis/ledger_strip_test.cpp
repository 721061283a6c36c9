// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/charts.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

Ledger sumOf(const LedgerStrip& strip) {
  Ledger sum;
  for (const CauseLane& cause : strip.causes) {
    for (std::size_t i = 0; i < cause.lane.size(); ++i) sum.add(cause.cause, cause.lane.durNs(i));
  }
  return sum;
}

class StripTest : public ::testing::Test {
 protected:
  Analysis analysis_ = *analyse(test::makeRun({.batchNs = 8'000'000, .syncEachStep = true}));
};

TEST_F(StripTest, SumsAreTheLedgers) {
  const auto strips = ledgerStrips(analysis_);
  ASSERT_TRUE(strips);
  ASSERT_EQ(strips->size(), analysis_.devices.size());
  for (std::size_t i = 0; i < strips->size(); ++i)
    EXPECT_EQ(sumOf((*strips)[i]), analysis_.devices[i].ledger);
}

TEST_F(StripTest, LimitedResolutionKeepsTheSums) {
  const auto strips = ledgerStrips(analysis_, {.exactRows = 0, .progress = {}});
  ASSERT_TRUE(strips);
  EXPECT_GT((*strips)[0].resolutionNs, 0);
  EXPECT_EQ(sumOf((*strips)[0]), analysis_.devices[0].ledger);
}

TEST_F(StripTest, EveryMomentHasOneCause) {
  const LedgerStrip strip = std::move(ledgerStrips(analysis_)->front());
  for (int i = 0; i < 1000; ++i) {
    const auto at = strip.window.startNs + (strip.window.endNs - strip.window.startNs) * i / 1000;
    EXPECT_NE(causeAt(strip, at).lane, nullptr) << i;
  }
  EXPECT_EQ(causeAt(strip, strip.window.startNs - 10).lane, nullptr);
}

TEST_F(StripTest, CanBeCancelled) {
  EXPECT_FALSE(ledgerStrips(analysis_, {.progress = [](double) { return false; }}));
}

}  // namespace
}  // namespace lacuna::analyzer
