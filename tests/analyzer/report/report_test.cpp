// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analyses/loader/loader.h"
#include "analyses/ranks/communication.h"
#include "analyses/ranks/ranks.h"
#include "analyses/work/calls.h"
#include "analyses/work/copies.h"
#include "analyses/work/efficiency.h"
#include "analyses/work/kernels.h"
#include "analyses/work/launches.h"
#include "analyses/work/sequences.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"
#include "report/json_writer.h"
#include "rules/words.h"
#include "support/colour_vision.h"
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

TEST(Report, AFindingThatWouldGainNothingSaysSo) {
  Analysis analysis = analysed(kSlow);
  ASSERT_FALSE(analysis.of<Findings>().empty());
  analysis.of<Findings>().resize(1);
  EXPECT_THAT(renderText(analysis), Not(HasSubstr("none is predicted")));
  analysis.of<Findings>()[0].predictedGainNsPerStep = 0;
  analysis.of<Findings>()[0].gainHighNsPerStep = 2'000'000;
  EXPECT_THAT(renderText(analysis, {{"findings"}, 120, false}), HasSubstr("gain  none is predicted"));
  EXPECT_THAT(renderText(analysis, {{"findings"}, 120, false}), HasSubstr("2.00 ms a step at most"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("gain: none is predicted"));
}

TEST(Report, ColourIsWrittenOnlyWhenAskedFor) {
  const Analysis analysis = analysed(kSlow);
  EXPECT_THAT(renderText(analysis, {{}, 100, false}), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(renderText(analysis, {{}, 100, true}), HasSubstr("\x1b["));
}

/// What terminals that follow xterm show.
std::uint32_t terminalRgb(int n) {
  constexpr std::uint32_t kLevels[]{0, 95, 135, 175, 215, 255};
  const auto at = static_cast<std::uint32_t>(n);
  if (at >= 232) return (8 + 10 * (at - 232)) * 0x010101;
  return kLevels[(at - 16) / 36] << 16 | kLevels[(at - 16) / 6 % 6] << 8 | kLevels[(at - 16) % 6];
}

TEST(Report, CausesAreToldApartInATerminal) {
  for (std::size_t a = 0; a < kCauseCount; ++a) {
    const int one = terminalColour(static_cast<Cause>(a));
    ASSERT_TRUE(one >= 16 && one < 256);
    for (std::size_t b = 0; b < a; ++b) {
      const int other = terminalColour(static_cast<Cause>(b));
      EXPECT_GT(test::distance(terminalRgb(one), terminalRgb(other)), test::kApart) << a << " and " << b;
    }
    // It is also nearer to its own colour on other screens than to any other's.
    const auto far = [&](std::size_t n) {
      return test::distance(terminalRgb(one), causeColour(static_cast<Cause>(n), true));
    };
    for (std::size_t b = 0; b < kCauseCount; ++b) EXPECT_TRUE(a == b || far(a) < far(b)) << a << " and " << b;
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
      const auto columns = std::count_if(line.begin(), line.end(),
                                         [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
      EXPECT_LE(columns, width) << line;
    }
  }
}

TEST(Report, NumbersStayWithTheirUnits) {
  const Analysis analysis = analysed(kSlow);
  for (int width = 40; width <= 140; ++width) {
    std::istringstream lines(renderText(analysis, {{"summary", "ledger", "findings", "loader"}, width, false}));
    bool afterDigit = false;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t from = line.find_first_not_of(' ');
      const std::string word =
          from == std::string::npos ? "" : line.substr(from, line.find_first_of(" ,;.)", from) - from);
      for (const char* unit : {"%", "ns", "µs", "ms", "s"}) EXPECT_FALSE(afterDigit && word == unit) << width << line;
      afterDigit = !line.empty() && line.back() >= '0' && line.back() <= '9';
    }
  }
}

TEST(Report, TheLongestStepsLineHasRoomForItsMark) {
  Analysis analysis = analysed(kSlow);
  const auto longest = std::ranges::max_element(analysis.steps.all, {}, &Step::durNs);
  for (Step& step : analysis.steps.all) step.warmUp = step.index == longest->index;
  for (const int width : {80, 100, 140}) {
    const std::string text = renderText(analysis, {{"steps"}, width, false});
    const std::string start = fmt::format("\n {:>5} step               ", longest->index);
    const std::size_t at = text.find(start);
    ASSERT_NE(at, std::string::npos) << text;  // a line that is too long is set anew, without its columns
    EXPECT_THAT(text.substr(at + 1, text.find('\n', at + 1) - at - 1), testing::EndsWith(" warm-up"));
  }
}

/// Of all but the sequences that switch colours.
std::ptrdiff_t columnsOf(std::string line) {
  for (std::size_t at = 0; (at = line.find("\x1b[")) != std::string::npos;) line.erase(at, line.find('m', at) - at + 1);
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

/// Of a table's heading and of its first row.
std::pair<std::ptrdiff_t, std::ptrdiff_t> columnsOfTable(const std::string& text, std::string_view heading) {
  const std::size_t at = text.rfind('\n', text.find(heading)) + 1;
  const std::size_t row = text.find('\n', at) + 1;
  return {columnsOf(text.substr(at, row - 1 - at)), columnsOf(text.substr(row, text.find('\n', row) - row))};
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
    EXPECT_EQ(operators.find("self mem") == std::string::npos, width == 80);
    EXPECT_EQ(operators.find("with --width 115") == std::string::npos, width == 120);
    const std::string efficiency = renderText(analysis, {{"efficiency"}, width, false});
    const auto [title, operation] = columnsOfTable(efficiency, "operator and shapes");
    EXPECT_EQ(title, operation) << efficiency;
    EXPECT_THAT(efficiency, HasSubstr("±0.1 %"));
  }
  analysis.of<EfficiencyStats>().rows[0].ofRoof = -1;
  const std::string withoutPeaks = renderText(analysis, {{"efficiency"}, 120, false});
  EXPECT_THAT(withoutPeaks, HasSubstr("what this device could do at most is not known"));
  EXPECT_THAT(withoutPeaks, Not(HasSubstr("of the roof")));
}

TEST(Report, OperatorsAreToldApartBesideTheirMemory) {
  Analysis analysis = analysed({.leakBytes = 2 << 20});
  analysis.ledgers.bands.run.ns[0] = 1'000;
  analysis.of<OperatorTables>().byShapes.clear();
  for (const char* name : {"aten::convolution_backward f32[64,128,56,56]", "aten::convolution_overrideable f32[64,3]"})
    analysis.of<OperatorTables>().byShapes.emplace_back().name = name;
  const std::string narrow = renderText(analysis, {{"operators"}, 100, false});
  EXPECT_THAT(narrow, testing::AllOf(Not(HasSubstr("self mem")), HasSubstr("with --width 115"),
                                     HasSubstr("aten::convolution_backward"), HasSubstr("aten::convolution_over")));
  const std::string wide = renderText(analysis, {{"operators"}, 115, false});
  EXPECT_THAT(wide, testing::AllOf(HasSubstr("self mem"), HasSubstr("aten::convolution_backward"),
                                   HasSubstr("aten::convolution_over")));
}

/// The lines of a text, the first ones, joined.
std::string withoutBreaks(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t next = text.find_first_not_of(' ', at + 1);
    text.replace(at, std::min(next, text.size()) - at, " ");
  }
  return text;
}

TEST(Report, WhatDoesNotFitOnALineGoesOnInTheNext) {
  Analysis analysis = analysed({});
  analysis.devices[0].name = "A device with a name that is longer than a line of a narrow terminal is, by far";
  for (const int width : {40, 80, 160}) {
    const std::string text = withoutBreaks(renderText(analysis, {{}, width, false}));
    EXPECT_THAT(text, HasSubstr("(" + analysis.devices[0].name + ")"));
    EXPECT_THAT(text,
                HasSubstr("with --section: summary, ledger, causes, findings, devices, steps, kernels, sequences, "
                          "operators, ranges, calls, launches, loader, memory, communication, copies, efficiency"));
  }
}

TEST(Report, LinesOfTablesEndWhereTheirTextDoes) {
  Analysis analysis = analysed({.collectiveNs = 500'000});
  RooflineRow row;
  row.name = "matmul";
  row.deviceNs = 1'000;
  row.ofRoof = -1;
  analysis.of<EfficiencyStats>().rows = {row};
  for (CollectiveRow& collective : analysis.of<CommunicationStats>().collectives) collective.bytes = 0;
  for (const std::string section : {"communication", "efficiency"})
    EXPECT_THAT(renderText(analysis, {{section}, 100, false}), Not(HasSubstr(" \n"))) << section;
}

TEST(Report, QueuesAreCalledWithoutBlanksAtTheEnd) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1), .name = builder.intern("stream 7 ")});
  builder.append(prof::Kernel{.startNs = 1, .durNs = 1, .queue = prof::QueueId(1), .device = prof::DeviceId(1)});
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  EXPECT_THAT(renderJson(*analysis), HasSubstr("\"stream 7\""));
}

TEST(Report, TheCriticalPathSaysWhatItIs) {
  EXPECT_THAT(withoutBreaks(renderText(analysed(kSlow), {{"steps"}, 100, false})),
              HasSubstr("critical path (what a step's length hangs on; the device may be busy meanwhile): "));
}

TEST(Report, CollectivesAreToldApartInANarrowTerminal) {
  Analysis analysis = analysed(kSlow);
  CollectiveRow row;
  row.communicator = "default_pg";
  row.count = 1;
  row.totalNs = row.bytesNs = analysis.of<CommunicationStats>().totalNs = 1'000;
  row.bytes = 4'096;
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "ncclDevKernel_Broadcast_RING_LL()"}) {
    row.name = name;
    analysis.of<CommunicationStats>().collectives.push_back(row);
  }
  const std::string narrow = renderText(analysis, {{"communication"}, 80, false});
  EXPECT_THAT(narrow, HasSubstr("default_pg: AllReduce"));
  EXPECT_THAT(narrow, HasSubstr("default_pg: Broadcast"));
  EXPECT_THAT(renderText(analysis, {{"communication"}, 140, false}), HasSubstr("default_pg: ncclKernel_AllReduce"));
}

/// The column behind `text` in a line, 0 where it is not in it.
std::ptrdiff_t endOf(std::string_view line, std::string_view text) {
  const std::size_t at = line.find(text);
  if (at == std::string_view::npos) return 0;
  return std::ranges::count_if(line.substr(0, at + text.size()), [](char c) { return (c & 0xC0) != 0x80; });
}

TEST(Report, MemoryAndDevicesOfSeveralRanksSayWhose) {
  const Analysis several = analysed({.ranks = 2, .leakBytes = 1 << 20});
  ASSERT_EQ(several.of<MemoryTables>().byDevice.size(), 2U);
  const std::string text = renderText(several, {{"memory"}, 120, false});
  const std::string page = renderHtml(several);
  for (const char* whose : {"peak of cuda:0 of rank 0 ", "peak of cuda:1 of rank 1 "})
    EXPECT_THAT(text, HasSubstr(whose));
  for (const char* whose : {"Memory of cuda:0 of rank 0: peak", "Memory of cuda:1 of rank 1: peak", ", rank 1</div>"})
    EXPECT_THAT(page, HasSubstr(whose));
  Analysis nameless = several;
  nameless.devices.back().name.clear();
  EXPECT_THAT(renderHtml(nameless), HasSubstr("cuda:1, rank 1</div>"));
  EXPECT_THAT(renderText(analysed({.leakBytes = 1 << 20}), {{"memory"}, 120, false}),
              testing::Not(HasSubstr("of rank")));
}

TEST(Report, ALongNameThatManyBlocksShareIsCut) {
  StoreBuilder builder;
  const auto name = builder.intern(std::string(3'000'000, 'x'));
  constexpr std::uint64_t kBlocks = 1000;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    builder.append(prof::Allocation{
        .timeNs = static_cast<std::int64_t>(i), .address = 512 * (i + 1), .bytes = 512, .tensor = name, .op = name});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis) << analysis.error().message;
  ASSERT_EQ(analysis->of<MemoryTables>().all.live.size(), kBlocks);
  EXPECT_EQ(analysis->of<MemoryTables>().all.live.front().op.size(), prof::kLongestText);
  const std::string json = renderJson(*analysis);
  EXPECT_LT(json.size(), 3'000'000U);
  EXPECT_THAT(json, HasSubstr("\"op\": \"" + std::string(999, 'x') + "…\""));
}

TEST(Report, OfManyDevicesThoseWithTheHighestPeaksAreShown) {
  StoreBuilder builder;
  constexpr std::uint32_t kDevices = 3000;
  for (std::uint32_t i = 1; i <= kDevices; ++i) {
    builder.append(prof::Device{.id = prof::DeviceId(i), .index = i - 1});
    builder.append(prof::Allocation{.timeNs = i, .device = prof::DeviceId(i), .address = 512, .bytes = i});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis) << analysis.error().message;
  ASSERT_EQ(analysis->of<MemoryTables>().devices.size(), kDevices);
  ASSERT_EQ(analysis->of<MemoryTables>().byDevice.size(), kMostMemories);
  for (std::size_t i = 0; i < kDevices; ++i) {
    const std::size_t before = i < kMostMemories ? kDevices - kMostMemories : 0;
    const std::size_t at = i < kMostMemories ? i : i - kMostMemories;
    EXPECT_EQ(analysis->of<MemoryTables>().devices[i].device.value, before + at + 1);
    if (i < kMostMemories) {
      EXPECT_EQ(analysis->of<MemoryTables>().byDevice[i].peakBytes, analysis->of<MemoryTables>().devices[i].peakBytes);
    }
  }
  for (const std::string& page : {renderText(*analysis, {{"memory"}, 120, false}), renderHtml(*analysis)})
    EXPECT_THAT(page, HasSubstr("memory of 2,936 further devices is not shown; none has a higher peak"));
  const std::string json = renderJson(*analysis);
  const auto count = [&](std::string_view key) {
    std::size_t found = 0;
    for (std::size_t at = json.find(key); at != std::string::npos; at = json.find(key, at + 1)) ++found;
    return found;
  };
  // One more is of all devices together.
  EXPECT_EQ(count("\"reserved_peak_bytes\""), kDevices + 1);
  EXPECT_EQ(count("\"leak_bytes_per_step\""), kMostMemories + 1);
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

TEST(Report, CollectivesAndRanksStandInColumnsWhateverRecordingCost) {
  Analysis analysis = analysed({.ranks = 2, .collectiveNs = 500'000});
  ASSERT_EQ(analysis.of<RankStats>().rows.size(), 2U);
  for (CollectiveRow& row : analysis.of<CommunicationStats>().collectives) {
    row.totalNs = 30'000'000;
    row.exposedNs = 12'340'000;
    row.recordingNs = 1'500'000;
  }
  RankRow& late = analysis.of<RankStats>().rows[1];
  late.heldUpNs = 21'430'000;
  late.heldUpRecordingNs = 2'143'000;
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(renderText(analysis, {{"communication"}, width, false}));
    std::string line, collectives, ranks, collective, rank, band;
    while (std::getline(lines, line)) {
      if (line.starts_with(" collective ")) collectives = line;
      if (line.starts_with(" rank ")) ranks = line;
      if (line.find("12.3 ms") != std::string::npos) collective = line;
      if (!rank.empty() && band.empty()) band = line;
      if (line.find("21.4 ms") != std::string::npos && line.starts_with("    1 ")) rank = line;
    }
    EXPECT_EQ(endOf(collective, "12.3 ms"), endOf(collectives, "exposed")) << width << '\n' << collective;
    EXPECT_EQ(endOf(rank, "21.4 ms"), endOf(ranks, "behind")) << width << '\n' << rank;
    EXPECT_EQ(endOf(band, "±10 %"), endOf(ranks, "behind")) << width << '\n' << band;
  }
}

TEST(Report, EverySectionKeepsToAnyWidth) {
  const std::string name = "a_kernel_with_a_name_" + std::string(150, 'x') + "_that_fills_lines_by_itself";
  const Analysis rich = analysed({.steps = 30,
                                  .ranks = 2,
                                  .kernelName = name.c_str(),
                                  .batchNs = 20'000'000,
                                  .workers = 1,
                                  .syncEveryOperators = 2,
                                  .pageableCopyNs = 2'000'000,
                                  .zeroGradNs = 1'000'000,
                                  .mallocNs = 1'000'000,
                                  .asleepNs = 1'000'000,
                                  .leakBytes = 2 << 20,
                                  .memorySpike = true,
                                  .allocationChurn = true,
                                  .collectiveNs = 3'000'000,
                                  .lateNs = 2'000'000,
                                  .tinyRepeats = 40,
                                  .biasBeforeNorm = true});
  const Analysis bare = analysed({.steps = 1, .stepsMarked = false});
  std::vector<std::string> sections(reportSections().begin(), reportSections().end());
  for (int width = 40; width <= 200; ++width) {
    for (const Analysis* analysis : {&rich, &bare}) {
      for (const bool colour : {false, true}) {
        std::istringstream lines(renderText(*analysis, {{}, width, colour}) +
                                 renderText(*analysis, {sections, width, colour}));
        for (std::string line; std::getline(lines, line);) ASSERT_LE(columnsOf(line), width) << line;
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

TEST(Report, ASectionOfWhatWasNotRecordedSaysSo) {
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
  EXPECT_THAT(renderText(*analysis, {{"memory"}, 100, false}), HasSubstr("the trace holds nothing of it"));
  EXPECT_THAT(renderText(*analysis, {{}, 100, false}), Not(HasSubstr("Memory")));
}

TEST(Report, WorkersThatNobodyCountedAreUnknown) {
  RunPlan plan{.batchNs = 10'000'000, .syncEachStep = true};
  plan.waitName = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  EXPECT_THAT(withoutBreaks(renderText(analysed(plan), {{"loader"}, 80, false})),
              HasSubstr("the number of workers is unknown"));
  plan.waitName = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  EXPECT_THAT(renderText(analysed(plan), {{"loader"}, 80, false}), Not(HasSubstr("unknown")));
}

TEST(Report, WhereNothingIsFoundTheListAgreesWithTheVerdict) {
  const auto said = [](std::int64_t unknownNs) {
    Analysis analysis = analysed({});
    analysis.of<Findings>().clear();
    analysis.ledgers.run.ns[static_cast<std::size_t>(Cause::Unknown)] += unknownNs;
    return analysis;
  };
  const Analysis sure = said(0);
  EXPECT_THAT(verdict(sure), HasSubstr("No fault found."));
  EXPECT_THAT(renderText(sure, {{"findings"}, 100, false}), HasSubstr(" none: nothing stands out"));
  EXPECT_THAT(renderHtml(sure), HasSubstr("<p>None: nothing stands out.</p>"));
  const Analysis unsure = said(sure.ledgers.run.totalNs() / 9);
  EXPECT_THAT(verdict(unsure),
              HasSubstr("No fault is named, but 10.0 % of the time outside the steps has no cause in the trace."));
  EXPECT_THAT(verdict(unsure), HasSubstr("unknown 10.0 % outside the steps"));
  Analysis inSteps = unsure;
  inSteps.ledgers.steps.front().ns[static_cast<std::size_t>(Cause::Unknown)] =
      inSteps.ledgers.run.ns[static_cast<std::size_t>(Cause::Unknown)];
  EXPECT_THAT(verdict(inSteps), HasSubstr("No fault is named, but 10.0 % of the time has no cause in the trace."));
  EXPECT_THAT(renderText(unsure, {{"findings"}, 100, false}),
              HasSubstr(" none is named, but 10.0 % of the time outside the steps has no cause in the"));
  EXPECT_THAT(renderHtml(unsure), HasSubstr("<p>None is named, but 10.0 % of the time outside the steps has no cause"));
}

/// Work of the device, 400 ms of nothing, two steps of 100 ms with 20 ms of nothing in each and 30 ms between them, and
/// 50 ms until the last work.
Analysis withUnknownTime(bool counted, bool sampled = false) {
  StoreBuilder builder;
  const prof::ThreadId thread(1);
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  const auto work = [&](prof::TimeNs startMs, std::int64_t ms) {
    builder.append(prof::Kernel{.startNs = startMs * 1'000'000,
                                .durNs = ms * 1'000'000,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("k")});
  };
  work(0, 10);
  for (const prof::TimeNs at : {410, 540}) {
    builder.append(prof::Range{.startNs = at * 1'000'000,
                               .durNs = 100'000'000,
                               .thread = thread,
                               .category = builder.intern("step"),
                               .name = builder.intern("step")});
    work(at, 40);
    work(at + 60, 40);
  }
  work(690, 10);
  for (int i = 1; counted && i <= 4; ++i) {
    for (const auto& [track, percent] : {std::pair(1u, 60.0), std::pair(2u, 30.0)})
      builder.append(prof::CounterSample{.timeNs = i * 100'000'000, .track = prof::TrackId(track), .value = percent});
  }
  if (counted) {
    builder.append(prof::CounterTrack{.id = prof::TrackId(1), .thread = thread, .name = builder.intern("thread CPU")});
    builder.append(
        prof::CounterTrack{.id = prof::TrackId(2), .thread = thread, .name = builder.intern("waiting for a core")});
  }
  // Seven samples of libpython, two of libc, one of no library that is known; others' and later ones do not count.
  for (int i = 0; sampled && i < 12; ++i) {
    builder.append(prof::CpuSample{.timeNs = (i < 11 ? 20 + 30 * i : 420) * 1'000'000,
                                   .thread = i == 10 ? prof::ThreadId(2) : thread,
                                   .stack = prof::FrameId(i < 7   ? 1
                                                          : i < 9 ? 2
                                                                  : 3),
                                   .weightNs = 1'000'000});
  }
  if (sampled) {
    builder.append(prof::StackFrame{.id = prof::FrameId(1), .module = builder.intern("/usr/lib/libpython3.11.so.1.0")});
    builder.append(prof::StackFrame{
        .id = prof::FrameId(2), .parent = prof::FrameId(1), .module = builder.intern("/usr/lib/libc.so.6")});
    builder.append(prof::StackFrame{.id = prof::FrameId(3)});
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Report, NamesTheLibrariesInWhichAProgramSetsItselfUp) {
  const Analysis analysis = withUnknownTime(false, true);
  ASSERT_EQ(analysis.of<UnknownPlaces>().libraries.size(), 2U);
  EXPECT_THAT(
      withoutBreaks(renderText(analysis, {{"ledger"}, 100, false})),
      HasSubstr("before the first step (of its CPU samples 70 % in libpython3.11.so.1.0, 20 % in libc.so.6), 40"));
  EXPECT_THAT(renderJson(analysis), HasSubstr("\"path\": \"/usr/lib/libc.so.6\""));
}

TEST(Report, SaysWhereTimeWithoutACauseLies) {
  const Analysis analysis = withUnknownTime(true);
  EXPECT_EQ(analysis.of<UnknownPlaces>().beforeNs, 400'000'000);
  EXPECT_EQ(analysis.of<UnknownPlaces>().inStepsNs, 40'000'000);
  EXPECT_EQ(analysis.of<UnknownPlaces>().betweenNs, 30'000'000);
  EXPECT_EQ(analysis.of<UnknownPlaces>().behindNs, 50'000'000);
  const UnknownPlaces& places = analysis.of<UnknownPlaces>();
  EXPECT_EQ(places.beforeNs + places.inStepsNs + places.betweenNs + places.behindNs,
            analysis.ledgers.run[Cause::Unknown]);
  const std::string said =
      "unknown: 400 ms before the first step (the host's thread ran 60 % of that time and waited for a core 30 %; "
      "imports and set-up tell of nothing), 40.0 ms in steps, 30.0 ms between steps, 50.0 ms behind the last step";
  EXPECT_THAT(withoutBreaks(renderText(analysis, {{"ledger"}, 100, false})), HasSubstr(said));
  EXPECT_THAT(renderJson(analysis), HasSubstr("\"before_steps_ns\": 400000000"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("400 ms before the first step"));
  const std::string uncounted = withoutBreaks(renderText(withUnknownTime(false), {{"ledger"}, 100, false}));
  EXPECT_THAT(uncounted, HasSubstr("before the first step (imports and set-up tell of nothing), 40.0 ms in steps"));
  EXPECT_THAT(renderText(analysed({}), {{"ledger"}, 100, false}), Not(HasSubstr("unknown:")));
}

/// What the report says of a recorder that cost so many percent of a step.
std::string saidOfRecording(std::int64_t coresNs, std::int64_t eventsNs) {
  Analysis analysis = analysed({});
  const std::int64_t stepNs = analysis.meanStepNs();
  analysis.of<SelfOverhead>() = {.known = true, .parts = {}, .nsPerStep = 0};
  for (const auto& [kind, share] : {std::pair(kUseOfCores, coresNs), std::pair(std::string_view("range"), eventsNs)}) {
    analysis.of<SelfOverhead>().parts.push_back({std::string(kind), 0, 0, stepNs * share / 100});
    analysis.of<SelfOverhead>().nsPerStep += stepNs * share / 100;
  }
  const std::string text = withoutBreaks(renderText(analysis, {{}, 60, false}));
  const std::size_t at = text.find("Recording added about");
  EXPECT_THAT(renderHtml(analysis), HasSubstr(text.substr(at, text.find(';', at) - at)));
  return text.substr(at, text.find("may be.", at) - at);
}

TEST(Report, SaysWhyRecordingCostsMuchAndWhatToDo) {
  EXPECT_THAT(saidOfRecording(30, 5),
              testing::AllOf(HasSubstr("(35.0 %)"),
                             HasSubstr("of it by taking cores that the program's threads waited for: "
                                       "leave the recorder a core (taskset), or record less (--trace)")));
  EXPECT_THAT(saidOfRecording(5, 20), HasSubstr("(25.0 %), for its events follow each other closely: record less"));
  EXPECT_THAT(saidOfRecording(5, 4), testing::AllOf(HasSubstr("(9.0 %);"), Not(HasSubstr("--trace"))));
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

TEST(Report, JsonSaysWhoseAnEvidenceIs) {
  const Analysis analysis = analysed({.ranks = 2, .collectiveNs = 100'000, .lateNs = 2'000'000});
  const DeviceAccount& late = analysis.devices.at(1);
  EXPECT_THAT(renderJson(analysis),
              testing::ContainsRegex("\"what\": \"rank [0-9] enters last\",[ \n]+\"device\": \"" + late.label + "\""));
}

TEST(Report, KernelsAreCalledByTheirPlainNames) {
  EXPECT_EQ(plainName("void at::native::(anonymous namespace)::multi_tensor<4, float>(int, float)"),
            "at::native::multi_tensor");
  EXPECT_EQ(plainName("ampere_sgemm_128x64"), "ampere_sgemm_128x64");
}

TEST(Report, RepeatedSequencesAreInEveryForm) {
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

TEST(Report, WhatLowersThePeakIsToldOfEachDevice) {
  // The devices' peaks are 400 ns apart; together they have the first one's only.
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 1});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  for (std::uint32_t i = 0; i < 2; ++i)
    builder.append(prof::Device{.id = prof::DeviceId(i + 1), .kind = prof::DeviceKind::Cuda, .index = i});
  for (int i = 0; i < 2; ++i)
    builder.append(
        prof::Range{.startNs = 1000 * i, .durNs = 1000, .thread = prof::ThreadId(1), .name = builder.intern("step")});
  const auto block = [&](prof::TimeNs at, std::uint32_t device, const char* op, std::uint64_t mib) {
    builder.append(prof::Allocation{.timeNs = at,
                                    .device = prof::DeviceId(device),
                                    .action = prof::MemoryAction::Allocate,
                                    .role = prof::MemoryRole::Activation,
                                    .address = mib << 20,
                                    .bytes = mib << 20,
                                    .op = builder.intern(op)});
    builder.append(prof::Allocation{.timeNs = at + 100,
                                    .device = prof::DeviceId(device),
                                    .action = prof::MemoryAction::Free,
                                    .address = mib << 20});
  };
  block(1100, 1, "conv", 8);
  block(1500, 2, "gelu", 6);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  std::string edits;
  for (const PeakEdit& edit : analysis->of<PeakEdits>())
    edits += fmt::format("{} of {} leaves {}; ", edit.origin, edit.device.value, edit.peakAfterBytes);
  EXPECT_EQ(edits, "conv of 1 leaves 0; gelu of 2 leaves 0; ");
  const std::string text = renderText(*analysis, {{"memory"}, 100, false});
  EXPECT_THAT(text, testing::ContainsRegex("peak of cuda:0 8.00 MiB(.|\n)*peak of cuda:1 6.00 MiB"));
  EXPECT_THAT(text, HasSubstr("to bring the peak of cuda:1 down:"));
  const std::string json = renderJson(*analysis);
  EXPECT_THAT(json, testing::ContainsRegex("\"device\": \"cuda:1\",\n *\"origin\": \"gelu\""));
  EXPECT_THAT(renderHtml(*analysis), HasSubstr("Memory of cuda:1: peak 6.00 MiB"));
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

TEST(Report, StepsOfTheLedgerSumToTheStep) {
  const Analysis analysis = analysed({.ranks = 2, .collectiveNs = 500'000});
  for (std::size_t i = 0; i < analysis.steps.all.size(); ++i)
    EXPECT_EQ(analysis.ledgers.steps[i].totalNs(), 2 * analysis.steps.all[i].durNs());
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

TEST(Report, WaitsOutsideOfTheMarkedStepsAreToldInAll) {
  const ReportOptions loader{{"loader"}, 120, false};
  EXPECT_THAT(renderText(analysed(kSlow), loader), HasSubstr("12 batches; the training thread waited 20.0 ms a step"));
  RunPlan outside = kSlow;
  outside.waitIsMarked = false;
  EXPECT_THAT(renderText(analysed(outside), loader),
              HasSubstr("the training thread waited 240 ms in all, most of it outside of the marked steps"));
}

TEST(Report, TheLedgerSaysWhatItsSharesAndItsTimesAreOf) {
  const ReportOptions narrow{{"ledger"}, 80, false};
  const std::string run = renderText(analysed(kSlow), narrow);
  // The heads end where their columns do.
  EXPECT_THAT(run, HasSubstr("\n                           of the run       steady steps\n"));
  EXPECT_THAT(run, testing::ContainsRegex("computing +[0-9.]+ % +[0-9.]+ ms a step"));
  EXPECT_THAT(renderText(analysed(kSlow), {{"ledger"}, 160, false}),
              testing::ContainsRegex("of the run       steady steps {37,}of the run       steady steps\n"));
  AnalysisOptions some;
  some.steps = {2, 5};
  EXPECT_THAT(renderText(analysed(kSlow, some), narrow), HasSubstr("of these steps       steady steps\n"));
  EXPECT_THAT(renderHtml(analysed(kSlow)), HasSubstr("shares of the run · times in steady steps, on average"));
  // Without steps both are of the run.
  EXPECT_THAT(renderText(analysed({.steps = 1, .stepsMarked = false}), narrow), Not(HasSubstr("steady")));
}

/// A device that works from 40 to 60 s of a run of 0 to 61 s; the host spends 30 s of the first 40 in one call, within
/// two ranges that take longer.
Analysis analysedLate(std::int64_t callNs) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  StoreBuilder builder;
  const prof::ThreadId thread(1);
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  builder.append(prof::Range{.startNs = 0, .durNs = 61 * kSecond, .thread = thread, .name = builder.intern("main")});
  builder.append(prof::Range{.startNs = 0, .durNs = 39 * kSecond, .thread = thread, .name = builder.intern("prepare")});
  builder.append(prof::ApiCall{
      .startNs = kSecond, .durNs = callNs, .thread = thread, .name = builder.intern("cudaDeviceGetStreamPriority")});
  for (const std::int64_t at : {40, 59}) {
    builder.append(prof::Kernel{.startNs = at * kSecond,
                                .durNs = kSecond,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("gemm")});
  }
  return std::move(*analyse(builder.build()));
}

TEST(Report, TheLedgerSaysOfWhichTimeItIsAndWhatLiesOutside) {
  const Analysis analysis = analysedLate(30'000'000'000);
  EXPECT_EQ(analysis.ledgers.run.totalNs(), 20'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.ns, 40'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longest, "cudaDeviceGetStreamPriority");
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longestNs, 30'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().after.ns, 1'000'000'000);
  const char* line =
      "of 20.0 s between the first and the last device work; 40.0 s before it, mostly cudaDeviceGetStreamPriority on "
      "the host; 1.00 s after it, mostly main on the host";
  EXPECT_THAT(renderText(analysis, {{"ledger"}, 200, false}), HasSubstr(std::string("\n ") + line + "\n"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr(line));
  EXPECT_THAT(renderJson(analysis), testing::ContainsRegex("\"before_ns\": 40000000000,[^}]*\"before_longest\": "
                                                           "\"cudaDeviceGetStreamPriority\",[^}]*30000000000"));
  // A call of 10 s is not most of it: the range around it is.
  EXPECT_EQ(analysedLate(10'000'000'000).of<StretchesWithoutDevices>().before.longest, "prepare");
}

TEST(Report, WhatLiesOutsideOfTheLedgerIsOnlyToldWhereItMatters) {
  const std::string text = renderText(analysed({.ranks = 2}), {{"ledger"}, 160, false});
  EXPECT_THAT(text, testing::ContainsRegex("of [0-9.]+ m?s of 2 devices, between the first and the last work of each"));
  StoreBuilder builder;
  builder.append(prof::Thread{.id = prof::ThreadId(1)});
  builder.append(prof::Range{.startNs = 1, .durNs = 10, .thread = prof::ThreadId(1)});
  const auto host = analyse(builder.build());
  ASSERT_TRUE(host);
  EXPECT_EQ(host->of<StretchesWithoutDevices>().before.ns + host->of<StretchesWithoutDevices>().after.ns, 0);
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
  EXPECT_THAT(renderHtml(analysis), HasSubstr("Steps: 3 of "));
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
  const RunPlan plan{.ranks = 2, .syncEachStep = true, .pageableCopyNs = 1'000'000, .collectiveNs = 500'000};
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
    EXPECT_EQ(2 * one.of<OperatorTables>().byName[i].count, both.of<OperatorTables>().byName[i].count);
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

TEST(Report, ADeviceOfAnotherRankIsToldFromOneThatDidNoWork) {
  AnalysisOptions options;
  options.device = "cuda:1";
  options.rank = 0;
  EXPECT_THAT(analyse(test::makeRun({.ranks = 2}), options).error().message,
              testing::EndsWith("no device 'cuda:1' of rank 0 did any work here; there is: rank 0 on cuda:0, rank 1 on "
                                "cuda:1"));
}

TEST(Report, StepsThatAreNoneSayWhy) {
  AnalysisOptions options;
  options.steps = {2, 1};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message,
              HasSubstr("steps 2:1 are none: the first is behind"));
  options.steps = {0, 0};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message, HasSubstr("steps 0:0 are none: the second number"));
  options.steps = {0, 5000};
  EXPECT_THAT(analyse(test::makeRun({}), options).error().message, HasSubstr("steps 0:5000 are not there; it has"));
}

TEST(Report, EmptyTraceIsAnError) {
  EXPECT_FALSE(analyse(StoreBuilder().build()));
}

TEST(JsonWriter, EscapesAndReplacesWhatIsNoText) {
  JsonWriter json;
  EXPECT_EQ(json.beginArray().value("a\"\\\n\xff\xc3\xa9").endArray().take(),
            "[\n  \"a\\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\"\n]\n");
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

TEST(Compare, WhatLiesOutsideOfTheStepsIsInNoFigurePerStep) {
  const RunPlan few{.steps = 10, .syncEachStep = true, .setupKernels = 400, .setupCopyNs = 30'000'000};
  RunPlan many = few;
  many.steps = 20;
  EXPECT_THAT(worse(many, few), testing::IsEmpty());
  EXPECT_THAT(worse(few, many), testing::IsEmpty());
  for (const Comparison& row : compareKernels(analysed(many), analysed(few))) EXPECT_FALSE(row.worse()) << row.what;
  for (const Comparison& row : compareOperators(analysed(many), analysed(few))) EXPECT_FALSE(row.worse()) << row.what;
}

TEST(Compare, WorkOfAStepCountsWhereverTheDeviceDoesIt) {
  // The queue is two steps behind its host, so that most work of the chosen steps runs behind them.
  AnalysisOptions options;
  options.steps = {4, 8};
  const Analysis analysis = analysed({}, options);
  EXPECT_EQ(analysis.of<LaunchStats>().stepLaunches, 4U * 41);
}

TEST(Compare, CountsMayDifferAsFarAsThoseOfTheBaselinesRunsDo) {
  const auto kernels = [](int now, std::span<const Analysis> noise) {
    const auto rows = compareRuns(analysed({.operators = 40}), analysed({.operators = now}), noise);
    return rows.front().worse();
  };
  std::vector<Analysis> noise;
  noise.push_back(analysed({.operators = 42}));
  noise.push_back(analysed({.operators = 39}));
  EXPECT_TRUE(kernels(42, {}));
  EXPECT_FALSE(kernels(42, noise));
  EXPECT_TRUE(kernels(43, noise));
}

TEST(Compare, OneRunOfNoiseWidensTheThreshold) {
  const RunPlan usual{.steps = 20, .syncEachStep = true};
  RunPlan slower = usual;
  slower.kernelNs = 130'000;
  const std::vector<Analysis> noise = [&] {
    std::vector<Analysis> runs;
    runs.push_back(analysed(slower));
    return runs;
  }();
  const auto step = [](const std::vector<Comparison>& rows) {
    return *std::find_if(rows.begin(), rows.end(), [](const Comparison& row) { return row.what == "step time"; });
  };
  const Analysis before = analysed(usual);
  EXPECT_TRUE(step(compareRuns(before, analysed(slower))).worse());
  EXPECT_FALSE(step(compareRuns(before, analysed(slower), noise)).worse());
}

TEST(RunDiff, NumbersInTheNamesOfStepsArePartOfNoPath) {
  const RunPlan fast{.steps = 20, .numberedSteps = true};
  RunPlan slow = fast;
  slow.kernelNs = 150'000;
  const auto diff = diffRuns(analysed(fast), analysed(slow));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, diff->pathsBefore);
  ASSERT_FALSE(diff->tree.empty());
  EXPECT_EQ(diff->tree.front().verdict, DiffVerdict::Slower);
  EXPECT_THAT(diff->tree.front().path, Not(HasSubstr("batch")));
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

/// Ten steps of 1 ms on the CPU, in a function of Python that lasts from before the first to behind the last; an
/// operator of `operatorNs` in each.
Analysis inPython(prof::TimeNs operatorNs, bool frames, const char* module, const char* method) {
  using namespace prof;
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  const auto range = [&](TimeNs start, TimeNs dur, const char* category, const std::string& name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(1),
                         .category = builder.intern(category),
                         .name = builder.intern(name)});
  };
  if (frames) range(0, 12'000'000, "python_function", module);
  for (int i = 0; i < 10; ++i) {
    const TimeNs start = 1'000'000 * (i + 1);
    range(start, 1'000'000, "user_annotation", "ProfilerStep#" + std::to_string(i));
    // What it calls may end behind it, by as much as clocks are read late.
    if (frames) range(start + 100'000, operatorNs, "python_function", method);
    range(start + 100'001, operatorNs + 1'000, "cpu_op", "aten::relu");
  }
  return *analyse(builder.build());
}

TEST(RunDiff, ARangeThatOutlivesAStepHasItsPartInEach) {
  const auto diff = diffRuns(inPython(200'000, true, "train.py(3): <module>", "f"),
                             inPython(500'000, true, "train.py(3): <module>", "f"));
  ASSERT_TRUE(diff);
  ASSERT_EQ(diff->tree.size(), 2U);
  EXPECT_EQ(diff->tree[0].path, "train.py: <module>");
  EXPECT_EQ(diff->tree[0].before.medianNs, 800'000);
  EXPECT_EQ(diff->tree[0].after.medianNs, 500'000);
  EXPECT_EQ(diff->tree[1].path, "train.py: <module> > f > aten::relu");
}

TEST(RunDiff, LinesAndAddressesInNamesMakeNoOtherPlace) {
  const auto diff =
      diffRuns(inPython(200'000, true, "train.py(3): <module>", "<built-in method relu of object at 0x7ffa3c753490>"),
               inPython(500'000, true, "train.py(8): <module>", "<built-in method relu of object at 0x7f0000000000>"));
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->pathsCommon, 3U);
  EXPECT_EQ(diff->pathsBefore, 3U);
  EXPECT_EQ(diff->pathsAfter, 3U);
}

TEST(RunDiff, StacksOfOneRunAloneAreLeftOut) {
  const auto diff = diffRuns(inPython(200'000, false, "", ""), inPython(500'000, true, "train.py(3): <module>", "f"));
  ASSERT_TRUE(diff);
  EXPECT_TRUE(diff->framesLeftOut);
  ASSERT_EQ(diff->tree.size(), 1U);
  EXPECT_EQ(diff->tree[0].path, "aten::relu");
  EXPECT_EQ(diff->tree[0].changeNs, 300'000);
}

TEST(RunDiff, WithoutStepsIsOfTheWholeRun) {
  const Analysis stepped = analysed({});
  const Analysis whole = analysed({.steps = 1, .stepsMarked = false});
  ASSERT_TRUE(whole.steps.all.empty());
  const RunDiff neither = *diffRuns(whole, whole);
  EXPECT_EQ(neither.step.path, "run");
  EXPECT_FALSE(neither.stepsBefore || neither.stepsAfter);
  EXPECT_EQ(neither.step.before.medianNs, whole.window.endNs - whole.window.startNs);
  const RunDiff one = *diffRuns(stepped, whole);
  EXPECT_EQ(one.step.path, "step");
  EXPECT_TRUE(one.stepsBefore);
  EXPECT_FALSE(one.stepsAfter);
}

TEST(Report, WithoutStepsFiguresAreInAll) {
  const Analysis whole = analysed({.steps = 1, .batchNs = 20'000'000, .workers = 0, .stepsMarked = false});
  std::string text = renderText(whole, {{}, 140, false});
  for (const char* section : {"launches", "loader", "memory", "findings", "sequences"})
    text += renderText(whole, {{section}, 140, false});
  EXPECT_THAT(text, HasSubstr("in all"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, Not(HasSubstr(" a step")));
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
