// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "runtime/graph/trained.h"

/// Programs drawn by a seed do in a static graph what they do without one.
namespace lacuna::rt {
namespace {

using test::expectTheSame;
using test::Trained;

constexpr std::int64_t kRows = 6, kColumns = 8;

/// A module of weights alone; the drawn program says what becomes of them.
struct Weights : nn::Module {
  static constexpr const char* kNames[] = {"w0", "w1", "w2"};
  std::vector<Tensor> own;
  explicit Weights(int count) {
    for (int i = 0; i < count; ++i)
      own.push_back(addParameter(kNames[i], randn({kColumns, kColumns}) * 0.3));
  }
  [[nodiscard]] const char* kind() const override { return "Weights"; }

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

using Unit = std::function<Tensor(const Tensor& x, const std::vector<Tensor>& weights)>;

/// One of the operators that keep the shape.
Unit unitOf(std::mt19937& draw) {
  const auto at = draw();
  switch (draw() % 14) {
    case 0:
      return [at](const Tensor& x, const auto& w) { return matmul(x, w[at % w.size()]); };
    case 1:
      return [at](const Tensor& x, const auto& w) { return matmul(x, w[at % w.size()].t()); };
    case 2:
      return [](const Tensor& x, const auto&) { return gelu(x); };
    case 3:
      return [](const Tensor& x, const auto&) { return tanh(x) + x; };
    case 4:
      return [](const Tensor& x, const auto&) { return dropout(x, 0.25, true); };
    case 5:
      return [](const Tensor& x, const auto&) { return softmax(x, 1) * x; };
    case 6:
      return [](const Tensor& x, const auto&) {
        return checkpoint([](const Tensor& in) { return sigmoid(in) * in; }, x);
      };
    case 7:
      return [at](const Tensor& x, const auto& w) {
        return checkpoint([weight = w[at % w.size()]](
                              const Tensor& in) { return dropout(matmul(in, weight), 0.5, true); },
                          x);
      };
    case 8:
      return [](const Tensor& x, const auto&) {
        return concat({x.slice(0, kRows / 2, kRows), x.slice(0, 0, kRows / 2)}, 0);
      };
    case 9:
      return [](const Tensor& x, const auto&) { return x - mean(x, {1}, true); };
    case 10:
      return [](const Tensor& x, const auto&) {
        const Autocast cast;
        return matmul(x, x.detach().t().slice(1, 0, 1).expand({kColumns, kColumns})).to(DType::F32);
      };
    case 11:
      return
          [](const Tensor& x, const auto&) { return where(greater(x, zerosLike(x)), x, x * 0.1); };
    case 12:
      return [](const Tensor& x, const auto&) { return x + randn({kColumns}) * 0.01; };
    default:
      return [at](const Tensor& x, const auto& w) {
        return x * sum(w[at % w.size()], {0}, true).view({1, kColumns});
      };
  }
}

Trained programOf(unsigned seed) {
  std::mt19937 draw(seed);
  manualSeed(seed);
  const auto net = std::make_shared<Weights>(1 + static_cast<int>(draw() % 3));
  std::vector<Unit> units(3 + draw() % 8);
  for (Unit& unit : units) unit = unitOf(draw);
  std::shared_ptr<optim::Optimizer> optimizer;
  if (draw() % 2 == 0) {
    optimizer = std::make_shared<optim::AdamW>(net->parameters(), optim::AdamOptions{});
  } else {
    optimizer = std::make_shared<optim::Sgd>(net->parameters(),
                                             optim::SgdOptions{.rate = 1e-3, .momentum = 0.5});
  }
  optimizer->setFused(draw() % 2 == 0);
  const bool toNone = draw() % 2 == 0, clips = draw() % 2 == 0, first = draw() % 2 == 0;
  const auto step = [=](const std::vector<Tensor>& batch) {
    if (first) optimizer->zeroGrad(toNone);
    Tensor x = matmul(batch[0], net->own[0]);
    for (const Unit& unit : units) x = unit(x, net->own);
    Tensor loss = mean(square(x - batch[1]));
    loss.backward();
    if (clips) optim::clipGradNorm(net->parameters(), 1);
    optimizer->step();
    if (!first) optimizer->zeroGrad(toNone);
    return loss;
  };
  const auto batch = [](int at) {
    return std::vector{cos(arange(kRows * kColumns).to(DType::F32) + at).view({kRows, kColumns}),
                       sin(arange(kRows * kColumns).to(DType::F32) - at).view({kRows, kColumns})};
  };
  return {net, optimizer, batch, step};
}

TEST(RandomPrograms, DoTheSameInAStaticGraph) {
  int replayed = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    const auto outcome = expectTheSame([seed] { return programOf(seed); }, 7);
    replayed += static_cast<int>(outcome.stats.replays);
    if (HasFailure()) return;
  }
  EXPECT_GE(replayed, 120 * 4);
}

}  // namespace
}  // namespace lacuna::rt
