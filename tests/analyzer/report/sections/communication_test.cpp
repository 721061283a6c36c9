// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/ranks/communication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "analyses/ranks/ranks.h"
#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CommunicationSection, CollectivesAreDistinguishableInANarrowTerminal) {
  Analysis analysis = analysed(kSlow);
  CollectiveRow row;
  row.communicator = "default_pg";
  row.count = 1;
  row.totalNs = row.bytesNs = analysis.of<CommunicationStats>().totalNs = 1'000;
  row.bytes = 4'096;
  for (const char* name : {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
                           "ncclDevKernel_Broadcast_RING_LL()"}) {
    row.name = name;
    analysis.of<CommunicationStats>().collectives.push_back(row);
  }
  const std::string narrow = renderText(analysis, {{"communication"}, 80, false});
  EXPECT_THAT(narrow, HasSubstr("default_pg: AllReduce"));
  EXPECT_THAT(narrow, HasSubstr("default_pg: Broadcast"));
  EXPECT_THAT(renderText(analysis, {{"communication"}, 140, false}),
              HasSubstr("default_pg: ncclKernel_AllReduce"));
}

/// The column after `text` in a line, 0 where it is not in it.
std::ptrdiff_t endOf(std::string_view line, std::string_view text) {
  const std::size_t at = line.find(text);
  if (at == std::string_view::npos) return 0;
  return std::ranges::count_if(line.substr(0, at + text.size()),
                               [](char c) { return (c & 0xC0) != 0x80; });
}

TEST(CommunicationSection, CollectivesAndRanksStandInColumnsWhateverRecordingCost) {
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
    EXPECT_EQ(endOf(collective, "12.3 ms"), endOf(collectives, "exposed")) << width << '\n'
                                                                           << collective;
    EXPECT_EQ(endOf(rank, "21.4 ms"), endOf(ranks, "behind")) << width << '\n' << rank;
    EXPECT_EQ(endOf(band, "±10 %"), endOf(ranks, "behind")) << width << '\n' << band;
  }
}

TEST(CommunicationSection, CountsTheCollectivesOfAllRanks) {
  const Analysis analysis =
      analysed({.steps = 12, .ranks = 2, .collectiveNs = 500'000, .lateNs = 2'000'000});
  // In each of 12 steps the last rank takes 0.5 ms, and the other one 2 ms more.
  const Table collectives = reportTable(analysis, "collectives");
  ASSERT_EQ(collectives.rows.size(), 1U);
  EXPECT_THAT(cellsOf(collectives, 0, {"name", "count", "total_ns"}),
              ElementsAre("ncclDevKernel_AllReduce", "24", "36.0 ms"));
  EXPECT_EQ(jsonAt(analysis, "/communication/total_ns"), "36000000");
  EXPECT_THAT(sectionText(analysis, "communication"),
              ContainsRegex("\n 36\\.0 ms in all, [0-9.]+ % of it exposed\n"));
}

/// Collectives take 30 ms; 12 ms are exposed.
Analysis withCollectives() {
  Analysis analysis = withSteps(10);
  CommunicationStats& stats = analysis.of<CommunicationStats>();
  stats.totalNs = 40'000'000;
  stats.exposedNs = 12'000'000;
  CollectiveRow& whole = stats.collectives.emplace_back();
  whole.name = "ncclDevKernel_AllReduce";
  whole.communicator = "world";
  whole.kind = "all_reduce";
  whole.ranks = 8;
  whole.count = 24;
  whole.totalNs = whole.bytesNs = whole.algorithmNs = whole.busNs = 30'000'000;
  whole.exposedNs = 12'000'000;
  whole.bytes = 300'000'000;
  whole.algorithmBytes = 600'000'000;
  whole.busBytes = 900'000'000;
  CollectiveRow& put = stats.collectives.emplace_back();
  put.name = "ncclDevKernel_SendRecv";
  put.count = 3;
  put.totalNs = put.bytesNs = 10'000'000;
  put.bytes = 100'000'000;
  return analysis;
}

TEST(CommunicationSection, RatesAreOfTheWholeBuffersWhereTheirSizeIsKnown) {
  const Analysis analysis = withCollectives();
  const std::string text = sectionText(analysis, "communication");
  // 12 of 40 ms; 600 and 900 MB in 30 ms; 100 MB in 10 ms.
  EXPECT_THAT(text, HasSubstr("\n 40.0 ms in all, 30.0 % of it exposed\n"));
  EXPECT_THAT(
      text,
      ContainsRegex(
          "world: ncclDevKernel_AllReduce +24 +30\\.0 ms +12\\.0 ms  20\\.0 GB/s  30\\.0 GB/s\n"));
  EXPECT_THAT(text, ContainsRegex(" ncclDevKernel_SendRecv +3 +10\\.0 ms +0 ns  10\\.0 GB/s\n"));
  EXPECT_THAT(cellsOf(reportTable(analysis, "collectives"), 0,
                      {"communicator", "kind", "ranks", "exposed_ns", "algorithm_ns"}),
              ElementsAre("world", "all_reduce", "8", "12.0 ms", "30.0 ms"));
  EXPECT_EQ(jsonAt(analysis, "/communication/exposed_ns"), "12000000");
  EXPECT_EQ(jsonAt(analysis, "/communication/collectives/0/algorithm_bytes"), "600000000");
  EXPECT_EQ(jsonAt(analysis, "/communication/collectives/1/count"), "3");
}

TEST(CommunicationSection, ShowsTheShareOfTimeThatRanksWait) {
  Analysis analysis = withCollectives();
  RankStats& ranks = analysis.of<RankStats>();
  ranks.matched = 2;
  ranks.unmatched = 1;
  ranks.imbalance = 0.05;
  ranks.rows.resize(2);
  ranks.rows[0] = {.rank = 0,
                   .device = "cuda:0",
                   .waitNs = 9'000'000,
                   .transferNs = 15'000'000,
                   .computeNs = 50'000'000};
  ranks.rows[1] = {.rank = 1,
                   .device = "cuda:1",
                   .waitNs = 1'000'000,
                   .transferNs = 15'000'000,
                   .last = 2,
                   .heldUpNs = 9'000'000};
  const std::string text = withoutBreaks(sectionText(analysis, "communication"));
  // 10 of 40 ms.
  EXPECT_THAT(text, HasSubstr("2 collectives of 2 ranks matched (1 call not): 25.0 % of the time "
                              "in them is waiting for the last rank; compute differs by 5.0 %"));
  EXPECT_THAT(sectionText(analysis, "communication"),
              AllOf(ContainsRegex("\n    0  cuda:0 +9\\.00 ms +15\\.0 ms +0× +0 ns +50\\.0 ms\n"),
                    ContainsRegex("\n    1  cuda:1 +1\\.00 ms +15\\.0 ms +2× +9\\.00 ms +0 ns\n")));
  EXPECT_EQ(jsonAt(analysis, "/communication/matched"), "2");
  EXPECT_EQ(jsonAt(analysis, "/communication/imbalance"), "0.05");
  EXPECT_EQ(jsonAt(analysis, "/communication/ranks/1/behind_ns"), "9000000");
  EXPECT_EQ(jsonAt(analysis, "/communication/ranks/1/last"), "2");
}

TEST(CommunicationSection, WithoutCollectivesStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "communication"),
            "\nCommunication\n the trace holds nothing of it\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/communication/total_ns"), "0");
  EXPECT_EQ(jsonAt(withoutResults(), "/communication/collectives"), "[]");
  EXPECT_EQ(jsonAt(withoutResults(), "/communication/ranks"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
