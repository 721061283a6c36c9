// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <memory>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

/// Weights in 16 bits with masters in f32: Optimizer::keepMasters() and Module::to().
namespace lacuna::rt::optim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Tensor>)>;

struct Kind {
  const char* name;
  Make make;
};
const Kind kKinds[] = {
    {"sgd",
     [](auto p) {
       return std::make_unique<Sgd>(std::move(p), SgdOptions{.rate = 0.1, .weightDecay = 0.01});
     }},
    {"momentum",
     [](auto p) {
       return std::make_unique<Sgd>(std::move(p),
                                    SgdOptions{.rate = 0.01, .momentum = 0.9, .nesterov = true});
     }},
    {"adam",
     [](auto p) {
       return std::make_unique<Adam>(std::move(p), AdamOptions{.rate = 0.01, .weightDecay = 0.1});
     }},
    {"adamw",
     [](auto p) {
       return std::make_unique<AdamW>(std::move(p), AdamOptions{.rate = 0.01, .weightDecay = 0.1});
     }},
    {"lamb",
     [](auto p) { return std::make_unique<Lamb>(std::move(p), LambOptions{.rate = 0.01}); }}};

std::vector<float> bitsOf(const Tensor& x) {
  return x.detach().toVector<float>();
}

/// One element, less than a stretch, several, and enough to be cut among threads.
constexpr std::int64_t kCounts[] = {1, 4095, 9001, 70001};

/// Weights in a short type with masters, and a copy of them in f32, which are given the same
/// gradients.
struct Twins {
  std::vector<Tensor> shorter, wide;

  explicit Twins(DType type) {
    for (const std::int64_t count : kCounts) {
      shorter.push_back(sin(arange(count).to(DType::F32)).to(type).clone().setRequiresGrad());
      wide.push_back(shorter.back().detach().to(DType::F32).clone().setRequiresGrad());
    }
  }
  void giveGradients(int step, bool byBackward) const {
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      const Tensor gradient = cos(arange(kCounts[i]).to(DType::F32) + step).to(shorter[i].dtype());
      wide[i].setGrad(gradient.to(DType::F32).clone());
      if (byBackward) {
        sum(shorter[i] * gradient).backward();
      } else {
        shorter[i].setGrad(gradient.clone());
      }
    }
  }
  void expectEqual(const char* what) const {
    for (std::size_t i = 0; i < shorter.size(); ++i)
      EXPECT_EQ(bitsOf(shorter[i]), bitsOf(wide[i].detach().to(shorter[i].dtype())))
          << what << ' ' << kCounts[i];
  }
};

TEST(Masters, GiveTheRoundedWeightsOfAnOptimizerInF32) {
  for (const Kind& kind : kKinds) {
    for (const DType type : {DType::BF16, DType::F16}) {
      const Twins twins(type);
      const auto some = kind.make(twins.shorter);
      const auto exact = kind.make(twins.wide);
      some->keepMasters();
      for (int step = 0; step < 4; ++step) {
        twins.giveGradients(step, false);
        some->step();
        exact->step();
        twins.expectEqual(kind.name);
      }
    }
  }
}

TEST(Masters, AreUpdatedWithinTheBackwardToo) {
  for (const Kind& kind : kKinds) {
    const Twins twins(DType::BF16);
    const auto some = kind.make(twins.shorter);
    const auto exact = kind.make(twins.wide);
    some->keepMasters();
    some->stepInBackward();
    for (int step = 0; step < 3; ++step) {
      twins.giveGradients(step, true);
      some->step();
      exact->step();
    }
    twins.expectEqual(kind.name);
  }
}

/// Unscaled gradients of f16 are f32. The factor is a power of two, so that they have the same
/// digits.
TEST(Masters, TakeGradientsInF32FromAScaler) {
  for (const Kind& kind : kKinds) {
    const Twins twins(DType::F16);
    const auto some = kind.make(twins.shorter);
    const auto exact = kind.make(twins.wide);
    some->keepMasters();
    GradScaler scaler({.factor = 0.5});
    GradScaler exactScaler({.factor = 0.5});
    for (int step = 0; step < 3; ++step) {
      twins.giveGradients(step, false);
      EXPECT_TRUE(scaler.step(*some));
      EXPECT_TRUE(exactScaler.step(*exact));
      scaler.update();
      exactScaler.update();
    }
    twins.expectEqual(kind.name);
  }
}

TEST(Masters, AddUpStepsThatAreTooSmallForTheWeights) {
  for (const bool keeps : {false, true}) {
    const Tensor w = ones({8}, {DType::BF16}).setRequiresGrad();
    Sgd sgd({w}, {.rate = 1e-4});
    sgd.keepMasters(keeps);
    for (int i = 0; i < 1000; ++i) {
      w.setGrad(ones({8}, {DType::BF16}));
      sgd.step();
    }
    EXPECT_NEAR(w.select(0, 0).item(), keeps ? 0.9 : 1, 0.004);
  }
}

TEST(Masters, BeginAnewWhereTheProgramWritesAWeight) {
  const Tensor w = ones({3}, {DType::BF16}).setRequiresGrad();
  Sgd sgd({w}, {.rate = 1e-4});
  sgd.keepMasters();
  const auto step = [&] {
    w.setGrad(ones({3}, {DType::BF16}));
    sgd.step();
  };
  step();
  {
    const NoGrad guard;
    Tensor(w).slice(0, 1, 2).fill_(5);
  }
  step();
  const Tensor master = sgd.state()[2].second;
  ASSERT_EQ(sgd.state()[2].first, "0.master");
  EXPECT_EQ(master.toVector<float>(),
            (std::vector<float>{1 - 1e-4F - 1e-4F, 5 - 1e-4F, 1 - 1e-4F - 1e-4F}));
  EXPECT_EQ(w.detach().toVector<float>(), (std::vector<float>{1, 5, 1}));
}

TEST(Masters, AreKeptForShortParametersAloneAndCountAsTheOptimizersMemory) {
  const Tensor shorter = ones({4}, {DType::F16}).setRequiresGrad();
  const Tensor wide = ones({4}).setRequiresGrad();
  Adam adam({shorter, wide}, {});
  adam.keepMasters();
  for (const Tensor& p : {shorter, wide}) p.setGrad(ones({4}, {p.dtype()}));
  adam.step();
  for (const auto& [name, state] : adam.state()) {
    if (name == "1.master") {
      EXPECT_FALSE(state.defined());
      continue;
    }
    EXPECT_EQ(state.dtype(), DType::F32) << name;
    EXPECT_EQ(state.role(), Role::Optimizer) << name;
  }
}

TEST(Masters, AreChosenBeforeTheFirstStep) {
  const Tensor w = ones({3}, {DType::BF16}).setRequiresGrad();
  Sgd sgd({w}, {.momentum = 0.9});
  w.setGrad(ones({3}, {DType::BF16}));
  sgd.step();
  EXPECT_THAT([&] { sgd.keepMasters(); },
              ThrowsMessage<Error>(HasSubstr("call keepMasters() before it")));
  EXPECT_NO_THROW(sgd.keepMasters(false));
  const std::vector<std::pair<std::string, Tensor>> withMaster{{"0.master", ones({3})}};
  EXPECT_THAT([&] { sgd.setState(withMaster, 1); },
              ThrowsMessage<Error>(HasSubstr("'0.master' is a master")));
}

TEST(ModuleTo, ConvertsParametersForAllTheirHandles) {
  nn::Linear layer(4, 3);
  layer.nameTree("layer");
  const std::vector<float> before = bitsOf(layer.weight);
  Sgd sgd(layer.parameters(), {.rate = 0.5});
  layer.to(DType::BF16);
  EXPECT_EQ(layer.weight.dtype(), DType::BF16);
  EXPECT_EQ(layer.parameters()[0].dtype(), DType::BF16);
  EXPECT_EQ(layer.weight.role(), Role::Parameter);
  EXPECT_EQ(layer.weight.name(), "layer.weight");
  EXPECT_TRUE(layer.weight.requiresGrad());
  EXPECT_TRUE(layer.weight.isLeaf());
  EXPECT_EQ(bitsOf(layer.weight), fromVector(before, {4 * 3}).to(DType::BF16).toVector<float>());
  {
    const Tensor y = layer(ones({2, 4}, {DType::BF16}));
    EXPECT_EQ(y.dtype(), DType::BF16);
    sum(y).backward();
  }
  EXPECT_EQ(layer.weight.grad().dtype(), DType::BF16);
  layer.to(DType::F32);
  EXPECT_EQ(layer.weight.grad().toVector<float>(), std::vector<float>(12, 2));
  sgd.step();
}

TEST(ModuleTo, LeavesStatisticsAsTheyAre) {
  nn::BatchNorm2d norm(3);
  norm.to(DType::F16);
  for (const auto& [name, tensor] : norm.namedParameters())
    EXPECT_EQ(tensor.dtype(), DType::F16) << name;
  for (const auto& [name, tensor] : norm.namedBuffers())
    EXPECT_EQ(tensor.dtype(), DType::F32) << name;
  EXPECT_EQ(norm(ones({2, 3, 2, 2}, {DType::F16})).dtype(), DType::F16);
}

TEST(ModuleTo, RefusesWhatItCannotConvertAndChangesNothing) {
  nn::Linear layer(4, 3);
  EXPECT_THAT([&] { layer.to(DType::I32); },
              ThrowsMessage<Error>(HasSubstr("need a floating type, not i32")));
  {
    const Tensor y = layer(ones({2, 4}));
    EXPECT_THAT([&] { layer.to(DType::F16); },
                ThrowsMessage<Error>(HasSubstr("waits for a backward")));
  }
  const Tensor view = layer.bias.detach();
  EXPECT_THAT([&] { layer.to(DType::F16); },
              ThrowsMessage<Error>(HasSubstr("'bias' shares its memory")));
  EXPECT_EQ(layer.weight.dtype(), DType::F32);
}

TEST(ModuleTo, AfterAStepIsNoticedByTheOptimizer) {
  nn::Linear layer(4, 3);
  Sgd sgd(layer.parameters(), {.momentum = 0.9});
  sum(layer(ones({2, 4}))).backward();
  sgd.step();
  layer.to(DType::BF16);
  EXPECT_THAT([&] { sgd.step(); },
              ThrowsMessage<Error>(HasSubstr("a parameter is bf16 now, and its state f32")));
}

}  // namespace
}  // namespace lacuna::rt::optim
