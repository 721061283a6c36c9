// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "backend/cpu/widened.h"
#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"

/// Operators that take f32 in the type that suits them.
namespace lacuna::rt {
namespace {

Tensor some(Shape shape, DType type = DType::F32, Device device = kCpu) {
  return sin(arange(shape.numel(), {DType::I64, device}).to(DType::F64)).view(shape).to(type);
}

struct Typed {
  const char* name;
  DType given;
  DType result;
  std::function<Tensor(const std::function<Tensor(Shape)>&)> call;
};
void PrintTo(const Typed& test, std::ostream* out) {
  *out << test.name;
}
using Make = std::function<Tensor(Shape)>;

const Typed kTyped[] = {
    {"matmul", DType::F32, DType::BF16,
     [](const Make& x) {
       return matmul(x({2, 3}), x({3, 4}));
     }},
    {"matmul_of_vectors", DType::F32, DType::BF16,
     [](const Make& x) { return matmul(x({3}), x({3})); }},
    {"linear", DType::F32, DType::BF16,
     [](const Make& x) {
       return linear(x({2, 3}), x({4, 3}), x({4}));
     }},
    {"conv2d", DType::F32, DType::BF16,
     [](const Make& x) {
       return conv2d(x({1, 2, 4, 4}), x({3, 2, 3, 3}), x({3}));
     }},
    {"conv_transpose2d", DType::F32, DType::BF16,
     [](const Make& x) {
       return convTranspose2d(x({1, 2, 4, 4}), x({2, 3, 3, 3}));
     }},
    {"attention", DType::F32, DType::BF16,
     [](const Make& x) {
       return attention(x({2, 4, 3}), x({2, 4, 3}), x({2, 4, 3}), {}, true);
     }},
    {"matmul_in_f64", DType::F64, DType::F64,
     [](const Make& x) {
       return matmul(x({2, 3}), x({3, 4}));
     }},
    {"softmax", DType::BF16, DType::F32,
     [](const Make& x) {
       return softmax(x({2, 3}), 1);
     }},
    {"log_softmax", DType::BF16, DType::F32,
     [](const Make& x) {
       return logSoftmax(x({2, 3}), 0);
     }},
    {"cross_entropy", DType::BF16, DType::F32,
     [](const Make& x) {
       const Tensor scores = x({2, 3});
       return crossEntropy(scores, zeros({2}, {DType::I64, scores.device()}));
     }},
    {"nll_loss", DType::BF16, DType::F32,
     [](const Make& x) {
       const Tensor scores = x({2, 3});
       return nllLoss(scores, zeros({2}, {DType::I64, scores.device()}));
     }},
    {"mse_loss", DType::BF16, DType::F32,
     [](const Make& x) {
       return mseLoss(x({2, 3}), x({2, 3}));
     }},
    {"l1_loss", DType::F16, DType::F32,
     [](const Make& x) {
       return l1Loss(x({2, 3}), x({2, 3}));
     }},
    {"bce_with_logits", DType::BF16, DType::F32,
     [](const Make& x) { return bceWithLogits(x({3}), x({3})); }},
    {"layer_norm", DType::BF16, DType::F32,
     [](const Make& x) {
       return layerNorm(x({2, 3}), {3}, x({3}), {});
     }},
    {"group_norm", DType::BF16, DType::F32,
     [](const Make& x) {
       return groupNorm(x({2, 4, 3}), 2, {}, {});
     }},
    {"instance_norm", DType::BF16, DType::F32,
     [](const Make& x) {
       return instanceNorm(x({2, 4, 3}), {}, {});
     }},
    {"batch_norm", DType::BF16, DType::BF16,
     [](const Make& x) {
       return batchNorm(x({2, 4}), {}, {}, {}, {}, true);
     }},
    {"gelu", DType::BF16, DType::BF16, [](const Make& x) { return gelu(x({5})); }},
    {"max", DType::F16, DType::F16, [](const Make& x) { return max(x({5})); }},
    {"sum", DType::F16, DType::F32, [](const Make& x) { return sum(x({5})); }},
    {"mean", DType::BF16, DType::F32,
     [](const Make& x) {
       return mean(x({2, 5}), {1});
     }},
    {"var", DType::BF16, DType::F32,
     [](const Make& x) {
       return var(x({2, 5}), {1});
     }},
    {"exp", DType::F16, DType::F32, [](const Make& x) { return exp(x({5})); }},
    {"log", DType::F16, DType::F32, [](const Make& x) { return log(abs(x({5})) + 1); }},
    {"log1p", DType::F16, DType::F32, [](const Make& x) { return log1p(abs(x({5}))); }},
    {"pow", DType::F16, DType::F32, [](const Make& x) { return pow(x({5}), 3); }},
    {"pow_of_two", DType::F16, DType::F32, [](const Make& x) { return pow(abs(x({5})), x({5})); }},
    {"square", DType::BF16, DType::F32, [](const Make& x) { return square(x({5})); }},
    {"rsqrt", DType::F16, DType::F32, [](const Make& x) { return rsqrt(abs(x({5})) + 1); }},
    {"reciprocal", DType::F16, DType::F32,
     [](const Make& x) { return reciprocal(abs(x({5})) + 1); }},
    {"softplus", DType::F16, DType::F32, [](const Make& x) { return softplus(x({5})); }},
    {"add", DType::F32, DType::F32, [](const Make& x) { return x({5}) + x({5}); }},
};

class AutocastOf : public testing::TestWithParam<Typed> {};

TEST_P(AutocastOf, GivesTheTypeThatSuitsIt) {
  for (const Device device : {kCpu, kMeta}) {
    const Make make = [&](Shape shape) { return some(shape, GetParam().given, device); };
    const Tensor plain = GetParam().call(make);
    for (const auto& [type, tolerance] :
         {std::pair(DType::BF16, 0.03), std::pair(DType::F16, 0.02)}) {
      const Autocast cast(type);
      const Tensor y = GetParam().call(make);
      const bool isProduct = GetParam().result == DType::BF16 && GetParam().given == DType::F32;
      EXPECT_EQ(y.dtype(), isProduct ? type : GetParam().result);
      if (device == kMeta) continue;
      const auto exact = plain.toVector<double>();
      const auto got = y.toVector<double>();
      ASSERT_EQ(got.size(), exact.size());
      for (std::size_t i = 0; i < exact.size(); ++i)
        EXPECT_NEAR(got[i], exact[i], tolerance) << name(type);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, AutocastOf, testing::ValuesIn(kTyped),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Autocast, IsOfItsScopeAndItsThread) {
  const auto type = [] { return matmul(some({2, 2}), some({2, 2})).dtype(); };
  EXPECT_EQ(type(), DType::F32);
  {
    const Autocast cast;
    EXPECT_TRUE(Autocast::enabled());
    EXPECT_EQ(type(), DType::BF16);
    std::thread([&] { EXPECT_EQ(type(), DType::F32); }).join();
    {
      const Autocast off(false);
      EXPECT_EQ(type(), DType::F32);
    }
    EXPECT_EQ(type(), DType::BF16);
  }
  EXPECT_FALSE(Autocast::enabled());
  EXPECT_EQ(type(), DType::F32);
}

TEST(Autocast, TakesTheTypeOfTheInnermostScopeAndNoOther) {
  const auto type = [] { return matmul(some({2, 2}), some({2, 2})).dtype(); };
  const Autocast outer(DType::F16);
  EXPECT_EQ(type(), DType::F16);
  {
    const Autocast inner;
    EXPECT_EQ(Autocast::type(), DType::BF16);
    EXPECT_EQ(type(), DType::BF16);
    const Autocast off(false);
    EXPECT_EQ(type(), DType::F32);
  }
  EXPECT_EQ(Autocast::type(), DType::F16);
  EXPECT_EQ(type(), DType::F16);
  for (const DType other : {DType::F32, DType::F64, DType::I32})
    EXPECT_THAT([&] { const Autocast cast(other); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("bf16 or f16")));
  EXPECT_EQ(type(), DType::F16);
}

TEST(Autocast, JoinsPartsOfDifferentTypesInTheWidest) {
  const std::vector<Tensor> parts{some({2, 3}, DType::F16), some({2, 3}),
                                  some({2, 3}, DType::BF16)};
  EXPECT_THROW((void)concat(parts, 0), Error);
  const Autocast cast(DType::F16);
  EXPECT_EQ(concat(parts, 1).dtype(), DType::F32);
  EXPECT_EQ(stack(parts, 0).dtype(), DType::F32);
  EXPECT_EQ(concat({parts[0], parts[0]}, 0).dtype(), DType::F16);
  EXPECT_THROW((void)concat({parts[0], zeros({2, 3}, {DType::I64})}, 0), Error);
}

TEST(Autocast, TakesTheOtherShortTypeToo) {
  const Autocast cast(DType::F16);
  EXPECT_EQ(matmul(some({2, 2}, DType::BF16), some({2, 2}, DType::BF16)).dtype(), DType::F16);
  EXPECT_EQ(matmul(some({2, 2}, DType::BF16), some({2, 2})).dtype(), DType::F16);
}

/// A network that has operators of all kinds.
struct Network {
  nn::Conv2d conv{3, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::LayerNorm last{{8}};
  nn::Linear head{8, 4};

  [[nodiscard]] Tensor scores(const Tensor& x) {
    return head(last(adaptiveAvgPool2d(relu(norm(conv(x)))).flatten(1)));
  }
  [[nodiscard]] std::vector<std::vector<float>> gradients() const {
    std::vector<std::vector<float>> all;
    for (const nn::Module* part :
         std::initializer_list<const nn::Module*>{&conv, &norm, &last, &head}) {
      for (const Tensor& parameter : part->parameters()) {
        EXPECT_EQ(parameter.dtype(), DType::F32);
        EXPECT_EQ(parameter.grad().dtype(), DType::F32);
        all.push_back(parameter.grad().toVector<float>());
      }
    }
    return all;
  }
};

enum class How : std::uint8_t { Plain, Inside, Outside, Checkpointed };

std::vector<std::vector<float>> gradientsOf(How how, DType type = DType::BF16) {
  manualSeed(3);
  Network net;
  const Tensor x = some({4, 3, 6, 6});
  const Tensor target = zeros({4}, {DType::I64});
  Tensor loss;
  {
    const Autocast cast = how == How::Plain ? Autocast(false) : Autocast(type);
    const auto run = [&](const Tensor& in) { return net.scores(in); };
    loss = crossEntropy(how == How::Checkpointed ? checkpoint(run, x) : run(x), target);
    EXPECT_EQ(loss.dtype(), DType::F32);
    if (how == How::Inside) loss.backward();
  }
  if (how != How::Inside) loss.backward();
  return net.gradients();
}

/// The cosine of the angle between them.
double alignment(const std::vector<std::vector<float>>& some,
                 const std::vector<std::vector<float>>& others) {
  double product = 0;
  double squares = 0;
  double otherSquares = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (std::size_t at = 0; at < others[i].size(); ++at) {
      product += some[i][at] * others[i][at];
      squares += some[i][at] * some[i][at];
      otherSquares += others[i][at] * others[i][at];
    }
  }
  return product / std::sqrt(squares * otherSquares);
}

TEST(Autocast, GivesF32GradientsOfF32Parameters) {
  const auto plain = gradientsOf(How::Plain);
  for (const DType type : {DType::BF16, DType::F16}) {
    const auto cast = gradientsOf(How::Inside, type);
    ASSERT_EQ(cast.size(), plain.size());
    EXPECT_NE(cast, plain);
    EXPECT_GT(alignment(cast, plain), type == DType::BF16 ? 0.99 : 0.9999) << name(type);
  }
}

TEST(Autocast, HasTheSameBackwardInsideAndOutsideAndRunAgain) {
  for (const DType type : {DType::BF16, DType::F16}) {
    const auto inside = gradientsOf(How::Inside, type);
    EXPECT_EQ(gradientsOf(How::Outside, type), inside);
    EXPECT_EQ(gradientsOf(How::Checkpointed, type), inside);
  }
}

TEST(Autocast, TakesRecurrentNetworks) {
  nn::Lstm longMemory(3, 5);
  nn::Gru gated(5, 4);
  const Autocast cast;
  const Tensor y = gated(longMemory(some({2, 6, 3})));
  EXPECT_EQ(y.shape(), (Shape{2, 6, 4}));
  sum(y).backward();
  for (const nn::Module* net : std::initializer_list<const nn::Module*>{&longMemory, &gated}) {
    for (const Tensor& parameter : net->parameters())
      EXPECT_EQ(parameter.grad().dtype(), DType::F32);
  }
}

/// Number of conversions meanwhile.
std::uint64_t conversions(const std::function<void()>& body) {
  std::uint64_t calls = 0;
  for (const ProfileRow& row : profile(body).rows) {
    if (row.name == "convert") calls += row.calls;
  }
  return calls;
}

/// A parameter, and rows that are short already, so that what is converted is the parameter.
struct OneWeight : testing::Test {
  Tensor weight = parameter({4, 4});
  const Tensor rows = some({3, 4}, DType::BF16);

  static Tensor parameter(Shape shape) {
    return empty(shape, {DType::F32, kCpu, Role::Parameter}).copy_(some(shape)).setRequiresGrad();
  }
  [[nodiscard]] Tensor product() const { return matmul(rows, weight); }
  [[nodiscard]] Tensor inferred() const {
    const NoGrad guard;
    const Autocast cast;
    return product();
  }
  void change() {
    const NoGrad guard;
    weight.mul_(2);
  }
  [[nodiscard]] static std::size_t heldForWork() {
    synchronize();
    return memoryStats(kCpu).activeByRole[static_cast<std::size_t>(Role::Workspace)];
  }
};

TEST_F(OneWeight, IsConvertedOnceInAScopeThatUsesItOften) {
  Tensor total;
  EXPECT_EQ(conversions([&] {
              const Autocast cast;
              total = product() + product() + product();
            }),
            1U);
  sum(total).backward();
  const Tensor slope = sum(rows.to(DType::F32), {0}) * 3;
  for (int column = 0; column < 4; ++column)
    EXPECT_LT(max(abs(weight.grad().select(1, column) - slope)).item(),
              0.02 * max(abs(slope)).item());
}

TEST_F(OneWeight, IsConvertedAgainInTheNextScopeAndWhenItChanged) {
  EXPECT_EQ(conversions([&] {
              for (int i = 0; i < 2; ++i) {
                const Autocast cast;
                (void)product();
              }
            }),
            2U);
  const Autocast cast;
  const std::vector<float> before = product().toVector<float>();
  change();
  const std::vector<float> after = product().toVector<float>();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], 2 * before[i]);
}

TEST_F(OneWeight, MayBeUsedAgainAfterABackwardOfTheSameScope) {
  const Autocast cast;
  sum(product()).backward();
  const std::vector<float> once = weight.grad().toVector<float>();
  sum(product()).backward();
  const std::vector<float> twice = weight.grad().toVector<float>();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(twice[i], 2 * once[i]);
}

TEST_F(OneWeight, KeepsItsCopyFromInferenceToInferenceUntilItChanges) {
  const std::size_t before = heldForWork();
  std::vector<float> want;
  EXPECT_EQ(conversions([&] { want = inferred().toVector<float>(); }), 2U)
      << "the weight, and the result for the test";
  EXPECT_EQ(heldForWork(), before + static_cast<std::size_t>(weight.numel()) * 2);
  for (int i = 0; i < 3; ++i) {
    Tensor again;
    EXPECT_EQ(conversions([&] { again = inferred(); }), 0U);
    EXPECT_EQ(again.toVector<float>(), want);
  }
  change();
  EXPECT_EQ(heldForWork(), before) << "nobody can use it any more";
  EXPECT_NE(inferred().toVector<float>(), want);
}

TEST_F(OneWeight, IsKeptInTheTypeThatWasAskedForLast) {
  const NoGrad guard;
  for (const DType type : {DType::BF16, DType::F16, DType::BF16}) {
    const Autocast cast(type);
    EXPECT_EQ(product().dtype(), type);
    EXPECT_EQ(product().toVector<float>(),
              matmul(rows.to(type), weight.detach().to(type)).toVector<float>());
  }
}

TEST_F(OneWeight, LeavesNothingBehindForTraining) {
  const std::size_t before = heldForWork();
  (void)inferred();
  {
    const Autocast cast;
    sum(product()).backward();
  }
  EXPECT_EQ(heldForWork(), before);
}

TEST_F(OneWeight, IsReadAnewWhereTheProgramMayWriteIt) {
  (void)inferred();
  weight.host<float>()[0] = 64;
  const std::vector<float> y = inferred().toVector<float>();
  EXPECT_EQ(y, matmul(rows, weight.detach().to(DType::BF16)).toVector<float>());
}

TEST(Autocast, KeepsConvolutionWeightsInTheLibrarysOrderToo) {
  const Tensor weight = OneWeight::parameter({32, 16, 3, 3});
  const Tensor x = some({2, 16, 12, 12}, DType::BF16);
  const auto run = [&](const Tensor& w) {
    const NoGrad guard;
    const Autocast cast;
    return conv2d(x, w, {}, {.padding = 1}).toVector<float>();
  };
  const std::size_t before = OneWeight::heldForWork();
  const std::vector<float> first = run(weight);
  const std::size_t kept = OneWeight::heldForWork();
  const std::size_t copies = cpu::isWidened(DType::BF16) ? 1 : 2;  // in bf16, and that in the order
  EXPECT_GE(kept, before + static_cast<std::size_t>(weight.numel()) * 2 * copies);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(weight), first);
  EXPECT_EQ(OneWeight::heldForWork(), kept);
  EXPECT_EQ(run(weight.clone().setRole(Role::Other)), first);
}

TEST(Autocast, HasGradientsOfGradients) {
  const Tensor x = some({3, 4}).setRequiresGrad();
  const Tensor w = some({4, 4}).setRequiresGrad();
  const Autocast cast;
  const Tensor slope = grad({sum(tanh(matmul(x, w)))}, {x}, {}, {.createGraph = true})[0];
  EXPECT_EQ(slope.dtype(), DType::F32);
  sum(square(slope)).backward();
  EXPECT_EQ(w.grad().dtype(), DType::F32);
}

}  // namespace
}  // namespace lacuna::rt
