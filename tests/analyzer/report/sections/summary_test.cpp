// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analyses/time/phases.h"
#include "analyses/work/python_lines.h"
#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "support/analysed_run.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The report's words on a recorder that cost so many percent of a step.
std::string sentenceOnRecording(std::int64_t coresNs, std::int64_t eventsNs) {
  Analysis analysis = analysed({});
  const std::int64_t stepNs = analysis.meanStepNs();
  analysis.of<SelfOverhead>() = {.known = true, .parts = {}, .nsPerStep = 0};
  for (const auto& [kind, share] :
       {std::pair(kUseOfCores, coresNs), std::pair(std::string_view("range"), eventsNs)}) {
    analysis.of<SelfOverhead>().parts.push_back({std::string(kind), 0, 0, stepNs * share / 100});
    analysis.of<SelfOverhead>().nsPerStep += stepNs * share / 100;
  }
  const std::string text = withoutBreaks(renderText(analysis, {{}, 60, false}));
  const std::size_t at = text.find("Recording added about");
  EXPECT_THAT(renderHtml(analysis), HasSubstr(text.substr(at, text.find(';', at) - at)));
  return text.substr(at, text.find("may be.", at) - at);
}

TEST(SummarySection, GivesTheReasonAndRemedyOfCostlyRecording) {
  EXPECT_THAT(
      sentenceOnRecording(30, 5),
      testing::AllOf(HasSubstr("(35.0 %)"),
                     HasSubstr("of it by taking cores that the program's threads waited for: leave "
                               "the recorder a core (taskset), or record less (--trace)")));
  EXPECT_THAT(sentenceOnRecording(5, 20),
              HasSubstr("(25.0 %), for its events follow each other closely: record less"));
  EXPECT_THAT(sentenceOnRecording(5, 4),
              testing::AllOf(HasSubstr("(9.0 %);"), Not(HasSubstr("--trace"))));
}

TEST(SummarySection, DescribesTheRunAndWhatTheDeviceWaitsFor) {
  Analysis analysis = withSteps(10);
  for (Ledger& step : analysis.ledgers.steps) {
    step = {};
    step.add(Cause::Compute, 8'000'000);
    step.add(Cause::Synchronisation, 400'000);
    step.add(Cause::LoaderWait, 1'500'000);
    step.add(Cause::Launch, 100'000);  // too little for the verdict
  }
  analysis.ledgers.run.add(Cause::Unknown, 90'000'000);  // before the steps
  EXPECT_EQ(sectionText(analysis, "summary", 160),
            "run.lcn · 100 ms · 10 steps of 10.0 ms (± 0 ns) · cuda:0\n\n"
            "In a step the device is busy 80.0 % of the time; idle: waiting for the loader 15.0 %, "
            "synchronisation 4.0 %. No fault found.\n");
}

TEST(SummarySection, NamesWhatLiesBetweenStepsAndALongSetUp) {
  Analysis analysis = withSteps(10);
  analysis.of<RunPhases>() = {.uses = {{"set-up", PhasePlace::BeforeSteps, 1, 40'000'000},
                                       {"evaluation", PhasePlace::BetweenSteps, 2, 20'000'000},
                                       {"", PhasePlace::BetweenSteps, 2, 5'000'000},
                                       {"checkpoint", PhasePlace::BetweenSteps, 1, 1'000'000}},
                              .trainingNs = 100'000'000,
                              .steps = 10};
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "summary")),
              HasSubstr("Between steps: evaluation 20.0 %, unnamed pauses 5.0 % of the time of "
                        "training. Set-up took 40.0 ms (40.0 % of the run)."));
  analysis.of<PythonLines>().setUp = {
      {"torch", 30, 30'000'000}, {"train.py", 10, 10'000'000}, {"numpy", 1, 1'000'000}};
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "summary")),
              HasSubstr("Set-up took 40.0 ms (40.0 % of the run): torch 73.2 %, train.py 24.4 %."));
  analysis.of<RunPhases>().uses = {{"set-up", PhasePlace::BeforeSteps, 1, 9'000'000}};
  EXPECT_THAT(sectionText(analysis, "summary"), Not(HasSubstr("Set-up")));
}

TEST(SummarySection, ReportsLossesAndThatNothingIsCertainThen) {
  Analysis analysis = withSteps(10);
  analysis.of<ProgramFacts>().droppedEvents = 1'200;
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "summary")),
              HasSubstr("No fault is named, but the trace does not hold all of the run. Mind that "
                        "1,200 events were lost while recording."));
  EXPECT_EQ(jsonAt(analysis, "/trace/dropped_events"), "1200");
}

TEST(SummarySection, HasWhatTheProgramWasGivenFromOutside) {
  test::SmallTrace trace;
  trace.kernel(5, 40, "gemm").step(10, 20);
  trace.builder.append(
      prof::Environment{.key = trace.builder.intern("set.amp"),
                        .value = trace.builder.intern("amp=on (was float32) on 1 Net (a.py:1)")});
  const Analysis analysis = trace.analysed({});
  EXPECT_THAT(sectionText(analysis, "summary", 160),
              HasSubstr("\nSet: amp=on (was float32) on 1 Net (a.py:1)\n"));
  EXPECT_EQ(jsonAt(analysis, "/settings/0/name"), R"("amp")");
  EXPECT_THAT(renderHtml(analysis), HasSubstr("Set: amp=on (was float32)"));
}

TEST(SummarySection, JsonHasTheTraceAndTheWindow) {
  test::SmallTrace trace;
  trace.kernel(5, 40, "gemm").step(10, 20).step(20, 30);
  trace.builder.addWarning("a chunk is damaged");
  AnalysisOptions options;
  options.steps = {1, 2};
  const Analysis analysis = trace.analysed(options);
  EXPECT_EQ(jsonAt(analysis, "/trace/path"), R"("run.lcn")");
  EXPECT_EQ(jsonAt(analysis, "/trace/start_ns"), "5000");
  EXPECT_EQ(jsonAt(analysis, "/trace/end_ns"), "40000");
  EXPECT_EQ(jsonAt(analysis, "/trace/window_start_ns"), "20000");
  EXPECT_EQ(jsonAt(analysis, "/trace/window_end_ns"), "30000");
  EXPECT_EQ(jsonAt(analysis, "/trace/warnings"), R"(["a chunk is damaged"])");
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "summary")),
              HasSubstr("Warning: a chunk is damaged."));
}

TEST(SummarySection, SamplesPerSecondAreTheBatchOverTheStep) {
  Analysis analysis = withSteps(10);
  EXPECT_EQ(jsonAt(analysis, "/samples_per_second"), "0");
  analysis.of<ProgramFacts>().knobs = {{"batch", "32"}};
  // 32 in 10 ms.
  EXPECT_EQ(jsonAt(analysis, "/samples_per_second"), "3200");
}

TEST(SummarySection, ThePartsOfTheCostOfRecordingAreATable) {
  Analysis analysis = withSteps(10);
  EXPECT_EQ(jsonAt(analysis, "/self_overhead/known"), "false");
  EXPECT_THAT(sectionText(analysis, "summary"), Not(HasSubstr("Recording added")));
  analysis.of<SelfOverhead>() = {
      .known = true, .parts = {{"range", 4'000, 125, 500'000}}, .nsPerStep = 500'000};
  // 0.5 of 10 ms.
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "summary")),
              HasSubstr("Recording added about 500 µs to a step (5.0 %); ± marks how much of a "
                        "figure may come from recording."));
  EXPECT_THAT(cellsOf(reportTable(analysis, "self_overhead"), 0,
                      {"kind", "events", "ns_each", "ns_per_step"}),
              ElementsAre("range", "4000", "125.0", "500 µs"));
  EXPECT_EQ(jsonAt(analysis, "/self_overhead/ns_per_step"), "500000");
  EXPECT_EQ(jsonAt(analysis, "/self_overhead/parts/0/events"), "4000");
}

TEST(SummarySection, PlainStepsShowTheCostOfDetail) {
  Analysis analysis = withSteps(10);
  analysis.of<SelfOverhead>() = {.known = true,
                                 .parts = {},
                                 .nsPerStep = 200'000,
                                 .detailNsPerStep = 4'000'000,
                                 .plainSteps = 380};
  // 0.2 of 10 ms.
  EXPECT_THAT(
      withoutBreaks(sectionText(analysis, "summary")),
      HasSubstr("Recording added about 200 µs to a step (2.0 %): 4.00 ms to each that it recorded "
                "in detail, and little to the 380 plain ones that show this; ± marks"));
  EXPECT_EQ(jsonAt(analysis, "/self_overhead/detail_ns_per_step"), "4000000");
  EXPECT_EQ(jsonAt(analysis, "/self_overhead/plain_steps"), "380");
}

TEST(SummarySection, WithoutDevicesStatesThatThereIsNoLedger) {
  EXPECT_EQ(
      sectionText(withoutResults(), "summary"),
      "run.lcn · 0 ns · no steps · no device\n\n"
      "No device did any work in this trace, so there is no ledger; what the host did is below.\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/self_overhead/parts"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
