// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/loader/loader.h"
#include "analyses/ranks/communication.h"
#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "analyses/work/efficiency.h"
#include "analyses/work/kernels.h"
#include "analyses/work/launches.h"
#include "analyzer/report/report_text.h"
#include "analyzer/report/rich_plan.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"
#include "report/json_writer.h"
#include "support/analysed_run.h"
#include "support/colour_vision.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;
using testing::Not;

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

/// The colour that terminals that follow xterm show.
std::uint32_t terminalRgb(int n) {
  constexpr std::uint32_t kLevels[]{0, 95, 135, 175, 215, 255};
  const auto at = static_cast<std::uint32_t>(n);
  if (at >= 232) return (8 + 10 * (at - 232)) * 0x010101;
  return kLevels[(at - 16) / 36] << 16 | kLevels[(at - 16) / 6 % 6] << 8 | kLevels[(at - 16) % 6];
}

TEST(Report, CausesAreDistinguishableInATerminal) {
  for (std::size_t a = 0; a < kCauseCount; ++a) {
    const int one = terminalColour(static_cast<Cause>(a));
    ASSERT_TRUE(one >= 16 && one < 256);
    for (std::size_t b = 0; b < a; ++b) {
      const int other = terminalColour(static_cast<Cause>(b));
      EXPECT_GT(test::distance(terminalRgb(one), terminalRgb(other)), test::kApart)
          << a << " and " << b;
    }
    // It is also nearer to its own colour on other screens than to any other's.
    const auto far = [&](std::size_t n) {
      return test::distance(terminalRgb(one), causeColour(static_cast<Cause>(n), true));
    };
    for (std::size_t b = 0; b < kCauseCount; ++b)
      EXPECT_TRUE(a == b || far(a) < far(b)) << a << " and " << b;
  }
}

TEST(Report, ThePageShowsCausesInTheirColours) {
  const std::string page = renderHtml(analysed(kSlow));
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    for (const bool dark : {true, false}) {
      const std::uint32_t colour = causeColour(static_cast<Cause>(i), dark) & 0xFFFFFF;
      EXPECT_THAT(page, HasSubstr(fmt::format(".c{}{{fill:#{:06x};", i, colour)));
    }
  }
}

TEST(Report, OverviewKeepsToTheWidth) {
  for (const int width : {80, 140}) {
    std::istringstream lines(renderText(analysed(kSlow), {{}, width, false}));
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      });
      EXPECT_LE(columns, width) << line;
    }
  }
}

TEST(Report, NumbersStayWithTheirUnits) {
  const Analysis analysis = analysed(kSlow);
  for (int width = 40; width <= 140; ++width) {
    std::istringstream lines(
        renderText(analysis, {{"summary", "ledger", "findings", "loader"}, width, false}));
    bool afterDigit = false;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t from = line.find_first_not_of(' ');
      const std::string word = from == std::string::npos
                                   ? ""
                                   : line.substr(from, line.find_first_of(" ,;.)", from) - from);
      for (const char* unit : {"%", "ns", "µs", "ms", "s"})
        EXPECT_FALSE(afterDigit && word == unit) << width << line;
      afterDigit = !line.empty() && line.back() >= '0' && line.back() <= '9';
    }
  }
}

/// The columns of all but the sequences that switch colours.
std::ptrdiff_t columnsOf(std::string line) {
  for (std::size_t at = 0; (at = line.find("\x1b[")) != std::string::npos;)
    line.erase(at, line.find('m', at) - at + 1);
  return std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

/// The columns of a table's heading and of its first row.
std::pair<std::ptrdiff_t, std::ptrdiff_t> columnsOfTable(const std::string& text,
                                                         std::string_view heading) {
  const std::size_t at = text.rfind('\n', text.find(heading)) + 1;
  const std::size_t row = text.find('\n', at) + 1;
  return {columnsOf(text.substr(at, row - 1 - at)),
          columnsOf(text.substr(row, text.find('\n', row) - row))};
}

TEST(Report, TablesKeepTheirColumnsInANarrowTerminal) {
  Analysis analysis = analysed({.leakBytes = 2 << 20});
  analysis.ledgers.bands.run.ns[0] = 1'000;
  RooflineRow row;
  row.name = "matmul";
  row.shapes = "f32[128,64] f32[64,128]";
  row.deviceNs = 1'000'000;
  row.recordingNs = 1'000;
  row.ofRoof = 0.5;
  analysis.of<EfficiencyStats>().rows = {row};
  for (const int width : {80, 120}) {
    const std::string operators = renderText(analysis, {{"operators"}, width, false});
    const auto [heading, first] = columnsOfTable(operators, "name and shapes");
    EXPECT_EQ(heading, first) << operators;
    EXPECT_EQ(countOf(operators, "own memory"), 1U) << operators;
    const std::string efficiency = renderText(analysis, {{"efficiency"}, width, false});
    const auto [title, operation] = columnsOfTable(efficiency, "operator and shapes");
    EXPECT_EQ(title, operation) << efficiency;
    EXPECT_THAT(efficiency, HasSubstr("±0.1 %"));
  }
  analysis.of<EfficiencyStats>().rows[0].ofRoof = -1;
  const std::string withoutPeaks = renderText(analysis, {{"efficiency"}, 120, false});
  EXPECT_THAT(withoutPeaks, HasSubstr("peak throughput of this device is unknown"));
  EXPECT_THAT(withoutPeaks, Not(HasSubstr("of the roof")));
}

TEST(Report, WhatDoesNotFitOnALineGoesOnInTheNext) {
  Analysis analysis = analysed({});
  analysis.devices[0].name =
      "A device with a name that is longer than a line of a narrow terminal is, by far";
  for (const int width : {40, 80, 160}) {
    const std::string text = withoutBreaks(renderText(analysis, {{}, width, false}));
    EXPECT_THAT(text, HasSubstr("(" + analysis.devices[0].name + ")"));
    EXPECT_THAT(text,
                HasSubstr("with --section: summary, ledger, causes, findings, devices, steps, "
                          "phases, kernels, sequences, graphs, operators, ranges, python, calls, "
                          "launches, loader, memory, communication, copies, efficiency"));
  }
}

TEST(Report, LinesOfTablesEndWhereTheirTextDoes) {
  Analysis analysis = analysed({.collectiveNs = 500'000});
  RooflineRow row;
  row.name = "matmul";
  row.deviceNs = 1'000;
  row.ofRoof = -1;
  analysis.of<EfficiencyStats>().rows = {row};
  for (CollectiveRow& collective : analysis.of<CommunicationStats>().collectives)
    collective.bytes = 0;
  for (const std::string section : {"communication", "efficiency"})
    EXPECT_THAT(renderText(analysis, {{section}, 100, false}), Not(HasSubstr(" \n"))) << section;
}

TEST(Report, RowsWithABandKeepTheirColumnsInANarrowTerminal) {
  Analysis analysis = analysed(kSlow);
  analysis.ledgers.bands.run.add(Cause::LoaderWait, 1'000'000);
  for (Ledger& step : analysis.ledgers.bands.steps) step.add(Cause::LoaderWait, 100'000);
  for (KernelRow& row : analysis.of<KernelTable>()) row.recordingNs = row.totalNs / 20;
  for (const int width : {60, 66, 80}) {
    const std::string text = renderText(analysis, {{"ledger", "steps", "kernels"}, width, false});
    EXPECT_THAT(text, testing::ContainsRegex("of the run +steady steps\n")) << width;
    std::istringstream lines(text);
    std::string line;
    int rows = 0;
    while (std::getline(lines, line)) {
      if (line.find("±") == std::string::npos || line.find("name ") != std::string::npos) continue;
      ++rows;
      EXPECT_NE(line.find("  "), std::string::npos) << width << '\n' << line;
    }
    EXPECT_GT(rows, 5) << width;
  }
}

TEST(Report, EverySectionKeepsToAnyWidth) {
  const std::string name =
      "a_kernel_with_a_name_" + std::string(150, 'x') + "_that_fills_lines_by_itself";
  const Analysis rich = analysed(test::richPlan(name.c_str()));
  const Analysis bare = analysed({.steps = 1, .stepsMarked = false});
  std::vector<std::string> sections(reportSections().begin(), reportSections().end());
  for (int width = 40; width <= 200; ++width) {
    for (const Analysis* analysis : {&rich, &bare}) {
      for (const bool colour : {false, true}) {
        std::istringstream lines(renderText(*analysis, {{}, width, colour}) +
                                 renderText(*analysis, {sections, width, colour}));
        for (std::string line; std::getline(lines, line);)
          ASSERT_LE(columnsOf(line), width) << line;
      }
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

TEST(Report, ASectionWithoutRecordedDataStatesIt) {
  StoreBuilder builder;
  builder.append(prof::Thread{.id = prof::ThreadId(1)});
  builder.append(prof::Range{.startNs = 1, .durNs = 10, .thread = prof::ThreadId(1)});
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  for (const std::string section :
       {"ledger", "memory", "loader", "communication", "efficiency", "copies", "launches"}) {
    const std::string text = renderText(*analysis, {{section}, 100, false});
    EXPECT_GE(std::ranges::count(text, '\n'), 2) << section << ":\n" << text;
  }
  EXPECT_THAT(renderText(*analysis, {{"memory"}, 100, false}),
              HasSubstr("the trace holds nothing of it"));
  EXPECT_THAT(renderText(*analysis, {{}, 100, false}), Not(HasSubstr("Memory")));
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
                          "gain_basis",
                          "predicted_gain_bytes",
                          "not_predicted",
                          "samples_per_second",
                          "predicted_samples_per_second",
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

TEST(Report, HtmlIsOnePageThatLoadsNothing) {
  const std::string page = renderHtml(analysed(kSlow));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

TEST(Report, ThePageCutsNamesBetweenCharacters) {
  std::string name = "kk";
  for (int i = 0; i < 70; ++i) name += "é";
  const std::string page = renderHtml(analysed({.kernelName = name.c_str()}));
  EXPECT_THAT(page, HasSubstr("éé…</td>"));
  EXPECT_THAT(page, Not(HasSubstr("\uFFFD")));
}

TEST(Report, NamesBreakNoLineAndCommandNoTerminal) {
  const Analysis analysis = analysed({.kernelName = "evil\x1b[2J\n\xc2\x9b"
                                                    "7mname"});
  std::vector<std::string> all;
  for (const std::string_view section : reportSections()) all.emplace_back(section);
  const std::string text = renderText(analysis, {all, 100, false});
  EXPECT_THAT(text, HasSubstr(" evil\\x1b[2J \\x9b7mname "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
}

TEST(Text, OneLineHasNoControlCharacters) {
  EXPECT_EQ(oneLine("a\tb\nc\x7f\xc2\x85"), "a b c\\x7f\\x85");
  EXPECT_EQ(oneLine("é\xff"), "é\\xff");
  EXPECT_EQ(oneLine("a\u202eb\u2066c\u061c\u200f\u2028"), "a\\u202eb\\u2066c\\u061c\\u200f\\u2028");
  EXPECT_EQ(oneLine("\u0100 \u2030 \U0001F600"), "\u0100 \u2030 \U0001F600");
  EXPECT_EQ(oneLine(""), "");
}

TEST(Text, TheHeadOfATextHasNoHalfCharacters) {
  EXPECT_EQ(headOf("plain", 5), "plain");
  EXPECT_EQ(headOf("plain", 3), "pla");
  EXPECT_EQ(headOf("aéb", 2), "a");
  EXPECT_EQ(headOf("aéb", 3), "aé");
  EXPECT_EQ(headOf("\U0001F600", 3), "");
  EXPECT_EQ(headOf("\x80\x80\x80\x80\x80\x80", 5).size(), 5U);  // no text, so any cut is as good
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

TEST(Report, OnlyTheChosenStepsAreCountedAndListed) {
  AnalysisOptions options;
  options.steps = {2, 5};
  const Analysis analysis = analysed(kSlow, options);
  const std::string text = renderText(analysis, {{"summary", "steps"}, 100, false});
  EXPECT_THAT(text, HasSubstr("3 steps of "));
  EXPECT_THAT(text, Not(HasSubstr("12 steps")));
  const std::size_t section = text.find("\nSteps\n");
  ASSERT_NE(section, std::string::npos) << text;
  const std::string listed = text.substr(section);
  EXPECT_THAT(listed, HasSubstr("\n     2 step "));
  EXPECT_THAT(listed, HasSubstr("\n     4 step "));
  EXPECT_THAT(listed, Not(HasSubstr("\n     1 step ")));
  EXPECT_THAT(listed, Not(HasSubstr("\n     5 step ")));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("Steps: 3 steps of "));
  const std::string json = renderJson(analysis);
  std::size_t steps = 0;
  for (std::size_t at = 0; (at = json.find("\"warm_up\"", at)) != std::string::npos; ++at) ++steps;
  EXPECT_EQ(steps, 3U);
}

TEST(Report, OfStepsOfTheWarmUpAloneTheMeanIsStillOfOne) {
  AnalysisOptions options;
  options.steps = {2, 5};
  Analysis analysis = analysed(kSlow, options);
  for (Step& step : analysis.steps.all) step.warmUp = false;
  const std::int64_t meanNs = analysis.meanStepNs();
  for (std::size_t i = 0; i < 5; ++i) analysis.steps.all[i].warmUp = true;
  EXPECT_EQ(analysis.meanStepNs(), meanNs);
  EXPECT_THAT(renderText(analysis, {{"summary"}, 100, false}), Not(HasSubstr(" of 0 ns")));
}

TEST(Report, UnknownDeviceOrRankNamesThoseThere) {
  AnalysisOptions options;
  options.device = "cuda:7";
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message, HasSubstr("cuda:0"));
  options = {};
  options.rank = 9;
  EXPECT_THAT(analyse(test::makeRun({.ranks = 2}), options).error().message, HasSubstr("rank 1"));
}

std::uint64_t kernelCount(const Analysis& analysis) {
  std::uint64_t count = 0;
  for (const KernelRow& row : analysis.of<KernelTable>()) count += row.count;
  return count;
}

TEST(Report, ARankAloneIsAllThatEveryTableIsAbout) {
  const RunPlan plan{
      .ranks = 2, .syncEachStep = true, .pageableCopyNs = 1'000'000, .collectiveNs = 500'000};
  AnalysisOptions options;
  options.rank = 1;
  const Analysis both = analysed(plan);
  const Analysis one = analysed(plan, options);
  ASSERT_EQ(one.devices.size(), 1U);
  EXPECT_EQ(kernelCount(one), one.devices[0].kernels);
  EXPECT_EQ(2 * kernelCount(one), kernelCount(both));
  EXPECT_EQ(2 * one.of<CopyStats>().pageableCount, both.of<CopyStats>().pageableCount);
  EXPECT_EQ(2 * one.of<LaunchStats>().launches, both.of<LaunchStats>().launches);
  EXPECT_EQ(2 * one.of<LoaderStats>().batches, both.of<LoaderStats>().batches);
  EXPECT_EQ(2 * one.of<MemoryTables>().all.allocations, both.of<MemoryTables>().all.allocations);
  EXPECT_EQ(one.of<MemoryTables>().devices.size(), 1U);
  EXPECT_EQ(2 * one.of<CommunicationStats>().collectives.at(0).count,
            both.of<CommunicationStats>().collectives.at(0).count);
  for (std::size_t i = 0; i < one.of<OperatorTables>().byName.size(); ++i)
    EXPECT_EQ(2 * one.of<OperatorTables>().byName[i].count,
              both.of<OperatorTables>().byName[i].count);
  for (std::size_t i = 0; i < one.of<CallTable>().size(); ++i)
    EXPECT_EQ(2 * one.of<CallTable>()[i].count, both.of<CallTable>()[i].count);
  EXPECT_EQ(one.processCount(), 1);
  EXPECT_EQ(both.processCount(), 2);
}

TEST(Report, ADeviceAloneIsAllThatEveryTableIsAbout) {
  AnalysisOptions options;
  options.device = "cuda:1";
  const Analysis one = analysed({.ranks = 2, .zeroGradNs = 500'000}, options);
  ASSERT_EQ(one.devices.size(), 1U);
  EXPECT_EQ(kernelCount(one), one.devices[0].kernels);
  EXPECT_EQ(one.of<CopyStats>().memsetCount, 12U * 10);
}

TEST(Report, ADeviceOfAnotherRankIsDistinguishedFromOneThatDidNoWork) {
  AnalysisOptions options;
  options.device = "cuda:1";
  options.rank = 0;
  EXPECT_THAT(analyse(test::makeRun({.ranks = 2}), options).error().message,
              testing::EndsWith("no device 'cuda:1' of rank 0 did any work here; there is: rank 0 "
                                "on cuda:0, rank 1 on cuda:1"));
}

TEST(Report, StepsThatAreNoneGetAReason) {
  AnalysisOptions options;
  options.steps = {2, 1};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message,
              HasSubstr("steps 2:1 are none: the first is behind"));
  options.steps = {0, 0};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message,
              HasSubstr("steps 0:0 are none: the second number"));
  options.steps = {0, 5000};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message,
              HasSubstr("steps 0:5000 are not there; it has"));
}

TEST(Report, EmptyTraceIsAnError) {
  EXPECT_FALSE(analyse(StoreBuilder().build()));
}

TEST(JsonWriter, EscapesAndReplacesWhatIsNoText) {
  JsonWriter json;
  EXPECT_EQ(json.beginArray().value("a\"\\\n\xff\xc3\xa9").endArray().take(),
            "[\n  \"a\\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\"\n]\n");
}

TEST(Report, WithoutStepsFiguresAreInAll) {
  const Analysis whole =
      analysed({.steps = 1, .batchNs = 20'000'000, .workers = 0, .stepsMarked = false});
  std::string text = renderText(whole, {{}, 140, false});
  for (const char* section : {"launches", "loader", "memory", "findings", "sequences"})
    text += renderText(whole, {{section}, 140, false});
  EXPECT_THAT(text, HasSubstr("in all"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, Not(HasSubstr(" a step")));
}

}  // namespace
}  // namespace lacuna::analyzer
