// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"

/// Many equal numbers added up in 16 bits: where each sum were rounded, it would stop at 256 (bf16)
/// or 2048 (f16) of them.
namespace lacuna::rt {
namespace {

constexpr DType kHalfTypes[] = {DType::BF16, DType::F16};

/// The largest gradient of the sum of function(x).
double largestGradient(const std::function<Tensor(const Tensor&)>& function, const Tensor& x,
                       bool recorded) {
  const Tensor gradient = grad({sum(function(x))}, {x}, {}, {.createGraph = recorded})[0];
  EXPECT_EQ(gradient.dtype(), x.dtype());
  return max(gradient.detach()).item();
}

TEST(WideSums, OfAnEntryThatIsReadOften) {
  const Tensor index = zeros({4096}, {DType::I64});
  for (const DType type : kHalfTypes) {
    for (const bool recorded : {false, true}) {
      const Tensor row = zeros({1}, {type}).setRequiresGrad();
      const Tensor table = zeros({1, 2}, {type}).setRequiresGrad();
      EXPECT_EQ(
          largestGradient([&](const Tensor& x) { return embedding(x, index); }, table, recorded),
          4096);
      EXPECT_EQ(
          largestGradient([&](const Tensor& x) { return gather(x, 0, index); }, row, recorded),
          4096);
    }
    const Tensor summed = scatterAdd(zeros({1}, {type}), 0, index, ones({4096}, {type}));
    EXPECT_EQ(summed.dtype(), type);
    EXPECT_EQ(summed.item(), 4096);
  }
}

TEST(WideSums, OfElementsThatShareTheGradientOfAnExtreme) {
  for (const DType type : kHalfTypes) {
    const Tensor x = zeros({70'000}, {type}).setRequiresGrad();
    for (const bool recorded : {false, true}) {
      const Tensor share = grad({max(x)}, {x}, {}, {.createGraph = recorded})[0];
      EXPECT_NEAR(max(share.detach()).item() * 70'000, 1, 0.01) << name(type);
    }
  }
}

/// A picture whose pixel in the middle is in each of the 900 windows of 30 × 30, and is larger than
/// all others.
Tensor peak() {
  std::vector<float> values(59 * 59, 0.0F);
  values[29 * 59 + 29] = 1;
  return fromVector(values, {1, 1, 59, 59}).to(DType::BF16).setRequiresGrad();
}

TEST(WideSums, OfAPixelThatIsInManyWindows) {
  const Pool2dOptions overlapping{.window = 30, .stride = 1};
  const Tensor one = ones({1, 1, 1, 1}, {DType::BF16}).setRequiresGrad();
  for (const bool recorded : {false, true}) {
    EXPECT_EQ(largestGradient([&](const Tensor& x) { return maxPool2d(x, overlapping); }, peak(),
                              recorded),
              900);
    EXPECT_EQ(largestGradient([&](const Tensor& x) { return avgPool2d(x, overlapping); }, peak(),
                              recorded),
              1);
    EXPECT_EQ(
        largestGradient([](const Tensor& x) { return adaptiveAvgPool2d(x, 30); }, one, recorded),
        900);
    EXPECT_EQ(largestGradient([](const Tensor& x) { return interpolate(x, 30); }, one, recorded),
              900);
  }
}

/// Each use adds 1 to the gradient of the leaf, or of what is computed of it.
Tensor usedOften(const Tensor& leaf, bool computed, int uses) {
  const Tensor used = computed ? leaf * 1.0 : leaf;
  Tensor total = zeros({1});
  for (int use = 0; use < uses; ++use) total = total + used.to(DType::F32);
  return total;
}

TEST(WideSums, OfATensorThatIsUsedOften) {
  for (const DType type : kHalfTypes) {
    const int uses = type == DType::BF16 ? 512 : 4096;
    for (const bool computed : {false, true}) {
      const Tensor x = ones({1}, {type}).setRequiresGrad();
      const auto function = [=](const Tensor& leaf) { return usedOften(leaf, computed, uses); };
      for (const bool recorded : {false, true})
        EXPECT_EQ(largestGradient(function, x, recorded), uses);
      sum(function(x)).backward();
      EXPECT_EQ(x.grad().dtype(), type);
      EXPECT_EQ(x.grad().item(), uses);
    }
  }
}

TEST(WideSums, OfATensorKeepTheOrderOfItsGradientsInMemory) {
  const Tensor x = ones({8, 4}, {DType::BF16}).setRequiresGrad();
  Tensor loss = zeros({});
  for (int use = 0; use < 3; ++use) loss = loss + sum(square(x.t().contiguous())).to(DType::F32);
  const Tensor gradient = grad({loss}, {x})[0];
  EXPECT_EQ(gradient.strides(), Shape({1, 8}));
  EXPECT_THAT(gradient.toVector<float>(), testing::Each(6));
}

}  // namespace
}  // namespace lacuna::rt
