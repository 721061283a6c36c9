// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/text.h"

#include <gtest/gtest.h>

#include "timeline/palette.h"

namespace lacuna::gui {
namespace {

TEST(Text, NothingAtAnAxisHasNoUnit) {
  EXPECT_EQ(axisText(0), "0");
  EXPECT_EQ(axisText(20'000'000), "20.0 ms");
}

TEST(Text, MomentsSeparateNeighbours) {
  EXPECT_EQ(momentText(1'500'000'000, 100'000'000), "1.5 s");
  EXPECT_EQ(momentText(1'500'000'000, 1'000'000), "1.500 s");
  EXPECT_EQ(momentText(20'000, 10'000), "20 µs");
  EXPECT_EQ(momentText(0, 1'000'000), "0 ms");
}

TEST(Text, StepsGoByTheTracesOwnNumbers) {
  const auto steps = [](std::initializer_list<const char*> names) {
    std::vector<analyzer::Step> all;
    for (const char* name : names) all.push_back({.index = all.size(), .name = name});
    return all;
  };
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(stepNumbers(steps({"ProfilerStep#1009", "ProfilerStep#1010"})), (Numbers{1009, 1010}));
  EXPECT_EQ(stepNumbers(steps({"step 3", "step 5"})), (Numbers{3, 5}));
  EXPECT_EQ(stepNumbers(steps({"batch of 32", "batch of 32"})), (Numbers{0, 1}));
  EXPECT_EQ(stepNumbers(steps({"train", "train"})), (Numbers{0, 1}));
  EXPECT_EQ(stepNumbers(steps({"step 99999999999999999999999"})), (Numbers{0}));
  EXPECT_EQ(stepText(steps({"ProfilerStep#1009"})[0], 1009), "ProfilerStep#1009");
  EXPECT_EQ(stepText(steps({"train"})[0], 4), "train 4");
}

TEST(Text, KernelNamesLoseTheirTemplates) {
  EXPECT_EQ(shortName("void at::native::(anonymous namespace)::relu_kernel<float, 4>(int, float*)"),
            "relu_kernel");
  EXPECT_EQ(shortName("aten::conv2d"), "aten::conv2d");
  EXPECT_EQ(shortName("sm80_xmma_gemm_f32"), "sm80_xmma_gemm_f32");
  EXPECT_EQ(shortName("void cub::DeviceScan<int>::run<a<b>>(c)"), "run");
}

TEST(Ticks, AreRoundAndFarEnoughApart) {
  const Viewport view({1'000'003, 1'000'003 + 987'654'321});
  const auto marks = ticks(view, 1920, 100);
  ASSERT_GT(marks.size(), 5u);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    EXPECT_EQ((marks[i].timeNs - 1'000'003) % 10'000'000, 0);
    EXPECT_TRUE(i == 0 || marks[i].x - marks[i - 1].x >= 99);
    EXPECT_TRUE(i == 0 || marks[i].label != marks[i - 1].label);
  }
}

TEST(Palette, DigitsDoNotChangeAColour) {
  EXPECT_EQ(nameColour("step 12", true), nameColour("step 7", true));
  EXPECT_NE(nameColour("forward", true), nameColour("backward", true));
}

TEST(Palette, InkContrastsWithItsGround) {
  EXPECT_EQ(inkOn(0xFFFFFFFF), 0xFF10141A);
  EXPECT_EQ(inkOn(0xFF000000), 0xFFFFFFFF);
}

TEST(Text, ValuesOfCountersCarryTheirUnit) {
  EXPECT_EQ(valueText(2048, "bytes/s"), "2.05 kB/s");
  EXPECT_EQ(valueText(297.7, "1/s"), "297.7/s");
  EXPECT_EQ(valueText(41.68, "percent of a core"), "41.68 % of a core");
  EXPECT_EQ(valueText(12, "percent"), "12 %");
  EXPECT_EQ(valueText(3, "requests"), "3 requests");
}

}  // namespace
}  // namespace lacuna::gui
