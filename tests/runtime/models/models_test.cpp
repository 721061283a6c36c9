// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "samples/models/resnet.h"
#include "samples/models/stylegan2.h"
#include "samples/models/transformer.h"

namespace lacuna {
namespace {

using rt::Tensor;
using testing::HasSubstr;

std::int64_t parameterCount(const rt::nn::Module& net) {
  std::int64_t count = 0;
  for (const Tensor& parameter : net.parameters()) count += parameter.numel();
  return count;
}

const rt::Options kOnMeta{rt::DType::F32, rt::kMeta};

TEST(ResNet, HasThePublishedNumberOfParameters) {
  samples::ResNetOptions options{
      .depth = 50, .classes = 1000, .smallPictures = false, .options = kOnMeta};
  EXPECT_EQ(parameterCount(*samples::makeResNet(options)), 25557032);
  options.depth = 18;
  EXPECT_EQ(parameterCount(*samples::makeResNet(options)), 11689512);
}

TEST(ResNet, TrainsOnMeta) {
  const auto net = samples::makeResNet({.depth = 50, .smallPictures = false, .options = kOnMeta});
  const Tensor scores = (*net)(rt::empty({2, 3, 64, 64}, kOnMeta));
  EXPECT_EQ(scores.shape(), (rt::Shape{2, 10}));
  rt::sum(scores).backward();
  for (const Tensor& parameter : net->parameters()) EXPECT_TRUE(parameter.grad().defined());
}

TEST(ResNet, OverfitsABatch) {
  rt::manualSeed(1);
  const auto net = samples::makeResNet({.width = 8});
  const Tensor pictures = rt::randn({8, 3, 16, 16});
  const Tensor labels = rt::randint(0, 10, {8});
  rt::optim::Sgd sgd(net->parameters(), {.rate = 0.05, .momentum = 0.9});
  double loss = 0;
  for (int step = 0; step < 25; ++step) {
    const Tensor value = rt::crossEntropy((*net)(pictures), labels);
    value.backward();
    sgd.step();
    sgd.zeroGrad();
    loss = value.item();
  }
  EXPECT_LT(loss, 0.05);
}

TEST(Transformer, SeesOnlyWhatCameBefore) {
  rt::manualSeed(2);
  const auto net = samples::makeTransformer(
      {.vocabulary = 11, .context = 6, .features = 16, .heads = 2, .layers = 2});
  const Tensor tokens = rt::randint(0, 11, {2, 6});
  Tensor changed = tokens.clone();
  changed.slice(1, 5, 6).fill_(3);
  const Tensor before = (*net)(tokens);
  const Tensor after = (*net)(changed);
  EXPECT_EQ(before.shape(), (rt::Shape{2, 6, 11}));
  EXPECT_EQ(before.slice(1, 0, 5).toVector<float>(), after.slice(1, 0, 5).toVector<float>());
}

TEST(StyleGan2, DiscriminatorOfThePaperTrainsOnMeta) {
  const auto net = samples::makeStyleGan2Discriminator({.channelBase = 32768, .options = kOnMeta});
  EXPECT_EQ(parameterCount(*net), 28864129);
  const Tensor scores = (*net)(rt::empty({4, 3, 256, 256}, kOnMeta));
  EXPECT_EQ(scores.shape(), (rt::Shape{4, 1}));
  rt::sum(rt::softplus(scores)).backward();
  for (const Tensor& parameter : net->parameters()) EXPECT_TRUE(parameter.grad().defined());
}

const samples::StyleGan2Options kSmall{
    .size = 16, .channelBase = 64, .channelMax = 8, .latent = 8, .mappingLayers = 2};

TEST(StyleGan2, GeneratorMakesPicturesThatDependOnTheLatent) {
  rt::manualSeed(3);
  const auto net = samples::makeStyleGan2Generator(kSmall);
  const Tensor pictures = (*net)(rt::randn({2, 8}));
  EXPECT_EQ(pictures.shape(), (rt::Shape{2, 3, 16, 16}));
  EXPECT_GT(rt::max(rt::abs(pictures.select(0, 0) - pictures.select(0, 1))).item(), 1e-3);
  rt::sum(rt::square(pictures)).backward();
  for (const auto& [name, tensor] : net->namedParameters())
    EXPECT_TRUE(tensor.grad().defined()) << name;
}

/// R1: the square of the gradient at real pictures, which is trained through.
TEST(StyleGan2, DiscriminatorCanBeTrainedThroughItsOwnGradient) {
  rt::manualSeed(4);
  const auto net = samples::makeStyleGan2Discriminator(kSmall);
  const Tensor pictures = rt::randn({4, 3, 16, 16}).setRequiresGrad();
  const Tensor slope =
      rt::grad({rt::sum((*net)(pictures))}, {pictures}, {}, {.createGraph = true})[0];
  const Tensor penalty = rt::mean(rt::sum(rt::square(slope), {1, 2, 3}));
  EXPECT_GT(penalty.item(), 0);
  penalty.backward();
  EXPECT_TRUE(net->parameters()[0].grad().defined());
}

TEST(Models, RefuseSizesThatTheyHaveNoPlanFor) {
  EXPECT_THROW((void)samples::makeResNet({.depth = 20}), rt::Error);
  EXPECT_THROW((void)samples::makeStyleGan2Discriminator({.size = 48}), rt::Error);
}

}  // namespace
}  // namespace lacuna
