// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt::optim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<nn::Sequential> makeNet(Options options = {}) {
  manualSeed(5);
  auto net = std::make_unique<nn::Sequential>();
  net->add<nn::Linear>(16, 32, true, options).add<nn::Relu>().add<nn::Linear>(32, 4, true, options);
  return net;
}

std::vector<float> valuesAfterTraining(bool inBackward) {
  const auto net = makeNet();
  Adam adam(net->parameters(), {.rate = 0.01});
  adam.stepInBackward(inBackward);
  const Tensor x = randn({8, 16});
  for (int i = 0; i < 5; ++i) {
    mean(square((*net)(x))).backward();
    adam.step();
    adam.zeroGrad();
  }
  EXPECT_EQ(adam.steps(), 5);
  std::vector<float> all;
  for (const Tensor& parameter : net->parameters()) {
    const auto values = parameter.detach().toVector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(StepInBackward, GivesTheSameBitsAsAStepAfterIt) {
  EXPECT_EQ(valuesAfterTraining(true), valuesAfterTraining(false));
}

TEST(StepInBackward, HoldsOneGradientAtATime) {
  const auto peakOfGradients = [](bool inBackward) {
    nn::Sequential net;
    for (int i = 0; i < 8; ++i) net.add<nn::Linear>(512, 512, false, Options{DType::F32, kMeta});
    Sgd sgd(net.parameters(), {.rate = 0.1});
    sgd.stepInBackward(inBackward);
    const Tensor x = zeros({1, 512}, {DType::F32, kMeta});
    resetPeakMemory(kMeta);
    const std::size_t before = memoryStats(kMeta).active;
    sum(net(x)).backward();
    sgd.step();
    return memoryStats(kMeta).peakActive - before;
  };
  const std::size_t one = 512 * 512 * sizeof(float);
  EXPECT_GE(peakOfGradients(false), 8 * one);
  EXPECT_LT(peakOfGradients(true), 2 * one);
}

TEST(StepInBackward, UpdatesAWeightThatIsUsedTwiceOnce) {
  const Tensor w = full({1}, 3, {DType::F64}).setRequiresGrad();
  Sgd sgd({w}, {.rate = 0.1});
  sgd.stepInBackward();
  sum(w * w).backward();
  sgd.step();
  EXPECT_NEAR(w.item(), 3 - 0.1 * 6, 1e-12);
  EXPECT_FALSE(w.grad().defined());
}

TEST(StepInBackward, RefusesWhatNeedsAllGradientsAtOnce) {
  const Tensor w = full({1}, 3, {DType::F64}).setRequiresGrad();
  Sgd sgd({w}, {.rate = 0.1});
  sgd.stepInBackward();
  EXPECT_THAT([&] { (void)clipGradNorm({w}, 1); },
              ThrowsMessage<Error>(HasSubstr("clipGradNorm: an optimizer updates")));
  sum(w * 2.0).backward();
  EXPECT_THAT([&] { sum(w * 2.0).backward(); },
              ThrowsMessage<Error>(HasSubstr("sgd: a second backward before step()")));
  Sgd other({w}, {.rate = 0.1});
  EXPECT_THAT([&] { other.stepInBackward(); },
              ThrowsMessage<Error>(HasSubstr("another optimizer")));
}

TEST(StepInBackward, EndsWithItsOptimizer) {
  const Tensor w = full({1}, 3, {DType::F64}).setRequiresGrad();
  {
    Sgd sgd({w}, {.rate = 0.1});
    sgd.stepInBackward();
  }
  sum(w * 2.0).backward();
  EXPECT_EQ(w.item(), 3);
  EXPECT_EQ(w.grad().item(), 2);
}

}  // namespace
}  // namespace lacuna::rt::optim
