// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "analyses/work/launches.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "support/analysed_run.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

TEST(Compare, OperatorsAndLedgersShowTheChange) {
  const auto before = *analyse(test::makeRun({.batchNs = 8'000'000, .workers = 1}));
  const auto after = *analyse(test::makeRun({.batchNs = 500'000, .workers = 2}));
  bool better = false;
  for (const Comparison& row : compareLedgers(before, after)) {
    EXPECT_FALSE(row.before == 0 && row.after == 0);
    better |= row.what == causeLabel(Cause::LoaderWait) && row.better();
  }
  EXPECT_TRUE(better);
  for (const Comparison& row : compareOperators(before, before))
    EXPECT_FALSE(row.worse() || row.better()) << row.what;
  EXPECT_FALSE(compareOperators(before, after).empty());
}

std::vector<std::string> worse(const RunPlan& before, const RunPlan& after) {
  std::vector<std::string> out;
  for (const Comparison& row : compareRuns(analysed(before), analysed(after))) {
    if (row.worse()) out.push_back(row.what);
  }
  return out;
}

TEST(Compare, SameRunIsNotWorse) {
  EXPECT_THAT(worse({}, {}), testing::IsEmpty());
}

TEST(Compare, CountsAndTimesThatGrewAreNamed) {
  EXPECT_THAT(worse({.syncEachStep = true}, {.kernelNs = 120'000, .syncEachStep = true}),
              testing::Contains("step time"));
  EXPECT_THAT(worse({}, {.syncEachStep = true}), testing::Contains("synchronisations per step"));
  EXPECT_THAT(worse({}, {.operators = 41}), testing::Contains("kernels per step"));
  EXPECT_THAT(worse({}, {.memorySpike = true}), testing::Contains("peak memory"));
}

TEST(Compare, WhatLiesOutsideOfTheStepsIsInNoFigurePerStep) {
  const RunPlan few{
      .steps = 10, .syncEachStep = true, .setupKernels = 400, .setupCopyNs = 30'000'000};
  RunPlan many = few;
  many.steps = 20;
  EXPECT_THAT(worse(many, few), testing::IsEmpty());
  EXPECT_THAT(worse(few, many), testing::IsEmpty());
  for (const Comparison& row : compareKernels(analysed(many), analysed(few)))
    EXPECT_FALSE(row.worse()) << row.what;
  for (const Comparison& row : compareOperators(analysed(many), analysed(few)))
    EXPECT_FALSE(row.worse()) << row.what;
}

TEST(Compare, WorkOfAStepCountsWhereverTheDeviceDoesIt) {
  // The queue is two steps behind its host, so that most work of the chosen steps runs after them.
  AnalysisOptions options;
  options.steps = {4, 8};
  const Analysis analysis = analysed({}, options);
  EXPECT_EQ(analysis.of<LaunchStats>().stepLaunches, 4U * 41);
}

TEST(Compare, CountsMayDifferAsFarAsThoseOfTheBaselinesRunsDo) {
  const auto kernels = [](int now, std::span<const Analysis> noise) {
    const auto rows = compareRuns(analysed({.operators = 40}), analysed({.operators = now}), noise);
    return rows.front().worse();
  };
  std::vector<Analysis> noise;
  noise.push_back(analysed({.operators = 42}));
  noise.push_back(analysed({.operators = 39}));
  EXPECT_TRUE(kernels(42, {}));
  EXPECT_FALSE(kernels(42, noise));
  EXPECT_TRUE(kernels(43, noise));
}

TEST(Compare, OneRunOfNoiseWidensTheThreshold) {
  const RunPlan usual{.steps = 20, .syncEachStep = true};
  RunPlan slower = usual;
  slower.kernelNs = 130'000;
  const std::vector<Analysis> noise = [&] {
    std::vector<Analysis> runs;
    runs.push_back(analysed(slower));
    return runs;
  }();
  const auto step = [](const std::vector<Comparison>& rows) {
    return *std::find_if(rows.begin(), rows.end(),
                         [](const Comparison& row) { return row.what == "step time"; });
  };
  const Analysis before = analysed(usual);
  EXPECT_TRUE(step(compareRuns(before, analysed(slower))).worse());
  EXPECT_FALSE(step(compareRuns(before, analysed(slower), noise)).worse());
}

}  // namespace
}  // namespace lacuna::analyzer
