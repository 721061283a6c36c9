// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/analyzer/whatif.h"
#include "support/analysed_run.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(StepsSection, TheLongestStepsLineHasRoomForItsMark) {
  Analysis analysis = analysed(kSlow);
  const auto longest = std::ranges::max_element(analysis.steps.all, {}, &Step::durNs);
  for (Step& step : analysis.steps.all) step.warmUp = step.index == longest->index;
  for (const int width : {80, 100, 140}) {
    const std::string text = renderText(analysis, {{"steps"}, width, false});
    const std::string start = fmt::format("\n {:>5} step               ", longest->index);
    const std::size_t at = text.find(start);
    ASSERT_NE(at, std::string::npos)
        << text;  // a line that is too long is set anew, without its columns
    EXPECT_THAT(text.substr(at + 1, text.find('\n', at + 1) - at - 1),
                testing::EndsWith(" warm-up"));
  }
}

TEST(StepsSection, TheCriticalPathIsExplained) {
  EXPECT_THAT(
      withoutBreaks(renderText(analysed(kSlow), {{"steps"}, 100, false})),
      HasSubstr(
          "critical path (what a step's length hangs on; the device may be busy meanwhile): "));
}

TEST(StepsSection, BarsAreAsLongAsTheSteps) {
  // Steps of 10, 20 and 10 ms, in which the device always computes.
  const Analysis analysis = test::SmallTrace()
                                .step(0, 10'000)
                                .kernel(0, 10'000, "first")
                                .step(10'000, 30'000)
                                .kernel(10'000, 30'000, "second")
                                .step(30'000, 40'000)
                                .kernel(30'000, 40'000, "third")
                                .analysed();
  const std::string text = sectionText(analysis, "steps");
  EXPECT_THAT(text, HasSubstr("\n     0 step                   10.0 ms █"));
  EXPECT_THAT(text, HasSubstr("\n     1 step                   20.0 ms █"));
  // Beside a bar of 100 columns are 46 for the name and the length.
  EXPECT_EQ(countOf(lineWith(text, "20.0 ms █"), "█"), 54U);
  EXPECT_EQ(countOf(lineWith(text, "10.0 ms █"), "█"), 27U);
  EXPECT_THAT(cellsOf(reportTable(analysis, "steps"), 1,
                      {"index", "name", "start_ns", "dur_ns", "warm_up"}),
              ElementsAre("1", "step", "10.0 ms", "20.0 ms", "no"));
  EXPECT_EQ(jsonAt(analysis, "/steps/1/dur_ns"), "20000000");
  EXPECT_EQ(jsonAt(analysis, "/steps/1/ledger/total_ns"), "20000000");
  EXPECT_EQ(jsonAt(analysis, "/steps/2/ledger/entries/0"), R"({"cause":"compute","ns":10000000})");
}

TEST(StepsSection, TheCriticalPathLeavesOutWhatHardlyCounts) {
  Analysis analysis = withSteps(2);
  StepPath path;
  path.computeNs = 6'000'000;
  path.hostNs = 3'980'000;
  path.loaderNs = 20'000;  // two thousandths
  analysis.of<CriticalPaths>() = {.steps = {{}, path}, .mean = path};
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "steps")),
              HasSubstr("meanwhile): computing 60.0 %, host work 39.8 % "));
  EXPECT_EQ(jsonAt(analysis, "/critical_path/host_ns_per_step"), "3980000");
  EXPECT_EQ(jsonAt(analysis, "/critical_path/loader_ns_per_step"), "20000");
  EXPECT_EQ(jsonAt(analysis, "/steps/1/critical_path/compute_ns_per_step"), "6000000");
  EXPECT_THAT(jsonAt(analysis, "/steps/0"), Not(HasSubstr("critical_path")))
      << "which was not replayed";
}

TEST(StepsSection, TheOverviewHasSixAndCountsTheOthers) {
  const std::string text = renderText(withSteps(10));
  EXPECT_THAT(text, HasSubstr("\n     5 step "));
  EXPECT_THAT(text, Not(HasSubstr("\n     6 step ")));
  EXPECT_THAT(text, HasSubstr("\n       and 4 more: --section steps\n"));
  EXPECT_THAT(sectionText(withSteps(10), "steps"), HasSubstr("\n     9 step "));
}

TEST(StepsSection, WithoutStepsShowsHowToMarkThem) {
  EXPECT_EQ(sectionText(withoutResults(), "steps"),
            "\nSteps\n none were found: mark them with an NVTX range named \"step\" to see figures "
            "per step\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/steps"), "[]");
  EXPECT_EQ(jsonAt(withoutResults(), "/critical_path/compute_ns_per_step"), "0");
}

TEST(StepsSection, ThePageAndTheSummaryGiveOneStepTime) {
  const Analysis even = withSteps(10);
  EXPECT_THAT(renderHtml(even), HasSubstr("Steps: " + describeSteps(even)));
  EXPECT_EQ(describeSteps(even), "10 steps of 10.0 ms (± 0 ns)");
  Analysis uneven = withSteps(10);
  uneven.window.endNs = 200'000'000;
  for (std::size_t i = 0; i < 10; i += 2) {
    uneven.steps.all[i].endNs += 40'000'000;
    uneven.ledgers.steps[i].add(Cause::HostWork, 40'000'000);
  }
  EXPECT_THAT(describeSteps(uneven), testing::StartsWith("10 steps of 30.0 ms on average"));
  EXPECT_THAT(renderHtml(uneven), HasSubstr("Steps: " + describeSteps(uneven)));
}

}  // namespace
}  // namespace lacuna::analyzer
