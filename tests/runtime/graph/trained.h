// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <vector>

#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "lacuna/runtime/static_graph.h"

/// A small language for trainings that run twice: plainly and in a static graph.
namespace lacuna::rt::test {

/// A training as its maker sets it up, anew for each of the two.
struct Trained {
  std::shared_ptr<nn::Module> net;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::function<std::vector<Tensor>(int step)> batch;
  std::function<Tensor(const std::vector<Tensor>& batch)> step;  ///< returns the loss
  std::function<std::uint64_t(int step)> key = [](int) { return 0; };
  std::function<void(int step)> between = [](int) {};  ///< outside of the graph, before each step
};

struct Outcome {
  std::vector<float> losses, weights;
  StaticGraphStats stats;
};

inline Outcome outcomeOf(Trained training, bool on, int steps) {
  StaticGraph graph(on);
  std::vector<Tensor> losses;
  for (int step = 0; step < steps; ++step) {
    training.between(step);
    losses.push_back(graph.run(training.batch(step), training.step, training.key(step)));
  }
  Outcome out{{}, {}, graph.stats()};
  for (const Tensor& loss : losses) out.losses.push_back(static_cast<float>(loss.item()));
  for (const Tensor& parameter : training.net->parameters()) {
    for (const float weight : parameter.detach().to(DType::F32).toVector<float>())
      out.weights.push_back(weight);
  }
  return out;
}

/// Trains twice and compares losses and weights in every digit. Returns the graph's part.
inline Outcome expectTheSame(const std::function<Trained()>& make, int steps) {
  const Outcome plain = outcomeOf(make(), false, steps);
  Outcome replayed = outcomeOf(make(), true, steps);
  EXPECT_EQ(plain.losses, replayed.losses);
  EXPECT_EQ(plain.weights, replayed.weights);
  EXPECT_EQ(plain.stats.replays, 0U);
  return replayed;
}

}  // namespace lacuna::rt::test
