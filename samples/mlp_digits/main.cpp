// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>

#include "common/batches.h"
#include "common/digits.h"
#include "common/flags.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

namespace {

using namespace lacuna;
using samples::Digits;
using samples::Flags;

Flags parseFlags(int argc, char** argv) {
  Flags flags(
      "Trains a small network to read digits of 8 × 8 pixels, and says how many of the held-out ones it reads.");
  flags.add("steps", "1000", "training steps")
      .knob("batch", "64", "pictures per step")
      .add("hidden", "128", "width of the two hidden layers")
      .add("rate", "0.1", "learning rate")
      .add("seed", "1", "seed of everything random")
      .add("device", "cpu", "where to train", "cpu")
      .add("data", "", "digits.csv or digits.csv.gz of scikit-learn; synthetic digits without it")
      .add("log", "100", "steps between two lines of progress")
      .knob("loader.workers", "0", "loader threads; 0 loads on the training thread")
      .knob("loader.prefetch", "2", "ready batches per worker")
      .knob("zero_grad", "none", "drop gradients, or fill them with zeros", "none|zero")
      .knob("optimizer.fused", "on", "update all parameters in one execution", "on|off");
  flags.parse(argc, argv);
  return flags;
}

double accuracy(rt::nn::Module& net, const Digits& digits) {
  const rt::NoGrad noGrad;
  const auto count = static_cast<std::int64_t>(digits.size());
  const rt::Tensor pictures = rt::fromVector(digits.pixels, {count, samples::kDigitPixels}) * (1.0 / 16);
  const rt::Tensor hits = rt::equal(rt::argmax(net(pictures), 1), rt::fromVector(digits.labels, {count}));
  return rt::sum(hits).item() / static_cast<double>(count);
}

void train(rt::nn::Module& net, const Digits& digits, const Flags& flags) {
  rt::optim::Sgd optimizer(net.parameters(), {.rate = flags.number("rate"), .momentum = 0.9});
  optimizer.setFused(flags.on("optimizer.fused"));
  samples::BatchOptions options;
  options.batch = flags.integer("batch", 1);
  options.workers = static_cast<int>(flags.integer("loader.workers"));
  options.prefetch = static_cast<int>(flags.integer("loader.prefetch", 1));
  options.seed = static_cast<std::uint64_t>(flags.integer("seed"));
  samples::Batches batches(digits, options);
  const std::int64_t steps = flags.integer("steps", 1);
  const std::int64_t log = flags.integer("log", 1);
  for (std::int64_t step = 0; step < steps; ++step) {
    const rt::StepScope scope(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(options.batch));
    samples::Batch batch;
    {
      const rt::PhaseScope load(rt::Phase::Load);
      batch = batches.next();
    }
    rt::Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      loss = rt::crossEntropy(net(batch.pictures), batch.labels);
    }
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad(flags.text("zero_grad") == "none");
    if (step % log == 0 || step + 1 == steps) {
      std::printf("step %lld loss %.6f\n", static_cast<long long>(step), loss.item());
    }
  }
}

int run(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.integer("seed"));
  Digits digits =
      flags.text("data").empty() ? samples::syntheticDigits(2000, seed) : samples::readDigits(flags.text("data"));
  const Digits test = samples::takeTestSet(digits, 7);
  rt::manualSeed(seed);
  const std::int64_t hidden = flags.integer("hidden", 1);
  rt::nn::Sequential net;
  net.add<rt::nn::Linear>(samples::kDigitPixels, hidden).add<rt::nn::Relu>();
  net.add<rt::nn::Linear>(hidden, hidden).add<rt::nn::Relu>().add<rt::nn::Linear>(hidden, 10);
  net.nameTree("net");
  train(net, digits, flags);
  std::printf("accuracy %.4f on %zu digits that were not trained on\n", accuracy(net, test), test.size());
  std::printf("peak memory %.2f MiB\n", static_cast<double>(rt::memoryStats().peakActive) / (1024.0 * 1024.0));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parseFlags(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlp_digits: %s\n", error.what());
    return 1;
  }
}
