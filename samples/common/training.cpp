// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/training.h"

#include <cstdio>
#include <exception>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/backend.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/static_graph.h"

namespace lacuna::samples {

Flags& addLoaderFlags(Flags& flags, const char* workers) {
  return flags
      .knob("loader.workers", workers,
            "loader threads, or processes; 0 loads on the training thread")
      .knob("loader.prefetch", "2", "ready batches per worker")
      .knob("loader.processes", "off", "load in worker processes instead of threads", "on|off")
      .knob("loader.pin", "off", "lay batches into staging buffers that are used again", "on|off")
      .knob("loader.dtype", "f32", "type in which floating inputs leave the workers",
            "f32|f16|bf16");
}

/// As LACUNA_BACKEND calls them.
constexpr const char* kBackends[] = {"tuned", "reference"};

Flags& addUpdateFlags(Flags& flags) {
  return flags.knob("zero_grad", "none", "drop gradients, or fill them with zeros", "none|zero")
      .knob("optimizer.fused", "on", "update all parameters in one execution", "on|off")
      .knob("debug", "off",
            "look for NaN after each backward, and name the forward (anomaly mode; slow)", "on|off")
      .knob("backend", kBackends[static_cast<std::size_t>(rt::backend())],
            "products, convolutions and attention through oneDNN, or in plain loops (slow)",
            "tuned|reference");
}

Flags& addStaticGraphFlag(Flags& flags) {
  return flags.knob("static_graph", "off",
                    "trace the first steps, and launch the same operators again in later ones",
                    "on|off");
}

Flags& addPrecisionFlag(Flags& flags) {
  return flags.knob("amp", "off",
                    "type of products and convolutions; f16 with a scaled loss; on: bf16",
                    "off|on|bf16|f16");
}

Flags& addNetworkFlags(Flags& flags) {
  return addPrecisionFlag(flags.knob(
      "checkpoint", "off",
      "keep the inputs of blocks alone, and compute them once more in the backward", "on|off"));
}

Flags& addTrainingFlags(Flags& flags, const char* steps, const char* batch, const char* rate) {
  flags.add("steps", steps, "training steps")
      .knob("batch", batch, "examples per step")
      .add("rate", rate, "learning rate")
      .add("seed", "1", "seed of everything random")
      .add("device", "cpu", "where to train", "cpu")
      .add("log", "10", "steps between two lines of progress");
  return addStaticGraphFlag(addUpdateFlags(addLoaderFlags(flags, "1")));
}

rt::DType loaderDtype(const Flags& flags) {
  const std::string& dtype = flags.text("loader.dtype");
  return dtype == "f16" ? rt::DType::F16 : dtype == "bf16" ? rt::DType::BF16 : rt::DType::F32;
}

rt::LoaderOptions loaderOptions(const Flags& flags) {
  rt::LoaderOptions options;
  options.batch = static_cast<std::size_t>(flags.integer("batch", 1, kMostBatch));
  options.shuffle = true;
  options.dropLast = true;
  options.workers = static_cast<unsigned>(flags.integer("loader.workers", 0, kMostWorkers));
  options.prefetch = static_cast<unsigned>(flags.integer("loader.prefetch", 1, kMostPrefetch));
  options.kind = flags.on("loader.processes") ? rt::WorkerKind::Process : rt::WorkerKind::Thread;
  options.pin = flags.on("loader.pin");
  options.dtype = loaderDtype(flags);
  options.seed = static_cast<std::uint64_t>(flags.integer("seed"));
  return options;
}

namespace {

void report(const rt::StaticGraphStats& stats) {
  if (!stats.on) return;
  std::printf("static graph: %llu steps replayed, %llu traced, %llu plain%s%s\n",
              static_cast<unsigned long long>(stats.replays),
              static_cast<unsigned long long>(stats.traces),
              static_cast<unsigned long long>(stats.plain), stats.reason.empty() ? "" : "; ",
              stats.reason.c_str());
}

}  // namespace

void Training::run() {
  if (dataset->size() < static_cast<std::size_t>(flags.integer("batch", 1))) {
    throw rt::Error("the data has " + std::to_string(dataset->size()) +
                    " examples, fewer than one batch of " + flags.text("batch"));
  }
  const std::int64_t steps = flags.integer("steps", 1, kMostSteps);
  const rt::AnomalyMode debug(flags.on("debug"));
  rt::setBackend(flags.text("backend") == "reference" ? rt::Backend::Reference
                                                      : rt::Backend::Tuned);
  rt::LoaderOptions options = loaderOptions(flags);
  options.examples = static_cast<std::size_t>(steps) * options.batch;
  rt::DataLoader loader(dataset, options);
  const std::int64_t log = flags.integer("log", 1);
  loader.start();
  rt::Batch batch;
  rt::StaticGraph graph(flags.on("static_graph"));
  for (std::int64_t number = 0; number < steps; ++number) {
    const rt::StepScope scope(static_cast<std::uint64_t>(number),
                              static_cast<std::uint64_t>(flags.integer("batch")));
    if (number == 0 || !oneBatch) batch = *loader.next();
    const auto stepOn = [&](const rt::Batch& inputs) {
      rt::Batch given = inputs;
      return step(number, given);
    };
    const rt::Tensor loss = graph.run(batch, stepOn, key ? key(number) : 0);
    if (number % log == 0 || number + 1 == steps) {
      std::printf("step %lld loss %.6f\n", static_cast<long long>(number), loss.item());
      std::fflush(stdout);
    }
  }
  report(graph.stats());
}

MixedPrecision::MixedPrecision(const Flags& flags)
    : scaler({.enabled = flags.text("amp") == "f16"}), type_(flags.text("amp")) {}

rt::Autocast MixedPrecision::cast() const {
  return type_ == "off" ? rt::Autocast(false)
                        : rt::Autocast(type_ == "f16" ? rt::DType::F16 : rt::DType::BF16);
}

void describe(const char* what, const rt::nn::Module& net) {
  std::int64_t count = 0;
  for (const rt::Tensor& parameter : net.parameters()) count += parameter.numel();
  std::printf("%s: %lld parameters\n", what, static_cast<long long>(count));
}

void printPeakMemory() {
  std::printf("peak memory %.2f MiB\n",
              static_cast<double>(rt::memoryStats().peakActive) / (1024.0 * 1024.0));
}

int runSample(const char* name, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace lacuna::samples
