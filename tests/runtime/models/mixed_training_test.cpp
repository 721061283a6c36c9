// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "samples/models/resnet.h"
#include "samples/models/transformer.h"

/// Small networks learn the same in f32 and in each kind of mixed precision.
namespace lacuna {
namespace {

using rt::DType;
using rt::Tensor;

/// The types of a training: of products, and of the weights, which then have masters.
struct Way {
  const char* name;
  std::optional<DType> products;
  DType weights = DType::F32;
  bool inBackward = false;
};
const Way kWays[] = {{"bf16", DType::BF16},
                     {"f16 with a scaler", DType::F16},
                     {"bf16 with bf16 weights", DType::BF16, DType::BF16},
                     {"bf16 weights, updated in the backward", DType::BF16, DType::BF16, true},
                     {"f16 with a scaler and f16 weights", DType::F16, DType::F16}};

/// A network, its optimizer and a batch to learn by heart.
struct Task {
  std::shared_ptr<rt::nn::Module> net;
  Tensor input, target;
  double rate;
};

Task mlp() {
  rt::manualSeed(5);
  auto net = std::make_shared<rt::nn::Sequential>();
  net->add<rt::nn::Linear>(16, 32).add<rt::nn::Gelu>().add<rt::nn::LayerNorm>(rt::Shape{32});
  net->add<rt::nn::Linear>(32, 4);
  return {net, rt::randn({64, 16}), rt::randint(0, 4, {64}), 3e-3};
}
Task cnn() {
  rt::manualSeed(6);
  return {samples::makeResNet({.width = 8}), rt::randn({8, 3, 16, 16}), rt::randint(0, 10, {8}),
          2e-3};
}
Task transformer() {
  rt::manualSeed(7);
  const auto net = samples::makeTransformer(
      {.vocabulary = 11, .context = 12, .features = 32, .heads = 2, .layers = 2});
  return {net, rt::randint(0, 11, {8, 12}), rt::randint(0, 11, {8 * 12}), 3e-3};
}

struct Curve {
  std::vector<double>
      losses;  ///< of steps that were taken: a skipped one changes nothing, so its loss comes again
  std::size_t skipped = 0;
};

Curve train(const Task& task, const Way& way, std::size_t steps) {
  task.net->to(way.weights);
  rt::optim::AdamW adam(task.net->parameters(), {.rate = task.rate});
  adam.keepMasters();
  adam.stepInBackward(way.inBackward);
  rt::optim::GradScaler scaler({.growthInterval = 10, .enabled = way.products == DType::F16});
  Curve out;
  while (out.losses.size() < steps && out.skipped <= steps) {
    Tensor loss;
    {
      const rt::Autocast cast = way.products ? rt::Autocast(*way.products) : rt::Autocast(false);
      const Tensor scores = (*task.net)(task.input);
      loss = rt::crossEntropy(scores.view({-1, scores.size(-1)}), task.target);
    }
    EXPECT_EQ(loss.dtype(), DType::F32);
    scaler.scale(loss).backward();
    const bool stepped = scaler.step(adam);
    scaler.update();
    adam.zeroGrad();
    if (stepped) {
      out.losses.push_back(loss.item());
    } else {
      ++out.skipped;
    }
  }
  return out;
}

double meanOf(const std::vector<double>& values, std::size_t from, std::size_t to) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                         values.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

/// Each quarter of the losses is on average within 5 % of that in f32, and 0.02 where they are
/// small.
void expectTheSame(const std::function<Task()>& make, std::size_t steps) {
  const Curve wide = train(make(), {"f32", std::nullopt}, steps);
  const std::size_t quarter = steps / 4;
  EXPECT_LT(wide.losses.back(), 0.5 * wide.losses.front()) << "it learns";
  for (const Way& way : kWays) {
    const Curve curve = train(make(), way, steps);
    ASSERT_EQ(curve.losses.size(), steps) << way.name;
    EXPECT_LE(curve.skipped, way.products == DType::F16 ? steps / 5 : 0) << way.name;
    for (std::size_t part = 0; part < 4; ++part) {
      const double got = meanOf(curve.losses, part * quarter, (part + 1) * quarter);
      const double exact = meanOf(wide.losses, part * quarter, (part + 1) * quarter);
      EXPECT_NEAR(got, exact, 0.05 * exact + 0.02) << way.name << ", quarter " << part;
    }
  }
}

TEST(MixedTraining, OfAnMlpIsTheSame) {
  expectTheSame(mlp, 80);
}
TEST(MixedTraining, OfAConvolutionalNetworkIsTheSame) {
  expectTheSame(cnn, 20);
}
TEST(MixedTraining, OfATransformerIsTheSame) {
  expectTheSame(transformer, 60);
}

/// Without masters small steps are lost, so this is no matter of course.
TEST(MixedTraining, WithShortWeightsNeedsTheMasters) {
  const auto lastLoss = [](bool keeps) {
    const Task task = mlp();
    task.net->to(DType::BF16);
    rt::optim::Sgd sgd(task.net->parameters(), {.rate = 0.002});
    sgd.keepMasters(keeps);
    double loss = 0;
    for (int step = 0; step < 600; ++step) {
      const rt::Autocast cast;
      const Tensor value = rt::crossEntropy((*task.net)(task.input), task.target);
      value.backward();
      sgd.step();
      sgd.zeroGrad();
      loss = value.item();
    }
    return loss;
  };
  EXPECT_LT(lastLoss(true), 0.98 * lastLoss(false));
}

}  // namespace
}  // namespace lacuna
