// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/run_diff.h"
#include "lacuna/analyzer/store_builder.h"
#include "report/json_writer.h"
#include "rules/rule.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using test::RunPlan;
using testing::HasSubstr;
using testing::Not;

Analysis analysed(const RunPlan& plan, const AnalysisOptions& options = {}) {
  return std::move(*analyse(test::makeRun(plan), options));
}

constexpr RunPlan kSlow{.batchNs = 20'000'000, .workers = 0};

TEST(Report, OverviewNamesTheFaultItsFixAndItsGain) {
  const std::string text = renderText(analysed(kSlow));
  EXPECT_THAT(text, HasSubstr("waiting for the loader"));
  EXPECT_THAT(text, HasSubstr("loader.workers="));
  EXPECT_THAT(text, HasSubstr("gain "));
}

TEST(Report, ColourIsWrittenOnlyWhenAskedFor) {
  const Analysis analysis = analysed(kSlow);
  EXPECT_THAT(renderText(analysis, {{}, 100, false}), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(renderText(analysis, {{}, 100, true}), HasSubstr("\x1b["));
}

TEST(Report, OverviewKeepsToTheWidth) {
  for (const int width : {80, 140}) {
    std::istringstream lines(renderText(analysed(kSlow), {{}, width, false}));
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::count_if(line.begin(), line.end(),
                                         [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
      EXPECT_LE(columns, width) << line;
    }
  }
}

TEST(Report, EverySectionCanBeShownAlone) {
  const Analysis analysis = analysed(kSlow);
  for (const std::string_view name : reportSections()) {
    EXPECT_NO_FATAL_FAILURE(renderText(analysis, {{std::string(name)}, 100, false}));
  }
  EXPECT_THAT(renderText(analysis, {{"kernels"}, 100, false}), Not(HasSubstr("Findings")));
}

TEST(Report, JsonHasItsKeys) {
  const std::string json = renderJson(analysed(kSlow));
  for (const char* key : {"schema",
                          "trace",
                          "devices",
                          "uuid",
                          "process",
                          "span_ns",
                          "busy_ns",
                          "idle_ns",
                          "kernel_ns",
                          "memcpy_ns",
                          "memset_ns",
                          "comm_ns",
                          "comm_exposed_ns",
                          "kernels",
                          "ledger",
                          "steps",
                          "start_ns",
                          "dur_ns",
                          "total_ns",
                          "entries",
                          "cause",
                          "unknown_ns",
                          "findings",
                          "severity",
                          "cost_ns_per_step",
                          "predicted_gain_ns_per_step",
                          "confidence",
                          "knob",
                          "advice",
                          "evidence",
                          "memory",
                          "peak_bytes",
                          "at_ns",
                          "live"}) {
    EXPECT_THAT(json, HasSubstr("\"" + std::string(key) + "\": ")) << key;
  }
}

TEST(Report, KernelsAreCalledByTheirPlainNames) {
  EXPECT_EQ(plainName("void at::native::(anonymous namespace)::multi_tensor<4, float>(int, float)"),
            "at::native::multi_tensor");
  EXPECT_EQ(plainName("ampere_sgemm_128x64"), "ampere_sgemm_128x64");
}

TEST(Report, HtmlIsOnePageThatLoadsNothing) {
  const std::string page = renderHtml(analysed(kSlow));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

TEST(Report, StepsOfTheLedgerSumToTheStep) {
  const Analysis analysis = analysed({.ranks = 2, .collectiveNs = 500'000});
  for (std::size_t i = 0; i < analysis.steps.all.size(); ++i)
    EXPECT_EQ(analysis.stepLedgers[i].totalNs(), 2 * analysis.steps.all[i].durNs());
  for (const DeviceAccount& device : analysis.devices)
    EXPECT_EQ(device.ledger.totalNs(), device.window.endNs - device.window.startNs);
}

TEST(Report, StepsCanBeChosen) {
  AnalysisOptions options;
  options.steps = {2, 5};
  const Analysis analysis = analysed(kSlow, options);
  EXPECT_EQ(analysis.window.startNs, analysis.steps.all[2].startNs);
  EXPECT_EQ(analysis.window.endNs, analysis.steps.all[4].endNs);
  options.steps = {5, 50};
  EXPECT_THAT(analyse(test::makeRun(kSlow), options).error().message, HasSubstr("0:12"));
}

TEST(Report, UnknownDeviceOrRankNamesThoseThere) {
  AnalysisOptions options;
  options.device = "cuda:7";
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message, HasSubstr("cuda:0"));
  options = {};
  options.rank = 9;
  EXPECT_THAT(analyse(test::makeRun({.ranks = 2}), options).error().message, HasSubstr("rank 1"));
}

TEST(Report, EmptyTraceIsAnError) {
  EXPECT_FALSE(analyse(StoreBuilder().build()));
}

TEST(JsonWriter, EscapesAndReplacesWhatIsNoText) {
  JsonWriter json;
  EXPECT_EQ(json.beginArray().value("a\"\\\n\xff\xc3\xa9").endArray().take(),
            "[\n  \"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa9\"\n]\n");
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

TEST(RunDiff, FindsTheSlowerKernelsInTheTree) {
  const RunPlan fast{.steps = 20};
  RunPlan slow = fast;
  slow.kernelNs = 150'000;
  const auto diff = diffRuns(analysed(fast), analysed(slow));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, diff->pathsBefore);
  ASSERT_FALSE(diff->tree.empty());
  const Difference& first = diff->tree.front();
  EXPECT_EQ(first.verdict, DiffVerdict::Slower) << first.path;
  // Forty kernels of a step, 50 µs longer each.
  EXPECT_NEAR(static_cast<double>(first.deviceAfterNs - first.deviceBeforeNs), 40 * 50'000, 40'000) << first.path;
}

TEST(RunDiff, OfARunWithItselfIsEmpty) {
  const Analysis run = analysed(kSlow);
  const auto diff = diffRuns(run, run);
  ASSERT_TRUE(diff);
  EXPECT_TRUE(diff->tree.empty());
  EXPECT_EQ(diff->step.verdict, DiffVerdict::Same);
}

}  // namespace
}  // namespace lacuna::analyzer
