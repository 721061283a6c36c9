// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

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

TEST(FindingsSection, AFindingThatWouldGainNothingStatesIt) {
  Analysis analysis = analysed(kSlow);
  ASSERT_FALSE(analysis.of<Findings>().empty());
  analysis.of<Findings>().resize(1);
  EXPECT_THAT(renderText(analysis), Not(HasSubstr("none is predicted")));
  analysis.of<Findings>()[0].predictedGainNsPerStep = 0;
  analysis.of<Findings>()[0].gainHighNsPerStep = 2'000'000;
  EXPECT_THAT(renderText(analysis, {{"findings"}, 120, false}),
              HasSubstr("gain  none is predicted"));
  EXPECT_THAT(renderText(analysis, {{"findings"}, 120, false}),
              HasSubstr("2.00 ms a step at most"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("gain: none is predicted"));
}

TEST(FindingsSection, WhereNothingIsFoundTheListAgreesWithTheVerdict) {
  const auto recordingCosting = [](std::int64_t unknownNs, std::int64_t inStepsNs) {
    Analysis analysis = analysed({});
    analysis.of<Findings>().clear();
    analysis.ledgers.run.add(Cause::Unknown,
                             unknownNs);  // before the steps: no word about training
    for (Ledger& step : analysis.ledgers.steps) step.add(Cause::Unknown, inStepsNs);
    return analysis;
  };
  const Analysis sure = recordingCosting(1'000'000'000, 0);
  EXPECT_THAT(verdict(sure), HasSubstr("No fault found."));
  EXPECT_THAT(renderText(sure, {{"findings"}, 100, false}), HasSubstr(" none: nothing stands out"));
  EXPECT_THAT(renderHtml(sure), HasSubstr("<p>None: nothing stands out.</p>"));
  const Analysis unsure = recordingCosting(0, sure.meanStepNs() / 9);
  EXPECT_THAT(verdict(unsure),
              HasSubstr("No fault is named, but 10.0 % of a step has no cause in the trace."));
  EXPECT_THAT(verdict(unsure), HasSubstr("unknown 10.0 %"));
  EXPECT_THAT(renderText(unsure, {{"findings"}, 100, false}),
              HasSubstr(" none is named, but 10.0 % of a step has no cause in the trace"));
  EXPECT_THAT(renderHtml(unsure), HasSubstr("<p>None is named, but 10.0 % of a step has no cause"));
}

TEST(FindingsSection, JsonNamesTheRankOfAnEvidence) {
  const Analysis analysis = analysed({.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000});
  const DeviceAccount& late = analysis.devices.at(1);
  EXPECT_THAT(renderJson(analysis),
              testing::ContainsRegex("\"what\": \"rank [0-9] enters last\",[ \n]+\"device\": \"" +
                                     late.label + "\""));
}

/// A finding that costs 4 ms of a step of 10 ms. Its fix gains 2 ms.
Finding aFinding() {
  Finding finding;
  finding.id = FindingId::LoaderWait;
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::High;
  finding.title = "batches come late";
  finding.costNsPerStep = finding.accountedNsPerStep = 4'000'000;
  finding.predictedGainNsPerStep = 2'000'000;
  finding.gainLowNsPerStep = 1'000'000;
  finding.gainHighNsPerStep = 3'000'000;
  finding.fullStepNs = 10'000'000;
  finding.gainBasis = GainBasis::Replay;
  finding.confidence = 0.9;
  finding.knob = "loader.workers=4";
  finding.advice = "use 4 workers";
  finding.count = 12;
  return finding;
}

TEST(FindingsSection, AreNumberedWithTheirFixAndTheirGain) {
  Analysis analysis = withSteps(12);
  analysis.of<Findings>() = {aFinding()};
  EXPECT_EQ(
      sectionText(analysis, "findings"),
      "\nFindings\n"
      "  1 fault  batches come late\n"
      "           fix   loader.workers=4: use 4 workers\n"
      "           gain  2.00 ms a step (20.0 %), confidence 90 %, between 1.00 ms and 3.00 ms\n");
  EXPECT_THAT(cellsOf(reportTable(analysis, "findings"), 0,
                      {"id", "kind", "severity", "cost_ns_per_step", "predicted_gain_ns_per_step",
                       "confidence", "knob", "count"}),
              ElementsAre("loader-wait", "fault", "high", "4.00 ms", "2.00 ms", "90.0 %",
                          "loader.workers=4", "12"));
  EXPECT_EQ(jsonAt(analysis, "/findings/0/accounted_ns_per_step"), "4000000");
  EXPECT_EQ(jsonAt(analysis, "/findings/0/gain_high_ns_per_step"), "3000000");
  EXPECT_EQ(jsonAt(analysis, "/findings/0/evidence"), "[]");
}

TEST(FindingsSection, OpportunitiesAreMarkedAsSuch) {
  Analysis analysis = withSteps(12);
  analysis.of<Findings>() = {aFinding()};
  analysis.of<Findings>()[0].kind = FindingKind::Opportunity;
  EXPECT_THAT(sectionText(analysis, "findings"), HasSubstr("\n  1 could  batches come late\n"));
  EXPECT_EQ(jsonAt(analysis, "/findings/0/kind"), R"("opportunity")");
}

TEST(FindingsSection, TheOverviewHasThreeAndCountsTheOthers) {
  Analysis analysis = withSteps(12);
  for (int i = 1; i <= 5; ++i) {
    analysis.of<Findings>().push_back(aFinding());
    analysis.of<Findings>().back().title = "fault number " + std::to_string(i);
  }
  const std::string text = renderText(analysis);
  EXPECT_THAT(text, HasSubstr("  3 fault  fault number 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("fault number 4")));
  EXPECT_THAT(text, HasSubstr("\n    and 2 more: --section findings\n"));
  EXPECT_THAT(sectionText(analysis, "findings"), HasSubstr("  5 fault  fault number 5\n"));
}

TEST(FindingsSection, EvidenceNamesWhoseItIsAsTheSystemDoes) {
  Analysis analysis = test::SmallTrace().launched(0, 10, 20, 120, "gemm").analysed();
  Finding finding = aFinding();
  finding.evidence.push_back({.startNs = 20'000,
                              .endNs = 120'000,
                              .what = "a kernel",
                              .device = test::SmallTrace::kDevice,
                              .queue = test::SmallTrace::kQueue,
                              .thread = test::SmallTrace::kThread});
  analysis.of<Findings>() = {finding};
  EXPECT_EQ(
      jsonAt(analysis, "/findings/0/evidence/0"),
      R"({"start_ns":20000,"end_ns":120000,"what":"a kernel","device":"cuda:0","queue":"stream 7",)"
      R"("process":100,"thread":101})");
}

TEST(FindingsSection, WithoutDevicesNothingIsCertain) {
  EXPECT_EQ(sectionText(withoutResults(), "findings"),
            "\nFindings\n none (host activity alone reveals few faults)\n");
  EXPECT_EQ(sectionText(withSteps(1), "findings"), "\nFindings\n none: nothing stands out\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/findings"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
