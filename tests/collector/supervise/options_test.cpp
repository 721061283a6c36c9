// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lacuna::collector {
namespace {

TEST(Options, SizesHaveUnits) {
  EXPECT_EQ(*parseBytes("256M"), 256ull << 20);
  EXPECT_EQ(*parseBytes("1.5GiB"), 3ull << 29);
  EXPECT_EQ(*parseBytes("65536"), 65536u);
  EXPECT_FALSE(parseBytes("12parsecs"));
  EXPECT_FALSE(parseBytes("-1M"));
  EXPECT_FALSE(parseBytes(""));
}

TEST(Options, DurationsHaveUnits) {
  EXPECT_EQ(*parseDuration("90"), 90'000'000'000);
  EXPECT_EQ(*parseDuration("500ms"), 500'000'000);
  EXPECT_EQ(*parseDuration("1.5m"), 90'000'000'000);
  EXPECT_FALSE(parseDuration("soon"));
  EXPECT_FALSE(parseDuration("1e30s"));
}

TEST(Options, SourcesAreOnlyThoseNamed) {
  const auto sources = *parseSources("cuda, cublas");
  EXPECT_TRUE(sources.cuda);
  EXPECT_TRUE(sources.cublas);
  EXPECT_TRUE(sources.nvtx) << "cuBLAS speaks through NVTX";
  EXPECT_FALSE(sources.cudnn);
  EXPECT_FALSE(parseSources("none")->nvtx);
  EXPECT_TRUE(parseSources("all")->cusolver);
}

TEST(Options, UnknownWordsAreNamedWithTheKnownOnes) {
  const auto sources = parseSources("nvtx,cudda");
  ASSERT_FALSE(sources);
  EXPECT_NE(sources.error().message.find("cudda"), std::string::npos);
  EXPECT_NE(sources.error().message.find("cublas"), std::string::npos);
  EXPECT_FALSE(parseDumpOn("never"));
  EXPECT_TRUE(parseDumpOn("crash,signal")->signal);
}

TEST(Options, ListsWithEmptyPlacesAreRefused) {
  for (const char* list : {"", ",", " ", "nvtx,", ",nvtx", "nvtx,,cuda", "nvtx, ,cuda"}) {
    const auto sources = parseSources(list);
    ASSERT_FALSE(sources) << list;
    EXPECT_NE(sources.error().message.find("--trace"), std::string::npos)
        << sources.error().message;
  }
  for (const char* list : {"", ",", "crash,", "crash,,signal"}) {
    const auto when = parseDumpOn(list);
    ASSERT_FALSE(when) << list;
    EXPECT_NE(when.error().message.find("--dump-on"), std::string::npos) << when.error().message;
  }
}

TEST(Options, AStepIsSlowByANumberOfDeviations) {
  RunOptions options;
  EXPECT_TRUE(checkOptions(options).ok());
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    options.slowDeviations = none;
    EXPECT_FALSE(checkOptions(options).ok()) << none;
  }
}

}  // namespace
}  // namespace lacuna::collector
