// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/mean_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Steps of 10 ns, one every 20 ns from 0 on: 's' is a steady one, 'w' one of the warm-up, 'p' a
/// plain one.
Analysis ofSteps(std::string_view kinds, prof::TimeWindow window = {}) {
  Analysis analysis;
  for (const char kind : kinds) {
    const auto index = analysis.steps.all.size();
    const auto start = static_cast<TimeNs>(20 * index);
    analysis.steps.all.push_back({.index = index,
                                  .name = "step",
                                  .startNs = start,
                                  .endNs = start + 10,
                                  .warmUp = kind == 'w',
                                  .isPlain = kind == 'p'});
  }
  analysis.window = window;
  return analysis;
}

Ledger ofTimes(std::int64_t compute, std::int64_t unknown = 0) {
  Ledger ledger;
  ledger.add(Cause::Compute, compute);
  ledger.add(Cause::Unknown, unknown);
  return ledger;
}

std::string counted(const Analysis& analysis) {
  std::string out;
  for (const bool counts : stepsOfMean(analysis)) out += counts ? '1' : '0';
  return out;
}

TEST(MeanStep, IsOfTheSteadyStepsInTheWindowOrElseOfTheWarmUp) {
  struct Case {
    const char* kinds;
    prof::TimeWindow window;
    const char* counted;
  };
  for (const Case& one :
       {Case{"", {}, ""}, Case{"ss", {}, "11"}, Case{"wwss", {}, "0011"}, Case{"ww", {}, "11"},
        Case{"wsw", {}, "010"}, Case{"wwss", {0, 30}, "1100"}, Case{"wwss", {0, 50}, "0010"},
        Case{"sss", {1, 49}, "010"}, Case{"sss", {20, 30}, "010"}, Case{"sss", {0, 9}, "000"},
        Case{"wspps", {}, "01001"}, Case{"wpp", {}, "100"}}) {
    EXPECT_EQ(counted(ofSteps(one.kinds, one.window)), one.counted)
        << one.kinds << " " << one.window.startNs << ":" << one.window.endNs;
  }
}

TEST(MeanStep, IsOfOneDevice) {
  Analysis analysis = ofSteps("ss");
  EXPECT_EQ(partsOfMean(analysis, 0), 1);
  EXPECT_EQ(partsOfMean(analysis, 5), 5);
  analysis.devices.resize(3);
  EXPECT_EQ(partsOfMean(analysis, 0), 3);
  EXPECT_EQ(partsOfMean(analysis, 5), 15);
}

TEST(MeanStep, LedgersAreAddedUpAndDivided) {
  Analysis analysis = ofSteps("wss");
  analysis.devices.resize(2);
  const std::vector<Ledger> steps{ofTimes(1000, 1000), ofTimes(30, 7), ofTimes(50, 0)};
  const Ledger run = ofTimes(900, 90);
  EXPECT_EQ(meanOf(analysis, steps, run), ofTimes(20, 1)) << "a fraction of a nanosecond is cut";
  analysis.window = {0, 5};
  EXPECT_EQ(meanOf(analysis, steps, run), ofTimes(450, 45)) << "no step lies in it";
}

TEST(MeanStep, WithoutStepsItIsTheRun) {
  Analysis analysis = ofSteps("");
  EXPECT_EQ(meanOf(analysis, {}, ofTimes(900, 90)), ofTimes(900, 90));
  analysis.ledgers.run = ofTimes(100, 20);
  EXPECT_EQ(analysis.meanStepLedger(), analysis.ledgers.run);
  EXPECT_EQ(analysis.meanStepNs(), 120);
}

TEST(AnalysisSteps, CountIsOfThoseInTheWindowAndNeverZero) {
  EXPECT_EQ(ofSteps("").stepCount(), 1);
  EXPECT_EQ(ofSteps("wwss").stepCount(), 4) << "those of the warm-up too";
  EXPECT_EQ(ofSteps("wwss", {20, 50}).stepCount(), 2);
  EXPECT_EQ(ofSteps("wwss", {21, 29}).stepCount(), 1);
  EXPECT_EQ(ofSteps("wsppps").everyStepCount(), 6);
  EXPECT_EQ(ofSteps("wsppps").stepCount(), 3) << "what a step does is not recorded of plain ones";
  Analysis analysis;
  EXPECT_EQ(analysis.processCount(), 1);
  analysis.scope.only.processes = {prof::ProcessId(1), prof::ProcessId(2)};
  EXPECT_EQ(analysis.processCount(), 2);
}

TEST(AnalysisSteps, AStepIsTheMedianOrElseTheWindow) {
  Analysis analysis = ofSteps("wsss", {0, 1000});
  analysis.steps.all[0].endNs = 500;
  analysis.steps.all[1].endNs = 26;
  EXPECT_EQ(analysis.stepNs(), 10) << "of 6, 10 and 10";
  EXPECT_EQ(ofSteps("", {100, 350}).stepNs(), 250);
  // The ledger is of the devices' clock, and is preferred where there is one.
  analysis.ledgers.steps.resize(4);
  EXPECT_EQ(analysis.meanStepNs(), 10) << "no ledger has anything in it";
  analysis.ledgers.steps.assign(4, ofTimes(8, 1));
  EXPECT_EQ(analysis.meanStepNs(), 9);
}

TEST(AnalysisSteps, BandsAreOfOneDevice) {
  Analysis analysis = ofSteps("wss");
  analysis.ledgers.bands.steps = {ofTimes(90), ofTimes(12, 6), ofTimes(20)};
  EXPECT_EQ(analysis.stepBandNs(0), 90);
  EXPECT_EQ(analysis.stepBandNs(1), 18);
  EXPECT_EQ(analysis.stepBandNs(3), 0) << "there is no such step";
  EXPECT_EQ(analysis.meanStepBands(), ofTimes(16, 3));
  analysis.devices.resize(3);
  EXPECT_EQ(analysis.stepBandNs(1), 6);
  EXPECT_EQ(analysis.meanStepBands(), ofTimes(5, 1));
}

}  // namespace
}  // namespace lacuna::analyzer
