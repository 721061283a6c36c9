// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {
namespace {

TEST(Elu, OfANegativeSlopeHasBothGradients) {
  const Tensor x = fromVector<double>({-2, -0.5, 0.5, 800}, {4}).setRequiresGrad();
  const Tensor first = grad({sum(elu(x, -0.7))}, {x}, {}, {.createGraph = true}).at(0);
  const auto got = first.toVector<double>();
  const auto plainly = grad({sum(elu(x, -0.7))}, {x}).at(0).toVector<double>();
  const auto second = grad({sum(first)}, {x}).at(0).toVector<double>();
  for (std::size_t i = 0; i < 4; ++i) {
    const double at = x.detach().toVector<double>()[i];
    EXPECT_NEAR(got[i], at > 0 ? 1 : -0.7 * std::exp(at), 1e-12) << at;
    EXPECT_NEAR(plainly[i], got[i], 1e-12) << at;
    EXPECT_NEAR(second[i], at > 0 ? 0 : -0.7 * std::exp(at), 1e-12) << at;
  }
}

struct Activation {
  const char* name;
  std::function<Tensor(const Tensor&)> function;
  bool keepsInput;  ///< its gradient depends on nothing that was rounded
};

const Activation kActivations[] = {
    {"tanh", [](const Tensor& x) { return tanh(x); }, false},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, false},
    {"elu", [](const Tensor& x) { return elu(x, 1.3); }, false},
    {"elu of a negative slope", [](const Tensor& x) { return elu(x, -0.7); }, true},
    {"gelu", [](const Tensor& x) { return gelu(x); }, true},
    {"gelu by tanh", [](const Tensor& x) { return gelu(x, true); }, true},
    {"silu", [](const Tensor& x) { return silu(x); }, true},
};

struct Half {
  DType type;
  double step;  ///< between 1 and the next number
};
constexpr Half kHalves[] = {{DType::BF16, 0x1p-7}, {DType::F16, 0x1p-10}};

/// From -3 to 3, without rounding.
Tensor samples(DType type) {
  return ((arange(49, {DType::F32}) - 24.0) / 8.0).to(type).setRequiresGrad();
}

Tensor gradientOf(const Activation& activation, const Tensor& x, bool recorded) {
  return grad({activation.function(x)}, {x}, {full({49}, 1.375, {x.dtype()})},
              {.createGraph = recorded})
      .at(0);
}

void expectNear(const Tensor& got, const Tensor& expected, double step, const char* name) {
  const auto values = got.toVector<double>();
  const auto exact = expected.toVector<double>();
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(values[i], exact[i], step * std::abs(exact[i]) + 1e-6) << name << ", sample " << i;
}

TEST(Activations, HaveTheSameGradientIn16BitsWhenItIsRecorded) {
  for (const Half& half : kHalves) {
    const Tensor x = samples(half.type);
    for (const Activation& activation : kActivations) {
      const Tensor recorded = gradientOf(activation, x, true);
      EXPECT_EQ(recorded.dtype(), half.type);
      expectNear(recorded, gradientOf(activation, x, false), half.step, activation.name);
    }
  }
}

TEST(Activations, HaveASecondGradientIn16BitsThatIsRoundedOnce) {
  for (const Half& half : kHalves) {
    for (const Activation& activation : kActivations) {
      if (!activation.keepsInput) continue;
      const auto second = [&](DType type) {
        const Tensor x = samples(type);
        return grad({sum(gradientOf(activation, x, true))}, {x}).at(0);
      };
      expectNear(second(half.type), second(DType::F32), half.step, activation.name);
    }
  }
}

}  // namespace
}  // namespace lacuna::rt
