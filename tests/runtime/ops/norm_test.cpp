// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

TEST(BatchNorm, StandardisesEachChannel) {
  const Tensor x = fromVector<float>({1, 10, 3, 30}, {2, 2});
  const Tensor y = batchNorm(x, {}, {}, {}, {}, true, 0.1, 0);
  EXPECT_THAT(y.toVector<float>(), ElementsAre(-1, -1, 1, 1));
}

TEST(BatchNorm, MovesTheRunningStatisticsAndUsesThemInEval) {
  nn::BatchNorm2d norm(1, {.momentum = 0.25, .epsilon = 0});
  (void)norm(fromVector<float>({1, 3, 5, 7}, {1, 1, 2, 2}));
  EXPECT_FLOAT_EQ(static_cast<float>(norm.runningMean.item()), 1.0F);  // 0 + ¼ · 4
  EXPECT_FLOAT_EQ(static_cast<float>(norm.runningVar.item()),
                  0.75F + 0.25F * 20.0F / 3.0F);  // unbiased
  norm.eval();
  const double deviation = std::sqrt(norm.runningVar.item());
  EXPECT_THAT(norm(full({1, 1, 1, 1}, 4)).item(), DoubleNear(3 / deviation, 1e-6));
}

TEST(BatchNorm, MovesRunningStatisticsThatLieApartInMemory) {
  const Tensor both = zeros({2, 2});
  (void)batchNorm(fromVector<float>({1, 10, 3, 30}, {2, 2}), {}, {}, both.select(1, 0),
                  both.select(1, 1), true, 1);
  EXPECT_THAT(both.toVector<float>(),
              ElementsAre(2, 2, 20, 200));  // by channel: the mean and the unbiased variance
}

TEST(BatchNorm, IsExactForPicturesFarFromZero) {
  manualSeed(2);
  const Tensor x = randn({8, 16, 16, 16}) + 1000.0;
  const Tensor y = batchNorm(x, {}, {}, {}, {}, true);
  EXPECT_NEAR(var(y).item(), 1, 1e-3);
  EXPECT_NEAR(mean(y).item(), 0, 1e-4);
}

TEST(BatchNorm, GivesTheSameInEitherMemoryOrder) {
  manualSeed(3);
  const Tensor identity = fromVector<float>({1, 0, 0, 1}, {2, 2, 1, 1});
  const Tensor x = randn({4, 2, 5, 3});
  const Tensor rows = batchNorm(x, {}, {}, {}, {}, true);
  const Tensor last = batchNorm(conv2d(x, identity), {}, {}, {}, {}, true);
  EXPECT_NE(rows.strides(), last.strides());
  EXPECT_LT(max(abs(rows - last)).item(), 1e-5);
}

TEST(BatchNorm, OfBFloat16KeepsItsStatisticsInSinglePrecision) {
  manualSeed(4);
  const Tensor x = (randn({16, 4, 4, 4}) * 2.0 + 3.0).to(DType::BF16).setRequiresGrad();
  nn::BatchNorm2d norm(4);
  const Tensor y = norm(x);
  EXPECT_EQ(y.dtype(), DType::BF16);
  EXPECT_EQ(norm.runningMean.dtype(), DType::F32);
  EXPECT_NEAR(var(y.detach().to(DType::F32)).item(), 1, 0.02);
  sum(square(y)).backward();
  EXPECT_EQ(x.grad().dtype(), DType::BF16);
  EXPECT_EQ(norm.weight.grad().dtype(), DType::F32);
}

TEST(BatchNorm, GivesTheRecordedGradientOfTheBiasTheTypeOfTheBias) {
  const Tensor x = randn({4, 3}).to(DType::BF16);
  for (const Tensor& weight : {Tensor(), ones({3}), ones({3}, {DType::BF16}).setRequiresGrad()}) {
    const Tensor bias = zeros({3}).setRequiresGrad();
    for (const bool createGraph : {false, true}) {
      const Tensor y = batchNorm(x, weight, bias, {}, {}, true);
      EXPECT_EQ(grad({sum(y)}, {bias}, {}, {.createGraph = createGraph}).at(0).dtype(), DType::F32)
          << createGraph;
    }
  }
}

TEST(BatchNorm, RefusesWhatItCannotNormalise) {
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([] {
                (void)batchNorm(zeros({1, 3}), {}, {}, {}, {}, true);
              }),
              HasSubstr("batch_norm: training needs more than one value per channel, not [1,3]"));
  EXPECT_THAT(message([] {
                (void)batchNorm(zeros({4, 3}), zeros({2}), {}, {}, {}, true);
              }),
              HasSubstr("weight [2] for the channels of [4,3]"));
  EXPECT_THAT(message([] {
                (void)batchNorm(zeros({4, 3}), {}, {}, {}, {}, false);
              }),
              HasSubstr("running statistics are needed outside training"));
  EXPECT_THAT(message([] {
                nn::BatchNorm2d norm(3);
                (void)norm(zeros({4, 3}));
              }),
              HasSubstr("BatchNorm2d: input [4,3]"));
}

TEST(BatchNorm, HasShapesOnMeta) {
  const Tensor x = empty({2, 3, 4, 4}, {DType::F32, kMeta}).setRequiresGrad();
  nn::BatchNorm2d norm(3, {}, {DType::F32, kMeta});
  const Tensor y = norm(x);
  EXPECT_EQ(y.shape(), x.shape());
  sum(y).backward();
  EXPECT_EQ(norm.weight.grad().shape(), Shape{3});
}

TEST(LayerNorm, OfBFloat16KeepsItsStatisticsInSinglePrecision) {
  manualSeed(7);
  const Tensor x = (randn({5, 64}) + 20.0).to(DType::BF16).setRequiresGrad();
  const Tensor weight = ones({64}).setRequiresGrad();
  const Tensor y = layerNorm(x, {64}, weight, {});
  EXPECT_EQ(y.dtype(), DType::BF16);
  EXPECT_NEAR(mean(square(y.detach().to(DType::F32))).item(), 1, 0.02);
  sum(square(y)).backward();
  EXPECT_EQ(weight.grad().dtype(), DType::F32);
  EXPECT_THAT([&] { (void)layerNorm(x, {64}, zeros({32}), {}); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("layer_norm: weight [32] for an input [5,64]; it must be [64]")));
}

TEST(Norms, GiveWeightAndBiasGradientsOfTheirOwnTypes) {
  const Tensor x = randn({4, 3}).to(DType::BF16);
  const Tensor weight = ones({3}).setRequiresGrad();
  const Tensor bias = zeros({3}, {DType::BF16}).setRequiresGrad();
  for (const bool recorded : {false, true}) {
    for (const Tensor& y : {layerNorm(x, {3}, weight, bias), groupNorm(x, 1, weight, bias)}) {
      const auto gradients = grad({sum(y)}, {weight, bias}, {}, {.createGraph = recorded});
      EXPECT_EQ(gradients[0].dtype(), DType::F32) << recorded;
      EXPECT_EQ(gradients[1].dtype(), DType::BF16) << recorded;
    }
  }
}

TEST(Norms, HaveTheSameGradientInBFloat16WhenItIsRecorded) {
  manualSeed(8);
  Tensor x = (randn({4, 2, 8}) + 100.0).to(DType::BF16);
  x.setRequiresGrad();
  const Tensor slope = randn({4, 2, 8}).to(DType::BF16);
  const auto farthest = [&](const auto& norm) {
    const Tensor plain = grad({norm()}, {x}, {slope})[0];
    const Tensor recorded = grad({norm()}, {x}, {slope}, {.createGraph = true})[0];
    EXPECT_EQ(recorded.dtype(), DType::BF16);
    return max(abs(recorded.detach() - plain)).item();
  };
  EXPECT_LT(farthest([&] { return layerNorm(x, {8}, {}, {}); }), 0.04);
  EXPECT_LT(farthest([&] { return batchNorm(x, {}, {}, {}, {}, true); }), 0.04);
}

TEST(GroupNorm, OfOneGroupPerChannelIsInstanceNorm) {
  manualSeed(5);
  const Tensor x = randn({2, 4, 3, 3});
  EXPECT_LT(max(abs(groupNorm(x, 4, {}, {}) - instanceNorm(x, {}, {}))).item(), 1e-6);
  EXPECT_NEAR(mean(square(instanceNorm(x, {}, {}))).item(), 1, 1e-3);
}

Tensor withChannelsLast(const Tensor& x) {
  return x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2});
}

/// The result of a group normalisation and the gradients of picture, weight and bias.
std::vector<Tensor> normAndGradients(const Tensor& picture, const Tensor& slope,
                                     std::int64_t groups) {
  manualSeed(6);
  const auto ofChannels = [&] {
    return randn({picture.size(1)}, {DType::F64}).to(picture.dtype());
  };
  const Tensor x = picture.detach().setRequiresGrad();
  const Tensor weight = ofChannels().setRequiresGrad();
  const Tensor bias = ofChannels().setRequiresGrad();
  const Tensor y = groupNorm(x, groups, weight, bias);
  std::vector<Tensor> all = grad({y}, {x, weight, bias}, {slope});
  all.push_back(y.detach());
  return all;
}

TEST(GroupNorm, OfPicturesWithChannelsLastIsTheSameAndKeepsThemLast) {
  manualSeed(7);
  for (const DType type : {DType::F32, DType::F64, DType::BF16}) {
    const Tensor rows = (randn({3, 20, 9, 11}, {DType::F64}) + 10.0).to(type);
    const Tensor slope = randn({3, 20, 9, 11}, {DType::F64}).to(type);
    for (const std::int64_t groups : {1, 5, 20}) {
      const auto wanted = normAndGradients(rows, slope, groups);
      const auto got = normAndGradients(withChannelsLast(rows), slope, groups);
      const double bound = type == DType::F64 ? 1e-10 : type == DType::F32 ? 1e-4 : 2e-2;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double largest = max(abs(wanted[i])).item();
        EXPECT_LT(max(abs(got[i] - wanted[i])).item(), bound * largest)
            << groups << " groups, " << name(type) << i;
      }
      EXPECT_EQ(got[0].strides(), (Shape{9 * 11 * 20, 1, 11 * 20, 20}));
      EXPECT_EQ(got[3].strides(), (Shape{9 * 11 * 20, 1, 11 * 20, 20}));
      EXPECT_TRUE(wanted[0].isContiguous() && wanted[3].isContiguous());
    }
  }
}

TEST(GroupNorm, OfOneSelectedGradientOfPicturesWithChannelsLastIsThatOfAll) {
  const Tensor x = withChannelsLast(arange(24).to(DType::F32).view({1, 3, 2, 4})).setRequiresGrad();
  const Tensor weight = ones({3}).setRequiresGrad();
  const auto gradients = [&](const std::vector<Tensor>& of) {
    return grad({sum(square(groupNorm(x, 3, weight, {})))}, of);
  };
  const std::vector<Tensor> both = gradients({x, weight});
  EXPECT_EQ(gradients({x})[0].toVector<float>(), both[0].toVector<float>());
  EXPECT_EQ(gradients({weight})[0].toVector<float>(), both[1].toVector<float>());
}

TEST(LayerNorm, RefusesToNormaliseOverNothing) {
  EXPECT_THAT(
      [] { (void)layerNorm(ones({3}), {}, {}, {}); },
      testing::ThrowsMessage<Error>(HasSubstr("layer_norm: no dimensions of [3] are given")));
}

TEST(InstanceNorm, NamesAnInputWithoutChannels) {
  EXPECT_THAT([] { (void)instanceNorm(zeros({3}), {}, {}); },
              testing::ThrowsMessage<Error>(HasSubstr("instance_norm: input [3] has no channels")));
  EXPECT_EQ(instanceNorm(zeros({2, 0, 3}), {}, {}).shape(), (Shape{2, 0, 3}));
}

TEST(GroupNorm, OfPicturesWithoutPixelsGivesItsWeightsTheGradientZero) {
  const Tensor x = zeros({2, 4, 0, 3}).setRequiresGrad();
  const Tensor weight = ones({4}).setRequiresGrad();
  const Tensor bias = ones({4}).setRequiresGrad();
  for (const bool recorded : {false, true}) {
    (void)(full({4}, 7) + full({4}, 7)).toVector<float>();  // memory that was used before
    const Tensor y = groupNorm(x, 2, weight, bias);
    const auto gradients = grad({sum(y)}, {x, weight, bias}, {}, {.createGraph = recorded});
    EXPECT_EQ(gradients[0].shape(), x.shape());
    EXPECT_THAT(gradients[1].toVector<float>(), testing::Each(0));
    EXPECT_THAT(gradients[2].toVector<float>(), testing::Each(0));
  }
}

}  // namespace
}  // namespace lacuna::rt
