// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/src/backend/cpu/fast_math.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(FastExp, IsAsExactAsItSaysForFloatsOfAllSizes) {
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

TEST(FastErf, IsAsExactAsItSaysForFloatsOfAllSizes) {
  double worst = 0;
  forFloatsOfAllSizes([&](float x) {
    const double exact = std::erf(static_cast<double>(x));
    // The smallest floats have few digits left.
    if (std::abs(exact) > kSmallestNormal) worst = std::max(worst, std::abs(fastErf(x) / exact - 1));
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
  for (const float nan : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(fastErf(nan)));
    EXPECT_TRUE(std::isnan(fastExp(nan)));
  }
}

}  // namespace
}  // namespace lacuna::rt::cpu
