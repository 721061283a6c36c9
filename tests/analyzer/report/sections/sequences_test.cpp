// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(SequencesSection, RepeatedSequencesAreInEveryForm) {
  const Analysis analysis = analysed({.tinyRepeats = 40});
  ASSERT_FALSE(analysis.of<SequenceStats>().repeated.empty());
  const auto tiny = std::ranges::find(analysis.of<SequenceStats>().repeated, 2u,
                                      [](const SequenceRow& row) { return row.kernels.size(); });
  ASSERT_NE(tiny, analysis.of<SequenceStats>().repeated.end());
  EXPECT_EQ(tiny->count, 40 * analysis.steps.all.size());
  EXPECT_EQ(tiny->runs, analysis.steps.all.size());
  const std::string text = renderText(analysis, {{"sequences"}, 120, false});
  EXPECT_THAT(text, HasSubstr("     40.0 "));
  EXPECT_THAT(renderJson(analysis), HasSubstr("\"count_per_step\": 40"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("Repeated sequences of kernels"));
}

/// Ten steps of 10 ms with a pair of kernels that takes 2 ms of each, and two pointwise kernels
/// that take 0.4 ms.
Analysis withSequences() {
  Analysis analysis = withSteps(10);
  StoreBuilder names;
  const prof::StringId softmax = names.intern("softmax"), max = names.intern("max"),
                       add = names.intern("ns::add_(int)");
  analysis.store = names.build();
  SequenceStats& stats = analysis.of<SequenceStats>();
  stats.repeated = {{.kernels = {softmax, max},
                     .count = 400,
                     .runs = 10,
                     .deviceNs = 5'000'000,
                     .gapNs = 15'000'000}};
  stats.pointwise = {
      {.kernels = {add, add}, .count = 20, .runs = 20, .deviceNs = 1'000'000, .gapNs = 3'000'000}};
  return analysis;
}

TEST(SequencesSection, FiguresAreOfAStep) {
  const Analysis analysis = withSequences();
  const std::string text = sectionText(analysis, "sequences", 200);
  EXPECT_THAT(text, ContainsRegex("\n softmax, max +40\\.0 +500 µs +1\\.50 ms +20\\.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("\n add_ ×2 +2\\.0 +100 µs +300 µs +4\\.0 %\n"));
  // 20 times two launches in ten steps, 4 of 100 ms, 3 of them between the launches.
  EXPECT_THAT(
      text,
      HasSubstr("\n pointwise kernels one behind the other, which one kernel could do: 2.0 times a "
                "step, 4.0 launches, 4.0 % of the time, 75.0 % of that between them\n"));
}

TEST(SequencesSection, JsonHasTheKernelsInOrder) {
  const Analysis analysis = withSequences();
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated/0/kernels"), R"(["softmax","max"])");
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated/0/count"), "400");
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated/0/count_per_step"), "40");
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated/0/runs"), "10");
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated/0/share"), "0.2");
  EXPECT_EQ(jsonAt(analysis, "/sequences/pointwise/0/kernels"),
            R"json(["ns::add_(int)","ns::add_(int)"])json");
  EXPECT_EQ(jsonAt(analysis, "/sequences/pointwise/0/gap_ns"), "3000000");
}

TEST(SequencesSection, WithoutRepetitionsStatesIt) {
  Analysis analysis = withSequences();
  analysis.of<SequenceStats>().repeated.clear();
  EXPECT_THAT(sectionText(analysis, "sequences"), HasSubstr("\n none repeat within a step\n"));
  EXPECT_EQ(jsonAt(analysis, "/sequences/repeated"), "[]");
}

TEST(SequencesSection, WithoutKernelsStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "sequences"),
            "\nRepeated sequences\n the trace holds nothing of it\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/sequences"), R"({"repeated":[],"pointwise":[]})");
}

}  // namespace
}  // namespace lacuna::analyzer
