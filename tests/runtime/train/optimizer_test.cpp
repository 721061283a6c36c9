// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "lacuna/runtime/ops.h"

namespace lacuna::rt::optim {
namespace {

Tensor parameter(double value) {
  return full({1}, value, {DType::F64}).setRequiresGrad();
}

void stepWith(Optimizer& optimizer, const Tensor& p, double gradient) {
  p.setGrad(full({1}, gradient, {DType::F64}));
  optimizer.step();
}

TEST(Sgd, FollowsTheFormulaWithMomentumNesterovAndDecay) {
  const Tensor p = parameter(1);
  Sgd sgd({p}, {.rate = 0.1, .momentum = 0.9, .weightDecay = 0.01, .nesterov = true});
  double value = 1;
  double momentum = 0;
  for (int i = 0; i < 3; ++i) {
    stepWith(sgd, p, 0.5);
    const double g = 0.5 + 0.01 * value;
    momentum = i == 0 ? g : 0.9 * momentum + g;
    value -= 0.1 * (g + 0.9 * momentum);
    EXPECT_NEAR(p.item(), value, 1e-12);
  }
}

TEST(Adam, FollowsTheFormula) {
  for (const bool decoupled : {false, true}) {
    const Tensor p = parameter(1);
    const AdamOptions options{.rate = 0.01, .weightDecay = 0.1};
    Adam adam({p}, options);
    AdamW adamW({p}, options);
    double value = 1;
    double m = 0;
    double v = 0;
    for (int i = 1; i <= 4; ++i) {
      stepWith(decoupled ? static_cast<Optimizer&>(adamW) : adam, p, 0.3 * i);
      const double g = 0.3 * i + (decoupled ? 0 : 0.1 * value);
      if (decoupled) value *= 1 - 0.01 * 0.1;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      value -=
          0.01 * (m / (1 - std::pow(0.9, i))) / (std::sqrt(v / (1 - std::pow(0.999, i))) + 1e-8);
      EXPECT_NEAR(p.item(), value, 1e-12) << "decoupled " << decoupled << ", step " << i;
    }
  }
}

TEST(Lamb, FollowsTheFormula) {
  const std::vector<double> start{1, -2, 0.5};
  const Tensor p = fromVector(start, {3}).clone().setRequiresGrad();
  const LambOptions options{.rate = 0.01, .weightDecay = 0.1};
  Lamb lamb({p}, options);
  std::vector<double> value = start;
  std::vector<double> m(3);
  std::vector<double> v(3);
  for (int i = 1; i <= 3; ++i) {
    p.setGrad(fromVector<double>({0.3 * i, -0.1, 0.7}, {3}));
    lamb.step();
    std::vector<double> along(3);
    double own = 0;
    double length = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double g = k == 0 ? 0.3 * i : k == 1 ? -0.1 : 0.7;
      m[k] = 0.9 * m[k] + 0.1 * g;
      v[k] = 0.999 * v[k] + 0.001 * g * g;
      along[k] =
          m[k] / (1 - std::pow(0.9, i)) / (std::sqrt(v[k] / (1 - std::pow(0.999, i))) + 1e-6) +
          0.1 * value[k];
      own += value[k] * value[k];
      length += along[k] * along[k];
    }
    for (std::size_t k = 0; k < 3; ++k) value[k] -= 0.01 * std::sqrt(own / length) * along[k];
    const auto got = p.detach().toVector<double>();
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(got[k], value[k], 1e-12) << "step " << i << ", element " << k;
  }
}

/// Parameters, gradients and state in `type` follow those in double precision as far as its digits
/// go.
TEST(Optimizers, FollowTheirFormulaInShorterTypes) {
  using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Tensor>)>;
  const std::pair<const char*, Make> kOptimizers[] = {
      {"sgd",
       [](std::vector<Tensor> p) {
         return std::make_unique<Sgd>(
             std::move(p), SgdOptions{.rate = 0.1, .momentum = 0.9, .weightDecay = 0.01});
       }},
      {"adam",
       [](std::vector<Tensor> p) {
         return std::make_unique<Adam>(std::move(p), AdamOptions{.rate = 0.1});
       }},
      {"adamw",
       [](std::vector<Tensor> p) {
         return std::make_unique<AdamW>(std::move(p), AdamOptions{.rate = 0.1});
       }},
      {"lamb", [](std::vector<Tensor> p) {
         return std::make_unique<Lamb>(std::move(p), LambOptions{.rate = 0.1});
       }}};
  for (const auto& [name, make] : kOptimizers) {
    for (const auto& [type, tolerance] :
         {std::pair(DType::F32, 1e-5), std::pair(DType::F16, 5e-2), std::pair(DType::BF16, 1e-1)}) {
      const Tensor start = sin(arange(70).to(DType::F64)).to(type);
      const Tensor shorter = start.clone().setRequiresGrad();
      const Tensor wide = start.to(DType::F64).setRequiresGrad();
      const auto one = make({shorter});
      const auto other = make({wide});
      for (int step = 0; step < 4; ++step) {
        const Tensor gradient = cos(arange(70).to(DType::F64) + step).to(type);
        shorter.setGrad(gradient.clone());
        wide.setGrad(gradient.to(DType::F64));
        one->step();
        other->step();
      }
      EXPECT_EQ(shorter.dtype(), type);
      EXPECT_LT(max(abs(shorter.detach().to(DType::F64) - wide.detach())).item(), tolerance)
          << name << " in " << rt::name(type);
      EXPECT_GT(max(abs(wide.detach() - start.to(DType::F64))).item(), 0.05) << name << " moved";
    }
  }
}

TEST(Lamb, StartsAParameterThatIsZero) {
  const Tensor p = parameter(0);
  Lamb lamb({p}, {.rate = 0.5});
  stepWith(lamb, p, 2);
  EXPECT_NEAR(p.item(), -0.5, 1e-5) << "without a norm to follow, the step is the rate";
}

/// Large enough to be cut among threads, and of a length that no piece divides.
TEST(Lamb, OfALargeParameterIsTheSameAsOfItsCopyInDoublePrecision) {
  const std::int64_t count = 100003;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const Tensor single = fromVector(values, {count}).clone().setRequiresGrad();
  const Tensor wide = single.detach().to(DType::F64).setRequiresGrad();
  Lamb a({single}, {.rate = 0.1});
  Lamb b({wide}, {.rate = 0.1});
  for (int i = 0; i < 3; ++i) {
    single.setGrad(cos(single.detach()));
    wide.setGrad(cos(wide.detach()));
    a.step();
    b.step();
  }
  EXPECT_LT(max(abs(single.detach().to(DType::F64) - wide.detach())).item(), 1e-5);
}

TEST(Optimizer, RefusesAParameterThatIsThereTwice) {
  const Tensor p = parameter(1);
  EXPECT_THROW(Sgd({p, p}, {}), Error);
}

TEST(Optimizer, RefusesABetaThatIsNoShare) {
  EXPECT_NO_THROW(Adam({parameter(1)}, {.beta1 = 0}));
  for (const double beta : {1.0, -0.1, std::nan("")}) {
    EXPECT_THROW(Adam({parameter(1)}, {.beta1 = beta}), Error) << beta;
    EXPECT_THROW(AdamW({parameter(1)}, {.beta2 = beta}), Error) << beta;
    EXPECT_THROW(Lamb({parameter(1)}, {.beta2 = beta}), Error) << beta;
  }
}

TEST(Optimizer, FusedAndUnfusedAgree) {
  double results[2];
  for (const bool fused : {false, true}) {
    const Tensor a = parameter(1);
    const Tensor b = parameter(2);
    Adam adam({a, b}, {});
    adam.setFused(fused);
    for (int i = 0; i < 5; ++i) {
      sum(square(a) * b).backward();
      adam.step();
      adam.zeroGrad(i % 2 == 0);
    }
    results[fused ? 1 : 0] = a.item() + 10 * b.item();
  }
  EXPECT_EQ(results[0], results[1]);
}

/// A parameter's first step has the length of the rate, whatever happened before it had a gradient.
template <class Optimizer, class Options>
void expectAFullFirstStep(Options options) {
  const Tensor early = parameter(1);
  const Tensor late = parameter(1);
  options.rate = 0.5;
  options.weightDecay = 0;
  Optimizer optimizer({early, late}, options);
  for (int i = 0; i < 10; ++i) optimizer.step();
  for (int i = 0; i < 100; ++i) stepWith(optimizer, early, 1);
  early.setGrad({});
  stepWith(optimizer, late, 1);
  EXPECT_NEAR(late.item(), 0.5, 1e-5) << optimizer.kind();
  EXPECT_EQ(optimizer.updates(), (std::vector<std::int64_t>{100, 1}));
}

TEST(Optimizer, CorrectsTheBiasOfEachParameterByItsOwnUpdates) {
  expectAFullFirstStep<Adam>(AdamOptions{});
  expectAFullFirstStep<AdamW>(AdamOptions{});
  expectAFullFirstStep<Lamb>(LambOptions{});
}

TEST(Optimizer, FillsGradientsThatHaveAHistoryWithZeros) {
  const Tensor a = parameter(2);
  Sgd sgd({a}, {});
  sum(square(a)).backward({}, false, true);
  sgd.zeroGrad(false);
  EXPECT_EQ(a.grad().item(), 0);
  EXPECT_FALSE(a.grad().requiresGrad());
}

TEST(Optimizer, ClipsTheCommonNorm) {
  const Tensor a = parameter(0);
  const Tensor b = parameter(0);
  a.setGrad(full({1}, 3, {DType::F64}));
  b.setGrad(full({1}, 4, {DType::F64}));
  EXPECT_NEAR(clipGradNorm({a, b}, 1).item(), 5, 1e-12);
  EXPECT_NEAR(a.grad().item(), 0.6, 1e-6);
}

TEST(Optimizer, ClipsGradientsWhoseSquaresTheirTypeDoesNotHold) {
  for (const DType type : {DType::F16, DType::BF16}) {
    const Tensor large = zeros({2}, {type}).setRequiresGrad();
    large.setGrad(fromVector<float>({300, 400}, {2}).to(type));
    EXPECT_NEAR(clipGradNorm({large}, 1e-4).item(), 500, 1e-3) << name(type);
    EXPECT_NEAR(large.grad().select(0, 0).item(), 6e-5, 1e-6) << name(type);
    std::vector<Tensor> many;
    for (int i = 0; i < 1000; ++i) {
      many.push_back(zeros({1}, {type}).setRequiresGrad());
      many.back().setGrad(ones({1}, {type}));
    }
    EXPECT_NEAR(clipGradNorm(many, 1).item(), std::sqrt(1000.0), 1e-3) << name(type);
    EXPECT_NEAR(many[0].grad().item(), 1 / std::sqrt(1000.0), 1e-3) << name(type);
  }
}

TEST(Optimizer, ClipsWhatABackwardWithCreateGraphLeftOnce) {
  const Tensor a = fromVector<double>({1, 1}, {2}).setRequiresGrad();
  const Tensor b = fromVector<double>({1, 1}, {2}).setRequiresGrad();
  sum(a + b).backward({}, false, true);
  EXPECT_NEAR(clipGradNorm({a, b}, 1).item(), 2, 1e-12);
  EXPECT_NEAR(a.grad().select(0, 1).item(), 0.5, 1e-6);
  EXPECT_NEAR(b.grad().select(0, 0).item(), 0.5, 1e-6);
}

TEST(Optimizer, TakesTheStateOfAnotherDeviceWhereThatHasValues) {
  const auto trained = [](Device device) {
    const Tensor p = full({2}, 1, {DType::F32, device}).setRequiresGrad();
    auto sgd =
        std::make_unique<Sgd>(std::vector<Tensor>{p}, SgdOptions{.rate = 0.1, .momentum = 0.9});
    p.setGrad(full({2}, 3, {DType::F32, device}));
    sgd->step();
    return sgd;
  };
  const auto onCpu = trained(kCpu);
  const auto onMeta = trained(kMeta);
  EXPECT_NO_THROW(onMeta->setState(onCpu->state(), 1));
  EXPECT_TRUE(onMeta->state()[0].second.isMeta());
  EXPECT_THROW(onCpu->setState(onMeta->state(), 7), Error);
  EXPECT_EQ(onCpu->steps(), 1);
  EXPECT_EQ(onCpu->state()[0].second.toVector<float>(), std::vector<float>({3, 3}));
}

}  // namespace
}  // namespace lacuna::rt::optim
