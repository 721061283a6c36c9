// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = TextColumn::Kind;

TextTable kernelTable() {
  TextTable table(
      {{"name", Kind::Name}, {"count"}, {"total"}, {"±", Kind::Band}, {"mean", Kind::Figure, 1}});
  table.add({"gemm", "12", "116 ms", "±0.8 %", "9.67 ms"});
  table.add({"vectorized_elementwise_kernel", "3", "1.20 ms", "±10 %", "400 µs"});
  return table;
}

TEST(TextTable, ColumnsAreAsWideAsTheirContent) {
  const TextTable::Layout layout = kernelTable().inColumns(80);
  EXPECT_EQ(layout.heading, " name                           count    total ±          mean");
  EXPECT_THAT(layout.rows,
              ElementsAre(" gemm                              12   116 ms ±0.8 %  9.67 ms",
                          " vectorized_elementwise_kernel      3  1.20 ms ±10 %    400 µs"));
  EXPECT_THAT(layout.leftOut, IsEmpty());
}

TEST(TextTable, ColumnsOfTheGreatestRankGiveWayToNames) {
  const TextTable::Layout layout = kernelTable().inColumns(54);
  EXPECT_EQ(layout.heading, " name                           count    total ±");
  EXPECT_THAT(layout.leftOut, ElementsAre("mean"));
  EXPECT_THAT(kernelTable().inColumns(layout.wholeWidth).leftOut, IsEmpty());
  EXPECT_THAT(kernelTable().inColumns(layout.wholeWidth - 1).leftOut, ElementsAre("mean"));
}

TEST(TextTable, AFigureGoesWithItsBand) {
  TextTable table({{"name", Kind::Name}, {"total", Kind::Figure, 1}, {"±", Kind::Band}, {"count"}});
  table.add({"a_kernel_of_more_than_a_few_columns", "116 ms", "±0.8 %", "12"});
  EXPECT_EQ(table.inColumns(40).heading, " name                              count");
}

TEST(TextTable, NamesAreShortenedBetweenTheirParts) {
  EXPECT_THAT(kernelTable().inColumns(38).rows,
              ElementsAre(" gemm               12   116 ms ±0.8 %",
                          " vectorized_…        3  1.20 ms ±10 %"));
}

TEST(TextTable, AColumnWithoutContentIsLeftOut) {
  TextTable table({{"name", Kind::Name}, {"count"}, {"±", Kind::Band}});
  table.add({"gemm", "12", ""});
  EXPECT_EQ(table.inColumns(80).heading, " name  count");
}

TEST(TextTable, PathsKeepTheirEnd) {
  TextTable table({{"change"}, {"place", Kind::Path}});
  table.add({"+5.02 ms", "Training.step > forward > Linear > aten::addmm"});
  EXPECT_THAT(table.inColumns(40).rows, ElementsAre(" +5.02 ms  …> Linear > aten::addmm"));
}

TEST(TextTable, ProseGoesOnInTheLinesBelow) {
  TextTable table({{"frees"}, {"change", Kind::Prose}});
  table.add({"20 MiB", "recompute the activations of the first layer in the backward pass"});
  EXPECT_THAT(table.inColumns(40).rows,
              ElementsAre(" 20 MiB  recompute the activations of",
                          "         the first layer in the backward", "         pass"));
}

/// Whether a text that was shortened ends, or begins, within a part of a word whose begin is in the
/// last quarter of it.
bool cutsAWord(const std::string& text, const std::string& whole) {
  const std::size_t at = text.find("…");
  if (at == std::string::npos || at + std::string("…").size() != text.size() || at == 0)
    return false;
  const auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const bool within = isWord(whole[at - 1]) && isWord(whole[at]) &&
                      !(std::islower(whole[at - 1]) && std::isupper(whole[at]));
  return within && std::ranges::any_of(whole.substr(3 * at / 4 + 1, at - 3 * at / 4 - 1),
                                       [&](char c) { return !isWord(c); });
}

TEST(TextTable, NoWidthCutsAWordWithinItsParts) {
  for (const std::string name :
       {"torch_training.py:239 in Training.after.<locals>.<lambda>", "NativeBatchNormBackward0",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
        "autograd::engine::evaluate_function: MmBackward0"}) {
    for (int width = 1; width <= columns(name); ++width) {
      const std::string text = shortened(name, width);
      EXPECT_LE(columns(text), width);
      EXPECT_FALSE(cutsAWord(text, name)) << text;
    }
  }
}

TEST(BrokenLines, BreakAtBlanksAndKeepNumbersWithTheirUnits) {
  EXPECT_THAT(brokenLines("the device waits 49.4 ms a step", 20, 10),
              ElementsAre("the device waits", "49.4 ms a", "step"));
  EXPECT_THAT(brokenLines("short", 20, 20), ElementsAre("short"));
  EXPECT_THAT(brokenLines("", 20, 20), ElementsAre(""));
}

TEST(BrokenLines, ALongNameBreaksBetweenItsParts) {
  EXPECT_THAT(brokenLines("at /opt/programs/training/vision/resnet.py", 20, 20),
              ElementsAre("at", "/opt/programs/", "training/vision/", "resnet.py"));
}

}  // namespace
}  // namespace lacuna::analyzer
