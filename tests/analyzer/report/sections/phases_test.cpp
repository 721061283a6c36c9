// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "support/training_phases.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

Analysis withAnEvaluation() {
  return test::TrainingPhases().phase("prepare", 30).steps(6).evaluation(3).steps(5).analysed();
}

TEST(PhasesSection, ShowsWhatAnIterationTakesWithThePausesBetweenSteps) {
  const Analysis analysis = withAnEvaluation();
  const std::string text = sectionText(analysis, "phases");
  // 11 steps of 10 ms, less 1 ms after the last marker, and 30 ms between two.
  EXPECT_THAT(
      text,
      HasSubstr(
          "an iteration takes 12.6 ms on average, 2.73 ms of it (21.6 %) in pauses between steps"));
  EXPECT_THAT(text, ContainsRegex("\n set-up +before the steps +1 +30.0 ms +0 ns +0.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("\n evaluation +between steps +1 +30.0 ms +2.73 ms +21.6 %\n"));
  EXPECT_EQ(jsonAt(analysis, "/iteration_ns"), "12636363");
  EXPECT_EQ(jsonAt(analysis, "/training_ns"), "139000000");
  EXPECT_EQ(jsonAt(analysis, "/phases/1/name"), R"("evaluation")");
  EXPECT_EQ(jsonAt(analysis, "/phases/1/longest_start_ns"), "90000000");
}

TEST(PhasesSection, IsATable) {
  const Table table = reportTable(withAnEvaluation(), "phases");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(cellsOf(table, 1, {"name", "place", "count", "total_ns", "ns_per_step"}),
              ElementsAre("evaluation", "between steps", "1", "30.0 ms", "2.73 ms"));
}

TEST(PhasesSection, WithoutStepsThereIsNothingToShow) {
  EXPECT_THAT(sectionText(withoutResults(), "phases"),
              HasSubstr("the trace holds nothing of it; mark the steps"));
}

}  // namespace
}  // namespace lacuna::analyzer
