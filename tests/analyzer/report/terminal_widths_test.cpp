// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Every section, of planted and of random traces, in terminals of usual widths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/ranks/communication.h"
#include "analyses/work/efficiency.h"
#include "analyses/work/kernels.h"
#include "analyses/work/python_lines.h"
#include "analyzer/report/report_text.h"
#include "analyzer/report/rich_plan.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/analyzer/text_table.h"
#include "support/analysed_run.h"
#include "support/random_store.h"

namespace lacuna::analyzer {
namespace {

constexpr int kWidths[]{60, 80, 120};

/// A run with all that a report has columns for, each with what recording cost.
Analysis plantedRun() {
  Analysis analysis = analysed(
      test::richPlan("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>"));
  for (KernelRow& row : analysis.of<KernelTable>()) row.recordingNs = row.totalNs / 30;
  for (CollectiveRow& row : analysis.of<CommunicationStats>().collectives)
    row.recordingNs = row.totalNs / 7;
  for (std::vector<OperatorRow>* rows :
       {&analysis.of<OperatorTables>().byName, &analysis.of<OperatorTables>().byShapes}) {
    for (OperatorRow& row : *rows) row.recordingNs = row.deviceRecordingNs = row.totalNs / 9;
  }
  RooflineRow roof;
  roof.name = "aten::convolution_backward";
  roof.shapes = "f32[64,128,56,56] f32[128,128,3,3]";
  roof.deviceNs = 45'600'000;
  roof.recordingNs = 1'230'000;
  roof.demand.flops = 1e11;
  roof.demand.bytes = 1e9;
  roof.ofRoof = 0.123;
  analysis.of<EfficiencyStats>().rows = {roof, roof};
  PythonLine line;
  line.place = "torch_training.py:239";
  line.function = "Training.after.<locals>.<lambda>";
  line.inside = "importlib.import_module";
  line.phase = "optimizer";
  line.ns = 48'900'000;
  line.samples = 3;
  analysis.of<PythonLines>().step = analysis.of<PythonLines>().before = {line, line};
  return analysis;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string allSectionsOf(const Analysis& analysis, int width) {
  const std::vector<std::string> sections(reportSections().begin(), reportSections().end());
  return renderText(analysis, {{}, width, false}) + renderText(analysis, {sections, width, false});
}

TEST(TerminalWidths, NoLineOfAPlantedRunIsLongerThanTheTerminal) {
  const Analysis analysis = plantedRun();
  for (const int width : kWidths) {
    for (const std::string& line : linesOf(allSectionsOf(analysis, width)))
      EXPECT_LE(columns(line), width) << line;
  }
}

TEST(TerminalWidths, NoLineOfARandomTraceIsLongerThanTheTerminal) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto analysis = analyse(test::randomStore(seed));
    ASSERT_TRUE(analysis.ok());
    for (const int width : kWidths) {
      for (const std::string& line : linesOf(allSectionsOf(*analysis, width)))
        ASSERT_LE(columns(line), width) << "seed " << seed << '\n' << line;
    }
  }
}

/// The headings of all sections' tables as they read where there is room for everything.
const char* const kHeadings[]{"operator and shapes", "name and shapes", "kernels in order",
                              "tensor (operator)", "collective"};

/// A heading is shown whole, or the text has no beginning of it that ends in "…".
TEST(TerminalWidths, NoHeadingIsCut) {
  const Analysis analysis = plantedRun();
  for (const int width : kWidths) {
    const std::string text = allSectionsOf(analysis, width);
    for (const std::string heading : kHeadings) {
      EXPECT_GE(countOf(text, heading), 1U) << width << ' ' << heading;
      for (std::size_t end = 4; end < heading.size(); ++end)
        EXPECT_EQ(countOf(text, heading.substr(0, end) + "…"), 0U) << width << ' ' << heading;
    }
  }
}

/// Columns, from 1, in which the cells of a line end. A ± stands beside its figure.
std::vector<int> endsOf(std::string line) {
  for (std::size_t at = 0; (at = line.find(" ±", at)) != std::string::npos;) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    line.replace(at, end - at,
                 std::string(static_cast<std::size_t>(columns(line.substr(at, end - at))), ' '));
  }
  std::vector<int> ends;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size();
       at = line.find_first_not_of(' ', at)) {
    at = std::min(line.find("  ", at), line.size());
    ends.push_back(columns(line.substr(0, at)));
  }
  return ends;
}

/// Each row's last figure ends where the last heading does: no row was broken over lines or
/// squeezed.
TEST(TerminalWidths, FiguresStandBelowTheirHeadings) {
  const Analysis analysis = plantedRun();
  for (const int width : kWidths) {
    for (const char* section :
         {"kernels", "operators", "efficiency", "communication", "sequences", "memory"}) {
      const std::vector<std::string> lines =
          linesOf(renderText(analysis, {{section}, width, false}));
      const auto heading = std::ranges::find_if(lines, [](const std::string& line) {
        return std::ranges::any_of(
                   kHeadings,
                   [&](std::string_view one) { return line.find(one) != std::string::npos; }) ||
               line.starts_with(" name ");
      });
      ASSERT_NE(heading, lines.end()) << section << width;
      ASSERT_NE(heading + 1, lines.end()) << section << width;
      const auto ends = endsOf(*heading), below = endsOf(heading[1]);
      EXPECT_EQ(ends.size(), below.size()) << section << ' ' << width << '\n'
                                           << *heading << '\n'
                                           << heading[1];
      EXPECT_EQ(ends.back(), below.back()) << section << ' ' << width << '\n'
                                           << *heading << '\n'
                                           << heading[1];
    }
  }
}

/// What a narrow terminal has no room for is named, and the width named is enough.
TEST(TerminalWidths, AColumnThatHasNoRoomIsNamedWithTheWidthThatItNeeds) {
  const Analysis analysis = plantedRun();
  const std::string narrow = withoutBreaks(renderText(analysis, {{"operators"}, 60, false}));
  const std::size_t at = narrow.find("with --width ");
  ASSERT_NE(at, std::string::npos) << narrow;
  EXPECT_NE(narrow.find("host self", at), std::string::npos);
  EXPECT_EQ(narrow.find("host self"), narrow.find("host self", at));
  const int width = std::stoi(narrow.substr(at + 13));
  EXPECT_EQ(renderText(analysis, {{"operators"}, width, false}).find("with --width"),
            std::string::npos);
  EXPECT_NE(renderText(analysis, {{"operators"}, width - 1, false}).find("with --width"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna::analyzer
