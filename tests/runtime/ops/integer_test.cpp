// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor integers(DType type = DType::I64) {
  return arange(5, {type});
}

/// As text, so that the type is compared too.
std::string shown(DType type, std::vector<double> values) {
  return fromVector(values, {static_cast<std::int64_t>(values.size())}).to(type).toString();
}

TEST(Integers, WithAFractionBecomeFloats) {
  EXPECT_EQ((integers() / 2.0).toString(), shown(DType::F32, {0, 0.5, 1, 1.5, 2}));
  EXPECT_EQ((integers(DType::I32) * 0.5).toString(), shown(DType::F32, {0, 0.5, 1, 1.5, 2}));
  EXPECT_EQ((integers(DType::U8) * 2.5).toString(), shown(DType::F32, {0, 2.5, 5, 7.5, 10}));
  EXPECT_EQ((integers() - 0.5).toString(), shown(DType::F32, {-0.5, 0.5, 1.5, 2.5, 3.5}));
  EXPECT_EQ(pow(integers(), 0.5).slice(0, 4, 5).toString(), shown(DType::F32, {2}));
}

TEST(Integers, WithWholeNumbersStayWhatTheyAre) {
  EXPECT_EQ((integers() * 3.0 + 1.0).toString(), shown(DType::I64, {1, 4, 7, 10, 13}));
  EXPECT_EQ((integers(DType::U8) - 1.0).select(0, 0).item(), 255) << "wraps";
  EXPECT_EQ((less(integers(), full({}, 2, {DType::I64})) + 1.0).toString(),
            shown(DType::I64, {2, 2, 1, 1, 1}));
  EXPECT_THAT([] { (void)(integers(DType::U8) + 300.0); },
              ThrowsMessage<Error>(HasSubstr("does not fit into u8")));
}

TEST(Integers, InPlaceWithAFractionIsRefused) {
  Tensor x = integers(DType::I32);
  EXPECT_THAT([&] { x.mul_(0.5); },
              ThrowsMessage<Error>(HasSubstr("mul_: 0.500000 in place on i32 would be cut off")));
  EXPECT_THAT([&] { x.add_(ones({5})); }, ThrowsMessage<Error>(HasSubstr("f32 in place on i32")));
  EXPECT_THAT([&] { x.add_(x, 0.5); }, ThrowsMessage<Error>(HasSubstr("cut off")));
  EXPECT_THAT([&] { (void)add(x, x, 0.5); }, ThrowsMessage<Error>(HasSubstr("cut off")));
  x.mul_(2.0).add_(x, -2);
  EXPECT_EQ(x.toString(), shown(DType::I32, {0, -2, -4, -6, -8}));
}

TEST(Integers, AreClampedToBoundsThatTheyCannotHold) {
  EXPECT_EQ(clamp(integers(), 0, INFINITY).toString(), integers().toString());
  EXPECT_EQ(clamp(integers(), -INFINITY, 3).toString(), shown(DType::I64, {0, 1, 2, 3, 3}));
  EXPECT_EQ(clamp(integers(DType::I32), 0, 1e10).toString(), integers(DType::I32).toString());
  EXPECT_EQ(clamp(integers(DType::U8), -1, 300).toString(), integers(DType::U8).toString());
  EXPECT_EQ(clamp(integers(), 0.5, 2.5).toString(), shown(DType::F32, {0.5, 1, 2, 2.5, 2.5}));
}

TEST(Integers, AreSummedAsI64) {
  EXPECT_EQ(sum(full({1000}, 1, {DType::U8})).item(), 1000);
  EXPECT_EQ(sum(full({4}, 2000000000, {DType::I32})).item(), 8e9);
  const Tensor rows = sum(full({2, 300}, 1, {DType::U8}), {1});
  EXPECT_EQ(rows.toString(), shown(DType::I64, {300, 300}));
  EXPECT_EQ(sum(less(integers(), full({}, 3, {DType::I64}))).item(), 3);
}

TEST(Integers, HaveAMeanInF32) {
  EXPECT_EQ(mean(integers()).toString(), "f32[] {2.000000}");
  EXPECT_EQ(mean(less(integers(), full({}, 3, {DType::I64}))).toString(), "f32[] {0.600000}");
  EXPECT_EQ(var(integers(), {}, false, false).item(), 2);
}

TEST(Integers, HavePowers) {
  EXPECT_EQ(pow(integers(), 3).toString(), shown(DType::I64, {0, 1, 8, 27, 64}));
  EXPECT_EQ(pow(integers(DType::I32), integers(DType::I32)).toString(),
            shown(DType::I32, {1, 1, 4, 27, 256}));
  const Tensor signs = fromVector<std::int64_t>({-1, -1, 1, 2, -2}, {5});
  EXPECT_EQ(
      pow(signs, fromVector<std::int64_t>({-3, -2, -1, -1, 63}, {5})).toVector<std::int64_t>(),
      (std::vector<std::int64_t>{-1, 1, 1, 0, INT64_MIN}));
  EXPECT_THAT([] { (void)pow(integers(), -1); },
              ThrowsMessage<Error>(HasSubstr("pow_scalar: i64 to the power of -1")));
}

TEST(Integers, AreRefusedAtTheCallWhereFloatsAreNeeded) {
  EXPECT_THAT([] { (void)erf(integers()); },
              ThrowsMessage<Error>(HasSubstr("erf: needs a floating type")));
  EXPECT_THAT([] { (void)floor(integers()); },
              ThrowsMessage<Error>(HasSubstr("floor: needs a floating type")));
  EXPECT_THAT([] { (void)elu(integers()); },
              ThrowsMessage<Error>(HasSubstr("elu: needs a floating type")));
}

/// The least and the largest of a type, and one.
template <class T>
Tensor ends() {
  return fromVector<T>({std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(1)}, {3});
}

template <class T>
void wrapsAround() {
  constexpr T kLeast = std::numeric_limits<T>::min();
  constexpr T kMost = std::numeric_limits<T>::max();
  const Tensor x = ends<T>();
  const auto are = [](const Tensor& got, T first, T second, T third) {
    EXPECT_EQ(got.dtype(), DTypeOf<T>::kValue);
    EXPECT_THAT(got.template toVector<T>(), ElementsAre(first, second, third));
  };
  are(x + x, T(0), T(-2), T(2));
  are(x - 1.0, kMost, T(kMost - 1), T(0));
  are(sub(x, full({}, 1, {x.dtype()})), kMost, T(kMost - 1), T(0));
  are(add(x, x, 2), kLeast, T(kMost - 2), T(3));
  are(x * x, T(0), T(1), T(1));
  are(x * 2.0, T(0), T(-2), T(2));
  are(neg(x), kLeast, T(-kMost), T(-1));
  are(abs(x), kLeast, kMost, T(1));
  are(square(x), T(0), T(1), T(1));
  are(pow(x, 3), T(0), kMost, T(1));
  are(x.clone().add_(x), T(0), T(-2), T(2));
  are(x.clone().mul_(x), T(0), T(1), T(1));
  are(x.view({3, 1}).expand({3, 2}).select(1, 1) + x, T(0), T(-2), T(2));
  const Tensor twice = fromVector<std::int64_t>({0, 1, 2}, {3});
  are(scatterAdd(x, 0, twice, x), T(0), T(-2), T(2));
}

TEST(Integers, WrapAroundWhereTheyOverflow) {
  wrapsAround<std::int32_t>();
  wrapsAround<std::int64_t>();
  EXPECT_EQ(sum(full({2}, 0x1p62, {DType::I64})).toVector<std::int64_t>()[0], INT64_MIN);
  const Tensor column = full({2, 2}, 0x1p62, {DType::I64});
  EXPECT_THAT(sum(column, {0}).toVector<std::int64_t>(), ElementsAre(INT64_MIN, INT64_MIN));
  EXPECT_THAT(neg(fromVector<std::uint8_t>({1, 0}, {2})).toVector<std::uint8_t>(),
              ElementsAre(255, 0));
}

TEST(Booleans, AreNoNumbers) {
  const Tensor x = less(integers(), full({}, 2, {DType::I64}));
  const auto refuses = [](auto&& body) {
    EXPECT_THAT(body, ThrowsMessage<Error>(HasSubstr("needs numbers, not bool")));
  };
  refuses([&] { (void)neg(x); });
  refuses([&] { (void)abs(x); });
  refuses([&] { (void)add(x, x); });
  refuses([&] { (void)sub(x, x); });
  refuses([&] { (void)mul(x, x); });
  refuses([&] { (void)maximum(x, x); });
  refuses([&] { x.clone().add_(x); });
  refuses([&] { x.clone().mul_(x); });
  EXPECT_EQ((x + integers()).toString(), shown(DType::I64, {1, 2, 2, 3, 4}))
      << "with numbers they are 0 and 1";
  EXPECT_EQ((x * 2.0).toString(), shown(DType::I64, {2, 2, 0, 0, 0}));
}

TEST(Division, ByANumberIsExact) {
  EXPECT_EQ((scalar(7, {DType::F64}) / 49.0).item(), 7.0 / 49.0);
  EXPECT_EQ((scalar(1e-320, {DType::F64}) / 1e-320).item(), 1);
}

TEST(Division, HasItsGradientWhereTheSquareOfTheDivisorDoesNotFit) {
  const auto gradient = [](DType type, double dividend, double divisor) {
    const Tensor by = full({1}, divisor, {type}).setRequiresGrad();
    return grad({div(full({1}, dividend, {type}), by)}, {by})[0].item();
  };
  EXPECT_NEAR(gradient(DType::F16, 300, 300), -1.0 / 300, 1e-5);
  EXPECT_EQ(gradient(DType::F32, 0, 1e-30), 0);
}

}  // namespace
}  // namespace lacuna::rt
