// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace lacuna::rt
