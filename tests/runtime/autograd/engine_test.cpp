// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor leaf(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Tensor tensor = fromVector(values, {count});
  return tensor.setRequiresGrad();
}

TEST(Autograd, AddsUpOverUsesAndBackwards) {
  const Tensor x = leaf({1, 2});
  sum(x * x + x).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(3, 5));
  sum(x).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(4, 6));
}

TEST(Autograd, TwoLeavesDoNotShareOneGradient) {
  for (const bool createGraph : {false, true}) {
    const Tensor a = leaf({1});
    const Tensor b = leaf({1});
    (a + b).backward({}, false, createGraph);
    sum(a).backward();
    EXPECT_EQ(a.grad().item(), 2);
    EXPECT_EQ(b.grad().item(), 1);
  }
}

TEST(Autograd, GradientsOfOthersAreNotAddedTo) {
  for (const bool createGraph : {false, true}) {
    const Tensor x = leaf({1, 1});
    const Tensor seed = ones({2}, {DType::F64});
    x.backward(seed, false, createGraph);
    const Tensor held = x.grad();
    sum(x).backward();
    EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(2, 2));
    EXPECT_THAT(seed.toVector<double>(), ElementsAre(1, 1));
    EXPECT_THAT(held.toVector<double>(), ElementsAre(1, 1));
  }
}

TEST(Autograd, AGradientWhoseElementsShareMemoryIsAddedTo) {
  const Tensor x = leaf({1, 1});
  sum(x).backward({}, false, true);
  sum(x).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(2, 2));
  x.setGrad(ones({1}, {DType::F64}).expand({2}));
  sum(x).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(2, 2));
}

TEST(Autograd, AGradientOfAnotherTypeIsConverted) {
  const Tensor x = leaf({0.1, -0.4, 0.7, 0.2, 1.5, -2});
  const Tensor seed = fromVector<float>({1, -2, 3, 4, -5, 6}, {6});
  const auto gradient = [&](const Tensor& given) { return grad({softmax(x, 0)}, {x}, {given})[0]; };
  EXPECT_EQ(gradient(seed).toVector<double>(), gradient(seed.to(DType::F64)).toVector<double>());
  EXPECT_EQ(gradient(seed.to(DType::I32)).toVector<double>(),
            gradient(seed.to(DType::F64)).toVector<double>());
}

TEST(Autograd, AConversionToAnIntegerOrATruthValueHasNoGradient) {
  const Tensor x = leaf({-2, 0, 3});
  EXPECT_FALSE(x.to(DType::I64).requiresGrad());
  sum(x.to(DType::Bool).to(DType::F64) * x).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(1, 0, 1));
}

TEST(Autograd, ASecondBackwardThroughAFreedGraphNamesTheOperator) {
  const Tensor x = leaf({1});
  const Tensor y = exp(x);
  y.backward();
  EXPECT_THAT([&] { y.backward(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("exp:"), HasSubstr("retainGraph"))));
  const Tensor z = exp(x);
  z.backward({}, true);
  EXPECT_NO_THROW(z.backward());
}

TEST(Autograd, AChangeInPlaceOfASavedTensorNamesTheOperator) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 2.0;
  const Tensor z = square(y);
  y.add_(ones({2}, {DType::F64}));
  EXPECT_THAT([&] { sum(z).backward(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("square:"), HasSubstr("changed in place"))));
  EXPECT_THAT([&] { Tensor(x).fill_(0); },
              ThrowsMessage<Error>(HasSubstr("fill_: a leaf that requires a gradient")));
}

TEST(Autograd, ProductsAndQuotientsKeepOnlyWhatTheWantedGradientsNeed) {
  using Function = std::function<Tensor(const Tensor&, const Tensor&)>;
  const Function products[] = {[](const Tensor& a, const Tensor& b) { return matmul(a, b); },
                               [](const Tensor& a, const Tensor& b) { return linear(a, b); }};
  const Function quotient = [](const Tensor& a, const Tensor& b) { return div(a, b); };
  const Tensor frozen = full({2, 2}, 4);
  const Tensor x = ones({2, 2}).setRequiresGrad();
  const auto gradient = [&](const Function& function, bool first) {
    Tensor changed = x * 2.0;  // only the gradient of the frozen one would need it
    const Tensor loss = sum(first ? function(changed, frozen) : function(frozen, changed));
    {
      const NoGrad guard;
      changed.mul_(3.0);
    }
    return grad({loss}, {x})[0].toVector<float>();
  };
  for (const Function& product : products) {
    EXPECT_THAT(gradient(product, true), testing::Each(16));
    EXPECT_THAT(gradient(product, false), testing::Each(16));
  }
  EXPECT_THAT(gradient(quotient, true), testing::Each(0.5));
  EXPECT_THAT([&] { (void)gradient(quotient, false); },
              ThrowsMessage<Error>(HasSubstr("div: a tensor that its")));
}

TEST(Autograd, InPlaceOnAnInnerTensorKeepsTheHistory) {
  const Tensor x = leaf({3});
  Tensor y = x * 2.0;
  y.add_(x);
  y.mul_(10.0);
  y.backward();
  EXPECT_EQ(x.grad().item(), 30);
}

TEST(Autograd, WhatIsOverwrittenInPlaceHasNoGradient) {
  const std::function<void(Tensor&)> overwrites[] = {
      [](Tensor& y) { y.zero_(); }, [](Tensor& y) { y.fill_(3); },
      [](Tensor& y) { y.copy_(zeros({2})); }, [](Tensor& y) { uniform_(y, 0, 1); },
      [](Tensor& y) { normal_(y, 0, 1); }};
  for (const auto& overwrite : overwrites) {
    const Tensor x = leaf({1, 2});
    Tensor y = x * 2.0;
    overwrite(y);
    sum(y).backward();
    EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(0, 0));
  }
}

TEST(Autograd, CopyingInPlaceHasTheGradientOfItsSource) {
  const Tensor source = fromVector<float>({3}, {1}).setRequiresGrad();
  Tensor y = zeros({2}, {DType::F64});
  y.copy_(source);
  y.mul_(5.0);
  sum(y).backward();
  EXPECT_THAT(source.grad().toVector<float>(), ElementsAre(10));
}

TEST(Autograd, InPlaceWhereOthersSeeTheMemoryIsRefused) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor u = leaf({1});
  Tensor y = x * 2.0;
  const auto refused = [](const auto& change) {
    EXPECT_THAT(change, ThrowsMessage<Error>(HasSubstr("other tensors")));
  };
  refused([&] { y.slice(0, 0, 1).zero_(); });
  refused([&] { y.slice(0, 0, 1).mul_(3.0); });
  refused([&] { y.slice(0, 0, 1).add_(u); });
  refused([&] { y.slice(0, 0, 1).copy_(u); });
  Tensor plain = zeros({3}, {DType::F64});
  refused([&] { plain.slice(0, 0, 1).add_(u); });
  {
    const Tensor view = y.select(0, 1);
    refused([&] { y.mul_(3.0); });
  }
  y.mul_(3.0);
  const NoGrad guard;
  EXPECT_NO_THROW(y.slice(0, 0, 1).zero_());
}

TEST(Autograd, WithTheBaseGoneAViewMayBeChangedInPlace) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = (x * 2.0).slice(0, 0, 2);
  y.mul_(3.0);
  sum(y).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(6, 6, 0));
}

TEST(Autograd, AddingInPlaceGivesTheGradientTheTypeOfItsLeaf) {
  const Tensor x = ones({2}).setRequiresGrad();
  Tensor total = zeros({2}, {DType::F64});
  total.add_(x);
  sum(total).backward();
  EXPECT_EQ(x.grad().dtype(), DType::F32);
}

TEST(Autograd, NoGradAndDetachCutTheGraph) {
  const Tensor x = leaf({3});
  {
    const NoGrad guard;
    EXPECT_FALSE((x * 2.0).requiresGrad());
  }
  EXPECT_FALSE(x.detach().requiresGrad());
  EXPECT_TRUE(x.detach().sharesMemoryWith(x));
  EXPECT_THAT([&] { x.detach().backward(); },
              ThrowsMessage<Error>(HasSubstr("does not require a gradient")));
}

TEST(Autograd, HooksSeeTheWholeGradientAndMayReplaceIt) {
  const Tensor x = leaf({1, 1});
  int calls = 0;
  x.registerHook([&](const Tensor& gradient) {
    ++calls;
    return gradient * 10.0;
  });
  sum(x * 3.0 + x).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(40, 40));
}

TEST(Autograd, WhatAHookRegistersOnItsTensorRunsFromTheNextBackwardOn) {
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  int calls = 0;
  const auto count = [&calls](const Tensor&) {
    ++calls;
    return Tensor();
  };
  for (const Tensor* tensor : {&x, &y}) {
    tensor->registerHook([tensor, &count](const Tensor&) {
      for (int i = 0; i < 10; ++i) tensor->registerHook(count);
      return Tensor();
    });
  }
  sum(y).backward({}, true);
  EXPECT_EQ(calls, 0);
  sum(y).backward({}, true);
  EXPECT_EQ(calls, 20);
}

TEST(Autograd, AHookMustKeepShapeTypeAndDevice) {
  const std::pair<Tensor, const char*> results[] = {
      {ones({3}, {DType::F64}), "a hook returned f64[3] on cpu"},
      {ones({2}), "a hook returned f32[2] on cpu"},
      {ones({2}, {DType::F64, kMeta}), "a hook returned f64[2] on meta"}};
  for (const auto& [result, complaint] : results) {
    const Tensor x = leaf({1, 2});
    const Tensor y = exp(x);
    y.registerHook([&returned = result](const Tensor&) { return returned; });
    EXPECT_THAT([&] { sum(y).backward(); },
                ThrowsMessage<Error>(AllOf(HasSubstr("exp:"), HasSubstr(complaint))));
    x.registerHook([&returned = result](const Tensor&) { return returned; });
    EXPECT_THAT([&] { sum(x).backward(); },
                ThrowsMessage<Error>(AllOf(HasSubstr(complaint),
                                           HasSubstr("for a gradient that is f64[2] on cpu"))));
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST(Autograd, GradOfNoInputsLeavesTheLeavesAlone) {
  const Tensor x = leaf({1, 2});
  EXPECT_TRUE(grad({sum(x)}, {}).empty());
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, GradRunsAndFreesOnlyWhatLeadsToItsInputs) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({3, 4});
  const Tensor inner = square(x);
  const Tensor beside = square(w);
  EXPECT_THAT(grad({sum(inner * beside)}, {inner})[0].toVector<double>(), ElementsAre(9, 16));
  sum(inner).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(2, 4));
  sum(beside).backward();
  EXPECT_THAT(w.grad().toVector<double>(), ElementsAre(6, 8));
}

/// Number of times that each operator ran.
std::map<std::string, std::uint64_t> callsIn(const std::function<void()>& body) {
  const ProfileTable table = profile(body);
  std::map<std::string, std::uint64_t> calls;
  for (const ProfileRow& row : table.rows) calls[row.name] += row.calls;
  return calls;
}

TEST(Autograd, GradComputesNoGradientThatNobodyAsksFor) {
  const Tensor x = ones({2, 3}).setRequiresGrad();
  const Tensor weight = ones({4, 3}).setRequiresGrad();
  const Tensor bias = ones({4}).setRequiresGrad();
  const auto callsFor = [&](const std::vector<Tensor>& inputs) {
    const Tensor loss = sum(linear(x, weight, bias));
    return callsIn([&] { (void)grad({loss}, inputs); });
  };
  for (const Tensor& one : {x, weight}) {
    auto calls = callsFor({one});
    EXPECT_EQ(calls["matmul"], 1U);
    EXPECT_EQ(calls["sum"], 0U);
  }
  auto ofBias = callsFor({bias});
  EXPECT_EQ(ofBias["matmul"], 0U);
  EXPECT_EQ(ofBias["sum"], 1U);
  auto ofAll = callsFor({x, weight, bias});
  EXPECT_EQ(ofAll["matmul"], 2U);
  EXPECT_EQ(ofAll["sum"], 1U);
}

TEST(Autograd, GradOfAnInputNeedsNoMemoryForTheGradientOfItsWeight) {
  const Options onMeta{DType::F32, kMeta};
  const Tensor x = ones({1, 1024}, onMeta).setRequiresGrad();
  const Tensor weight = ones({1024, 1024}, onMeta).setRequiresGrad();
  const auto peakFor = [&](const Tensor& input) {
    const Tensor loss = sum(linear(x, weight));
    const std::size_t before = memoryStats(kMeta).active;
    resetPeakMemory(kMeta);
    (void)grad({loss}, {input});
    return memoryStats(kMeta).peakActive - before;
  };
  EXPECT_LT(peakFor(x), weight.sizeBytes() / 16);
  EXPECT_GE(peakFor(weight), weight.sizeBytes());
}

TEST(Autograd, GradOfOnePartRunsNothingForTheOtherParts) {
  const Tensor x = leaf({1, 2});
  const std::vector<Tensor> parts = unbind(x * 2.0, 0);
  const Tensor loss = parts[0] * 3.0 + square(parts[1]);
  Tensor gradient;
  const auto calls = callsIn([&] { gradient = grad({loss}, {parts[0]})[0]; });
  EXPECT_EQ(gradient.item(), 3);
  EXPECT_EQ(calls.count("square.backward"), 0U);
  EXPECT_EQ(calls.count("unbind.backward"), 0U);
}

TEST(Autograd, GradMindsChangesInPlaceOnlyOfWhatItNeeds) {
  const Tensor a = leaf({1, 2});
  Tensor b = leaf({3, 4});
  const Tensor loss = sum(a * b);
  {
    const NoGrad guard;
    b.fill_(5);
  }
  EXPECT_THAT(grad({loss}, {b}, {}, {.retainGraph = true})[0].toVector<double>(),
              ElementsAre(1, 2));
  EXPECT_THAT([&] { (void)grad({loss}, {a}); },
              ThrowsMessage<Error>(HasSubstr("mul: a tensor that its")));
}

TEST(Autograd, AGradientThatIsAskedForAloneHasGradients) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({3, 4});
  const Tensor slope = grad({sum(square(x * w))}, {x}, {}, {.createGraph = true})[0];
  EXPECT_THAT(slope.toVector<double>(), ElementsAre(18, 64));
  const auto second = grad({sum(slope)}, {x, w});
  EXPECT_THAT(second[0].toVector<double>(), ElementsAre(18, 32));
  EXPECT_THAT(second[1].toVector<double>(), ElementsAre(12, 32));
}

TEST(Autograd, GradRunsTheHooksOnItsWays) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({3, 4});
  const Tensor inner = square(x);
  int calls = 0;
  inner.registerHook([](const Tensor& gradient) { return gradient * 10.0; });
  x.registerHook([&](const Tensor& gradient) {
    ++calls;
    return gradient + 1.0;
  });
  w.registerHook([](const Tensor&) -> Tensor { throw Error("nobody asks for this gradient"); });
  EXPECT_THAT(grad({sum(inner * w)}, {x})[0].toVector<double>(), ElementsAre(61, 161));
  EXPECT_EQ(calls, 1);
}

using Inputs = std::vector<Tensor>;

struct OfSeveralInputs {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Tensor(const Inputs&)> function;

  [[nodiscard]] Inputs inputs() const {
    manualSeed(7);
    Inputs all;
    for (const Shape& shape : shapes) {
      Tensor input = empty(shape, {DType::F64});
      all.push_back(uniform_(input, 0.5, 1.5).setRequiresGrad());
    }
    return all;
  }
};

TEST(Autograd, EachGradientAloneIsWhatItIsAmongAllOfThem) {
  const Tensor picks = fromVector<std::int64_t>({1, 0, 1, 2}, {4, 1});
  const OfSeveralInputs cases[] = {
      {"add", {{2, 3}, {3}}, [](const Inputs& in) { return add(in[0], in[1], 0.5); }},
      {"sub", {{2, 3}, {3}}, [](const Inputs& in) { return in[0] - in[1]; }},
      {"mul", {{2, 3}, {3}}, [](const Inputs& in) { return in[0] * in[1]; }},
      {"div", {{2, 3}, {3}}, [](const Inputs& in) { return in[0] / in[1]; }},
      {"pow", {{4}, {4}}, [](const Inputs& in) { return pow(in[0], in[1]); }},
      {"maximum", {{6}, {6}}, [](const Inputs& in) { return maximum(in[0], in[1]); }},
      {"where",
       {{6}, {6}},
       [](const Inputs& in) { return where(greater(in[0], in[1]), in[0], in[1]); }},
      {"copy_",
       {{2, 3}, {3}},
       [](const Inputs& in) {
         Tensor out = in[0] * 2.0;
         out.copy_(in[1]);
         return out;
       }},
      {"concat",
       {{2, 1}, {2, 3}},
       [](const Inputs& in) {
         return concat({in[0], in[1]}, 1);
       }},
      {"scatter",
       {{4, 3}, {4, 1}},
       [&](const Inputs& in) { return scatter(in[0], 1, picks, in[1]); }},
      {"scatter_add",
       {{4, 3}, {4, 1}},
       [&](const Inputs& in) { return scatterAdd(in[0], 1, picks, in[1]); }},
      {"matmul", {{2, 3, 4}, {4, 2}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"linear",
       {{2, 4}, {3, 4}, {3}},
       [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
      {"conv2d",
       {{1, 2, 4, 4}, {3, 2, 3, 3}, {3}},
       [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); }},
      {"conv_transpose2d",
       {{1, 2, 3, 3}, {2, 3, 2, 2}, {3}},
       [](const Inputs& in) { return convTranspose2d(in[0], in[1], in[2]); }},
      {"batch_norm",
       {{3, 2, 2}, {2}, {2}},
       [](const Inputs& in) { return batchNorm(in[0], in[1], in[2], {}, {}, true); }},
      {"layer_norm",
       {{3, 4}, {4}, {4}},
       [](const Inputs& in) { return layerNorm(in[0], {4}, in[1], in[2]); }},
      {"attention",
       {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
       [](const Inputs& in) { return attention(in[0], in[1], in[2]); }},
  };
  for (const OfSeveralInputs& test : cases) {
    const Inputs inputs = test.inputs();
    for (const bool recorded : {false, true}) {
      const auto gradients = [&](const Inputs& of) {
        return grad({sum(square(test.function(inputs)))}, of, {}, {.createGraph = recorded});
      };
      const auto all = gradients(inputs);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_THAT(gradients({inputs[i]})[0].toVector<double>(),
                    testing::Pointwise(testing::DoubleNear(1e-12), all[i].toVector<double>()))
            << test.name << ", input " << i << (recorded ? ", recorded" : "");
      }
    }
  }
}

TEST(Autograd, EachGradientAloneMakesFewerTensorsThanAllOfThem) {
  const OfSeveralInputs cases[] = {
      {"div", {{6}, {6}}, [](const Inputs& in) { return in[0] / in[1]; }},
      {"maximum", {{6}, {6}}, [](const Inputs& in) { return maximum(in[0], in[1]); }},
      {"where",
       {{6}, {6}},
       [](const Inputs& in) { return where(greater(in[0], in[1]), in[0], in[1]); }},
      {"matmul", {{3, 4}, {4, 2}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"layer_norm",
       {{3, 4}, {4}, {4}},
       [](const Inputs& in) { return layerNorm(in[0], {4}, in[1], in[2]); }},
      {"attention",
       {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
       [](const Inputs& in) { return attention(in[0], in[1], in[2]); }},
  };
  for (const OfSeveralInputs& test : cases) {
    const Inputs inputs = test.inputs();
    const auto tensorsMadeFor = [&](const Inputs& of) {
      const Tensor loss = sum(test.function(inputs));
      const std::uint64_t before = memoryStats().allocations;
      (void)grad({loss}, of);
      return memoryStats().allocations - before;
    };
    const std::uint64_t forAll = tensorsMadeFor(inputs);
    for (const Tensor& one : inputs) EXPECT_LT(tensorsMadeFor({one}), forAll) << test.name;
  }
}

TEST(Autograd, GradOfATensorAndOfWhatItIsMadeOf) {
  const Tensor x = leaf({1, 2});
  const Tensor inner = square(x);
  const auto both = grad({sum(square(inner))}, {inner, x});
  EXPECT_THAT(both[0].toVector<double>(), ElementsAre(2, 8));
  EXPECT_THAT(both[1].toVector<double>(), ElementsAre(4, 32));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, MisuseIsExplained) {
  const Tensor x = leaf({1, 2});
  EXPECT_THAT([&] { x.setGrad(ones({2})); },
              ThrowsMessage<Error>(HasSubstr("gradient of f32 for a tensor of f64")));
  EXPECT_THAT([&] { x.backward(); }, ThrowsMessage<Error>(HasSubstr("a gradient is needed")));
  EXPECT_THAT([&] { x.backward(ones({3})); },
              ThrowsMessage<Error>(HasSubstr("gradient [3] for a tensor [2]")));
  EXPECT_THAT([&] { arange(3).setRequiresGrad(); },
              ThrowsMessage<Error>(HasSubstr("only floating tensors")));
  EXPECT_THAT([&] { (void)grad({sum(x)}, {leaf({1})}); },
              ThrowsMessage<Error>(HasSubstr("no root depends on input 0")));
}

TEST(Autograd, AnomalyModeNamesTheForwardSite) {
  const AnomalyMode on;
  const Tensor x = leaf({0, 1});
  const Tensor y = sum(sqrt(x));
  EXPECT_THAT([&] { y.backward(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("sqrt.backward"), HasSubstr("not finite"),
                                         HasSubstr("inputs [2]"))));
}

TEST(Autograd, AnomalyModeNamesTheModuleAndTheLineWhereItWasOff) {
  nn::Sequential net;
  net.add<nn::Linear>(2, 2).add<nn::Sigmoid>();
  net.nameTree("net");
  {
    const NoGrad none;
    for (const auto& parameter : net.parameters())
      Tensor(parameter).fill_(1);  // of two signs infinities would be none
  }
  const auto messageOf = [&](bool inForward) -> std::string {
    Tensor y;
    {
      const AnomalyMode mode(inForward);
      y = sum(net(full({1, 2}, INFINITY)));
    }
    const AnomalyMode on;
    try {
      y.backward();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(messageOf(true), HasSubstr("linear in module net.0, inputs [1,2] [2,2] [2]"));
  EXPECT_THAT(messageOf(false), HasSubstr("not recorded (anomaly mode was off)"));
}

TEST(Autograd, SavedTensorsGoAsTheBackwardPasses) {
  const Tensor x = ones({1 << 20}).setRequiresGrad();
  const std::size_t before = memoryStats().active;
  {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) y = tanh(y);
    EXPECT_EQ(memoryStats().active - before, std::size_t{8} << 22);
    resetPeakMemory();
    sum(y).backward();
    EXPECT_LE(memoryStats().peakActive - before, (std::size_t{8} << 22) + (std::size_t{3} << 22));
  }
  EXPECT_EQ(memoryStats().active - before, std::size_t{1} << 22) << "only the gradient stays";
}

TEST(Autograd, ATensorUsedTwiceNeedsHalfOfTheMemoryInBFloat16) {
  const auto peakIn = [](DType type) {
    const Tensor x = ones({1 << 20}, {type, kMeta}).setRequiresGrad();
    Tensor y = tanh(x);
    y = tanh(y) + y;
    const Tensor loss = sum(y);
    const std::size_t before = memoryStats(kMeta).active;
    resetPeakMemory(kMeta);
    loss.backward();
    return memoryStats(kMeta).peakActive - before;
  };
  EXPECT_EQ(2 * peakIn(DType::BF16), peakIn(DType::F32));
}

TEST(Autograd, TheLastHandleGivesItsMemoryAway) {
  const std::size_t before = memoryStats().active;
  Tensor x = ones({1 << 20}).setRequiresGrad();
  resetPeakMemory();
  const Tensor y = relu(x + 1.0);
  EXPECT_EQ(memoryStats().peakActive - before, std::size_t{2} << 22)
      << "relu works in the memory of the sum";
}

TEST(Autograd, PowersHaveGradientsAtZero) {
  const Tensor x = leaf({0});
  const Tensor e = leaf({2});
  sum(pow(x, e)).backward();
  EXPECT_EQ(x.grad().item(), 0);
  EXPECT_EQ(e.grad().item(), 0);
  EXPECT_EQ(grad({pow(x, 0.0)}, {x})[0].item(), 0);
  EXPECT_EQ(grad({pow(x, leaf({0}))}, {x})[0].item(), 0);
  const Tensor slope = grad({pow(x, 1.0)}, {x}, {}, {false, true, false})[0];
  EXPECT_EQ(slope.item(), 1);
  EXPECT_EQ(grad({slope}, {x})[0].item(), 0);
}

TEST(Autograd, ALongChainIsTakenApartWithoutRecursion) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = y + 0.0;
  y = Tensor();
  Tensor z = x;
  for (int i = 0; i < 20000; ++i) z = tanh(z) + 1.0;
  z.backward();
  EXPECT_TRUE(x.grad().defined());
}

TEST(Autograd, TwoThreadsRecordWithOneParameter) {
  const Tensor w = leaf({3});
  const auto work = [&w] {
    for (int i = 0; i < 5000; ++i) {
      const Tensor product = w * 2.0;
      ASSERT_EQ(grad({product * w}, {w}, {ones({1}, {DType::F64})})[0].shape(), w.shape());
    }
  };
  std::thread other(work);
  work();
  other.join();
  sum(w * w).backward();
  EXPECT_EQ(w.grad().item(), 6);
}

TEST(Autograd, TwoThreadsGoBackThroughOneGraph) {
  constexpr int kUses = 1000;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 1; i < kUses; ++i) y = y + x;
  const auto work = [&] {
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(grad({y}, {x}, {}, {.retainGraph = true})[0].item(), kUses);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Autograd, SoIsAChainWhoseEveryOperatorUsesItsInputTwice) {
  Tensor product = leaf({1});
  Tensor total = leaf({0});
  for (int i = 0; i < 200000; ++i) {
    product = mul(product, product);
    total = add(total, total);
  }
  product = Tensor();
  total = Tensor();
}

}  // namespace
}  // namespace lacuna::rt
