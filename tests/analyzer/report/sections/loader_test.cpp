// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/loader/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/report.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LoaderSection, WorkersThatNobodyCountedAreUnknown) {
  RunPlan plan{.batchNs = 10'000'000, .syncEachStep = true};
  plan.waitName = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  EXPECT_THAT(withoutBreaks(renderText(analysed(plan), {{"loader"}, 80, false})),
              HasSubstr("the number of workers is unknown"));
  plan.waitName = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  EXPECT_THAT(renderText(analysed(plan), {{"loader"}, 80, false}), Not(HasSubstr("unknown")));
}

TEST(LoaderSection, WaitsBehindAStepsMarkerAreOfThatStep) {
  const ReportOptions loader{{"loader"}, 120, false};
  EXPECT_THAT(renderText(analysed(kSlow), loader),
              HasSubstr("12 batches; the training thread waited 20.0 ms a step"));
  RunPlan outside = kSlow;
  outside.waitIsMarked = false;
  EXPECT_THAT(renderText(analysed(outside), loader),
              HasSubstr("the training thread waited 18.3 ms a step"))
      << "eleven of twelve waits are behind a step's marker, the first is in front of all";
}

/// Two workers that took 96 ms to prepare 12 batches, one a step, for which the training thread
/// waited 24 ms.
Analysis withTwoWorkers() {
  Analysis analysis = withSteps(12);
  LoaderStats& loader = analysis.of<LoaderStats>();
  loader.present = true;
  loader.batches = 12;
  loader.waitNs = loader.stepWaitNs = 24'000'000;
  loader.busyNs = 96'000'000;
  loader.spanNs = 60'000'000;
  loader.workers = 2;
  loader.stageNs = {24'000'000, 48'000'000, 0, 24'000'000};
  loader.meanDepth = 1.5;
  analysis.of<LoaderVerdict>() = {
      .bound = LoaderBound::Reading, .workersNeeded = 5, .prefetchNeeded = 2};
  return analysis;
}

TEST(LoaderSection, ShowsTheTimeOfABatchAndWhatWouldHideIt) {
  // 24 ms in 12 steps; two workers busy for 96 of 2 · 60 ms; 96 ms in 12 batches.
  EXPECT_EQ(sectionText(withTwoWorkers(), "loader"),
            "\nLoader\n"
            " 12 batches; the training thread waited 2.00 ms a step\n"
            " 2 workers, busy 80.0 %; a batch takes 8.00 ms (fetch 25.0 %, decode 50.0 %, collate "
            "25.0 %)\n"
            " 1.5 batches were ready on average\n"
            " bound by reading; 5 workers with 2 batches each would hide it\n");
}

TEST(LoaderSection, JsonHasItsNumbers) {
  Analysis analysis = withTwoWorkers();
  EXPECT_EQ(jsonAt(analysis, "/loader/batches"), "12");
  EXPECT_EQ(jsonAt(analysis, "/loader/wait_ns"), "24000000");
  EXPECT_EQ(jsonAt(analysis, "/loader/busy_ns"), "96000000");
  EXPECT_EQ(jsonAt(analysis, "/loader/batch_ns"), "8000000");
  EXPECT_EQ(jsonAt(analysis, "/loader/workers"), "2");
  EXPECT_EQ(jsonAt(analysis, "/loader/bound_by"), R"("reading")");
  EXPECT_EQ(jsonAt(analysis, "/loader/workers_needed"), "5");
  EXPECT_EQ(jsonAt(analysis, "/loader/stages"),
            R"({"fetch":24000000,"decode":48000000,"augment":0,"collate":24000000})");
  analysis.of<LoaderStats>().workersKnown = false;
  EXPECT_EQ(jsonAt(analysis, "/loader/workers"), "-1");
}

TEST(LoaderSection, ACopyIsNotHiddenByMoreWorkers) {
  Analysis analysis = withTwoWorkers();
  analysis.of<LoaderVerdict>().bound = LoaderBound::Copy;
  EXPECT_THAT(sectionText(analysis, "loader"), HasSubstr("\n bound by copy\n"));
}

TEST(LoaderSection, AFindingThatReplayedMoreWorkersKnowsBetter) {
  Analysis analysis = withTwoWorkers();
  analysis.of<Findings>().emplace_back().id = FindingId::LoaderWait;
  EXPECT_THAT(sectionText(analysis, "loader"), HasSubstr("\n bound by reading\n"));
}

TEST(LoaderSection, WithoutBatchesStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "loader"), "\nLoader\n the trace holds nothing of it\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/loader/batches"), "0");
  EXPECT_THAT(renderText(withoutResults()), Not(HasSubstr("\nLoader\n")));
}

}  // namespace
}  // namespace lacuna::analyzer
