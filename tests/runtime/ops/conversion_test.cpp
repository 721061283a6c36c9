// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

/// Conversions between types, also of what the new type cannot hold.
namespace lacuna::rt {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Conversion, ToAnIntegerGivesTheNearestThatItHolds) {
  const std::vector<double> values{NAN,   kInfinity, -kInfinity, 1e30,
                                   -1e30, -5.75,     300.5,      2147483648.0};
  for (const DType type : {DType::F64, DType::F32, DType::BF16}) {
    const Tensor x = fromVector(values, {8}).to(type);
    const Tensor exact = x.to(DType::F64).slice(0, 5, 8);  // bf16 rounds 300.5
    const auto cut = [&](std::int64_t i) {
      return static_cast<std::int64_t>(exact.select(0, i).item());
    };
    EXPECT_THAT(x.to(DType::I32).toVector<std::int32_t>(),
                ElementsAre(0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, -5, cut(1), INT32_MAX))
        << name(type);
    EXPECT_THAT(x.to(DType::I64).toVector<std::int64_t>(),
                ElementsAre(0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, -5, cut(1), 2147483648))
        << name(type);
    EXPECT_THAT(x.to(DType::U8).toVector<std::uint8_t>(),
                ElementsAre(0, 255, 0, 255, 0, 0, 255, 255))
        << name(type);
    EXPECT_THAT(x.to(DType::Bool).toVector<bool>(), Each(true)) << name(type);
  }
  const Tensor halves =
      fromVector<double>({NAN, kInfinity, -kInfinity, 65504, -0.5}, {5}).to(DType::F16);
  EXPECT_THAT(halves.to(DType::I32).toVector<std::int32_t>(),
              ElementsAre(0, INT32_MAX, INT32_MIN, 65504, 0));
}

TEST(Conversion, InPlaceFollowsTheSameRule) {
  Tensor x = zeros({4}, {DType::I32});
  x.copy_(fromVector<float>({NAN, 1e20F, -1e20F, 7.9F}, {4}));
  EXPECT_THAT(x.toVector<std::int32_t>(), ElementsAre(0, INT32_MAX, INT32_MIN, 7));
  EXPECT_THAT(full({1}, -kInfinity, {DType::I64}).toVector<std::int64_t>(), ElementsAre(INT64_MIN));
  EXPECT_THAT(uniform_(x, 1e20, 2e20).toVector<std::int32_t>(), Each(INT32_MAX));
  EXPECT_THAT(normal_(x, -1e20, 1).toVector<std::int32_t>(), Each(INT32_MIN));
}

TEST(Conversion, ToANarrowerIntegerWrapsAround) {
  const Tensor x = fromVector<std::int64_t>({256, -1, INT64_MIN, 0x1'8000'0000}, {4});
  EXPECT_THAT(x.to(DType::U8).toVector<std::uint8_t>(), ElementsAre(0, 255, 0, 0));
  EXPECT_THAT(x.to(DType::I32).toVector<std::int32_t>(), ElementsAre(256, -1, 0, INT32_MIN));
  EXPECT_THAT(x.to(DType::Bool).toVector<bool>(), Each(true));
}

TEST(RandomIntegers, FillTheWidestRange) {
  manualSeed(3);
  const auto values = randint(INT64_MIN, INT64_MAX, {1000}).toVector<std::int64_t>();
  const auto negative =
      std::count_if(values.begin(), values.end(), [](std::int64_t value) { return value < 0; });
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
  EXPECT_THAT(randint(-3, -2, {5}).toVector<std::int64_t>(), Each(-3));
}

TEST(RandomIntegers, AreRefusedWhereTheirTypeDoesNotHoldThem) {
  EXPECT_THROW((void)randint(0, 300, {5}, {DType::U8}), Error);
  EXPECT_THROW((void)randint(-1, 2, {5}, {DType::U8}), Error);
  EXPECT_THROW((void)randint(0, 3, {5}, {DType::Bool}), Error);
  EXPECT_THROW((void)randint(0, std::int64_t{1} << 32, {5}, {DType::I32}), Error);
  EXPECT_THAT(randint(255, 256, {5}, {DType::U8}).toVector<std::uint8_t>(), Each(255));
  EXPECT_THAT(
      randint(INT32_MIN, std::int64_t{INT32_MIN} + 1, {5}, {DType::I32}).toVector<std::int32_t>(),
      Each(INT32_MIN));
}

}  // namespace
}  // namespace lacuna::rt
