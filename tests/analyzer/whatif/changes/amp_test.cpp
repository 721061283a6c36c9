// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Amp, MatrixKernelsGainMostAndThoseInHalfPrecisionNothing) {
  const RunPlan matrix{.steps = 30, .kernelName = "ampere_sgemm_128x64_nn", .syncEachStep = true};
  RunPlan other = matrix, half = matrix;
  other.kernelName = "softmax_warp_forward";
  half.kernelName = "ampere_bf16_s16816gemm_bf16_128x64";
  EXPECT_NEAR(gain(matrix, "amp=on"), 0.65 * 4e6, 0.1e6);
  EXPECT_NEAR(gain(other, "amp=bf16"), 0.15 * 4e6, 0.1e6);
  EXPECT_LT(gain(half, "amp=fp16"), 0.1e6);
  EXPECT_EQ(gain(matrix, "amp=off"), 0);
}

}  // namespace
}  // namespace lacuna::analyzer
