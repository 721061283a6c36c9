// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <sstream>

namespace lacuna::drawn {
namespace {

constexpr std::int64_t kMostUs = 10'000'000;
constexpr std::int64_t kMostSize = 1 << 16;

}  // namespace

void addPlanFlags(samples::Flags& flags) {
  flags.add("family", "mlp", "the network", "mlp|cnn|transformer|recommender|autoencoder|rnn")
      .add("width", "256", "features or channels of a layer")
      .add("depth", "3", "layers or blocks")
      .add("side", "16", "of a picture, in pixels")
      .add("length", "32", "of a sequence, or tables of a recommender")
      .add("batch", "64", "examples in a batch")
      .add("loader", "workers", "who prepares batches", "workers|processes|own|memory")
      .add("workers", "1", "threads or processes of the loader")
      .add("prefetch", "2", "ready batches per worker")
      .add("optimizer", "sgd", "", "sgd|adam|adamw|lamb")
      .add("clips", "off", "clip the gradients' norm", "on|off")
      .add("evaluates", "off", "evaluate now and then", "on|off")
      .add("accumulates", "1", "batches in a step")
      .add("fault-us", "10000", "what a fault that takes time takes")
      .add("prepare-us", "200", "what preparing a batch computes")
      .add("save-every", "10", "steps between two checkpoints")
      .add("faults", "", "faults that it has, separated by commas")
      .add("seed", "1", "of everything random");
}

Plan::Plan(const samples::Flags& flags)
    : family(flags.text("family")),
      width(flags.integer("width", 1, kMostSize)),
      depth(flags.integer("depth", 1, kMostSize)),
      side(flags.integer("side", 4, kMostSize)),
      length(flags.integer("length", 1, kMostSize)),
      batch(flags.integer("batch", 2, samples::kMostBatch)),
      loader(flags.text("loader")),
      workers(static_cast<unsigned>(flags.integer("workers", 1, samples::kMostWorkers))),
      prefetch(static_cast<unsigned>(flags.integer("prefetch", 1, samples::kMostPrefetch))),
      optimizer(flags.text("optimizer")),
      clips(flags.on("clips")),
      evaluates(flags.on("evaluates")),
      accumulates(flags.integer("accumulates", 1, kMostSize)),
      faultUs(flags.integer("fault-us", 0, kMostUs)),
      prepareUs(flags.integer("prepare-us", 0, kMostUs)),
      saveEvery(flags.integer("save-every", 1, kMostSize)),
      seed(static_cast<std::uint64_t>(flags.integer("seed"))) {
  std::istringstream list(flags.text("faults"));
  for (std::string fault; std::getline(list, fault, ',');) faults_.insert(fault);
}

}  // namespace lacuna::drawn
