// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "common/image_files.h"
#include "common/pictures.h"
#include "common/training.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"
#include "models/stylegan2.h"

namespace {

using namespace lacuna;
using rt::Tensor;
using samples::Flags;

Flags parseFlags(int argc, char** argv) {
  Flags flags(
      "Trains StyleGAN2's discriminator to separate drawn pictures from those of a generator, "
      "which is trained too if asked.");
  samples::addTrainingFlags(flags, "20", "4", "0.002")
      .add("data", "",
           "a folder with folders of JPEGs and PNGs, one or more; drawn pictures without it")
      .add("size", "64", "of the pictures: a power of two; 256 is the paper's smallest")
      .add("channels", "16384", "channels of a stage times its size, at most 512 a stage")
      .add("generator", "fixed", "leave the generator as it is, or train it in turn",
           "fixed|trained")
      .add("r1", "10", "weight of the gradient penalty; 0 leaves it out")
      .add("r1_every", "16", "steps between two gradient penalties");
  samples::addNetworkFlags(flags);
  flags.parse(argc, argv);
  return flags;
}

/// Half the mean square of the gradient at real pictures, which is trained through.
Tensor gradientPenalty(rt::nn::Module& net, const Tensor& pictures) {
  const Tensor real = pictures.detach().setRequiresGrad();
  const Tensor slope = rt::grad({rt::sum(net(real))}, {real}, {}, {.createGraph = true})[0];
  return rt::mean(rt::sum(rt::square(slope), {1, 2, 3})) * 0.5;
}

class Duel {
 public:
  explicit Duel(const Flags& flags)
      : flags_(flags),
        discriminator_(samples::makeStyleGan2Discriminator(optionsOf(flags))),
        generator_(samples::makeStyleGan2Generator(optionsOf(flags))),
        discriminatorStep_(discriminator_->parameters(), adam(flags)),
        generatorStep_(generator_->parameters(), adam(flags)),
        mixed_(flags) {
    discriminator_->nameTree("discriminator");
    generator_->nameTree("generator");
    discriminatorStep_.setFused(flags.on("optimizer.fused"));
    generatorStep_.setFused(flags.on("optimizer.fused"));
    samples::describe("discriminator", *discriminator_);
    samples::describe("generator", *generator_);
  }

  Tensor step(std::int64_t number, const Tensor& pictures) {
    if (flags_.text("generator") == "trained") trainGenerator(pictures.size(0));
    return trainDiscriminator(number, pictures);
  }

 private:
  static samples::StyleGan2Options optionsOf(const Flags& flags) {
    return {.size = flags.integer("size", 8),
            .channelBase = flags.integer("channels", 8),
            .mappingLayers = 4,
            .checkpoint = flags.on("checkpoint")};
  }
  static rt::optim::AdamOptions adam(const Flags& flags) {
    return {.rate = flags.number("rate"), .beta1 = 0, .beta2 = 0.99};
  }

  Tensor fakes(std::int64_t count) { return (*generator_)(rt::randn({count, 512})); }

  static void wantGradients(const rt::nn::Module& net, bool on) {
    for (Tensor& parameter : net.parameters()) parameter.setRequiresGrad(on);
  }

  // Through the discriminator, which learns nothing from it: without gradients of its own it keeps
  // and computes less.
  void trainGenerator(std::int64_t count) {
    wantGradients(*discriminator_, false);
    Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const rt::Autocast cast = mixed_.cast();
      loss = rt::mean(rt::softplus(-(*discriminator_)(fakes(count))));
    }
    mixed_.scaler.scale(loss).backward();
    wantGradients(*discriminator_, true);
    mixed_.scaler.step(generatorStep_);
    zero();
  }

  Tensor trainDiscriminator(std::int64_t number, const Tensor& pictures) {
    Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const rt::Autocast cast = mixed_.cast();
      Tensor fake;
      {
        const rt::NoGrad guard;
        fake = fakes(pictures.size(0));
      }
      loss = rt::mean(rt::softplus((*discriminator_)(fake))) +
             rt::mean(rt::softplus(-(*discriminator_)(pictures)));
      const double weight = flags_.number("r1");
      const std::int64_t every = flags_.integer("r1_every", 1);
      if (weight != 0 && number % every == 0)
        loss = loss +
               gradientPenalty(*discriminator_, pictures) * (weight * static_cast<double>(every));
    }
    mixed_.scaler.scale(loss).backward();
    mixed_.scaler.step(discriminatorStep_);
    mixed_.scaler.update();
    zero();
    return loss;
  }

  void zero() {
    const bool toNone = flags_.text("zero_grad") == "none";
    discriminatorStep_.zeroGrad(toNone);
    generatorStep_.zeroGrad(toNone);
  }

  const Flags& flags_;
  std::shared_ptr<rt::nn::Module> discriminator_, generator_;
  rt::optim::Adam discriminatorStep_, generatorStep_;
  samples::MixedPrecision mixed_;
};

std::shared_ptr<const rt::Dataset> picturesOf(const Flags& flags, std::uint64_t seed) {
  const std::int64_t size = flags.integer("size", 8);
  const std::string& data = flags.text("data");
  if (data.empty()) return samples::syntheticPictures(1000, size, seed);
  auto pictures = samples::folderPictures(data, size, samples::Colours::Symmetric);
  std::printf("%zu pictures in %s\n", pictures->size(), data.c_str());
  return pictures;
}

void run(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.integer("seed"));
  rt::manualSeed(seed);
  (void)flags.integer("r1_every", 1);
  const auto pictures = picturesOf(flags, seed);
  Duel duel(flags);
  samples::Training training{flags};
  training.dataset = pictures;
  training.step = [&](std::int64_t number, rt::Batch& batch) {
    return duel.step(number, batch[0]);
  };
  training.key = [&](std::int64_t number) {
    return number % flags.integer("r1_every", 1) == 0 ? 1 : 0;
  };
  training.run();
  samples::printPeakMemory();
}

}  // namespace

int main(int argc, char** argv) {
  return samples::runSample("stylegan2_discriminator", [&] { run(parseFlags(argc, argv)); });
}
