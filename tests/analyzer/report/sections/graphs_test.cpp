// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "support/graph_program.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Three replays of graph 1, and two of graph 2 of which the last lacks three of its five kernels.
Analysis fiveReplays() {
  test::GraphProgram program;
  for (int i = 0; i < 3; ++i) program.replays(1, 8).synchronises();
  for (int i = 0; i < 2; ++i) program.replays(2, 5).synchronises();
  return program.loses(4, 1, 4).analysed();
}

TEST(GraphsSection, ListsWhatReplaysLackByGraph) {
  const Analysis analysis = fiveReplays();
  const Table graphs = reportTable(analysis, "graphs");
  ASSERT_EQ(graphs.rows.size(), 2U);
  EXPECT_THAT(cellsOf(graphs, 0, {"graph", "nodes", "replays", "under_recorded", "cut", "missing"}),
              ElementsAre("2", "5", "2", "1", "0", "3"));
  EXPECT_THAT(cellsOf(graphs, 1, {"graph", "nodes", "replays", "under_recorded", "cut", "missing"}),
              ElementsAre("1", "8", "3", "0", "0", "0"));
  EXPECT_EQ(jsonAt(analysis, "/graph_replays/replays"), "5");
  EXPECT_EQ(jsonAt(analysis, "/graph_replays/under_recorded"), "1");
  EXPECT_EQ(jsonAt(analysis, "/graph_replays/missing"), "3");
  EXPECT_EQ(jsonAt(analysis, "/graph_replays/unknown_ns"),
            jsonAt(analysis, "/unknown/graph_replays_ns"));
}

TEST(GraphsSection, NamesTheRemedyWhereWorkIsMissing) {
  EXPECT_THAT(sectionText(fiveReplays(), "graphs"),
              HasSubstr("Profilers drop records when their buffers are full"));
  test::GraphProgram program;
  for (int i = 0; i < 3; ++i) program.replays(1, 8).launches().synchronises();
  const Analysis none = program.keeps([](int, int) { return false; }).analysed();
  EXPECT_THAT(sectionText(none, "graphs"), HasSubstr("record each node"));
}

TEST(GraphsSection, IsEmptyWithoutGraphs) {
  EXPECT_EQ(sectionText(withoutResults(), "graphs"), "\nGraphs\n the trace holds nothing of it\n");
}

}  // namespace
}  // namespace lacuna::analyzer
