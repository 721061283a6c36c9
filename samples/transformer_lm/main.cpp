// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "common/training.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"
#include "models/transformer.h"
#include "transformer_lm/text.h"

namespace {

using namespace lacuna;
using samples::Flags;

Flags parseFlags(int argc, char** argv) {
  Flags flags("Trains a transformer to continue a text, character by character.");
  samples::addTrainingFlags(flags, "200", "16", "0.001")
      .add("context", "128", "characters that it sees")
      .add("features", "256", "width of the network")
      .add("heads", "4", "attention heads")
      .add("layers", "4", "blocks")
      .add("dropout", "0", "share of the values that are dropped in training")
      .add("data", "", "a text file; sentences of a small grammar without it")
      .add("sample", "0", "characters to write after training");
  samples::addNetworkFlags(flags);
  flags.parse(argc, argv);
  return flags;
}

/// Continues with the likeliest character each time.
std::string write(rt::nn::Module& net, const samples::Encoded& text, std::int64_t count,
                  std::int64_t context) {
  const rt::NoGrad guard;
  net.eval();
  std::vector<std::int64_t> tokens{text.tokens.front()};
  std::string out(1, text.alphabet[static_cast<std::size_t>(tokens[0])]);
  while (static_cast<std::int64_t>(out.size()) < count) {
    const auto length = std::min<std::int64_t>(context, static_cast<std::int64_t>(tokens.size()));
    const std::vector<std::int64_t> seen(tokens.end() - length, tokens.end());
    const rt::Tensor scores = net(rt::fromVector(seen, {1, length})).select(1, length - 1);
    tokens.push_back(static_cast<std::int64_t>(rt::argmax(scores, 1).item()));
    out += text.alphabet[static_cast<std::size_t>(tokens.back())];
  }
  return out;
}

void run(const Flags& flags) {
  const auto seed = static_cast<std::uint64_t>(flags.integer("seed"));
  rt::manualSeed(seed);
  const auto text = std::make_shared<const samples::Encoded>(
      samples::encode(flags.text("data").empty() ? samples::syntheticText(1 << 16, seed)
                                                 : samples::readText(flags.text("data"))));
  const std::int64_t context = flags.integer("context", 1);
  const std::int64_t written = flags.integer("sample");
  const auto vocabulary = static_cast<std::int64_t>(text->alphabet.size());
  const auto net = samples::makeTransformer({.vocabulary = vocabulary,
                                             .context = context,
                                             .features = flags.integer("features", 1),
                                             .heads = flags.integer("heads", 1),
                                             .layers = static_cast<int>(flags.integer("layers", 1)),
                                             .dropout = flags.number("dropout"),
                                             .checkpoint = flags.on("checkpoint")});
  net->nameTree("transformer");
  samples::describe("transformer", *net);
  rt::optim::AdamW optimizer(net->parameters(), {.rate = flags.number("rate")});
  optimizer.setFused(flags.on("optimizer.fused"));
  samples::MixedPrecision mixed(flags);
  samples::Training training{flags};
  training.dataset = samples::windows(text, context);
  training.step = [&](std::int64_t, rt::Batch& batch) {
    rt::Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const rt::Autocast cast = mixed.cast();
      loss = rt::crossEntropy((*net)(batch[0]).view({-1, vocabulary}), batch[1].flatten());
    }
    mixed.scaler.scale(loss).backward();
    mixed.scaler.step(optimizer);
    mixed.scaler.update();
    optimizer.zeroGrad(flags.text("zero_grad") == "none");
    return loss;
  };
  training.run();
  if (written > 0) std::printf("---\n%s\n---\n", write(*net, *text, written, context).c_str());
  samples::printPeakMemory();
}

}  // namespace

int main(int argc, char** argv) {
  return samples::runSample("transformer_lm", [&] { run(parseFlags(argc, argv)); });
}
