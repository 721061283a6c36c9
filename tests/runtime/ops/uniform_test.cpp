// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

TEST(Uniform, StaysBelowItsEndInEveryTypeAndRange) {
  manualSeed(7);
  constexpr std::pair<double, double> kRanges[] = {{1, 2},    {-2, -1},   {-1, 1},
                                                   {0, 1e-3}, {100, 101}, {-1e-30, 0}};
  for (const DType type : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
    for (const auto& [low, high] : kRanges) {
      if (type == DType::F16 && low == -1e-30) continue;  // it has no numbers there
      Tensor x = empty({20'000}, {type});
      uniform_(x, low, high);
      EXPECT_LT(max(x).item(), high) << name(type) << " from " << low;
      EXPECT_GE(min(x).item(), low - std::abs(low) * 1e-2) << name(type) << " from " << low;
    }
  }
  Tensor same = empty({3}, {DType::BF16});
  uniform_(same, 1, 1);
  EXPECT_THAT(same.toVector<float>(), testing::Each(1.0F))
      << "nothing lies between, so it is that number";
}

}  // namespace
}  // namespace lacuna::rt
