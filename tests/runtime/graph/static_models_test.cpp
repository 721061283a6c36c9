// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/ops.h"
#include "runtime/graph/trained.h"
#include "samples/models/resnet.h"
#include "samples/models/transformer.h"

/// The samples' networks learn the same in a static graph as without one, in every digit.
namespace lacuna::rt {
namespace {

using test::expectTheSame;
using test::Trained;

enum class Network { Mlp, ResNet, Transformer };
enum class Update { Momentum, Adam, AdamW, Unfused, InBackward };

/// A training, and how it is done.
struct Way {
  std::string name;
  Network network;
  Update update = Update::Momentum;
  std::optional<DType> products = {};
  double dropout = 0;
  bool checkpoint = false;
  bool zeros = false;  ///< gradients are filled with zeros, not dropped
  DType weights = DType::F32;
};

std::shared_ptr<nn::Module> networkOf(const Way& way) {
  manualSeed(11);
  if (way.network == Network::ResNet)
    return samples::makeResNet({.width = 8, .checkpoint = way.checkpoint});
  if (way.network == Network::Transformer) {
    return samples::makeTransformer({.vocabulary = 11,
                                     .context = 12,
                                     .features = 32,
                                     .heads = 2,
                                     .layers = 2,
                                     .dropout = way.dropout,
                                     .checkpoint = way.checkpoint});
  }
  auto net = std::make_shared<nn::Sequential>();
  net->add<nn::Linear>(16, 32).add<nn::Gelu>().add<nn::LayerNorm>(Shape{32});
  net->add<nn::Dropout>(way.dropout).add<nn::Linear>(32, 4);
  return net;
}

std::vector<Tensor> batchOf(const Way& way, int step) {
  const RandomState before = randomState();
  setRandomState({77, static_cast<std::uint64_t>(step) * 100});
  std::vector<Tensor> batch;
  if (way.network == Network::Mlp) batch = {randn({32, 16}), randint(0, 4, {32})};
  if (way.network == Network::ResNet) batch = {randn({4, 3, 16, 16}), randint(0, 10, {4})};
  if (way.network == Network::Transformer)
    batch = {randint(0, 11, {4, 12}), randint(0, 11, {4 * 12})};
  setRandomState(before);
  return batch;
}

std::shared_ptr<optim::Optimizer> optimizerOf(const Way& way, nn::Module& net) {
  std::shared_ptr<optim::Optimizer> optimizer;
  if (way.update == Update::Momentum || way.update == Update::Unfused) {
    optimizer = std::make_shared<optim::Sgd>(net.parameters(),
                                             optim::SgdOptions{.rate = 0.01, .momentum = 0.9});
  } else if (way.update == Update::Adam) {
    optimizer = std::make_shared<optim::Adam>(net.parameters(), optim::AdamOptions{.rate = 2e-3});
  } else {
    optimizer = std::make_shared<optim::AdamW>(net.parameters(), optim::AdamOptions{.rate = 2e-3});
  }
  optimizer->setFused(way.update != Update::Unfused);
  optimizer->keepMasters();
  optimizer->stepInBackward(way.update == Update::InBackward);
  return optimizer;
}

Trained trainingOf(const Way& way) {
  const std::shared_ptr<nn::Module> net = networkOf(way);
  net->nameTree("net");
  net->to(way.weights);
  const auto optimizer = optimizerOf(way, *net);
  const auto scaler = std::make_shared<optim::GradScaler>(
      optim::GradScalerOptions{.growthInterval = 8, .enabled = way.products == DType::F16});
  const auto step = [=](const std::vector<Tensor>& batch) {
    Tensor loss;
    {
      const Autocast cast = way.products ? Autocast(*way.products) : Autocast(false);
      Tensor scores = (*net)(batch[0]);
      if (way.network == Network::Transformer) scores = scores.view({-1, 11});
      loss = crossEntropy(scores, batch[1]);
    }
    scaler->scale(loss).backward();
    scaler->step(*optimizer);
    scaler->update();
    optimizer->zeroGrad(!way.zeros);
    return loss;
  };
  return {net, optimizer, [way](int at) { return batchOf(way, at); }, step};
}

const Way kWays[] = {
    {"Mlp", Network::Mlp},
    {"MlpAdam", Network::Mlp, Update::Adam},
    {"MlpAdamW", Network::Mlp, Update::AdamW},
    {"MlpUnfused", Network::Mlp, Update::Unfused},
    {"MlpInBackward", Network::Mlp, Update::InBackward},
    {"MlpDropout", Network::Mlp, Update::AdamW, {}, 0.3},
    {"MlpZeros", Network::Mlp, Update::AdamW, {}, 0, false, true},
    {"MlpBf16", Network::Mlp, Update::AdamW, DType::BF16},
    {"MlpF16", Network::Mlp, Update::AdamW, DType::F16},
    {"MlpBf16Weights", Network::Mlp, Update::AdamW, DType::BF16, 0, false, false, DType::BF16},
    {"MlpF16Weights", Network::Mlp, Update::AdamW, DType::F16, 0, false, false, DType::F16},
    {"ResNet", Network::ResNet},
    {"ResNetAdamW", Network::ResNet, Update::AdamW},
    {"ResNetBf16", Network::ResNet, Update::Momentum, DType::BF16},
    {"ResNetF16", Network::ResNet, Update::Momentum, DType::F16},
    {"ResNetCheckpoint", Network::ResNet, Update::Momentum, {}, 0, true},
    {"Transformer", Network::Transformer, Update::AdamW},
    {"TransformerDropout", Network::Transformer, Update::AdamW, {}, 0.2},
    {"TransformerBf16", Network::Transformer, Update::AdamW, DType::BF16, 0.2},
    {"TransformerF16", Network::Transformer, Update::AdamW, DType::F16, 0.2},
    {"TransformerCheckpoint", Network::Transformer, Update::AdamW, {}, 0.2, true},
    {"TransformerAll", Network::Transformer, Update::InBackward, DType::BF16, 0.2, true},
};

class StaticModels : public testing::TestWithParam<Way> {};

TEST_P(StaticModels, LearnTheSameInEveryDigit) {
  const Way& way = GetParam();
  const int steps = way.network == Network::ResNet ? 12 : 24;
  const auto outcome = expectTheSame([&] { return trainingOf(way); }, steps);
  const bool isScaled = way.products == DType::F16;  // its factor changes now and then
  const int traced = way.zeros ? 3 : 2;              // the first step has no gradients yet
  EXPECT_GE(static_cast<int>(outcome.stats.replays), isScaled ? steps / 2 : steps - traced)
      << outcome.stats.reason;
  EXPECT_LT(outcome.losses.back(), 10);
}

INSTANTIATE_TEST_SUITE_P(Ways, StaticModels, testing::ValuesIn(kWays),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace lacuna::rt
