// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {
namespace {

TEST(LaunchBoundFinding, NoGraphLaunchesTheCpusOperatorsSooner) {
  // Thirty operators, and 0.3 ms of the program's own work in front of each: of a GPU that might be
  // launches.
  const RunPlan plan{
      .steps = 20, .operators = 30, .operatorNs = 300'000, .kernelNs = 20'000, .batchNs = 1'000};
  EXPECT_THAT(faults(plan), testing::Contains(FindingId::LaunchBound));
  const auto onCpu = faults(with(plan, [](RunPlan& p) { p.cpuDevice = true; }));
  EXPECT_THAT(onCpu, testing::Contains(FindingId::HostWork));
  EXPECT_THAT(onCpu, testing::Not(testing::Contains(FindingId::LaunchBound)));
}

TEST(LaunchBoundFinding, AGainInPercentIsOfTheReplayedStep) {
  const Analysis analysis = analysed({.steps = 30,
                                      .operators = 200,
                                      .kernelNs = 3'000,
                                      .batchNs = 3'000'000,
                                      .workers = 0,
                                      .waitIsMarked = false});
  const auto found =
      std::find_if(analysis.of<Findings>().begin(), analysis.of<Findings>().end(),
                   [](const Finding& finding) { return finding.id == FindingId::LaunchBound; });
  ASSERT_NE(found, analysis.of<Findings>().end());
  const Prediction prediction = Simulator::create(analysis)->play(found->knob);
  EXPECT_GT(found->predictedGainNsPerStep, 0);
  EXPECT_EQ(found->baseNsPerStep, prediction.baseNsPerStep);
  EXPECT_EQ(found->gainShare(), prediction.gainShare());
  // The marked part of the step is half of it.
  EXPECT_NEAR(static_cast<double>(found->baseNsPerStep), static_cast<double>(analysis.meanStepNs()),
              1e5);
  EXPECT_LT(found->gainShare(), 0.6);
  const std::string share = fmt::format(" ({:.1f} %), confidence", 100 * prediction.gainShare());
  EXPECT_THAT(renderText(analysis, {{"findings"}, 200, false}), testing::HasSubstr(share));
}

}  // namespace
}  // namespace lacuna::analyzer
