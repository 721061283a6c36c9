// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lacuna/runtime/ops_image.h"
#include "runtime/sweep/arrangement.h"

/// Every elementwise operator and reduction: values against the closed form and gradients against
/// finite differences, over random shapes, layouts and broadcasts.
namespace lacuna::rt {
namespace {

constexpr int kRounds = 40;

struct UnaryCase {
  const char* name;
  std::function<Tensor(const Tensor&)> op;
  std::function<double(double)> exact;
  double low = -3;
  double high = 3;
  bool differentiable = true;
};
struct BinaryCase {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> op;
  std::function<double(double, double)> exact;
  double low = -3;
  double high = 3;
  bool differentiable = true;
};

void PrintTo(const UnaryCase& test, std::ostream* out) {
  *out << test.name;
}
void PrintTo(const BinaryCase& test, std::ostream* out) {
  *out << test.name;
}

double normalCdf(double x) {
  return 0.5 * std::erfc(-x * M_SQRT1_2);
}
double sigmoidOf(double x) {
  return 1 / (1 + std::exp(-x));
}

const UnaryCase kUnary[] = {
    {"neg", [](const Tensor& x) { return neg(x); }, [](double x) { return -x; }},
    {"abs", [](const Tensor& x) { return abs(x); }, [](double x) { return std::abs(x); }},
    {"exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }},
    {"log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, 0.1, 4},
    {"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); },
     -0.9, 4},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.1,
     4},
    {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); },
     0.1, 4},
    {"reciprocal", [](const Tensor& x) { return reciprocal(x); }, [](double x) { return 1 / x; },
     0.2, 4},
    {"square", [](const Tensor& x) { return square(x); }, [](double x) { return x * x; }},
    {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, sigmoidOf},
    {"relu", [](const Tensor& x) { return relu(x); }, [](double x) { return std::max(x, 0.0); }},
    {"leaky_relu", [](const Tensor& x) { return leakyRelu(x, 0.2, 1.5); },
     [](double x) { return 1.5 * (x > 0 ? x : 0.2 * x); }},
    {"elu", [](const Tensor& x) { return elu(x, 1.3); },
     [](double x) { return x > 0 ? x : 1.3 * std::expm1(x); }},
    {"elu_of_a_negative_slope", [](const Tensor& x) { return elu(x, -0.7); },
     [](double x) { return x > 0 ? x : -0.7 * std::expm1(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }, [](double x) { return x * normalCdf(x); }},
    {"gelu_tanh", [](const Tensor& x) { return gelu(x, true); },
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"silu", [](const Tensor& x) { return silu(x); }, [](double x) { return x * sigmoidOf(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); },
     [](double x) { return std::log1p(std::exp(x)); }},
    {"clamp", [](const Tensor& x) { return clamp(x, -1, 1.5); },
     [](double x) { return std::clamp(x, -1.0, 1.5); }},
    {"sign", [](const Tensor& x) { return sign(x); },
     [](double x) { return x > 0   ? 1.0
                           : x < 0 ? -1.0
                                   : 0.0; }},
    {"floor", [](const Tensor& x) { return floor(x); }, [](double x) { return std::floor(x); }},
    {"ceil", [](const Tensor& x) { return ceil(x); }, [](double x) { return std::ceil(x); }},
    {"round", [](const Tensor& x) { return round(x); }, [](double x) { return std::nearbyint(x); }},
    {"pow_number", [](const Tensor& x) { return pow(x, 2.5); },
     [](double x) { return std::pow(x, 2.5); }, 0.1, 3},
    {"pow_one", [](const Tensor& x) { return pow(x, 1); }, [](double x) { return x; }},
    {"pow_two", [](const Tensor& x) { return pow(x, 2); }, [](double x) { return x * x; }},
    {"pow_three", [](const Tensor& x) { return pow(x, 3); }, [](double x) { return x * x * x; }},
    {"add_number", [](const Tensor& x) { return x + 1.25; }, [](double x) { return x + 1.25; }},
    {"mul_number", [](const Tensor& x) { return x * -0.75; }, [](double x) { return x * -0.75; }},
    {"logical_not", [](const Tensor& x) { return logicalNot(floor(x)); },
     [](double x) { return std::floor(x) == 0 ? 1.0 : 0.0; }, -3, 3, false},
    {"is_finite", [](const Tensor& x) { return isFinite(log(floor(x))); },
     [](double x) { return std::floor(x) > 0 ? 1.0 : 0.0; }, 0, 3, false},
};

const BinaryCase kBinary[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; },
     [](double a, double b) { return a + b; }},
    {"add_alpha", [](const Tensor& a, const Tensor& b) { return add(a, b, -1.5); },
     [](double a, double b) { return a - 1.5 * b; }},
    {"sub", [](const Tensor& a, const Tensor& b) { return a - b; },
     [](double a, double b) { return a - b; }},
    {"mul", [](const Tensor& a, const Tensor& b) { return a * b; },
     [](double a, double b) { return a * b; }},
    {"div", [](const Tensor& a, const Tensor& b) { return a / b; },
     [](double a, double b) { return a / b; }, 0.3, 3},
    {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); },
     [](double a, double b) { return std::pow(a, b); }, 0.3, 2},
    {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
     [](double a, double b) { return std::max(a, b); }},
    {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
     [](double a, double b) { return std::min(a, b); }},
    {"where",
     [](const Tensor& a, const Tensor& b) {
       return where(greater(a, scalar(0.25, {DType::F64, a.device()})), a * 2.0, b);
     },
     [](double a, double b) { return a > 0.25 ? 2 * a : b; }},
    {"equal", [](const Tensor& a, const Tensor& b) { return equal(round(a), round(b)); },
     [](double a, double b) { return std::nearbyint(a) == std::nearbyint(b) ? 1.0 : 0.0; }, -2, 2,
     false},
    {"not_equal", [](const Tensor& a, const Tensor& b) { return notEqual(round(a), round(b)); },
     [](double a, double b) { return std::nearbyint(a) != std::nearbyint(b) ? 1.0 : 0.0; }, -2, 2,
     false},
    {"less", [](const Tensor& a, const Tensor& b) { return less(a, b); },
     [](double a, double b) { return a < b ? 1.0 : 0.0; }, -3, 3, false},
    {"less_equal", [](const Tensor& a, const Tensor& b) { return lessEqual(round(a), round(b)); },
     [](double a, double b) { return std::nearbyint(a) <= std::nearbyint(b) ? 1.0 : 0.0; }, -2, 2,
     false},
    {"greater", [](const Tensor& a, const Tensor& b) { return greater(a, b); },
     [](double a, double b) { return a > b ? 1.0 : 0.0; }, -3, 3, false},
    {"greater_equal",
     [](const Tensor& a, const Tensor& b) { return greaterEqual(round(a), round(b)); },
     [](double a, double b) { return std::nearbyint(a) >= std::nearbyint(b) ? 1.0 : 0.0; }, -2, 2,
     false},
    {"logical_and",
     [](const Tensor& a, const Tensor& b) {
       return logicalAnd(less(a, b), less(a, scalar(1, {DType::F64, a.device()})));
     },
     [](double a, double b) { return a < b && a < 1 ? 1.0 : 0.0; }, -3, 3, false},
    {"logical_or",
     [](const Tensor& a, const Tensor& b) {
       return logicalOr(less(a, b), less(a, scalar(1, {DType::F64, a.device()})));
     },
     [](double a, double b) { return a < b || a < 1 ? 1.0 : 0.0; }, -3, 3, false},
};

double tolerance(DType type) {
  switch (type) {
    case DType::F64:
      return 1e-13;
    case DType::F32:
      return 4e-6;
    case DType::F16:
      return 4e-3;
    default:
      return 3e-2;
  }
}

constexpr DType kFloats[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

class Unary : public testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, FollowsItsFormulaInEveryLayoutAndType) {
  const UnaryCase& test = GetParam();
  SampleRandom random(1);
  for (int round = 0; round < kRounds; ++round) {
    const Arranged input = randomArranged(random, randomShape(random), test.low, test.high);
    for (const DType type : kFloats) {
      const Tensor x = arranged(input.base.to(type), input.shape, input.layout);
      const auto from = x.toVector<double>();
      const Tensor y = test.op(x);
      ASSERT_EQ(y.shape(), input.shape) << input.text();
      const auto got = y.toVector<double>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const double exact = test.exact(from[i]);
        ASSERT_NEAR(got[i], exact, tolerance(type) * std::max(1.0, std::abs(exact)))
            << name(type) << ' ' << input.text() << " at " << from[i];
      }
    }
  }
}

TEST_P(Unary, HasTheGradientOfItsFormula) {
  const UnaryCase& test = GetParam();
  if (!test.differentiable) return;
  SampleRandom random(2);
  for (int round = 0; round < kRounds / 4; ++round) {
    const Arranged input = randomArranged(random, randomShape(random, 0), test.low, test.high);
    ASSERT_EQ(checkGradient([&](const std::vector<Tensor>& in) { return test.op(in[0]); }, {input}),
              "")
        << input.text();
  }
}

TEST_P(Unary, HasThatGradientInShorterTypesToo) {
  const UnaryCase& test = GetParam();
  if (!test.differentiable) return;
  SampleRandom random(8);
  for (int round = 0; round < kRounds / 2; ++round) {
    const Arranged input = randomArranged(random, randomShape(random, 0), test.low, test.high);
    const auto function = [&](const std::vector<Tensor>& in) { return test.op(in[0]); };
    ASSERT_EQ(compareGradient(function, {input}, DType::F32, 1e-5), "") << input.text();
    ASSERT_EQ(compareGradient(function, {input}, DType::BF16, 3e-2), "") << input.text();
  }
}

TEST_P(Unary, GivesTheSameShapeAndTypeOnMeta) {
  SampleRandom random(10);
  for (int round = 0; round < kRounds; ++round) {
    const Arranged input =
        randomArranged(random, randomShape(random), GetParam().low, GetParam().high);
    const auto function = [&](const std::vector<Tensor>& in) { return GetParam().op(in[0]); };
    for (const DType type : kFloats)
      ASSERT_EQ(compareMeta(function, {input}, type), "") << name(type) << ' ' << input.text();
  }
}

template <class T>
std::string caseName(const testing::TestParamInfo<T>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Operators, Unary, testing::ValuesIn(kUnary), caseName<UnaryCase>);

class Binary : public testing::TestWithParam<BinaryCase> {
 protected:
  std::pair<Arranged, Arranged> operands(SampleRandom& random) const {
    const Shape full = randomShape(random);
    const bool first = random.below(2) == 0;
    const Shape other = broadcastable(random, full);
    return {randomArranged(random, first ? full : other, GetParam().low, GetParam().high),
            randomArranged(random, first ? other : full, GetParam().low, GetParam().high)};
  }
};

/// Where the element at `at` of the result comes from.
std::size_t sourceOf(std::int64_t at, const Shape& result, const Shape& operand) {
  std::int64_t out = 0;
  std::int64_t step = 1;
  for (int back = 1; back <= result.rank(); ++back) {
    const std::int64_t size = result[result.rank() - back];
    if (back <= operand.rank()) {
      const std::int64_t own = operand[operand.rank() - back];
      out += (own == 1 ? 0 : at % size) * step;
      step *= own;
    }
    at /= size;
  }
  return static_cast<std::size_t>(out);
}

TEST_P(Binary, FollowsItsFormulaInEveryLayoutBroadcastAndType) {
  SampleRandom random(3);
  for (int round = 0; round < kRounds; ++round) {
    const auto [a, b] = operands(random);
    for (const DType type : kFloats) {
      const Tensor first = a.view(type);
      const Tensor second = b.view(type);
      const Tensor y = GetParam().op(first, second);
      ASSERT_EQ(y.dtype(), GetParam().differentiable ? type : DType::Bool);
      ASSERT_EQ(y.numel(), std::max(a.shape.numel(), b.shape.numel()) * (y.numel() == 0 ? 0 : 1));
      const auto left = first.toVector<double>();
      const auto right = second.toVector<double>();
      const auto got = y.toVector<double>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const double exact = GetParam().exact(left[sourceOf(at, y.shape(), a.shape)],
                                              right[sourceOf(at, y.shape(), b.shape)]);
        ASSERT_NEAR(got[i], exact, tolerance(type) * std::max(1.0, std::abs(exact)))
            << name(type) << ' ' << a.text() << " and " << b.text();
      }
    }
  }
}

TEST_P(Binary, HasTheGradientOfItsFormula) {
  if (!GetParam().differentiable) return;
  SampleRandom random(4);
  for (int round = 0; round < kRounds / 4; ++round) {
    const auto [a, b] = operands(random);
    ASSERT_EQ(
        checkGradient([&](const std::vector<Tensor>& in) { return GetParam().op(in[0], in[1]); },
                      {a, b}),
        "")
        << a.text() << " and " << b.text();
  }
}

TEST_P(Binary, HasThatGradientInShorterTypesToo) {
  if (!GetParam().differentiable) return;
  SampleRandom random(9);
  for (int round = 0; round < kRounds / 2; ++round) {
    const auto [a, b] = operands(random);
    const auto function = [&](const std::vector<Tensor>& in) {
      return GetParam().op(in[0], in[1]);
    };
    ASSERT_EQ(compareGradient(function, {a, b}, DType::F32, 1e-5), "")
        << a.text() << " and " << b.text();
    ASSERT_EQ(compareGradient(function, {a, b}, DType::BF16, 4e-2), "")
        << a.text() << " and " << b.text();
  }
}

TEST_P(Binary, GivesTheSameShapeAndTypeOnMeta) {
  SampleRandom random(11);
  for (int round = 0; round < kRounds; ++round) {
    const auto [a, b] = operands(random);
    const auto function = [&](const std::vector<Tensor>& in) {
      return GetParam().op(in[0], in[1]);
    };
    for (const DType type : kFloats)
      ASSERT_EQ(compareMeta(function, {a, b}, type), "")
          << name(type) << ' ' << a.text() << " and " << b.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Binary, testing::ValuesIn(kBinary), caseName<BinaryCase>);

struct ReductionCase {
  const char* name;
  std::function<Tensor(const Tensor&, std::vector<int>, bool)> op;
  std::function<double(const std::vector<double>&)> exact;
  bool ofNothing = true;  ///< defined for no elements
};

void PrintTo(const ReductionCase& test, std::ostream* out) {
  *out << test.name;
}

double meanOf(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total / static_cast<double>(values.size());
}
double varianceOf(const std::vector<double>& values) {
  const double middle = meanOf(values);
  double total = 0;
  for (const double value : values) total += (value - middle) * (value - middle);
  return total / static_cast<double>(values.size());
}

const ReductionCase kReductions[] = {
    {"sum",
     [](const Tensor& x, std::vector<int> dims, bool keep) {
       return sum(x, std::move(dims), keep);
     },
     [](const std::vector<double>& v) {
       return v.empty() ? 0 : meanOf(v) * static_cast<double>(v.size());
     }},
    {"mean",
     [](const Tensor& x, std::vector<int> dims, bool keep) {
       return mean(x, std::move(dims), keep);
     },
     meanOf, false},
    {"max",
     [](const Tensor& x, std::vector<int> dims, bool keep) {
       return max(x, std::move(dims), keep);
     },
     [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }, false},
    {"min",
     [](const Tensor& x, std::vector<int> dims, bool keep) {
       return min(x, std::move(dims), keep);
     },
     [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }, false},
    {"var",
     [](const Tensor& x, std::vector<int> dims, bool keep) {
       return var(x, std::move(dims), keep, false);
     },
     varianceOf, false},
};

class Reduction : public testing::TestWithParam<ReductionCase> {
 protected:
  static std::vector<int> someDims(SampleRandom& random, const Shape& shape) {
    std::vector<int> dims;
    for (int d = 0; d < shape.rank(); ++d) {
      if (random.below(2) == 0) dims.push_back(random.below(2) == 0 ? d : d - shape.rank());
    }
    return dims;
  }
};

TEST_P(Reduction, FollowsItsFormulaOverAnyDimensionsInEveryType) {
  SampleRandom random(5);
  for (int round = 0; round < 2 * kRounds; ++round) {
    const Shape shape = randomShape(random, 0, GetParam().ofNothing);
    const Arranged input = randomArranged(random, shape, -3, 3);
    std::vector<int> dims = someDims(random, shape);
    const Tensor kept = GetParam().op(input.view(), dims, true);
    if (dims.empty()) {
      for (int d = 0; d < shape.rank(); ++d) dims.push_back(d);
    }
    Shape expected = shape;
    for (const int d : dims) expected[d < 0 ? d + shape.rank() : d] = 1;
    ASSERT_EQ(kept.shape(), expected) << input.text();
    for (const DType type : kFloats) {
      const Tensor x = input.view(type);
      std::vector<std::vector<double>> groups(static_cast<std::size_t>(expected.numel()));
      const auto values = x.toVector<double>();
      for (std::size_t i = 0; i < values.size(); ++i)
        groups[sourceOf(static_cast<std::int64_t>(i), shape, expected)].push_back(values[i]);
      const Tensor y = GetParam().op(x, dims, true);
      ASSERT_EQ(y.dtype(), type);
      const auto got = y.toVector<double>();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const double exact = GetParam().exact(groups[i]);
        ASSERT_NEAR(got[i], exact, 10 * tolerance(type) * std::max(1.0, std::abs(exact)))
            << name(type) << ' ' << input.text();
      }
      ASSERT_EQ(GetParam().op(x, dims, false).toVector<double>(), got);
    }
  }
}

TEST_P(Reduction, HasTheGradientOfItsFormula) {
  SampleRandom random(6);
  for (int round = 0; round < kRounds / 4; ++round) {
    const Shape shape = randomShape(random, 0, false);
    Arranged input = randomArranged(random, shape, -3, 3);
    // Equal largest elements have no gradient to compare with.
    if (input.layout == Layout::Expanded) continue;
    const std::vector<int> dims = someDims(random, shape);
    ASSERT_EQ(checkGradient(
                  [&](const std::vector<Tensor>& in) {
                    return square(GetParam().op(in[0], dims, false));
                  },
                  {input}),
              "")
        << input.text();
  }
}

TEST_P(Reduction, GivesTheSameShapeAndTypeOnMeta) {
  SampleRandom random(12);
  for (int round = 0; round < kRounds; ++round) {
    const Shape shape = randomShape(random, 0, GetParam().ofNothing);
    const Arranged input = randomArranged(random, shape, -3, 3);
    const std::vector<int> dims = someDims(random, shape);
    const bool keep = random.below(2) == 0;
    const auto function = [&](const std::vector<Tensor>& in) {
      return GetParam().op(in[0], dims, keep);
    };
    for (const DType type : kFloats)
      ASSERT_EQ(compareMeta(function, {input}, type), "") << name(type) << ' ' << input.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Reduction, testing::ValuesIn(kReductions),
                         caseName<ReductionCase>);

TEST(Variance, OfNothingIsNoNumberAndNorIsTheUnbiasedOneOfOneElement) {
  const Tensor one = full({3, 1}, 5, {DType::F64});
  for (const DType type : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I32}) {
    const auto isNan = testing::Each(testing::IsNan());
    EXPECT_THAT(var(one.to(type), {1}).toVector<double>(), isNan);
    EXPECT_THAT(var(one.to(type), {1}, false, false).toVector<double>(), testing::Each(0));
    for (const bool unbiased : {true, false}) {
      EXPECT_THAT(var(zeros({3, 0}, {type}), {1}, true, unbiased).toVector<double>(), isNan);
      EXPECT_THAT(var(zeros({0}, {type}), {}, false, unbiased).toVector<double>(), isNan);
    }
  }
  EXPECT_EQ(var(zeros({0, 3}), {1}).numel(), 0);
}

TEST(Variance, FitsWhereTheSumOfSquaresDoesNot) {
  std::vector<float> values(4000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 90.0F : 110.0F;
  for (const DType type : {DType::F16, DType::BF16}) {
    Tensor x = fromVector(values, {4000}).to(type);
    x.setRequiresGrad();
    const Tensor variance = var(x, {}, false, false);
    EXPECT_EQ(variance.dtype(), type);
    EXPECT_EQ(variance.item(), 100) << name(type);
    variance.backward(full({}, 1000, {type}));
    EXPECT_NEAR(x.grad().select(0, 1).item(), 5, 0.02) << name(type);  // 2 / 4000 · 10 · 1000
  }
}

TEST(ArgReductions, PointAtTheFirstOfTheLargestAndSmallest) {
  SampleRandom random(7);
  for (int round = 0; round < kRounds; ++round) {
    const Shape shape = randomShape(random, 1, false);
    const Arranged input = randomArranged(random, shape, -3, 3);
    const auto rank = static_cast<std::uint64_t>(shape.rank());
    const int dim = static_cast<int>(random.below(2 * rank)) - shape.rank();
    const Tensor x = input.view();
    for (const bool keep : {false, true}) {
      const Tensor shapeOnly = argmax(x.to(kMeta), dim, keep);
      EXPECT_EQ(shapeOnly.shape(), argmax(x, dim, keep).shape());
      EXPECT_EQ(shapeOnly.dtype(), DType::I64);
    }
    const Tensor largest = gather(x.contiguous(), dim, argmax(x, dim, true));
    EXPECT_EQ(largest.toVector<double>(), max(x, {dim}, true).toVector<double>()) << input.text();
    const Tensor smallest = gather(x.contiguous(), dim, argmin(x, dim, true));
    EXPECT_EQ(smallest.toVector<double>(), min(x, {dim}, true).toVector<double>()) << input.text();
  }
  EXPECT_EQ(argmax(fromVector<double>({2, 5, 5}, {3}), 0).item(), 1);
  EXPECT_EQ(argmin(fromVector<double>({2, 1, 1}, {3}), 0).item(), 1);
}

TEST(Gradients, ThatAreInfiniteReachOnlyWhatWasTaken) {
  const Tensor x = fromVector<double>({-1, 2}, {2}).setRequiresGrad();
  const Tensor other = zeros({2}, {DType::F64});
  const std::function<Tensor()> uses[] = {[&] { return maximum(x, other); },
                                          [&] { return neg(minimum(neg(x), other)); },
                                          [&] { return clamp(x, 0, 5); }, [&] { return relu(x); }};
  for (const auto& use : uses) {
    for (const bool recorded : {false, true}) {
      const Tensor slope =
          grad({use()}, {x}, {full({2}, INFINITY, {DType::F64})}, {.createGraph = recorded})[0];
      EXPECT_THAT(slope.toVector<double>(), testing::ElementsAre(0, INFINITY)) << recorded;
    }
  }
  const Tensor slope = grad({max(x)}, {x}, {scalar(INFINITY, {DType::F64})})[0];
  EXPECT_THAT(slope.toVector<double>(), testing::ElementsAre(0, INFINITY));
}

TEST(Gradients, OfAnExtremeThatIsNanReachTheNan) {
  const Tensor x = fromVector<double>({1, NAN, 3}, {3}).setRequiresGrad();
  EXPECT_THAT(grad({max(x)}, {x})[0].toVector<double>(), testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(grad({min(x)}, {x})[0].toVector<double>(), testing::ElementsAre(0, 1, 0));
}

TEST(Abs, OfNegativeZeroIsZero) {
  for (const DType type : kFloats)
    EXPECT_EQ(reciprocal(abs(full({1}, -0.0, {type}))).item(), INFINITY) << name(type);
}

TEST(Clamp, BetweenBoundsThatCrossGivesTheUpperOne) {
  const Tensor x = fromVector<double>({-1, 2, 9}, {3}).setRequiresGrad();
  const Tensor y = clamp(x, 5, 3);
  EXPECT_THAT(y.toVector<double>(), testing::Each(3));
  sum(y).backward();
  EXPECT_THAT(x.grad().toVector<double>(), testing::Each(0));
  EXPECT_TRUE(std::isnan(clamp(scalar(NAN), 5, 3).item()));
}

TEST(LargeTensors, GiveTheSameWhenTheWorkIsCutAmongThreads) {
  const Tensor x = arange(130 * 257).to(DType::F64).view({130, 257}) * 1e-3;
  double total = 0;
  for (const double value : (sin(x.t()) * x.t()).toVector<double>()) total += value;
  double exact = 0;
  for (int i = 0; i < 130 * 257; ++i) exact += std::sin(i * 1e-3) * i * 1e-3;
  EXPECT_NEAR(total, exact, 1e-9 * std::abs(exact) + 1e-6);
  EXPECT_NEAR(sum(sin(x) * x).item(), exact, 1e-9 * std::abs(exact) + 1e-6);
}

TEST(LargeTensors, GiveWhatTheirPartsGive) {
  const auto shifted = [](const Tensor& x) { return x + 0.5; };
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> kRowByRow[] = {
      {"elementwise", [](const Tensor& x) { return gelu(x) * x - exp(x); }},
      {"strided", [](const Tensor& x) { return (sin(x.t()) * x.t()).t(); }},
      {"where",
       [&](const Tensor& x) {
         return where(greater(x, shifted(x).slice(1, 0, 1)), x, x.slice(1, 3, 4));
       }},
      {"conversion", [](const Tensor& x) { return x.to(DType::BF16).to(DType::F32).contiguous(); }},
      {"sum", [](const Tensor& x) { return sum(x, {1}, true); }},
      {"max",
       [](const Tensor& x) { return max(x, {1}, true) + argmax(x, 1, true).to(DType::F32); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 1) + logSoftmax(x, 1); }},
      {"layer_norm", [](const Tensor& x) { return layerNorm(x, {x.size(1)}, {}, {}); }},
      {"product",
       [](const Tensor& x) {
         return matmul(x, sin(arange(257 * 4).to(DType::F32)).view({257, 4}));
       }},
      {"index_select", [](const Tensor& x) { return indexSelect(x, 1, arange(200)); }},
      {"gather",
       [](const Tensor& x) {
         return gather(x, 1, arange(200).unsqueeze(0).expand({x.size(0), 200}));
       }},
      {"cross_entropy",
       [](const Tensor& x) {
         const Tensor scores = x.detach().setRequiresGrad();
         const Tensor target = zeros({x.size(0)}, {DType::I64});
         return grad({crossEntropy(scores, target, rt::Reduction::Sum, 0.1)}, {scores})[0];
       }},
      {"filter",
       [](const Tensor& x) {
         return blur2d(x.reshape({x.size(0), 1, 1, x.size(1)}), {0.25, 0.5, 0.25})
             .reshape(x.shape());
       }},
      {"pooling",
       [](const Tensor& x) {
         return adaptiveAvgPool2d(x.reshape({x.size(0), 1, 1, x.size(1)}), {1, 3})
             .reshape({x.size(0), 3});
       }},
  };
  const Tensor x = sin(arange(300 * 257).to(DType::F64) * 1e-2).to(DType::F32).view({300, 257});
  for (const auto& [what, op] : kRowByRow) {
    std::vector<Tensor> parts;
    for (int row = 0; row < 300; row += 10) parts.push_back(op(x.slice(0, row, row + 10)));
    EXPECT_LE(max(abs(op(x) - concat(parts, 0))).item(), 1e-5) << what;
  }
}

TEST(LargeTensors, AreSummedOverRowsWhereverTheyAreCut) {
  const Tensor x = arange(40'000).to(DType::F32).view({20'000, 2});
  EXPECT_THAT(sum(x, {0}).toVector<double>(), testing::ElementsAre(399'980'000.0, 400'000'000.0));
  EXPECT_EQ(sum(x.to(DType::I64)).item(), 799'980'000.0);
  EXPECT_EQ(max(x).item(), 39'999);
}

TEST(LargeTensors, AreReducedPieceByPieceInEveryOrderOfMemory) {
  std::vector<double> values(120'000);
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<double>(i) * 0.37) * 100;
    total += values[i];
  }
  const Tensor x = fromVector(values, {50, 6, 400});
  for (const Shape& order : {Shape{0, 1, 2}, Shape{2, 0, 1}, Shape{1, 2, 0}}) {
    const Tensor y = x.permute(order);
    EXPECT_NEAR(sum(y).item(), total, 1e-7);
    EXPECT_NEAR(mean(y).item(), total / 120'000, 1e-12);
    EXPECT_EQ(max(y).item(), *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(min(y).item(), *std::min_element(values.begin(), values.end()));
    EXPECT_LT(max(abs(sum(y.contiguous(), {0, 2}) - sum(y, {0, 2}))).item(), 1e-8);
  }
  values[70'000] = NAN;
  EXPECT_TRUE(std::isnan(max(fromVector(values, {120'000})).item()));
  EXPECT_TRUE(std::isnan(min(fromVector(values, {120'000})).item()));
}

}  // namespace
}  // namespace lacuna::rt
