// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include "common/image_files.h"
#include "common/pictures.h"
#include "common/training.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/random.h"
#include "models/resnet.h"

namespace {

using namespace lacuna;
using samples::Flags;

Flags parseFlags(int argc, char** argv) {
  Flags flags(
      "Trains a residual network to distinguish classes of pictures: ten of 32×32, or those of a "
      "folder.");
  samples::addTrainingFlags(flags, "100", "64", "0.05")
      .add("depth", "18", "layers", "18|34|50|101")
      .add("width", "64", "channels of the first stage")
      .add("data", "",
           "a folder with a folder of JPEGs and PNGs per class, or a data_batch file of CIFAR-10's "
           "binary version; drawn pictures without it")
      .add("size", "224",
           "of the squares cut from a folder's pictures; up to 64 the network starts without "
           "pooling")
      .add("overfit", "off", "train on the first batch alone", "on|off")
      .knob("conv_bias", "off", "a bias before each normalisation, which only costs", "on|off");
  samples::addNetworkFlags(flags);
  flags.parse(argc, argv);
  return flags;
}

struct Source {
  std::shared_ptr<const rt::Dataset> pictures;
  std::int64_t classes = 10;
  bool small = true;
};

Source sourceOf(const Flags& flags, std::uint64_t seed) {
  const std::string& data = flags.text("data");
  if (data.empty()) return {samples::syntheticPictures(10000, 32, seed)};
  if (!std::filesystem::is_directory(data)) return {samples::cifarPictures(data)};
  const std::int64_t size = flags.integer("size", 8);
  const auto pictures = samples::folderPictures(data, size);
  const auto classes = static_cast<std::int64_t>(pictures->classes().size());
  std::printf("%zu pictures of %lld classes in %s\n", pictures->size(),
              static_cast<long long>(classes), data.c_str());
  return {pictures, classes, size <= 64};
}

void run(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.integer("seed"));
  rt::manualSeed(seed);
  const Source source = sourceOf(flags, seed);
  const auto net = samples::makeResNet({.depth = static_cast<int>(flags.integer("depth")),
                                        .classes = source.classes,
                                        .width = flags.integer("width", 1),
                                        .smallPictures = source.small,
                                        .convBias = flags.on("conv_bias"),
                                        .checkpoint = flags.on("checkpoint")});
  net->nameTree("resnet");
  samples::describe(("ResNet-" + flags.text("depth")).c_str(), *net);
  rt::optim::Sgd optimizer(net->parameters(), {.rate = flags.number("rate"), .momentum = 0.9});
  optimizer.setFused(flags.on("optimizer.fused"));
  samples::MixedPrecision mixed(flags);
  samples::Training training{flags};
  training.dataset = source.pictures;
  training.oneBatch = flags.on("overfit");
  training.step = [&](std::int64_t, rt::Batch& batch) {
    rt::Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const rt::Autocast cast = mixed.cast();
      loss = rt::crossEntropy((*net)(batch[0]), batch[1]);
    }
    mixed.scaler.scale(loss).backward();
    mixed.scaler.step(optimizer);
    mixed.scaler.update();
    optimizer.zeroGrad(flags.text("zero_grad") == "none");
    return loss;
  };
  training.run();
  samples::printPeakMemory();
}

}  // namespace

int main(int argc, char** argv) {
  return samples::runSample("resnet", [&] { run(parseFlags(argc, argv)); });
}
