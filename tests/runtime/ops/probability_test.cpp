// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::Each;
using testing::FloatNear;

TEST(Softmax, OfEqualScoresIsUniformAtEveryMagnitude) {
  for (const double score : {-1e9, -3e4, 1e7, 3e38}) {
    EXPECT_THAT(softmax(full({1, 8}, score), -1).toVector<float>(), Each(FloatNear(0.125F, 1e-6F))) << score;
    EXPECT_THAT(logSoftmax(full({1, 8}, score), -1).toVector<float>(), Each(FloatNear(-std::log(8.0F), 1e-6F)))
        << score;
  }
}

TEST(Softmax, HasTheSameGradientInBFloat16WhenItIsRecorded) {
  const Tensor x = zeros({1, 2}, {DType::BF16}).setRequiresGrad();
  const Tensor slope = fromVector<float>({100, 100.5F}, {1, 2}).to(DType::BF16);
  for (const bool logarithm : {false, true}) {
    const auto gradient = [&](bool recorded) {
      const Tensor y = logarithm ? logSoftmax(x, -1) : softmax(x, -1);
      return grad({y}, {x}, {slope}, {.createGraph = recorded})[0].toVector<float>();
    };
    EXPECT_THAT(gradient(true), testing::Pointwise(testing::FloatNear(2e-3F), gradient(false))) << logarithm;
  }
}

TEST(CrossEntropy, HasTheSameGradientInBFloat16WhenItIsRecorded) {
  const Tensor scores = fromVector<float>({8, 0}, {1, 2}).to(DType::BF16).setRequiresGrad();
  const auto gradient = [&](bool recorded) {
    const Tensor loss = crossEntropy(scores, zeros({1}, {DType::I64}));
    return grad({loss}, {scores}, {}, {.createGraph = recorded})[0].toVector<float>();
  };
  EXPECT_THAT(gradient(true), testing::Pointwise(FloatNear(1e-5F), gradient(false)));
  EXPECT_LT(gradient(true)[0], -3e-4F);
}

TEST(CrossEntropy, KeepsItsLossAndGradientAtEveryMagnitude) {
  for (const double score : {3e4, 1e7}) {
    const Tensor scores = full({1, 4}, score).setRequiresGrad();
    const Tensor loss = crossEntropy(scores, zeros({1}, {DType::I64}));
    EXPECT_NEAR(loss.item(), std::log(4.0), 1e-6);
    loss.backward();
    EXPECT_THAT(scores.grad().toVector<float>(), testing::ElementsAre(-0.75F, 0.25F, 0.25F, 0.25F));
  }
}

TEST(CrossEntropy, OfPicturesIsThatOfTheirPixels) {
  manualSeed(6);
  const Tensor scores = randn({2, 3, 2, 4}).setRequiresGrad();
  const Tensor target = randint(0, 3, {2, 2, 4});
  const Tensor rows = scores.detach().permute({0, 2, 3, 1}).reshape({16, 3}).setRequiresGrad();
  const Tensor loss = crossEntropy(scores, target);
  const Tensor exact = crossEntropy(rows, target.view({16}));
  EXPECT_EQ(loss.item(), exact.item());
  loss.backward();
  exact.backward();
  EXPECT_EQ(scores.grad().permute({0, 2, 3, 1}).toVector<float>(), rows.grad().toVector<float>());
  EXPECT_THAT([&] { (void)crossEntropy(scores, target.transpose(1, 2)); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr("cross_entropy: scores [2,3,2,4] and targets [2,4,2]; expected [n,classes,…]")));
}

TEST(CrossEntropy, RefusesWhatIsNoShareToSmoothBy) {
  for (const double smoothing : {std::nan(""), -0.1, 1.5}) {
    EXPECT_THAT(
        [&] {
          (void)crossEntropy(zeros({1, 2}), zeros({1}, {DType::I64}), Reduction::Mean, smoothing);
        },
        testing::ThrowsMessage<Error>(testing::HasSubstr("must lie in [0, 1]")))
        << smoothing;
  }
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double probability : {std::nan(""), -0.1, 1.0}) {
    for (const bool training : {false, true}) {
      EXPECT_THAT([&] { (void)dropout(ones({2}), probability, training); },
                  testing::ThrowsMessage<Error>(testing::HasSubstr("must lie in [0, 1)")))
          << probability;
    }
  }
}

TEST(Dropout, DropsWhatIsNotFiniteToo) {
  const Tensor x = full({1000}, INFINITY).setRequiresGrad();
  const Tensor y = dropout(x, 0.5, true);
  EXPECT_THAT(y.toVector<float>(), Each(testing::AnyOf(0.0F, INFINITY)));
  const Tensor gradient = grad({y}, {x}, {full({1000}, INFINITY)})[0];
  EXPECT_EQ(gradient.toVector<float>(), y.toVector<float>());
  EXPECT_THAT([] { (void)dropout(arange(3), 0.5, true); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("dropout: needs a floating type, not i64")));
}

TEST(Dropout, KeepsOneByteOfAnElement) {
  const Tensor x = empty({1 << 20}, {DType::F32, kMeta}).setRequiresGrad();
  const std::size_t before = memoryStats(kMeta).active;
  const Tensor y = dropout(x, 0.1, true);
  EXPECT_LT(memoryStats(kMeta).active - before, y.sizeBytes() + x.sizeBytes() / 2);
}

TEST(BceWithLogits, IsExactFarFromZeroOnBothSides) {
  for (const double magnitude : {0.0, 5.0, 12.0, 18.0, 25.0, 60.0}) {
    const double exact = std::log1p(std::exp(-magnitude));
    for (const double target : {0.0, 1.0}) {
      const Tensor x = full({1}, target == 1 ? magnitude : -magnitude).setRequiresGrad();
      const Tensor loss = bceWithLogits(x, full({1}, target));
      EXPECT_NEAR(loss.item(), exact, exact * 1e-6) << magnitude << " for " << target;
      loss.backward();
      const double slope = (target == 1 ? -1 : 1) / (1 + std::exp(magnitude));
      EXPECT_NEAR(x.grad().item(), slope, std::abs(slope) * 1e-6) << magnitude << " for " << target;
    }
  }
}

}  // namespace
}  // namespace lacuna::rt
