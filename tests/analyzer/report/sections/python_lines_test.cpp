// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/python_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;
using testing::Not;

PythonLine line(const std::string& place, const std::string& function, std::int64_t ns,
                std::uint64_t samples) {
  PythonLine line;
  line.place = place;
  line.function = function;
  line.file = "/home/me/" + place.substr(0, place.find(':'));
  line.ns = line.hostNs = line.idleNs = ns;
  line.samples = line.idleSamples = samples;
  return line;
}

Analysis withLines() {
  Analysis analysis = analysed({});
  PythonLines& lines = analysis.of<PythonLines>();
  lines.step = {line("train.py:42", "metrics", 4'100'000, 80),
                line("train.py:57", "log", 300'000, 6)};
  lines.step[0].inside = "numpy sort";
  lines.step[0].phase = "forward";
  lines.workers = {line("data.py:7", "__getitem__", 9'000'000, 200)};
  lines.before = {line("train.py:5", "build", 1'500'000'000, 150)};
  return analysis;
}

TEST(PythonSection, HasALineOfTextForEachLineOfCode) {
  const std::string text = renderText(withLines(), {{"python"}, 100, false});
  EXPECT_THAT(text,
              HasSubstr(" 4.10 ms  own work  forward  train.py:42 in metrics → numpy sort\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  300 µs  own work           train.py:57 in log                   few samples\n"));
  EXPECT_THAT(text, HasSubstr(" 9.00 ms  data.py:7 in __getitem__\n"));
  EXPECT_THAT(text, HasSubstr(" 1.50 s  train.py:5 in build\n"));
}

TEST(PythonSection, IsOneOfTheTables) {
  const Table table = reportTable(withLines(), "python_lines");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.text(0, table.columnOf("place")), "train.py:42");
  EXPECT_EQ(table.text(0, table.columnOf("idle_ns")), "4.10 ms");
  EXPECT_EQ(reportTable(withLines(), "python_worker_lines").rows.size(), 1u);
  EXPECT_EQ(reportTable(withLines(), "python_setup_lines").rows.size(), 1u);
  EXPECT_THAT(renderJson(withLines()), HasSubstr("\"inside\": \"numpy sort\""));
  EXPECT_THAT(renderHtml(withLines()), HasSubstr("numpy sort"));
}

TEST(PythonSection, WithoutSamplesNamesTheRemedy) {
  EXPECT_THAT(renderText(analysed({}), {{"python"}, 100, false}),
              HasSubstr("lacuna run looks where Python programs are"));
  EXPECT_THAT(renderText(analysed({}), {{}, 100, false}), Not(HasSubstr("Lines of Python")));
}

TEST(CausesSection, NamesLinesBehindTheHostsWork) {
  Analysis analysis = analysed({.hostPauseNs = 4'000'000});
  analysis.of<PythonLines>().step = {line("train.py:42", "metrics", 3'900'000, 80)};
  EXPECT_THAT(
      renderText(analysis, {{"causes"}, 100, false}),
      HasSubstr("  a step  line of Python, in host work\n 3.90 ms  train.py:42 in metrics\n"));
}

TEST(LedgerSection, NamesLinesBeforeTheFirstStep) {
  Analysis analysis = analysed({});
  UnknownPlaces& places = analysis.of<UnknownPlaces>();
  places.beforeNs = analysis.ledgers.run.totalNs();
  analysis.ledgers.run.add(Cause::Unknown, places.beforeNs);
  analysis.of<PythonLines>().before = {line("train.py:5", "build", 9'000'000, 90),
                                       line("train.py:6", "build", 1'000'000, 9)};
  EXPECT_THAT(renderText(analysis, {{"ledger"}, 120, false}),
              HasSubstr("(90.0 % at train.py:5 in build)"));
}

}  // namespace
}  // namespace lacuna::analyzer
