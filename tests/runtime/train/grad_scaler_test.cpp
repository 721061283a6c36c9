// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/grad_scaler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt::optim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Two weights of an optimizer, with gradients that a test sets.
struct ScaledSteps : testing::Test {
  Tensor a = sin(arange(20).to(DType::F32)).setRequiresGrad();
  Tensor b = cos(arange(5000).to(DType::F32)).setRequiresGrad();
  AdamW adam{{a, b}, {.rate = 0.1}};
  GradScaler scaler{{.factor = 1024, .growthInterval = 3}};

  void giveGradients(double value) {
    a.setGrad(full({20}, value * scaler.factor()));
    b.setGrad(full({5000}, value * scaler.factor()));
  }
  static void spoil(const Tensor& parameter, std::int64_t at, double value) {
    Tensor gradient = parameter.grad();
    gradient.slice(0, at, at + 1).fill_(value);
  }
  [[nodiscard]] std::vector<float> weights() const {
    std::vector<float> all = a.detach().toVector<float>();
    const auto rest = b.detach().toVector<float>();
    all.insert(all.end(), rest.begin(), rest.end());
    for (const auto& [name, state] : adam.state()) {
      if (!state.defined()) continue;
      const auto values = state.toVector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  bool step() {
    const bool stepped = scaler.step(adam);
    scaler.update();
    return stepped;
  }
};

TEST_F(ScaledSteps, AreThoseOfUnscaledGradients) {
  const Tensor other = a.detach().clone().setRequiresGrad();
  AdamW plain({other}, {.rate = 0.1});
  for (int i = 1; i <= 4; ++i) {
    giveGradients(0.25 * i);
    other.setGrad(full({20}, 0.25 * i));
    EXPECT_TRUE(step());
    plain.step();
    EXPECT_EQ(a.detach().toVector<float>(), other.detach().toVector<float>())
        << "a power of two loses no digit";
  }
}

TEST_F(ScaledSteps, AreSkippedOnceForAnInfiniteGradientAndTheFactorIsHalved) {
  giveGradients(1);
  EXPECT_TRUE(step());
  for (const double bad : {kInfinite, -kInfinite, std::nan("")}) {
    for (const auto& [parameter, at] : {std::pair(a, 3), std::pair(b, 0), std::pair(b, 4999)}) {
      const std::vector<float> before = weights();
      const double factor = scaler.factor();
      const std::int64_t steps = adam.steps();
      giveGradients(1);
      spoil(parameter, at, bad);
      EXPECT_FALSE(step());
      EXPECT_EQ(weights(), before);
      EXPECT_EQ(adam.steps(), steps);
      EXPECT_EQ(scaler.factor(), factor / 2);
      giveGradients(1);
      EXPECT_TRUE(step()) << "the next one counts again";
      EXPECT_NE(weights(), before);
    }
  }
}

TEST_F(ScaledSteps, MakeTheFactorGrowAfterSoManyInARow) {
  const auto good = [this] {
    giveGradients(1);
    return step();
  };
  good();
  good();
  EXPECT_EQ(scaler.factor(), 1024);
  good();
  EXPECT_EQ(scaler.factor(), 2048);
  good();
  good();
  giveGradients(1);
  spoil(a, 0, kInfinite);
  EXPECT_FALSE(step());
  EXPECT_EQ(scaler.factor(), 1024);
  good();
  good();
  EXPECT_EQ(scaler.factor(), 1024) << "the count began anew";
  good();
  EXPECT_EQ(scaler.factor(), 2048);
}

TEST_F(ScaledSteps, NeverTakeTheFactorOutOfF32) {
  scaler.setState({0x1p127, 2});
  giveGradients(0);
  EXPECT_TRUE(step());
  EXPECT_EQ(scaler.factor(), 0x1p127);
  scaler.setState({0x1p-125, 0});
  for (int i = 0; i < 5; ++i) {
    giveGradients(1);
    spoil(a, 0, kInfinite);
    EXPECT_FALSE(step());
  }
  EXPECT_EQ(scaler.factor(), 0x1p-126);
}

TEST_F(ScaledSteps, SeeAGradientThatBecomesInfiniteOnItsWayBack) {
  scaler.setState({0x1p-100, 0});
  giveGradients(1);
  spoil(b, 7, 1e30);
  EXPECT_FALSE(step());
}

TEST_F(ScaledSteps, ClipTheUnscaledGradients) {
  giveGradients(3);
  scaler.unscale(adam);
  EXPECT_NEAR(clipGradNorm({a, b}, 1).item(), 3 * std::sqrt(5020.0), 1e-2);
  EXPECT_NEAR(a.grad().select(0, 0).item(), 1 / std::sqrt(5020.0), 1e-5);
  EXPECT_TRUE(step()) << "which does not unscale again";
  giveGradients(3);
  spoil(a, 1, kInfinite);
  scaler.unscale(adam);
  const std::vector<float> before = weights();
  (void)clipGradNorm({a, b}, 1);
  EXPECT_FALSE(step());
  EXPECT_EQ(weights(), before);
}

TEST_F(ScaledSteps, OfSeveralOptimizersAreSkippedOneByOneAndShareTheFactor) {
  const Tensor c = ones({4}).setRequiresGrad();
  Sgd sgd({c}, {.rate = 1});
  giveGradients(1);
  spoil(a, 0, kInfinite);
  c.setGrad(full({4}, scaler.factor()));
  const std::vector<float> before = weights();
  EXPECT_FALSE(scaler.step(adam));
  EXPECT_TRUE(scaler.step(sgd));
  scaler.update();
  EXPECT_EQ(weights(), before);
  EXPECT_EQ(c.detach().toVector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(scaler.factor(), 512);
}

TEST_F(ScaledSteps, TakeOneExecutionAndOneWait) {
  giveGradients(1);
  EXPECT_TRUE(step());
  giveGradients(1);
  std::uint64_t unscales = 0;
  for (const ProfileRow& row : profile([&] { (void)step(); }).rows) {
    if (row.name == "unscale") unscales += row.calls;
  }
  EXPECT_EQ(unscales, 1U);
}

TEST_F(ScaledSteps, ThatWereMixedUpAreRefused) {
  EXPECT_THAT([&] { scaler.update(); },
              ThrowsMessage<Error>(HasSubstr("update() without a step()")));
  giveGradients(1);
  scaler.unscale(adam);
  EXPECT_THAT([&] { scaler.unscale(adam); }, ThrowsMessage<Error>(HasSubstr("unscale() twice")));
  EXPECT_TRUE(scaler.step(adam));
  EXPECT_THAT([&] { (void)scaler.step(adam); }, ThrowsMessage<Error>(HasSubstr("step() twice")));
  EXPECT_THAT([&] { scaler.unscale(adam); },
              ThrowsMessage<Error>(HasSubstr("unscale() after step()")));
  scaler.update();
  giveGradients(1);
  EXPECT_TRUE(scaler.step(adam));
}

TEST_F(ScaledSteps, WithinTheBackwardAreRefusedBeforeAnythingChanges) {
  const std::vector<float> before = weights();
  adam.stepInBackward();
  EXPECT_THAT([&] { scaler.scale(sum(a * 2.0)).backward(); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("the loss is scaled"), HasSubstr("stepInBackward(false)"))));
  EXPECT_THAT([&] { (void)scaler.step(adam); },
              ThrowsMessage<Error>(HasSubstr("stepInBackward(false)")));
  EXPECT_EQ(weights(), before);
  a.setGrad({});
  sum(a * 2.0).backward();  // one that is not scaled
  adam.step();
  EXPECT_NE(weights(), before);
}

TEST(GradScaler, ScalesTheLossAndItsGradients) {
  const Tensor w = full({3}, 2).setRequiresGrad();
  GradScaler scaler({.factor = 8});
  const Tensor loss = sum(square(w));
  EXPECT_EQ(scaler.scale(loss).item(), 12 * 8);
  scaler.scale(loss).backward();
  EXPECT_EQ(w.grad().toVector<float>(), std::vector<float>(3, 4 * 8));
  EXPECT_EQ(scaler.scale(full({}, 3, {DType::BF16})).dtype(), DType::F32);
  EXPECT_THROW((void)scaler.scale(zeros({}, {DType::I64})), Error);
  EXPECT_THROW((void)scaler.scale(Tensor()), Error);
}

TEST(GradScaler, AddsGradientsUpOverSeveralBackwards) {
  const auto trained = [](bool scales) {
    const Tensor w = full({3}, 2).setRequiresGrad();
    Sgd sgd({w}, {.rate = 0.1});
    GradScaler scaler({.enabled = scales});
    for (int i = 1; i <= 3; ++i) scaler.scale(sum(square(w * i))).backward();
    EXPECT_TRUE(scaler.step(sgd));
    scaler.update();
    return w.detach().toVector<float>();
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST(GradScaler, ThatIsNotEnabledDoesNothing) {
  const Tensor w = full({3}, 2).setRequiresGrad();
  Sgd sgd({w}, {.rate = 1});
  GradScaler scaler({.enabled = false});
  const Tensor loss = sum(w);
  EXPECT_EQ(scaler.scale(loss).impl(), loss.impl());
  EXPECT_EQ(scaler.factor(), 1);
  w.setGrad(full({3}, kInfinite));
  scaler.unscale(sgd);
  EXPECT_TRUE(scaler.step(sgd));
  scaler.update();
  EXPECT_EQ(w.detach().toVector<float>()[0], -std::numeric_limits<float>::infinity());
}

TEST(GradScaler, RefusesOptionsThatMakeNoSense) {
  const GradScalerOptions options[] = {
      {.factor = 0},  {.factor = kInfinite}, {.factor = std::nan("")}, {.growth = 0.5},
      {.backoff = 0}, {.backoff = 2},        {.growthInterval = 0}};
  for (const GradScalerOptions& wrong : options) EXPECT_THROW(GradScaler{wrong}, Error);
  GradScaler scaler;
  EXPECT_THROW(scaler.setState({-1, 0}), Error);
  EXPECT_THROW(scaler.setState({1, -1}), Error);
}

/// The gradient of the product is 1e-9, which f16 does not hold.
TEST(GradScaler, KeepsGradientsThatAreZeroInF16WithoutIt) {
  const auto gradient = [](bool scales) {
    manualSeed(3);
    const Tensor x = randn({16, 8});
    const Tensor w = zeros({8, 4}).setRequiresGrad();
    Sgd sgd({w}, {.rate = 1});
    GradScaler scaler({.enabled = scales});
    Tensor loss;
    {
      const Autocast cast(DType::F16);
      loss = sum(matmul(x, w)) * 1e-9;
    }
    scaler.scale(loss).backward();
    scaler.unscale(sgd);
    const Tensor exact = matmul(x.t(), full({16, 4}, 1e-9));
    const double error = max(abs(w.grad() - exact)).item() / max(abs(exact)).item();
    return std::pair(max(abs(w.grad())).item(), error);
  };
  EXPECT_EQ(gradient(false).first, 0);
  EXPECT_GT(gradient(true).first, 0);
  EXPECT_LT(gradient(true).second, 2e-3);
}

TEST(GradScaler, MakesGradientsOfF16WeightsF32) {
  for (const DType type : {DType::F16, DType::BF16}) {
    const Tensor w = ones({4}, {type}).setRequiresGrad();
    Sgd sgd({w}, {.rate = 1e6});
    sgd.keepMasters();
    GradScaler scaler;
    w.setGrad(full({4}, 65536e-8, {type}));
    scaler.unscale(sgd);
    EXPECT_EQ(w.grad().dtype(), type == DType::F16 ? DType::F32 : type);
    EXPECT_NEAR(w.grad().select(0, 0).item(), 1e-8, 1e-10);
    EXPECT_TRUE(scaler.step(sgd));
    EXPECT_NEAR(w.select(0, 0).item(), 0.99, 0.004) << name(type);
  }
}

TEST(GradScaler, ReadsGradientsWhoseElementsLieApart) {
  const Tensor w = ones({4, 3}).setRequiresGrad();
  Sgd sgd({w}, {.rate = 1});
  GradScaler scaler({.factor = 2});
  w.setGrad(full({3, 4}, 2).t());
  EXPECT_TRUE(scaler.step(sgd));
  EXPECT_EQ(w.detach().toVector<float>(), std::vector<float>(12, 0));
}

TEST(GradScaler, StepsOnMetaWhereThereAreNoValues) {
  const Tensor w = ones({4}, {DType::F32, kMeta}).setRequiresGrad();
  Sgd sgd({w}, {.rate = 1});
  GradScaler scaler;
  scaler.scale(sum(w * 2.0)).backward();
  EXPECT_TRUE(scaler.step(sgd));
  scaler.update();
  const Tensor none = ones({4}).setRequiresGrad();
  Sgd without({none}, {.rate = 1});
  EXPECT_TRUE(scaler.step(without)) << "it has no gradients";
}

}  // namespace
}  // namespace lacuna::rt::optim
