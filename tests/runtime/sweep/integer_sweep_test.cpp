// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/sweep/arrangement.h"

/// Every operator that takes integers, in each of their types, against arithmetic with 64 bits that
/// wraps around, over random shapes and layouts.
namespace lacuna::rt {
namespace {

constexpr int kRounds = 40;
constexpr DType kIntegers[] = {DType::I32, DType::I64, DType::U8};

struct UnaryCase {
  const char* name;
  std::function<Tensor(const Tensor&)> op;
  std::function<std::int64_t(std::int64_t)> exact;
  bool truth = false;  ///< the result is bool
};
struct BinaryCase {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> op;
  std::function<std::int64_t(std::int64_t, std::int64_t)> exact;
  bool truth = false;
};
template <class Case>
std::string caseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
void PrintTo(const UnaryCase& test, std::ostream* out) {
  *out << test.name;
}
void PrintTo(const BinaryCase& test, std::ostream* out) {
  *out << test.name;
}

const UnaryCase kUnary[] = {
    {"neg", [](const Tensor& x) { return neg(x); }, [](std::int64_t x) { return -x; }},
    {"abs", [](const Tensor& x) { return abs(x); }, [](std::int64_t x) { return x < 0 ? -x : x; }},
    {"square", [](const Tensor& x) { return square(x); }, [](std::int64_t x) { return x * x; }},
    {"relu", [](const Tensor& x) { return relu(x); }, [](std::int64_t x) { return x > 0 ? x : 0; }},
    {"sign", [](const Tensor& x) { return sign(x); },
     [](std::int64_t x) { return x > 0   ? 1
                                 : x < 0 ? -1
                                         : 0; }},
    {"clamp", [](const Tensor& x) { return clamp(x, 3, 11); },
     [](std::int64_t x) { return std::clamp<std::int64_t>(x, 3, 11); }},
    {"pow_number", [](const Tensor& x) { return pow(x, 3); },
     [](std::int64_t x) { return x * x * x; }},
    {"add_number", [](const Tensor& x) { return x - 17.0; }, [](std::int64_t x) { return x - 17; }},
    {"mul_number", [](const Tensor& x) { return x * -3.0; }, [](std::int64_t x) { return -3 * x; }},
    {"logical_not", [](const Tensor& x) { return logicalNot(x); },
     [](std::int64_t x) { return x == 0 ? 1 : 0; }, true},
    {"is_finite", [](const Tensor& x) { return isFinite(x); }, [](std::int64_t) { return 1; },
     true},
};

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

const BinaryCase kBinary[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; },
     [](std::int64_t a, std::int64_t b) { return a + b; }},
    {"add_alpha", [](const Tensor& a, const Tensor& b) { return add(a, b, -5); },
     [](std::int64_t a, std::int64_t b) { return a - 5 * b; }},
    {"sub", [](const Tensor& a, const Tensor& b) { return a - b; },
     [](std::int64_t a, std::int64_t b) { return a - b; }},
    {"mul", [](const Tensor& a, const Tensor& b) { return a * b; },
     [](std::int64_t a, std::int64_t b) { return a * b; }},
    {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, clamp(b, 0, 5)); },
     [](std::int64_t a, std::int64_t b) { return power(a, std::clamp<std::int64_t>(b, 0, 5)); }},
    {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
     [](std::int64_t a, std::int64_t b) { return std::max(a, b); }},
    {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
     [](std::int64_t a, std::int64_t b) { return std::min(a, b); }},
    {"where", [](const Tensor& a, const Tensor& b) { return where(less(a, b), a, b * 2.0); },
     [](std::int64_t a, std::int64_t b) { return a < b ? a : 2 * b; }},
    {"equal", [](const Tensor& a, const Tensor& b) { return equal(a, b); },
     [](std::int64_t a, std::int64_t b) { return a == b ? 1 : 0; }, true},
    {"not_equal", [](const Tensor& a, const Tensor& b) { return notEqual(a, b); },
     [](std::int64_t a, std::int64_t b) { return a != b ? 1 : 0; }, true},
    {"less", [](const Tensor& a, const Tensor& b) { return less(a, b); },
     [](std::int64_t a, std::int64_t b) { return a < b ? 1 : 0; }, true},
    {"less_equal", [](const Tensor& a, const Tensor& b) { return lessEqual(a, b); },
     [](std::int64_t a, std::int64_t b) { return a <= b ? 1 : 0; }, true},
    {"greater", [](const Tensor& a, const Tensor& b) { return greater(a, b); },
     [](std::int64_t a, std::int64_t b) { return a > b ? 1 : 0; }, true},
    {"greater_equal", [](const Tensor& a, const Tensor& b) { return greaterEqual(a, b); },
     [](std::int64_t a, std::int64_t b) { return a >= b ? 1 : 0; }, true},
    {"logical_and", [](const Tensor& a, const Tensor& b) { return logicalAnd(a, b); },
     [](std::int64_t a, std::int64_t b) { return a != 0 && b != 0 ? 1 : 0; }, true},
    {"logical_or", [](const Tensor& a, const Tensor& b) { return logicalOr(a, b); },
     [](std::int64_t a, std::int64_t b) { return a != 0 || b != 0 ? 1 : 0; }, true},
};

/// The value that the type holds of a whole number.
std::int64_t wrapped(std::int64_t value, DType type) {
  if (type == DType::U8) return static_cast<std::uint8_t>(value);
  return type == DType::I32 ? static_cast<std::int32_t>(value) : value;
}

/// Small numbers, many of them equal, or large ones; without a sign for U8.
struct Whole {
  Arranged input;
  [[nodiscard]] Tensor as(DType type) const {
    const Tensor whole = round(type == DType::U8 ? abs(input.base) : input.base);
    return arranged(whole.to(type), input.shape, input.layout);
  }
};
Whole randomWhole(SampleRandom& random, const Shape& shape) {
  const double reach = random.below(2) == 0 ? 4 : 200;
  return {randomArranged(random, shape, -reach, reach)};
}

class UnaryOfIntegers : public testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryOfIntegers, IsExactInEveryLayoutAndType) {
  SampleRandom random(1);
  for (int round = 0; round < kRounds; ++round) {
    const Whole input = randomWhole(random, randomShape(random));
    for (const DType type : kIntegers) {
      const Tensor x = input.as(type);
      const Tensor y = GetParam().op(x);
      ASSERT_EQ(y.dtype(), GetParam().truth ? DType::Bool : type);
      const auto from = x.toVector<std::int64_t>();
      const auto got = y.toVector<std::int64_t>();
      ASSERT_EQ(got.size(), from.size());
      for (std::size_t i = 0; i < from.size(); ++i)
        ASSERT_EQ(got[i], wrapped(GetParam().exact(from[i]), type))
            << name(type) << " of " << from[i];
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, UnaryOfIntegers, testing::ValuesIn(kUnary),
                         caseName<UnaryCase>);

class BinaryOfIntegers : public testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryOfIntegers, IsExactInEveryLayoutBroadcastAndType) {
  SampleRandom random(2);
  for (int round = 0; round < kRounds; ++round) {
    const Shape shape = randomShape(random);
    const Whole first = randomWhole(random, shape);
    const Whole second = randomWhole(random, broadcastable(random, shape));
    for (const DType type : kIntegers) {
      const Tensor y = GetParam().op(first.as(type), second.as(type));
      ASSERT_EQ(y.dtype(), GetParam().truth ? DType::Bool : type);
      const auto left = first.as(type).toVector<std::int64_t>();
      const auto right = second.as(type).expand(shape).toVector<std::int64_t>();
      const auto got = y.toVector<std::int64_t>();
      ASSERT_EQ(got.size(), left.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], wrapped(GetParam().exact(left[i], right[i]), type))
            << name(type) << ": " << left[i] << " and " << right[i];
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, BinaryOfIntegers, testing::ValuesIn(kBinary),
                         caseName<BinaryCase>);

TEST(ReductionsOfIntegers, AreThoseOfTheSameNumbersInF64) {
  SampleRandom random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Shape shape = randomShape(random, 1, false);
    const Whole input = randomWhole(random, shape);
    const auto dim = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.rank())));
    for (const DType type : kIntegers) {
      const Tensor x = input.as(type);
      const Tensor wide = x.to(DType::F64);
      const auto equals = [](const Tensor& got, DType wanted, const Tensor& exact) {
        EXPECT_EQ(got.dtype(), wanted);
        EXPECT_EQ(got.toVector<double>(), exact.toVector<double>());
      };
      equals(sum(x, {dim}), DType::I64, sum(wide, {dim}));
      equals(max(x, {dim}), type, max(wide, {dim}));
      equals(min(x), type, min(wide));
      equals(argmax(x, dim), DType::I64, argmax(wide, dim));
      equals(argmin(x, dim), DType::I64, argmin(wide, dim));
      EXPECT_EQ(mean(x, {dim}).dtype(), DType::F32);
      EXPECT_LE(max(abs(mean(x, {dim}) - mean(wide, {dim}))).item(), 1e-4);
      EXPECT_LE(max(abs(div(x, full({}, 7, {type})) - wide / 7.0)).item(), 1e-4);
    }
  }
}

TEST(ReductionsOfTruthValues, CountThem) {
  SampleRandom random(4);
  for (int round = 0; round < kRounds; ++round) {
    const Arranged input = randomArranged(random, randomShape(random, 1, false), -1, 1);
    const Tensor x =
        arranged(greater(input.base, zeros({}, {DType::F64})), input.shape, input.layout);
    const Tensor wide = x.to(DType::F64);
    EXPECT_EQ(sum(x, {0}).toVector<double>(), sum(wide, {0}).toVector<double>());
    EXPECT_EQ(max(x, {-1}).toVector<double>(), max(wide, {-1}).toVector<double>());
    EXPECT_EQ(min(x).item(), min(wide).item());
    EXPECT_NEAR(mean(x).item(), mean(wide).item(), 1e-6);
    EXPECT_EQ(logicalNot(x).toVector<double>(), (wide * -1.0 + 1.0).toVector<double>());
  }
}

}  // namespace
}  // namespace lacuna::rt
