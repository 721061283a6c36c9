// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;
using Inputs = std::vector<Tensor>;

Tensor numbers(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return fromVector(values, {count}).setRequiresGrad();
}

TEST(GradCheck, FindsAWrongGradientAndNamesItsPlace) {
  const auto half = [](const Inputs& in) { return Inputs{mul(in[0], in[1].detach())}; };
  const std::string found = gradcheck(half, {numbers({1, 2, 3}), numbers({4, 5, 6})}, {});
  EXPECT_THAT(found, StartsWith("input 1 [3], element "));
  EXPECT_THAT(found, HasSubstr("gradient 0.000000, finite difference "));
}

TEST(GradCheck, FindsAGradientThatIsTooLargeByAHundredth) {
  const auto wrong = [](const Inputs& in) {
    const Tensor y = mul(in[0], 1.0);
    if (y.requiresGrad()) y.registerHook([](const Tensor& g) { return mul(g, 1.01); });
    return Inputs{square(y)};
  };
  EXPECT_THAT(gradcheck(wrong, {numbers({1, 2})}, {}), StartsWith("input 0 [2], element "));
}

TEST(GradCheck, FindsWhatIsWrongInTheSecondOrderOnly) {
  const auto once = [](const Inputs& in) {
    const Tensor y = mul(in[0], 1.0);
    if (y.requiresGrad()) y.registerHook([](const Tensor& g) { return g.detach(); });
    return Inputs{square(y)};
  };
  EXPECT_EQ(gradcheck(once, {numbers({1, 2})}, {}), "");
  EXPECT_THAT(gradcheck(once, {numbers({1, 2})}, {.second = true}),
              StartsWith("second derivative: input 0 [2]"));
}

TEST(GradCheck, TakesNoNumberThatIsNone) {
  const auto root = [](const Inputs& in) { return Inputs{sqrt(in[0])}; };
  EXPECT_THAT(gradcheck(root, {numbers({1, 0, 4})}, {}),
              StartsWith("input 0 [3], element 1: gradient "));
}

TEST(GradCheck, RefusesInputsThatItCannotMove) {
  const auto same = [](const Inputs& in) { return Inputs{mul(in[0], 2.0)}; };
  const auto refuses = [&](const Tensor& input) {
    EXPECT_THAT([&] { (void)gradcheck(same, {input}, {}); },
                ThrowsMessage<Error>(HasSubstr("contiguous f64 leaves that require gradients")));
  };
  refuses(ones({2}).setRequiresGrad());
  refuses(ones({2}, {DType::F64}));
  refuses(mul(numbers({1, 2}), 2.0));
  EXPECT_THAT(
      [&] {
        (void)gradcheck([](const Inputs& in) { return Inputs{equal(in[0], in[0])}; },
                        {numbers({1})}, {});
      },
      ThrowsMessage<Error>(HasSubstr("no floating output")));
}

}  // namespace
}  // namespace lacuna::rt
