// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor row(std::vector<float> values) {
  const auto width = static_cast<std::int64_t>(values.size());
  return fromVector(values, {1, 1, 1, width});
}

TEST(Interpolate, NearestRepeatsPixels) {
  EXPECT_THAT(interpolate(row({1, 2}), {1, 5}).toVector<float>(), ElementsAre(1, 1, 1, 2, 2));
}

TEST(Interpolate, KeepsInfinitePixelsThatItDoesNotMix) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(interpolate(row({-infinite, 2}), {2, 4}).toVector<float>(),
              ElementsAre(-infinite, -infinite, 2, 2, -infinite, -infinite, 2, 2));
  EXPECT_THAT(interpolate(row({1, infinite}), {1, 2}, Interpolation::Bilinear).toVector<float>(),
              ElementsAre(1, infinite));
}

TEST(Interpolate, BilinearSamplesAtCentresOrCorners) {
  EXPECT_THAT(interpolate(row({0, 4}), {1, 4}, Interpolation::Bilinear).toVector<float>(),
              ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(interpolate(row({0, 4}), {1, 3}, Interpolation::Bilinear, true).toVector<float>(),
              ElementsAre(0, 2, 4));
}

TEST(UpFirDn, IsAConvolutionOfTheUpsampledPicture) {
  // u = 1 0 2 0 between a zero on either side; taps run against it. One row: its own filter factor
  // is the middle tap.
  const Tensor y = upFirDn2d(row({1, 2}), {0, 1, 10}, {.up = {1, 2}, .before = 1, .after = 1});
  EXPECT_THAT(y.toVector<float>(), ElementsAre(1, 10, 2, 20));
}

/// The same by inserting zeros and calling conv2d.
TEST(UpFirDn, EqualsAConvolutionWithTheOuterProduct) {
  manualSeed(6);
  const Tensor x = randn({2, 1, 5, 6});
  const std::vector<float> taps{1, 3, 3, 1};
  const Tensor column = fromVector(taps, {4, 1});
  const Tensor weight = matmul(column, column.t()).view({1, 1, 4, 4});
  const Tensor want = conv2d(x, weight, {}, {.stride = 2, .padding = 1});
  const Tensor got = upFirDn2d(x, {1, 3, 3, 1}, {.down = 2, .before = 1, .after = 1});
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_LT(max(abs(want - got)).item(), 1e-4);
}

TEST(UpFirDn, NamesWhatDoesNotFit) {
  try {
    (void)upFirDn2d(row({1, 2}), {1, 2, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("up_fir_dn2d: the filter of 3 is longer than the padded input [1,1,1,2]"));
  }
}

TEST(Resampling, HasShapesOnMeta) {
  const Tensor x = empty({2, 3, 8, 8}, {DType::F32, kMeta});
  EXPECT_EQ(interpolate(x, {4, 16}, Interpolation::Bilinear).shape(), (Shape{2, 3, 4, 16}));
  EXPECT_EQ(blur2d(x, {1, 3, 3, 1}).shape(), x.shape());
}

}  // namespace
}  // namespace lacuna::rt
