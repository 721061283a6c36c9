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
    EXPECT_THAT(softmax(full({1, 8}, score), -1).toVector<float>(), Each(FloatNear(0.125F, 1e-6F)))
        << score;
    EXPECT_THAT(logSoftmax(full({1, 8}, score), -1).toVector<float>(),
                Each(FloatNear(-std::log(8.0F), 1e-6F)))
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
    EXPECT_THAT(gradient(true), testing::Pointwise(testing::FloatNear(2e-3F), gradient(false)))
        << logarithm;
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
              testing::ThrowsMessage<Error>(testing::HasSubstr(
                  "cross_entropy: scores [2,3,2,4] and targets [2,4,2]; expected [n,classes,…]")));
}

/// The definition, class by class: weights, label smoothing and an ignored target together.
double weightedLoss(const Tensor& scores, const std::vector<std::int64_t>& targets,
                    const std::vector<double>& weights, double smoothing, bool mean) {
  const std::vector<double> logs = logSoftmax(scores, 1).toVector<double>();
  const std::size_t classes = weights.size();
  double loss = 0;
  double total = 0;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] == 7) continue;
    const auto label = static_cast<std::size_t>(targets[r]);
    total += weights[label];
    loss -= (1 - smoothing) * weights[label] * logs[r * classes + label];
    for (std::size_t c = 0; c < classes; ++c)
      loss -= smoothing / static_cast<double>(classes) * weights[c] * logs[r * classes + c];
  }
  return mean ? loss / total : loss;
}

TEST(CrossEntropy, WeighsClassesAlsoWithSmoothingAndIgnoredTargets) {
  manualSeed(3);
  const std::vector<std::int64_t> targets{0, 7, 2, 1, 2};
  const std::vector<double> weights{0.2, 3, 0.7};
  const Tensor scores = randn({5, 3}, {DType::F64});
  const Tensor target = fromVector(targets, {5});
  const Tensor weight = fromVector(weights, {3});
  for (const Reduction reduction : {Reduction::Mean, Reduction::Sum}) {
    const bool mean = reduction == Reduction::Mean;
    for (const double smoothing : {0.0, 0.3}) {
      EXPECT_NEAR(crossEntropy(scores, target, reduction, smoothing, 7, weight).item(),
                  weightedLoss(scores, targets, weights, smoothing, mean), 1e-12)
          << smoothing << (mean ? " mean" : " sum");
    }
    EXPECT_NEAR(nllLoss(logSoftmax(scores, 1), target, reduction, 7, weight).item(),
                weightedLoss(scores, targets, weights, 0, mean), 1e-12);
    EXPECT_NEAR(nllLoss(logSoftmax(scores, 1), target, reduction, 7).item(),
                crossEntropy(scores, target, reduction, 0, 7).item(), 1e-12);
  }
}

TEST(CrossEntropy, OfBFloat16ScoresTakesWeightsInF32) {
  manualSeed(4);
  const Tensor scores = randn({4, 3}).to(DType::BF16).setRequiresGrad();
  const Tensor target = fromVector<std::int64_t>({0, 1, 2, 1}, {4});
  const Tensor weight = fromVector<float>({1, 0.5F, 2}, {3});
  const Tensor exact = scores.detach().to(DType::F32).setRequiresGrad();
  const auto slope = [&](const Tensor& x, bool recorded) {
    const Tensor loss = crossEntropy(x, target, Reduction::Mean, 0.1, -100, weight);
    return grad({loss}, {x}, {}, {.createGraph = recorded})[0].toVector<float>();
  };
  for (const bool recorded : {false, true})
    EXPECT_THAT(slope(scores, recorded), testing::Pointwise(FloatNear(5e-3F), slope(exact, false)))
        << recorded;
}

TEST(CrossEntropy, OfTargetsThatAllWeighNothingHasNoGradient) {
  const Tensor scores = zeros({2, 2}).setRequiresGrad();
  const Tensor weight = fromVector<float>({0, 1}, {2});
  for (const bool recorded : {false, true}) {
    const Tensor loss =
        crossEntropy(scores, zeros({2}, {DType::I64}), Reduction::Mean, 0, -100, weight);
    EXPECT_TRUE(std::isnan(loss.item()));
    EXPECT_THAT(grad({loss}, {scores}, {}, {.createGraph = recorded})[0].toVector<float>(),
                Each(0.0F))
        << recorded;
  }
}

TEST(CrossEntropy, RefusesWeightsThatDoNotFitTheClasses) {
  const Tensor target = zeros({1}, {DType::I64});
  const auto refuses = [&](const Tensor& weight, const std::string& why) {
    const auto throwsWith = [&why](const std::string& op) {
      return testing::ThrowsMessage<Error>(
          testing::AllOf(testing::StartsWith(op), testing::HasSubstr(why)));
    };
    EXPECT_THAT(
        [&] {
          (void)crossEntropy(zeros({1, 2}), target, Reduction::Mean, 0, -100, weight);
        },
        throwsWith("cross_entropy: "));
    EXPECT_THAT(
        [&] {
          (void)nllLoss(zeros({1, 2}), target, Reduction::Mean, -100, weight);
        },
        throwsWith("nll_loss: "));
  };
  refuses(ones({3}),
          "weights f32 [3] for scores [1,2]; expected a floating one for each class, [2]");
  refuses(ones({1, 2}), "weights f32 [1,2] for scores [1,2]");
  refuses(ones({2}, {DType::I64}), "weights i64 [2] for scores [1,2]");
  refuses(ones({2}).setRequiresGrad(), "the weights of classes have no gradient");
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
  EXPECT_THAT(
      [] { (void)dropout(arange(3), 0.5, true); },
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

TEST(BceWithLogits, WeighsPositiveTargets) {
  const Tensor x = fromVector<double>({-60, 60, 0.5, -1.5, 0, 3}, {2, 3}).setRequiresGrad();
  const std::vector<double> targets{1, 0, 0.25, 1, 1, 1};
  const std::vector<double> weights{0.1, 5, 2};
  const Tensor loss = bceWithLogits(x, fromVector(targets, {2, 3}), Reduction::Sum,
                                    fromVector(weights, {3}).to(DType::F32));
  loss.backward();
  const std::vector<double> slopes = x.grad().toVector<double>();
  const std::vector<double> values = x.toVector<double>();
  double wanted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = weights[i % 3];
    const double likely = 1 / (1 + std::exp(-values[i]));
    wanted += weight * targets[i] * std::log1p(std::exp(-values[i]));
    wanted += (1 - targets[i]) * std::log1p(std::exp(values[i]));
    EXPECT_NEAR(slopes[i], (1 - targets[i]) * likely - weight * targets[i] * (1 - likely), 1e-6)
        << i;
  }
  EXPECT_NEAR(loss.item(), wanted, 1e-5);
}

TEST(BceWithLogits, IsExactFarFromZeroWithAWeightToo) {
  for (const double target : {0.0, 1.0}) {
    const double x = target == 1 ? 60 : -60;
    const double exact = std::exp(-60.0) * (target == 1 ? static_cast<double>(0.1F) : 1);
    EXPECT_NEAR(
        bceWithLogits(full({1}, x), full({1}, target), Reduction::Mean, full({1}, 0.1)).item(),
        exact, exact * 1e-5);
  }
}

TEST(BceWithLogits, TakesTargetsOfAnyTypeWithAWeightToo) {
  const Tensor x = fromVector<float>({-1, 2, 0.5F, 0}, {4});
  const Tensor target = fromVector<float>({1, 0, 1, 0}, {4});
  for (const Tensor& weight : {Tensor(), full({}, 3.0)}) {
    const double wanted = bceWithLogits(x, target, Reduction::Sum, weight).item();
    for (const DType type : {DType::Bool, DType::U8, DType::I64})
      EXPECT_NEAR(bceWithLogits(x, target.to(type), Reduction::Sum, weight).item(), wanted, 1e-6)
          << name(type);
  }
}

TEST(BceWithLogits, RefusesWeightsThatDoNotFit) {
  const Tensor x = zeros({2, 3});
  const auto throwsWith = [](const char* why) {
    return testing::ThrowsMessage<Error>(testing::HasSubstr(why));
  };
  EXPECT_THAT([&] { (void)bceWithLogits(x, x, Reduction::Mean, ones({2})); },
              throwsWith("bce_with_logits: "));
  EXPECT_THAT(
      [&] {
        (void)bceWithLogits(x, x, Reduction::Mean, ones({4, 2, 3}));
      },
      throwsWith("bce_with_logits: positive weights f32 [4,2,3] for predictions [2,3]"));
  EXPECT_THAT([&] { (void)bceWithLogits(x, x, Reduction::Mean, ones({3}, {DType::I64})); },
              throwsWith("bce_with_logits: positive weights i64 [3] for predictions [2,3]"));
}

}  // namespace
}  // namespace lacuna::rt
