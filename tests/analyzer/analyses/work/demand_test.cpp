// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/demand.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace lacuna::analyzer {
namespace {

TEST(Demand, OfMatrixProductsIsTwiceTheirVolume) {
  // 8×4 times 4×2: 64 multiply-adds; 32 + 8 + 16 values.
  for (const auto& [name, shapes] :
       {std::pair("linear", "f32[8,4] f32[2,4] f32[2]"), std::pair("matmul", "f32[8,4] f32[4,2]"),
        std::pair("aten::mm", "[[8, 4], [4, 2]]"),
        std::pair("aten::addmm", "[[2], [8, 4], [4, 2], [], []]")}) {
    const Demand demand = demandOf(name, shapes);
    EXPECT_DOUBLE_EQ(demand.flops, 128) << name;
    EXPECT_DOUBLE_EQ(demand.bytes, 224) << name;
  }
}

TEST(Demand, OfBatchedProductsCountsTheStack) {
  const Demand demand = demandOf("aten::bmm", "[[3, 8, 4], [3, 4, 2]]", 2);
  EXPECT_DOUBLE_EQ(demand.flops, 3 * 128);
  EXPECT_DOUBLE_EQ(demand.bytes, 2 * (96 + 24 + 48));
}

TEST(Demand, OfConvolutionsComesFromOutputAndWeight) {
  // 2·16·8·8 outputs, each 3·3·3 multiply-adds.
  EXPECT_DOUBLE_EQ(demandOf("conv2d_grad_input", "f32[2,16,8,8] f32[16,3,3,3]").flops,
                   2 * 2048 * 27);
  EXPECT_DOUBLE_EQ(
      demandOf("aten::convolution_backward", "[[2, 16, 8, 8], [2, 3, 10, 10], [16, 3, 3, 3]]")
          .flops,
      2 * 2 * 2048 * 27);
}

TEST(Demand, OfElementwiseOperatorsIsBytesAlone) {
  const Demand demand = demandOf("mul", "f16[100] f16[100]");
  EXPECT_DOUBLE_EQ(demand.flops, 0);
  EXPECT_DOUBLE_EQ(demand.bytes, 600);
}

TEST(Demand, OfForwardConvolutionsFollowsFromStridePaddingAndDilation) {
  const auto flops = [](std::string_view name, std::string_view shapes) {
    return demandOf(name, shapes).flops;
  };
  // 10×10 with 3×3: 8×8 outputs; padded by 1 and every second: 5×5; dilated by 2: 6×6.
  EXPECT_DOUBLE_EQ(flops("aten::conv2d", "f32[2,3,10,10] f32[16,3,3,3] f32[16] (1,1) (0,0) (1,1)"),
                   2 * 2048 * 27);
  EXPECT_DOUBLE_EQ(flops("aten::conv2d", "f32[2,3,10,10] f32[16,3,3,3] (2,2) (1,1) (1,1)"),
                   2 * 2 * 16 * 25 * 27);
  EXPECT_DOUBLE_EQ(flops("aten::conv2d", "f32[2,3,10,10] f32[16,3,3,3] (1,1) (0,0) (2,2)"),
                   2 * 2 * 16 * 36 * 27);
  EXPECT_DOUBLE_EQ(flops("aten::convolution", "f32[2,8,10] f32[16,8,3] (1) (0) (1) (0)"),
                   2 * 2 * 16 * 8 * 24);
  // Groups: each output sees the channels that its weights name.
  EXPECT_DOUBLE_EQ(flops("aten::conv2d", "f32[1,16,8,8] f32[16,1,3,3] (1,1) (1,1) (1,1)"),
                   2 * 16 * 64 * 9);
  EXPECT_DOUBLE_EQ(
      flops("aten::conv_transpose2d", "f32[1,8,4,4] f32[8,16,2,2] (2,2) (0,0) (0,0) (1,1)"),
      2 * 8 * 16 * 16 * 4);
}

TEST(Demand, OfAttentionIsThatOfItsProducts) {
  // 2·4 heads, 16 queries, 32 keys of 8 values: two products forward, five backward.
  EXPECT_DOUBLE_EQ(
      demandOf("aten::scaled_dot_product_attention", "f32[2,4,16,8] f32[2,4,32,8] f32[2,4,32,8]")
          .flops,
      2 * 2.0 * 8 * 16 * 32 * 8);
  EXPECT_DOUBLE_EQ(demandOf("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                            "f32[2,4,16,8] f32[2,4,16,8] f32[2,4,32,8] f32[2,4,32,8] f32[2,4,16,8]")
                       .flops,
                   5 * 2.0 * 8 * 16 * 32 * 8);
}

TEST(Demand, OfSeveralIsTheSumOfTheTypeThatComputesMost) {
  Demand sum = demandOf("aten::relu", "f64[10]");
  sum.add(demandOf("aten::mm", "f32[8,4] f32[4,2]"));
  sum.add(demandOf("aten::mm", "f16[2,2] f16[2,2]"));
  EXPECT_DOUBLE_EQ(sum.flops, 128 + 16);
  EXPECT_EQ(sum.number, Number::F32);
}

TEST(Demand, OfSizesThatAreZeroIsZero) {
  EXPECT_DOUBLE_EQ(
      demandOf("aten::scaled_dot_product_attention", "f32[2,4,0] f32[2,4,0] f32[2,4,0]").flops, 0);
  EXPECT_DOUBLE_EQ(demandOf("aten::conv_transpose2d", "f32[1,0,4,4] f32[0,16,2,2]").flops, 0);
  EXPECT_DOUBLE_EQ(demandOf("conv2d_grad_input", "f32[2,0,8,8] f32[0,3,3,3]").flops, 0);
}

TEST(Demand, IsZeroForWhatIsNotKnown) {
  EXPECT_DOUBLE_EQ(demandOf("aten::conv2d", "f32[2,3,2,2] f32[16,3,3,3] (1,1) (0,0) (1,1)").bytes,
                   0);
  EXPECT_DOUBLE_EQ(demandOf("aten::conv2d", "f32[2,3,10,10] f32[16,3,3,3] (0,0) (0,0) (1,1)").bytes,
                   0);

  EXPECT_DOUBLE_EQ(demandOf("conv2d", "f32[2,3,10,10] f32[16,3,3,3]").bytes, 0);
  EXPECT_DOUBLE_EQ(demandOf("matmul", "").bytes, 0);
  EXPECT_DOUBLE_EQ(demandOf("matmul", "f32[8,4] f32[5,2]").bytes, 0);
}

}  // namespace
}  // namespace lacuna::analyzer
