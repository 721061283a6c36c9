// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/src/backend/cpu/fast_math.h"

#include <gtest/gtest.h>

#include <limits>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kSmallestNormal = std::numeric_limits<float>::min();

/// A float in every 4099 of all that there are, of both signs.
template <class F>
void forFloatsOfAllSizes(const F& check) {
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 4099) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(x)) check(x);
  }
}

TEST(FastExp, IsAsExactAsDocumentedForFloatsOfAllSizes) {
  double worst = 0;
  forFloatsOfAllSizes([&](float x) {
    const double exact = std::exp(static_cast<double>(x));
    const float got = fastExp(x);
    if (exact > std::numeric_limits<float>::max()) {
      ASSERT_EQ(got, kInfinity) << x;
    } else if (exact < kSmallestNormal) {
      ASSERT_NEAR(got, exact, 2 * std::numeric_limits<float>::denorm_min()) << x;
    } else {
      worst = std::max(worst, std::abs(got / exact - 1));
    }
  });
  EXPECT_LT(worst, 2e-7);
}

TEST(FastExp, IsAsExactWhereSoftmaxUsesIt) {
  for (float x = -87.3F; x < 88.7F; x += 1.7e-4F) {
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(fastExp(x) / exact, 1, 2e-7) << x;
  }
}

TEST(FastExp, OfTheEndsIsAsInTheLibrary) {
  EXPECT_EQ(fastExp(0.0F), 1.0F);
  EXPECT_EQ(fastExp(-0.0F), 1.0F);
  EXPECT_EQ(fastExp(kInfinity), kInfinity);
  EXPECT_EQ(fastExp(-kInfinity), 0.0F);
  EXPECT_EQ(fastExp(100.0F), kInfinity);
  EXPECT_EQ(fastExp(-110.0F), 0.0F);
  EXPECT_GT(fastExp(-100.0F), 0.0F);
}

TEST(FastErf, IsAsExactAsDocumentedForFloatsOfAllSizes) {
  double worst = 0;
  forFloatsOfAllSizes([&](float x) {
    const double exact = std::erf(static_cast<double>(x));
    // The smallest floats have few digits left.
    if (std::abs(exact) > kSmallestNormal)
      worst = std::max(worst, std::abs(fastErf(x) / exact - 1));
  });
  for (float x = -6; x < 6; x += 1.3e-5F) {
    worst = std::max(worst, std::abs(fastErf(x) / std::erf(static_cast<double>(x)) - 1));
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(FastErf, OfTheEndsIsAsInTheLibrary) {
  EXPECT_EQ(fastErf(kInfinity), 1.0F);
  EXPECT_EQ(fastErf(-kInfinity), -1.0F);
  EXPECT_EQ(fastErf(0.0F), 0.0F);
  EXPECT_TRUE(std::signbit(fastErf(-0.0F)));
}

TEST(FastMath, HandsNotANumberOn) {
  for (const float nan :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(fastErf(nan)));
    EXPECT_TRUE(std::isnan(fastExp(nan)));
  }
}

/// Rows that lie in one piece go through the widest vectors of the processor, others value by
/// value.
TEST(Loops, GiveTheSameNumbersWithVectorsOfEveryWidth) {
  manualSeed(5);
  const auto expectSame = [](const char* what, DType type, const auto& use) {
    const Tensor apart = (randn({1000, 2}) * 3).to(type).select(1, 0);
    ASSERT_FALSE(apart.isContiguous());
    EXPECT_EQ(use(apart).template toVector<float>(),
              use(apart.contiguous()).template toVector<float>())
        << what << " of " << name(type);
  };
  const auto slope = [](const Tensor& x) {
    const Tensor leaf = x.detach().setRequiresGrad();
    gelu(leaf).backward(ones({1000}, {x.dtype()}));
    return leaf.grad();
  };
  for (const DType type : {DType::F32, DType::BF16, DType::F16}) {
    expectSame("gelu", type, [](const Tensor& x) { return gelu(x); });
    expectSame("its gradient", type, slope);
    expectSame("sigmoid", type, [](const Tensor& x) { return sigmoid(x); });
    expectSame("a product and a sum", type, [](const Tensor& x) { return add(x, x, 0.3) * x - x; });
    expectSame("a quotient", type, [](const Tensor& x) { return x / (x + 7.5); });
    expectSame("a cube", type, [](const Tensor& x) { return pow(x, 3); });
  }
}

}  // namespace
}  // namespace lacuna::rt::cpu
