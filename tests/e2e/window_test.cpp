// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;

/// Ranges and processes around whose beginning or end the recording is switched, or goes another way.
class WindowTest : public RunTest {
 protected:
  struct Span {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
  };

  int window(const std::string& options, const std::string& mode) {
    return WEXITSTATUS(shell("export LACUNA=" + program("lacuna") + "; exec " + program("lacuna") +
                             " run -q -o out.lcn " + options + " -- " + program("window_program") + " " + mode +
                             " 2>stderr.txt"));
  }

  std::map<std::string, Span> spans() const {
    std::map<std::string, Span> spans;
    std::ifstream file(folder_ / "spans.txt");
    std::string name;
    for (Span span; file >> name >> span.startNs >> span.endNs;) spans[name] = span;
    return spans;
  }

  /// Each range that the program has written down lies where it says.
  void expectRangesWhereTheyWere(const Reader& reader) {
    constexpr std::int64_t kClocksDiffer = 1'000'000;
    const auto known = spans();
    const auto ranges = *reader.table<prof::Range>();
    for (std::size_t i = 0; i < ranges.name.size(); ++i) {
      const auto span = known.find(std::string(reader.text(ranges.name[i])));
      if (span == known.end()) continue;
      EXPECT_GE(ranges.startNs[i], span->second.startNs - kClocksDiffer) << span->first;
      EXPECT_LE(ranges.startNs[i] + ranges.durNs[i], span->second.endNs + kClocksDiffer) << span->first;
      EXPECT_EQ(ranges.flags[i] & (prof::kNoStart | prof::kUnfinished), 0) << span->first;
    }
  }
};

TEST_F(WindowTest, ARangeAcrossAStopEndsWhenItEnded) {
  ASSERT_EQ(window("", "stops"), 0) << said();
  const Reader reader = trace();
  expectRangesWhereTheyWere(reader);
  EXPECT_EQ(rangesOf(reader), (std::map<std::string, int>{{"begun-on", 1},
                                                          {"base", 1},
                                                          {"on-in-off", 1},
                                                          {"innermost", 1},
                                                          {"sibling", 1},
                                                          {"last-in-base", 1},
                                                          {"anywhere", 1},
                                                          {"after", 1}}));
}

TEST_F(WindowTest, RangesAcrossTheEndsOfCaptureWindowsKeepTheirLength) {
  ASSERT_EQ(window("--capture-range CAP", "captures"), 0) << said();
  const Reader reader = trace();
  expectRangesWhereTheyWere(reader);
  const auto counts = rangesOf(reader);
  ASSERT_EQ(counts.count("CAP"), 1u);
  EXPECT_EQ(counts.at("CAP"), 10);
  EXPECT_GT(counts.size(), 2u) << "the other thread was there";
}

}  // namespace
}  // namespace lacuna
