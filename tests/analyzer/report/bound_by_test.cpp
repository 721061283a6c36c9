// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

TEST(Report, ShowsQueuesRangesAndTheBottleneck) {
  const Analysis analysis = analysed({.batchNs = 20'000'000, .workers = 0});
  EXPECT_THAT(renderText(analysis, {{"launches"}, 100, false}), testing::HasSubstr("waiting in"));
  EXPECT_THAT(renderText(analysis, {{"ranges"}, 100, false}), testing::HasSubstr("Optimizer.step"));
  EXPECT_THAT(renderText(analysis, {{"ledger"}, 100, false}),
              testing::HasSubstr("bound by: input (8"));
  EXPECT_THAT(renderHtml(analysis), testing::HasSubstr("bound by: input (8"));
  const std::string json = renderJson(analysis);
  for (const char* key : {"\"queue_lengths\"", "\"projected_ranges\"", "\"bottleneck\"",
                          "\"bound_by\": \"input\"", "\"samples_per_second\": 0"})
    EXPECT_THAT(json, testing::HasSubstr(key));
}

TEST(Report, OmitsBottlenecksOfNoTime) {
  const auto lineOf = [](const Analysis& analysis) {
    const std::string text = renderText(analysis, {{"ledger"}, 100, false});
    const std::size_t at = text.find("bound by: ");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_THAT(lineOf(analysed({.batchNs = 20'000'000, .workers = 0})),
              testing::MatchesRegex("bound by: input \\([0-9.]+ % of a step\\)"));
  EXPECT_THAT(lineOf(analysed({.pageableCopyNs = 500'000, .hostPauseNs = 3'000'000})),
              testing::MatchesRegex(
                  "bound by: host \\([0-9.]+ % of a step\\); also copy [0-9.]+ % \\(moderate\\)"));
}

}  // namespace
}  // namespace lacuna::analyzer
