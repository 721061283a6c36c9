// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "common/digit_dataset.h"
#include "common/training.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "lacuna/runtime/schedule.h"

namespace {

using namespace lacuna;
using samples::Digits;
using samples::Flags;

Flags parseFlags(int argc, char** argv) {
  Flags flags(
      "Trains a small network to read digits of 8 × 8 pixels, and prints how many of the held-out "
      "ones it reads.");
  flags.add("steps", "1000", "training steps")
      .knob("batch", "64", "pictures per step")
      .add("hidden", "128", "width of the two hidden layers")
      .add("rate", "0.1", "learning rate at the start; falls along a cosine")
      .add("seed", "1", "seed of everything random")
      .add("device", "cpu", "where to train", "cpu")
      .add("data", "", "digits.csv or digits.csv.gz of scikit-learn; synthetic digits without it")
      .add("log", "100", "steps between two lines of progress");
  samples::addStaticGraphFlag(samples::addUpdateFlags(samples::addLoaderFlags(flags, "0")));
  samples::addPrecisionFlag(flags);
  flags.parse(argc, argv);
  return flags;
}

double accuracy(rt::nn::Module& net, const Digits& digits) {
  const rt::NoGrad noGrad;
  const auto count = static_cast<std::int64_t>(digits.size());
  const rt::Tensor pictures =
      rt::fromVector(digits.pixels, {count, samples::kDigitPixels}) * (1.0 / 16);
  const rt::Tensor hits =
      rt::equal(rt::argmax(net(pictures), 1), rt::fromVector(digits.labels, {count}));
  return rt::sum(hits).item() / static_cast<double>(count);
}

void train(rt::nn::Module& net, std::shared_ptr<const Digits> digits, const Flags& flags) {
  rt::optim::Sgd optimizer(net.parameters(), {.rate = flags.number("rate"), .momentum = 0.9});
  optimizer.setFused(flags.on("optimizer.fused"));
  rt::optim::Schedule schedule(optimizer, rt::optim::cosineDecay(flags.integer("steps", 1)));
  samples::MixedPrecision mixed(flags);
  samples::Training training{flags};
  training.dataset = std::make_shared<samples::DigitDataset>(std::move(digits));
  training.step = [&](std::int64_t, rt::Batch& batch) {
    rt::Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const rt::Autocast cast = mixed.cast();
      loss = rt::crossEntropy(net(batch[0]), batch[1]);
    }
    mixed.scaler.scale(loss).backward();
    mixed.scaler.step(optimizer);
    mixed.scaler.update();
    schedule.step();
    optimizer.zeroGrad(flags.text("zero_grad") == "none");
    return loss;
  };
  training.run();
}

void run(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.integer("seed"));
  const auto digits = std::make_shared<Digits>(flags.text("data").empty()
                                                   ? samples::syntheticDigits(2000, seed)
                                                   : samples::readDigits(flags.text("data")));
  const Digits test = samples::takeTestSet(*digits, 7);
  rt::manualSeed(seed);
  const std::int64_t hidden = flags.integer("hidden", 1);
  rt::nn::Sequential net;
  net.add<rt::nn::Linear>(samples::kDigitPixels, hidden).add<rt::nn::Relu>();
  net.add<rt::nn::Linear>(hidden, hidden).add<rt::nn::Relu>().add<rt::nn::Linear>(hidden, 10);
  net.nameTree("net");
  train(net, digits, flags);
  std::printf("accuracy %.4f on %zu digits that were not trained on\n", accuracy(net, test),
              test.size());
  samples::printPeakMemory();
}

}  // namespace

int main(int argc, char** argv) {
  return samples::runSample("mlp_digits", [&] { run(parseFlags(argc, argv)); });
}
