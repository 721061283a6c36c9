// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor counting(Shape shape) {
  return arange(shape.numel()).to(DType::F32).view(shape);
}

TEST(MaxPool, TakesTheLargestAndSendsTheGradientThere) {
  const Tensor x = counting({1, 1, 4, 4}).setRequiresGrad();
  const Tensor y = maxPool2d(x, {.window = 2});
  EXPECT_THAT(y.toVector<float>(), ElementsAre(5, 7, 13, 15));
  y.backward(fromVector<float>({1, 2, 3, 4}, {1, 1, 2, 2}));
  EXPECT_THAT(x.grad().toVector<float>(),
              ElementsAre(0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4));
}

TEST(MaxPool, PaddingNeverWins) {
  const Tensor y = maxPool2d(full({1, 1, 2, 2}, -3), {.window = 3, .stride = 1, .padding = 1});
  EXPECT_THAT(y.toVector<float>(), ElementsAre(-3, -3, -3, -3));
}

TEST(MaxPool, OfALargeWindowFindsItsPlace) {
  const Tensor x = counting({1, 2, 20, 20}).setRequiresGrad();
  maxPool2d(x, {.window = 20}).backward(ones({1, 2, 1, 1}));
  EXPECT_EQ(x.grad().select(1, 1).toVector<float>().back(), 1);
  EXPECT_EQ(sum(x.grad()).item(), 2);
}

TEST(AvgPool, CountsPaddingOnlyWhenAsked) {
  const Tensor x = ones({1, 1, 2, 2});
  const Pool2dOptions options{.window = 2, .stride = 2, .padding = 1};
  EXPECT_THAT(avgPool2d(x, options).toVector<float>(), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(avgPool2d(x, {.window = 2, .stride = 2, .padding = 1, .countPadding = false})
                  .toVector<float>(),
              ElementsAre(1, 1, 1, 1));
}

TEST(Pooling, InCeilModeAlsoTakesALastWindowThatReachesBeyondThePicture) {
  const Tensor x = counting({1, 1, 1, 5}).setRequiresGrad();
  const Pool2dOptions pairs{.window = {1, 2}, .ceilMode = true};
  EXPECT_THAT(avgPool2d(x, pairs).toVector<float>(), ElementsAre(0.5, 2.5, 4));
  const Tensor y = maxPool2d(x, pairs);
  EXPECT_THAT(y.toVector<float>(), ElementsAre(1, 3, 4));
  y.backward(ones(y.shape()));
  EXPECT_THAT(x.grad().toVector<float>(), ElementsAre(0, 1, 0, 1, 1));
  const Pool2dOptions apart{
      .window = {1, 2}, .stride = {1, 3}, .padding = {0, 1}, .ceilMode = true};
  EXPECT_THAT(maxPool2d(counting({1, 1, 1, 2}), apart).toVector<float>(), ElementsAre(0))
      << "none that would begin behind the picture";
  EXPECT_THAT(maxPool2d(counting({1, 1, 1, 2}), {.window = {1, 3}, .stride = 2, .ceilMode = true})
                  .toVector<float>(),
              ElementsAre(1));
}

TEST(AdaptiveAvgPool, CutsUnevenPicturesIntoOverlappingWindows) {
  EXPECT_THAT(adaptiveAvgPool2d(counting({1, 1, 1, 5}), {1, 2}).toVector<float>(),
              ElementsAre(1, 3));
  EXPECT_THAT(adaptiveAvgPool2d(counting({1, 2, 2, 2})).toVector<float>(), ElementsAre(1.5, 5.5));
}

TEST(Pooling, WorksInBFloat16AndOnMeta) {
  const Tensor half = counting({1, 1, 2, 2}).to(DType::BF16);
  EXPECT_THAT(maxPool2d(half, {}).toVector<float>(), ElementsAre(3));
  EXPECT_THAT(adaptiveAvgPool2d(half).toVector<float>(), ElementsAre(1.5));
  const Tensor meta = empty({2, 3, 7, 7}, {DType::F32, kMeta}).setRequiresGrad();
  const Tensor y = maxPool2d(meta, {.window = 3, .stride = 2, .padding = 1});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4, 4}));
  sum(avgPool2d(y, {})).backward();
  EXPECT_EQ(meta.grad().shape(), meta.shape());
}

TEST(Pooling, NamesItselfAndWhatDoesNotFit) {
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([] {
                (void)maxPool2d(zeros({1, 1, 2, 2}), {.window = 3});
              }),
              HasSubstr("max_pool2d: the window 3×3 is larger than the padded input [1,1,2,2]"));
  EXPECT_THAT(message([] {
                (void)avgPool2d(zeros({1, 2, 2}), {});
              }),
              HasSubstr("avg_pool2d: input [1,2,2] must be [n,channels,height,width]"));
  EXPECT_THAT(message([] {
                (void)maxPool2d(zeros({1, 1, 4, 4}), {.window = 2, .padding = 2});
              }),
              HasSubstr("at most half of the window"));
  EXPECT_THAT(message([] {
                (void)maxPool2d(zeros({1, 1, 0, 4}), {.window = 2, .padding = 1});
              }),
              HasSubstr("max_pool2d: the pictures [1,1,0,4] have no pixels"));
}

}  // namespace
}  // namespace lacuna::rt
