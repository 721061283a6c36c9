// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

/// Steps that end one of these lengths after the other.
Completions ofLengths(const std::vector<std::int64_t>& lengths, std::size_t runLength = kRun) {
  Completions out;
  out.runLength = runLength;
  for (const std::int64_t length : lengths) out.atNs.push_back(out.totalNs += length);
  return out;
}

TEST(TypicalStep, IsTheMedianOfRunsOfSteps) {
  std::vector<std::int64_t> lengths(20, 100);
  EXPECT_EQ(ofLengths(lengths).typicalNs(), 100);
  lengths[9] = 10'000;
  EXPECT_EQ(ofLengths(lengths).typicalNs(), 100) << "a disturbance is in 4 of 16 runs";
  // Every second step is long: each run of four has two of them.
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 2 == 0 ? 100 : 300;
  EXPECT_EQ(ofLengths(lengths).typicalNs(), 200);
  EXPECT_EQ(ofLengths({7, 7, 7, 11, 11, 11, 11, 11}).typicalNs(), 11 - 1)
      << "of 9, 10, 11 and 11 the lower middle one";
}

TEST(TypicalStep, OfFewStepsIsTheirMean) {
  EXPECT_EQ(ofLengths({}).typicalNs(), 0);
  EXPECT_EQ(ofLengths({90}).typicalNs(), 90);
  EXPECT_EQ(ofLengths({90, 30, 60}).typicalNs(), 60);
  EXPECT_EQ(ofLengths({1'000, 30, 30, 30}).typicalNs(), 30) << "the first has no end to begin at";
}

TEST(TypicalStep, ARunHoldsWholeRoundsOfWorkers) {
  struct Case {
    std::uint32_t workers;
    bool serial;
    std::size_t steps, length;
  };
  for (const Case& one : {Case{0, true, 100, 4}, Case{0, false, 100, 4}, Case{1, false, 100, 4},
                          Case{2, false, 100, 4}, Case{3, false, 100, 6}, Case{4, false, 100, 4},
                          Case{5, false, 100, 5}, Case{16, false, 100, 16}, Case{16, true, 100, 4},
                          Case{16, false, 20, 10}, Case{16, false, 5, 4}, Case{3, false, 0, 4}}) {
    LoaderModel loader;
    loader.workers = one.workers;
    loader.serial = one.serial;
    EXPECT_EQ(runLengthOf(loader, one.steps), one.length) << one.workers << " " << one.steps;
  }
}

TEST(TypicalStep, NoiseIsTheSpreadOfTheRuns) {
  EXPECT_EQ(stepNoise(ofLengths({100, 100, 100, 100, 100, 100, 100})), 0.05) << "seven are too few";
  EXPECT_EQ(stepNoise(ofLengths(std::vector<std::int64_t>(8, 100))), 0);
  std::vector<std::int64_t> wide, narrow;
  for (int i = 0; i < 64; ++i) {
    wide.push_back(100 + (i / 4 % 2 == 0 ? 0 : 80));
    narrow.push_back(100 + (i / 4 % 2 == 0 ? 0 : 8));
  }
  EXPECT_GT(stepNoise(ofLengths(wide)), 5 * stepNoise(ofLengths(narrow)));
  std::vector<std::int64_t> longer = wide;
  longer.insert(longer.end(), wide.begin(), wide.end());
  EXPECT_LT(stepNoise(ofLengths(longer)), stepNoise(ofLengths(wide)))
      << "more steps are known better";
}

/// Steps with one launch each, of that gap and work.
Simulator::Model ofSteps(const std::vector<std::pair<std::int64_t, std::int64_t>>& gapsAndWork) {
  Simulator::Model model;
  model.steps = gapsAndWork.size();
  model.queues = 1;
  for (const auto& [gapNs, workNs] : gapsAndWork) {
    const std::size_t at = model.nodes.size();
    model.items.push_back({.step = at, .gapNs = gapNs, .durNs = 2, .node = at, .call = {}});
    model.nodes.push_back({.durNs = workNs, .name = prof::StringId(1)});
  }
  return model;
}

TEST(SteadyProgram, LevelsStepsThatAreAlike) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> steps{
      {100, 50}, {100, 50}, {100, 50}, {100, 50}, {100, 50},
      {100, 50}, {900, 20}, {100, 50}, {100, 50}, {100, 50}};
  Simulator::Model model = ofSteps(steps);
  SteadyProgram steady = steadyProgram(model);
  EXPECT_EQ(steady.items[0].gapNs, 104)
      << "4 of 7 runs of four steps hold the stall, which may explain 4 %";
  EXPECT_EQ(steady.items[6].gapNs, 104);
  EXPECT_EQ(steady.nodes[6].durNs, 50);
  EXPECT_EQ(model.items[6].gapNs, 900) << "the recorded program stays";
  // A stall at the end is in one run alone.
  std::swap(model.items[6].gapNs, model.items[9].gapNs);
  EXPECT_EQ(steadyProgram(model).items[9].gapNs, 100);
}

TEST(SteadyProgram, OtherProgramsExplainMore) {
  Simulator::Model model = ofSteps({{100, 50},
                                    {100, 50},
                                    {100, 50},
                                    {100, 50},
                                    {100, 50},
                                    {100, 50},
                                    {900, 50},
                                    {100, 50},
                                    {100, 50},
                                    {100, 50}});
  model.lostShare = 0.5;
  const SteadyProgram steady = steadyProgram(model);
  EXPECT_EQ(steady.items[0].gapNs, 200) << "who gets half of the cores takes twice as long";
  EXPECT_EQ(steady.limit.constant.value, 2);
  EXPECT_TRUE(steady.limit.isHeld());
}

TEST(SteadyProgram, LeavesFewStepsAndOtherKindsAsTheyAre) {
  Simulator::Model model = ofSteps({{10, 50}, {20, 60}, {30, 70}, {40, 80}});
  EXPECT_EQ(steadyProgram(model).nodes, model.nodes);
  EXPECT_EQ(steadyProgram(model).items, model.items);
  // Five steps of one kind among which an evaluation lies, with another kernel.
  model = ofSteps({{10, 50}, {10, 50}, {10, 50}, {777, 888}, {10, 50}, {10, 50}});
  model.nodes[3].name = prof::StringId(2);
  const SteadyProgram steady = steadyProgram(model);
  EXPECT_EQ(steady.items[3].gapNs, 777);
  EXPECT_EQ(steady.nodes[3].durNs, 888);
  EXPECT_EQ(steady.items[4].gapNs, 10);
}

TEST(SteadyProgram, KnowsHowQuickWarmWorkIs) {
  // Two in ten steps are as quick as 80 ns, the others take 100.
  Simulator::Model model = ofSteps({{10, 100},
                                    {10, 80},
                                    {10, 100},
                                    {10, 100},
                                    {10, 100},
                                    {10, 100},
                                    {10, 80},
                                    {10, 100},
                                    {10, 100},
                                    {10, 100}});
  EXPECT_DOUBLE_EQ(steadyProgram(model).nodes[0].warmShare, 0.8);
  // A share of 0.2 lost to others explains as much.
  model.lostShare = 0.2;
  EXPECT_DOUBLE_EQ(steadyProgram(model).nodes[0].warmShare, 1);
  // One accident is none.
  model.lostShare = 0;
  model.nodes[6].durNs = 100;
  EXPECT_DOUBLE_EQ(steadyProgram(model).nodes[0].warmShare, 1);
}

}  // namespace
}  // namespace lacuna::analyzer
