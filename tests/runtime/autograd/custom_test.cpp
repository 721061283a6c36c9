// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"
#include "support/message_of.h"

/// Operators of an application's own.
namespace lacuna::rt {
namespace {

using test::messageOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Tensors = std::vector<Tensor>;

/// a · b² and a + b, with their gradients by hand.
const CustomFunction kMixed(
    "mixed",
    [](const Tensors& in) {
      return Tensors{mul(in[0], square(in[1])), add(in[0], in[1])};
    },
    [](const Tensors& in, const Tensors&, const Tensors& given) {
      return Tensors{add(mul(given[0], square(in[1])), given[1]),
                     add(mul(given[0], mul(mul(in[0], in[1]), 2)), given[1])};
    });

/// The exponential by its own result.
const CustomFunction kExp(
    "own_exp", [](const Tensors& in) { return Tensors{exp(in[0])}; },
    [](const Tensors&, const Tensors& out, const Tensors& given) {
      return Tensors{mul(given[0], out[0])};
    });

Tensor wanted(const std::vector<double>& values) {
  return fromVector(values, {static_cast<std::int64_t>(values.size())}).setRequiresGrad();
}

/// One that hands its input on, with any backward.
CustomFunction withBackward(const CustomFunction::Backward& backward) {
  return {"odd", [](const Tensors& in) { return Tensors{mul(in[0], 1)}; }, backward};
}

std::string messageOfBackward(const CustomFunction::Backward& backward) {
  return messageOf([&] { sum(withBackward(backward)({wanted({1, 2})})[0]).backward(); });
}

TEST(CustomFunction, HasTheGradientThatItWasGiven) {
  const Tensor x = wanted({-2, 3});
  const CustomFunction sign(
      "straight_through_sign", [](const Tensors& in) { return Tensors{rt::sign(in[0])}; },
      [](const Tensors&, const Tensors&, const Tensors& given) { return Tensors{given[0]}; });
  const Tensor y = sign({x})[0];
  EXPECT_THAT(y.toVector<double>(), ElementsAre(-1, 1));
  sum(mul(y, 5)).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(5, 5));
}

TEST(CustomFunction, StandsTheCheckOfGradientsOfBothOrders) {
  manualSeed(3);
  const Tensors inputs{randn({2, 3}, {DType::F64}).setRequiresGrad(),
                       randn({2, 3}, {DType::F64}).setRequiresGrad()};
  EXPECT_EQ(gradcheck([](const Tensors& in) { return kMixed(in); }, inputs, {.second = true}), "");
  EXPECT_EQ(
      gradcheck([](const Tensors& in) { return kExp({in[0]}); }, {inputs[0]}, {.second = true}),
      "");
}

TEST(CustomFunction, AnOutputThatNothingUsesHasZerosAsItsGradient) {
  const Tensor a = wanted({2}), b = wanted({3});
  kMixed({a, b})[1].backward();
  EXPECT_EQ(a.grad().item(), 1);
  EXPECT_EQ(b.grad().item(), 1);
}

TEST(CustomFunction, MayHandOnWhatItWasGiven) {
  const CustomFunction scaled(
      "scaled_gradient", [](const Tensors& in) { return in; },
      [](const Tensors&, const Tensors&, const Tensors& given) {
        return Tensors{mul(given[0], 10)};
      });
  const Tensor x = wanted({4});
  const Tensor y = scaled({x})[0];
  EXPECT_TRUE(x.isLeaf());
  EXPECT_TRUE(y.sharesMemoryWith(x));
  mul(y, 2).backward();
  EXPECT_EQ(x.grad().item(), 20);
}

TEST(CustomFunction, RecordsNothingWithoutGradientsAndWorksInACheckpoint) {
  const Tensor x = wanted({0.5, 1});
  {
    const NoGrad guard;
    EXPECT_FALSE(kExp({x})[0].requiresGrad());
  }
  const std::function<Tensor(const Tensor&)> segment = [](const Tensor& in) {
    return square(kExp({in})[0]);
  };
  sum(segment(x)).backward();
  const auto plain = x.grad().toVector<double>();
  x.setGrad({});
  sum(checkpoint(segment, x)).backward();
  EXPECT_EQ(x.grad().toVector<double>(), plain);
}

TEST(CustomFunction, IsSeenByItsName) {
  const ProfileTable table = profile([] { sum(kExp({wanted({1})})[0]).backward(); });
  std::vector<std::string> names;
  for (const ProfileRow& row : table.rows) names.push_back(row.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"own_exp", "exp", "own_exp.backward"}));
}

TEST(CustomFunction, WhatDoesNotFitIsNamed) {
  const auto none = [](const Tensors&, const Tensors&, const Tensors&) { return Tensors(); };
  EXPECT_THAT(messageOfBackward(none),
              HasSubstr("odd: its backward gave 0 gradients for 1 inputs"));
  EXPECT_THAT(messageOfBackward([](const Tensors&, const Tensors&, const Tensors& given) {
                return Tensors{sum(given[0])};
              }),
              HasSubstr("as the gradient of input 0, which is f64[2]"));
  EXPECT_THAT(messageOf([] { (void)CustomFunction("empty", nullptr, nullptr); }),
              HasSubstr("empty: needs a forward"));
  EXPECT_THAT(messageOf([] { (void)kExp({Tensor()}); }),
              HasSubstr("own_exp: input 0 is undefined"));
  const auto messageOfForward = [&](const CustomFunction::Forward& forward) {
    return messageOf([&] { (void)CustomFunction("odd", forward, none)({wanted({1, 2})}); });
  };
  EXPECT_THAT(messageOfForward([](const Tensors&) { return Tensors(); }),
              HasSubstr("odd: its forward gave no tensor"));
  EXPECT_THAT(messageOfForward([](const Tensors& in) { return Tensors{in[0].to(DType::I64)}; }),
              HasSubstr("which can have no gradient"));
  EXPECT_THAT(messageOfForward([](Tensors in) { return Tensors{in[0].mul_(2)}; }),
              HasSubstr("odd: its forward changed input 0 in place"));
}

TEST(CustomFunction, AnInputThatIsChangedLaterIsNoticed) {
  const Tensor x = wanted({1});
  Tensor inner = mul(x, 1);
  const Tensor y = kMixed({inner, inner})[0];
  {
    const NoGrad guard;
    inner.mul_(2);
  }
  EXPECT_THAT(messageOf([&] { y.backward(); }), HasSubstr("changed in place since the forward"));
}

}  // namespace
}  // namespace lacuna::rt
