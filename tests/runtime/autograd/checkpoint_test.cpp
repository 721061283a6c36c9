// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"
#include "support/message_of.h"

/// A forward that is computed once more in the backward.
namespace lacuna::rt {
namespace {

using test::messageOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensor&)>;

/// Layers with dropout and a batch norm. Each may be a segment.
struct Network {
  nn::Linear first{6, 16};
  nn::BatchNorm1d norm{16};
  nn::Linear second{16, 16};
  nn::Linear last{16, 3};
  bool inner = false;

  [[nodiscard]] Tensor middle(const Tensor& x) {
    const Tensor y = dropout(relu(norm(first(x))), 0.4, true);
    const Function deeper = [this](const Tensor& in) { return gelu(second(in)); };
    return tanh(inner ? checkpoint(deeper, y) : deeper(y));
  }
  Tensor operator()(const Tensor& x, bool asOne) {
    const Function segment = [this](const Tensor& in) { return middle(in); };
    return last(asOne ? checkpoint(segment, x) : segment(x));
  }
  [[nodiscard]] Tensors parameters() const {
    Tensors all;
    for (const nn::Module* part :
         std::initializer_list<const nn::Module*>{&first, &norm, &second, &last}) {
      for (Tensor& one : part->parameters()) all.push_back(std::move(one));
    }
    return all;
  }
};

/// All gradients of a training step, the running statistics, and the random number that comes next.
std::vector<std::vector<double>> step(bool asOne, bool inner, bool inputWantsGradient) {
  manualSeed(7);
  Network net;
  net.inner = inner;
  Tensor x = randn({8, 6});
  if (inputWantsGradient) x.setRequiresGrad();
  for (int i = 0; i < 2; ++i) sum(square(net(x, asOne))).backward();
  std::vector<std::vector<double>> all;
  for (const Tensor& parameter : net.parameters())
    all.push_back(parameter.grad().toVector<double>());
  if (inputWantsGradient) all.push_back(x.grad().toVector<double>());
  for (const auto& [name, buffer] : net.norm.namedBuffers())
    all.push_back(buffer.toVector<double>());
  all.push_back(rand({3}).toVector<double>());
  return all;
}

TEST(Checkpoint, ChangesNoGradientNoStatisticAndNoRandomNumber) {
  for (const bool inputWantsGradient : {false, true}) {
    const auto plain = step(false, false, inputWantsGradient);
    EXPECT_EQ(step(true, false, inputWantsGradient), plain);
    EXPECT_EQ(step(false, true, inputWantsGradient), plain);
    EXPECT_EQ(step(true, true, inputWantsGradient), plain) << "one within the other";
  }
}

TEST(Checkpoint, RunsTheSegmentOnceMoreAndOnlyForABackward) {
  const Tensor x = ones({4, 4}).setRequiresGrad();
  const Function segment = [](const Tensor& in) { return exp(sin(in)); };
  const auto callsOf = [](const char* name, const std::function<void()>& body) -> std::uint64_t {
    for (const auto& row : profile(body).rows) {
      if (row.name == name) return row.calls;
    }
    return 0;
  };
  Tensor y;
  EXPECT_EQ(callsOf("exp", [&] { y = checkpoint(segment, x); }), 1U);
  EXPECT_EQ(callsOf("exp", [&] { sum(y).backward(); }), 1U);
  EXPECT_EQ(callsOf("exp",
                    [&] {
                      const NoGrad guard;
                      y = checkpoint(segment, x);
                    }),
            1U);
  EXPECT_FALSE(y.requiresGrad());
}

TEST(Checkpoint, TakesAndGivesSeveralTensors) {
  const Tensor a = fromVector<double>({1, 2}, {2}).setRequiresGrad();
  const Tensor b = fromVector<double>({3, 5}, {2});
  const Tensors results = checkpoint(
      [](const Tensors& in) {
        return Tensors{in[0] * in[1], square(in[0])};
      },
      {a, b, Tensor()});
  sum(results[0] + results[1] * 10.0).backward();
  EXPECT_THAT(a.grad().toVector<double>(), ElementsAre(3 + 20, 5 + 40));
}

TEST(Checkpoint, HasGradientsOfGradients) {
  manualSeed(1);
  const Tensor w = randn({3, 3}, {DType::F64}).setRequiresGrad();
  const Tensor x = randn({2, 3}, {DType::F64}).setRequiresGrad();
  GradCheckOptions options;
  options.second = true;
  const auto function = [](const Tensors& in) {
    const Function inner = [weight = in[0]](const Tensor& y) { return tanh(matmul(y, weight)); };
    const CheckpointSegment outer = [inner](const Tensors& own) {
      return Tensors{softplus(checkpoint(inner, own[0])) * own[0]};
    };
    return checkpoint(outer, {in[1]});
  };
  EXPECT_EQ(gradcheck(function, {w, x}, options), "");
}

TEST(Checkpoint, LeavesGradientsAloneThatGradIsNotAskedFor) {
  nn::Linear layer(3, 3);
  const Tensor x = ones({2, 3}).setRequiresGrad();
  const Tensor y = sum(checkpoint([&](const Tensor& in) { return tanh(layer(in)); }, x));
  const Tensor slope = grad({y}, {x}, {}, {.retainGraph = true})[0];
  EXPECT_EQ(slope.shape(), x.shape());
  EXPECT_FALSE(layer.weight.grad().defined());
  y.backward();
  EXPECT_EQ(x.grad().toVector<float>(), slope.toVector<float>());
  EXPECT_TRUE(layer.weight.grad().defined());
}

TEST(Checkpoint, CallsHooksOfTheForward) {
  const Tensor x = ones({2}).setRequiresGrad();
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const Tensor& in) {
        const Tensor middle = sin(in);
        middle.registerHook([&](const Tensor& g) {
          ++calls;
          return g * 0.0;
        });
        return exp(middle);
      },
      x);
  sum(y).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(x.grad().toVector<float>(), ElementsAre(0, 0));
}

TEST(Checkpoint, RefusesWhatWasChangedInPlaceMeanwhile) {
  nn::Linear layer(3, 3);
  Tensor x = ones({2, 3});
  const auto backwardAfter = [&](const std::function<void()>& change) {
    const Tensor y = sum(checkpoint([&](const Tensor& in) { return tanh(layer(in)); }, x * 1.0));
    const Tensor kept = sum(checkpoint([&](const Tensor& in) { return tanh(layer(in)); }, x));
    const NoGrad guard;
    change();
    return messageOf([&] {
      GradMode::set(true);
      y.backward();
      kept.backward();
    });
  };
  EXPECT_THAT(backwardAfter([&] { x.mul_(2.0); }),
              HasSubstr("checkpoint: an input, [2,3], was changed in place"));
  EXPECT_THAT(backwardAfter([] {}), HasSubstr("nothing was thrown"));
}

TEST(Checkpoint, RefusesAParameterThatWasChangedInPlaceMeanwhile) {
  nn::Linear layer(3, 3);
  const Tensor x = ones({2, 3}).setRequiresGrad();
  const Tensor y = sum(checkpoint([&](const Tensor& in) { return layer(in); }, x));
  {
    const NoGrad guard;
    layer.weight.mul_(2.0);
  }
  EXPECT_THAT(messageOf([&] { y.backward(); }),
              HasSubstr("was changed in place since the forward"));
}

TEST(Checkpoint, RefusesASegmentThatDoesSomethingElseTheSecondTime) {
  int runs = 0;
  const auto backwardOf = [&](const Function& segment) {
    runs = 0;
    const Tensor x = ones({2}).setRequiresGrad();
    const Tensor y = sum(checkpoint(segment, x));
    return messageOf([&] { y.backward(); });
  };
  EXPECT_THAT(backwardOf([&](const Tensor& in) { return runs++ == 0 ? sin(in) : sin(sin(in)); }),
              HasSubstr("as number 1, in the forward nothing"));
  EXPECT_THAT(backwardOf([&](const Tensor& in) { return runs++ == 0 ? sin(sin(in)) : sin(in); }),
              HasSubstr("it saved 1 tensors, in the forward 2"));
  EXPECT_THAT(backwardOf([&](const Tensor& in) {
                return runs++ == 0 ? sum(sin(in)) : sum(sin(concat({in, in}, 0)));
              }),
              HasSubstr("f32[4] as number 0, in the forward f32[2]"));
  EXPECT_THAT(backwardOf([&](const Tensor& in) -> Tensor {
                if (runs++ > 0) throw Error("the second time");
                return sin(in);
              }),
              HasSubstr("the second time"));
  const Tensor x = ones({2}).setRequiresGrad();
  const Tensor y = sum(checkpoint([](const Tensor& in) { return sin(in); }, x));
  y.backward();
  EXPECT_THAT(messageOf([&] { y.backward(); }), HasSubstr("ran through this graph already"));
}

/// The most that a step of a deep network holds.
std::size_t peakOf(int segments, bool nested) {
  constexpr int kDepth = 16;
  const Options onMeta{DType::F32, kMeta};
  const Tensor weight = empty({64, 64}, onMeta).setRequiresGrad();
  const std::function<Tensor(const Tensor&, int)> layers = [&](const Tensor& x, int count) {
    Tensor y = x;
    for (int i = 0; i < count; ++i) y = tanh(matmul(y, weight));
    return y;
  };
  const int each = segments == 0 ? kDepth : kDepth / segments;
  const Function inner = [&](const Tensor& x) { return layers(x, each / 2); };
  const Function segment = [&](const Tensor& x) {
    return nested ? checkpoint(inner, checkpoint(inner, x)) : layers(x, each);
  };
  const std::size_t before = memoryStats(kMeta).active;
  resetPeakMemory(kMeta);
  {
    Tensor y = empty({1000, 64}, onMeta);
    if (segments == 0) y = segment(y);
    for (int i = 0; i < segments; ++i) y = checkpoint(segment, y);
    sum(y).backward();
  }
  EXPECT_EQ(memoryStats(kMeta).active - before, 64U * 64 * 4) << "the gradient of the weight";
  return memoryStats(kMeta).peakActive - before;
}

TEST(Checkpoint, HoldsTheInputsOfSegmentsAndTheInsideOfOne) {
  constexpr double kActivation = 1000 * 64 * 4;
  EXPECT_GT(static_cast<double>(peakOf(0, false)), 16 * kActivation);
  EXPECT_LT(static_cast<double>(peakOf(4, false)), 11 * kActivation)
      << "4 inputs, 4 inside, and what is in work";
  EXPECT_LT(static_cast<double>(peakOf(2, true)), static_cast<double>(peakOf(2, false)));
}

TEST(Checkpoint, OfAModuleIsASwitch) {
  nn::Sequential net;
  net.add<nn::Linear>(4, 8).add<nn::Tanh>().add<nn::Linear>(8, 2);
  const Tensor x = ones({3, 4});
  const auto gradients = [&](bool on) {
    net.setCheckpoint(on);
    net.zeroGrad();
    const ProfileTable table = profile([&] { sum(net(x)).backward(); });
    const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                  [](const auto& r) { return r.name == "tanh"; });
    EXPECT_EQ(row->calls, on ? 2U : 1U);
    std::vector<std::vector<float>> all;
    for (const Tensor& parameter : net.parameters())
      all.push_back(parameter.grad().toVector<float>());
    return all;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

}  // namespace
}  // namespace lacuna::rt
