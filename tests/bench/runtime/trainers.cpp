// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/runtime/trainers.h"

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory_plan.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"
#include "samples/models/resnet.h"
#include "samples/models/stylegan2.h"
#include "samples/models/transformer.h"

namespace bench {

namespace {

namespace rt = lacuna::rt;
namespace samples = lacuna::samples;
using rt::Tensor;

Tensor noise(rt::Shape shape, rt::Device device) {
  Tensor out = rt::empty(shape, {rt::DType::F32, device, rt::Role::Input});
  return device == rt::kMeta ? out : rt::normal_(out, 0, 1);
}

Tensor labels(rt::Shape shape, rt::Device device) {
  Tensor out = rt::zeros(shape, {rt::DType::I64, device, rt::Role::Input});
  if (device != rt::kMeta) out.copy_(rt::randint(0, 10, shape));
  return out;
}

std::shared_ptr<rt::nn::Module> makeMlp(rt::Options options) {
  auto net = std::make_shared<rt::nn::Sequential>();
  net->add<rt::nn::Linear>(784, 512, true, options).add<rt::nn::Relu>();
  net->add<rt::nn::Linear>(512, 512, true, options).add<rt::nn::Relu>();
  net->add<rt::nn::Linear>(512, 10, true, options);
  return net;
}

using Loss = std::function<Tensor(rt::nn::Module&)>;

Loss inShortTypes(Loss loss, rt::DType type) {
  return [loss = std::move(loss), type](rt::nn::Module& net) {
    const rt::Autocast cast(type);
    return loss(net);
  };
}

Trainer assemble(std::shared_ptr<rt::nn::Module> net,
                 std::shared_ptr<rt::optim::Optimizer> optimizer, Precision precision, Loss loss) {
  net->nameTree("net");
  const bool isF16 = precision == Precision::F16;
  if (precision != Precision::F32)
    loss = inShortTypes(std::move(loss), isF16 ? rt::DType::F16 : rt::DType::BF16);
  const auto scaler =
      std::make_shared<rt::optim::GradScaler>(rt::optim::GradScalerOptions{.enabled = isF16});
  Trainer out{net, optimizer, {}};
  out.step = [net, optimizer, scaler, loss = std::move(loss)] {
    Tensor value = loss(*net);
    scaler->scale(value).backward();
    scaler->step(*optimizer);
    scaler->update();
    optimizer->zeroGrad();
    return value.detach();
  };
  return out;
}

Trainer withSgd(const std::shared_ptr<rt::nn::Module>& net, Precision precision, Loss loss) {
  const auto sgd =
      std::make_shared<rt::optim::Sgd>(net->parameters(), rt::optim::SgdOptions{.rate = 0.01});
  return assemble(net, sgd, precision, std::move(loss));
}

Trainer classifier(const std::shared_ptr<rt::nn::Module>& net, Precision precision,
                   const Tensor& x) {
  return withSgd(net, precision, [x, y = labels({x.size(0)}, x.device())](rt::nn::Module& module) {
    return rt::crossEntropy(module(x), y);
  });
}

}  // namespace

Trainer makeTrainer(const std::string& name, rt::Device device, Precision precision) {
  rt::manualSeed(1);
  const rt::Options options{rt::DType::F32, device};
  if (name == "mlp") return classifier(makeMlp(options), precision, noise({128, 784}, device));
  if (name == "resnet18")
    return classifier(samples::makeResNet({.options = options}), precision,
                      noise({64, 3, 32, 32}, device));
  if (name == "resnet50") {
    const auto net = samples::makeResNet(
        {.depth = 50, .classes = 1000, .smallPictures = false, .options = options});
    return classifier(net, precision, noise({16, 3, 224, 224}, device));
  }
  if (name == "transformer") {
    const auto net = samples::makeTransformer({.options = options});
    return withSgd(net, precision,
                   [tokens = labels({16, 128}, device),
                    next = labels({16 * 128}, device)](rt::nn::Module& module) {
                     return rt::crossEntropy(module(tokens).view({16 * 128, -1}), next);
                   });
  }
  if (name == "stylegan2") {
    const auto net =
        samples::makeStyleGan2Discriminator({.channelBase = 32768, .options = options});
    const auto adam = std::make_shared<rt::optim::Adam>(
        net->parameters(), rt::optim::AdamOptions{.rate = 2e-3, .beta1 = 0});
    return assemble(net, adam, precision,
                    [x = noise({4, 3, 256, 256}, device)](rt::nn::Module& module) {
                      return rt::mean(rt::softplus(module(x)));
                    });
  }
  rt::fail("makeTrainer", "no trainer '" + name + "'");
}

PlannedMemory measurePlanned(const std::string& name) {
  const Trainer trainer = makeTrainer(name, rt::kMeta);
  trainer.step();
  PlannedMemory out;
  out.bound = rt::lastUseBound(rt::recordOperators([&] { trainer.step(); }, rt::kMeta));
  rt::planMemory(true, rt::kMeta);
  rt::recordMemoryPlan(rt::kMeta);
  for (std::uint64_t number = 0; number < 5; ++number) {
    if (number == 2) rt::resetPeakMemory(rt::kMeta);
    const rt::StepScope scope(number);
    trainer.step();
  }
  out.memory = rt::memoryStats(rt::kMeta);
  out.plan = rt::memoryPlanStats(rt::kMeta);
  rt::planMemory(false, rt::kMeta);
  return out;
}

}  // namespace bench
