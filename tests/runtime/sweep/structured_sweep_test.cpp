// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/random.h"
#include "runtime/sweep/operator_case.h"

/// Operators with structure (products, normalisations, losses, picking, pictures) against plain
/// loops in f64 and finite differences, over random shapes and layouts.
namespace lacuna::rt {
namespace {

constexpr int kRounds = 12;

Use matmulUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 0, 3);
  const std::int64_t r = sizeIn(random, 1, 4);
  const std::int64_t k = sizeIn(random, 1, 5);
  const std::int64_t c = sizeIn(random, 1, 4);
  return {{any(random, {n, r, k}), any(random, {k, c})},
          [](const Inputs& in) { return matmul(in[0], in[1]); },
          [=](const std::vector<Values>& v) {
            Values out;
            for (std::int64_t row = 0; row < n * r; ++row) {
              for (std::int64_t j = 0; j < c; ++j) {
                double total = 0;
                for (std::int64_t i = 0; i < k; ++i)
                  total += v[0][static_cast<std::size_t>(row * k + i)] *
                           v[1][static_cast<std::size_t>(i * c + j)];
                out.push_back(total);
              }
            }
            return out;
          }};
}

Use linearUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 0, 4);
  const std::int64_t in = sizeIn(random, 1, 5);
  const std::int64_t out = sizeIn(random, 1, 4);
  return {{any(random, {n, in}), any(random, {out, in}), any(random, {out})},
          [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
          [=](const std::vector<Values>& v) {
            Values y;
            for (std::int64_t i = 0; i < n; ++i) {
              for (std::int64_t o = 0; o < out; ++o) {
                double total = v[2][static_cast<std::size_t>(o)];
                for (std::int64_t k = 0; k < in; ++k)
                  total += v[0][static_cast<std::size_t>(i * in + k)] *
                           v[1][static_cast<std::size_t>(o * in + k)];
                y.push_back(total);
              }
            }
            return y;
          }};
}

/// Over the last dimension of rows.
Values softmaxOf(const Values& x, std::size_t row, bool logarithm) {
  Values out;
  for (std::size_t at = 0; at < x.size(); at += row) {
    double total = 0;
    for (std::size_t i = 0; i < row; ++i) total += std::exp(x[at + i]);
    for (std::size_t i = 0; i < row; ++i)
      out.push_back(logarithm ? x[at + i] - std::log(total) : std::exp(x[at + i]) / total);
  }
  return out;
}

Use softmaxUse(SampleRandom& random, bool logarithm) {
  const std::int64_t row = sizeIn(random, 1, 6);
  return {{any(random, {sizeIn(random, 0, 3), sizeIn(random, 1, 3), row})},
          [=](const Inputs& in) { return logarithm ? logSoftmax(in[0], -1) : softmax(in[0], 2); },
          [=](const std::vector<Values>& v) {
            return softmaxOf(v[0], static_cast<std::size_t>(row), logarithm);
          }};
}

Use softmaxOfAnyDimensionUse(SampleRandom& random) {
  const auto dim = static_cast<int>(random.below(3));
  return {{any(random, {sizeIn(random, 1, 3), sizeIn(random, 1, 4), sizeIn(random, 1, 3)})},
          [=](const Inputs& in) { return softmax(in[0], dim) + logSoftmax(in[0], dim - 3); },
          {}};
}

Use normUse(SampleRandom& random) {
  const std::int64_t row = sizeIn(random, 2, 6);
  const std::int64_t rows = sizeIn(random, 0, 4);
  return {{any(random, {rows, row}), any(random, {row}), any(random, {row})},
          [=](const Inputs& in) { return layerNorm(in[0], {row}, in[1], in[2]); },
          [=](const std::vector<Values>& v) {
            Values out;
            const auto n = static_cast<std::size_t>(row);
            for (std::size_t at = 0; at < v[0].size(); at += n) {
              double mean = 0;
              double square = 0;
              for (std::size_t i = 0; i < n; ++i) mean += v[0][at + i] / static_cast<double>(n);
              for (std::size_t i = 0; i < n; ++i)
                square += std::pow(v[0][at + i] - mean, 2) / static_cast<double>(n);
              for (std::size_t i = 0; i < n; ++i)
                out.push_back((v[0][at + i] - mean) / std::sqrt(square + 1e-5) * v[1][i] + v[2][i]);
            }
            return out;
          }};
}

/// The numbers that a channel's values are normalised by.
struct Channel {
  double mean = 0;
  double variance = 0;
};
Channel channelOf(const Values& x, std::size_t channels, std::size_t inner, std::size_t channel) {
  Values own;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / inner % channels == channel) own.push_back(x[i]);
  }
  Channel out;
  for (const double value : own) out.mean += value / static_cast<double>(own.size());
  for (const double value : own)
    out.variance += std::pow(value - out.mean, 2) / static_cast<double>(own.size());
  return out;
}
Use batchNormUse(SampleRandom& random, bool training) {
  const std::int64_t c = sizeIn(random, 1, 3);
  const std::int64_t width = sizeIn(random, 1, 3);
  const Tensor runningMean = randomBase(random, {c}, -1, 1);
  const Tensor runningVar = randomBase(random, {c}, 0.2, 2);
  const std::int64_t least = training ? 2 : 0;
  return {
      {distinct(random, {sizeIn(random, least, 3), c, width, 2}), any(random, {c}),
       any(random, {c})},
      [=](const Inputs& in) {
        const Device device = in[0].device();
        if (training) return batchNorm(in[0], in[1], in[2], {}, {}, true);
        return batchNorm(in[0], in[1], in[2], runningMean.to(device), runningVar.to(device), false);
      },
      [=](const std::vector<Values>& v) {
        const auto channels = static_cast<std::size_t>(c);
        const auto inner = static_cast<std::size_t>(2 * width);
        const auto means = runningMean.toVector<double>();
        const auto variances = runningVar.toVector<double>();
        Values out;
        for (std::size_t i = 0; i < v[0].size(); ++i) {
          const std::size_t at = i / inner % channels;
          const Channel by =
              training ? channelOf(v[0], channels, inner, at) : Channel{means[at], variances[at]};
          out.push_back((v[0][i] - by.mean) / std::sqrt(by.variance + 1e-5) * v[1][at] + v[2][at]);
        }
        return out;
      }};
}
Use groupNormUse(SampleRandom& random) {
  return {{distinct(random, {sizeIn(random, 0, 2), 4, 3}), any(random, {4}), any(random, {4})},
          [](const Inputs& in) {
            return groupNorm(in[0], 2, in[1], in[2]) + instanceNorm(in[0], in[1], in[2]);
          },
          {}};
}

Use lossUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 1, 4);
  const std::int64_t classes = sizeIn(random, 1, 5);
  const Tensor target = indices(random, {n}, classes);
  const auto labels = target.toVector<std::int64_t>();
  return {{any(random, {n, classes})},
          [=](const Inputs& in) { return crossEntropy(in[0], target.to(in[0].device())); },
          [=](const std::vector<Values>& v) {
            const Values logs = softmaxOf(v[0], static_cast<std::size_t>(classes), true);
            double total = 0;
            for (std::size_t i = 0; i < labels.size(); ++i)
              total -=
                  logs[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[i])];
            return Values{total / static_cast<double>(n)};
          }};
}
Use pairLossUse(SampleRandom& random) {
  const Shape shape{sizeIn(random, 1, 3), sizeIn(random, 1, 4)};
  return {{any(random, shape), any(random, shape)},
          [](const Inputs& in) {
            return mseLoss(in[0], in[1]) + l1Loss(in[0] * 2.0, in[1], Reduction::Sum) +
                   bceWithLogits(in[0], full(in[0].shape(), 0.3, {in[0].dtype(), in[0].device()}));
          },
          {}};
}

Use attentionUse(SampleRandom& random) {
  const std::int64_t heads = sizeIn(random, 1, 2);
  const std::int64_t time = sizeIn(random, 1, 4);
  const std::int64_t width = sizeIn(random, 1, 3);
  const Shape shape{heads, time, width};
  const bool causal = random.below(2) == 0;
  return {{any(random, shape), any(random, shape), any(random, shape)},
          [=](const Inputs& in) { return attention(in[0], in[1], in[2], {}, causal); },
          [=](const std::vector<Values>& v) {
            Values out;
            const auto at = [&](std::size_t which, std::int64_t h, std::int64_t t, std::int64_t f) {
              return v[which][static_cast<std::size_t>((h * time + t) * width + f)];
            };
            for (std::int64_t h = 0; h < heads; ++h) {
              for (std::int64_t q = 0; q < time; ++q) {
                Values weights;
                for (std::int64_t k = 0; k <= (causal ? q : time - 1); ++k) {
                  double score = 0;
                  for (std::int64_t f = 0; f < width; ++f) score += at(0, h, q, f) * at(1, h, k, f);
                  weights.push_back(score / std::sqrt(static_cast<double>(width)));
                }
                weights = softmaxOf(weights, weights.size(), false);
                for (std::int64_t f = 0; f < width; ++f) {
                  double total = 0;
                  for (std::size_t k = 0; k < weights.size(); ++k)
                    total += weights[k] * at(2, h, static_cast<std::int64_t>(k), f);
                  out.push_back(total);
                }
              }
            }
            return out;
          }};
}

Use recurrentUse(SampleRandom& random, bool longMemory) {
  const std::int64_t gates = longMemory ? 4 : 3;
  const std::int64_t hidden = sizeIn(random, 1, 3);
  const std::int64_t features = sizeIn(random, 1, 3);
  return {{any(random, {sizeIn(random, 1, 2), sizeIn(random, 1, 3), features}),
           any(random, {gates * hidden, features}), any(random, {gates * hidden, hidden}),
           any(random, {gates * hidden}), any(random, {gates * hidden})},
          [=](const Inputs& in) {
            const RecurrentWeights weights{in[1], in[2], in[3], in[4]};
            return (longMemory ? lstm(in[0], weights) : gru(in[0], weights)).output;
          },
          {}};
}

std::vector<OperatorCase> allCases() {
  std::vector<OperatorCase> cases{
      {"matmul", matmulUse, Work::Multiplies},
      {"linear", linearUse, Work::Multiplies},
      {"softmax", [](SampleRandom& r) { return softmaxUse(r, false); }},
      {"log_softmax", [](SampleRandom& r) { return softmaxUse(r, true); }},
      {"softmax_of_any_dimension", softmaxOfAnyDimensionUse},
      {"layer_norm", normUse},
      {"batch_norm", [](SampleRandom& r) { return batchNormUse(r, true); }},
      {"batch_norm_in_evaluation", [](SampleRandom& r) { return batchNormUse(r, false); }},
      {"group_and_instance_norm", groupNormUse},
      {"cross_entropy", lossUse},
      {"losses_of_pairs", pairLossUse},
      {"attention", attentionUse, Work::Multiplies},
      {"lstm", [](SampleRandom& r) { return recurrentUse(r, true); }, Work::Multiplies},
      {"gru", [](SampleRandom& r) { return recurrentUse(r, false); }, Work::Multiplies},
  };
  for (const auto& more : {pickingCases(), pictureCases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

class Structured : public testing::TestWithParam<OperatorCase> {
 protected:
  static std::string describe(const Use& use) {
    std::string text;
    for (const Arranged& input : use.inputs) text += input.text() + "; ";
    return text;
  }
};

TEST_P(Structured, EqualsAPlainLoop) {
  SampleRandom random(1);
  for (int round = 0; round < 3 * kRounds; ++round) {
    const Use use = GetParam().make(random);
    Inputs inputs;
    Inputs singles;
    std::vector<Values> values;
    for (const Arranged& input : use.inputs) {
      inputs.push_back(input.view());
      singles.push_back(arranged(input.base.to(DType::F32), input.shape, input.layout));
      values.push_back(inputs.back().toVector<double>());
    }
    const Tensor y = use.op(inputs);
    ASSERT_EQ(y.shape(), use.shape.value_or(y.shape())) << describe(use);
    const auto got = y.toVector<double>();
    if (use.exact) {
      const Values exact = use.exact(values);
      ASSERT_EQ(got.size(), exact.size()) << describe(use);
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_NEAR(got[i], exact[i], 1e-12) << describe(use);
    }
    // f32 takes other ways through the library, so it is held against f64.
    const auto single = use.op(singles).toVector<double>();
    ASSERT_EQ(single.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(single[i], got[i], 2e-4 * std::max(1.0, std::abs(got[i]))) << describe(use);
  }
}

/// The operator in `type` against itself in f64, of the same values. Results are rounded, and what
/// lies between them too.
TEST_P(Structured, GivesInShorterTypesWhatItGivesInF64) {
  SampleRandom random(4);
  for (int round = 0; round < 3 * kRounds; ++round) {
    const Use use = GetParam().make(random);
    for (const auto& [type, tolerance] :
         {std::pair(DType::BF16, 3e-2), std::pair(DType::F16, 4e-3)}) {
      Inputs shorter;
      Inputs wide;
      for (const Arranged& input : use.inputs) {
        shorter.push_back(input.view(type));
        wide.push_back(shorter.back().to(DType::F64));
      }
      const Tensor y = use.op(shorter);
      ASSERT_EQ(y.dtype(), type);
      const auto exact = use.op(wide).toVector<double>();
      const auto got = y.toVector<double>();
      ASSERT_EQ(got.size(), exact.size());
      double largest = 1;
      for (const double value : exact) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_NEAR(got[i], exact[i], tolerance * largest) << name(type) << ' ' << describe(use);
    }
  }
}

/// Operators that move elements, and add some up, take any type.
TEST_P(Structured, MovesWholeNumbersAsTheyAre) {
  if (GetParam().work != Work::Moves) return;
  SampleRandom random(5);
  for (int round = 0; round < kRounds; ++round) {
    const Use use = GetParam().make(random);
    for (const DType type : {DType::I32, DType::I64, DType::U8}) {
      Inputs inputs;
      std::vector<Values> values;
      for (const Arranged& input : use.inputs) {
        const Tensor whole = type == DType::U8 ? abs(input.base * 4.0) : input.base * 40.0;
        inputs.push_back(arranged(whole.to(type), input.shape, input.layout));
        values.push_back(inputs.back().toVector<double>());
      }
      ASSERT_EQ(use.op(inputs).toVector<double>(), use.exact(values))
          << name(type) << ' ' << describe(use);
    }
  }
}

TEST_P(Structured, HasTheGradientOfFiniteDifferences) {
  SampleRandom random(2);
  for (int round = 0; round < kRounds / 2; ++round) {
    const Use use = GetParam().make(random);
    ASSERT_EQ(checkGradient(use.op, use.inputs), "") << describe(use);
  }
}

TEST_P(Structured, HasThatGradientInSinglePrecisionToo) {
  SampleRandom random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Use use = GetParam().make(random);
    ASSERT_EQ(compareGradient(use.op, use.inputs, DType::F32, 1e-4), "") << describe(use);
  }
}

/// Of products, whose factors are rounded, and whose sums are rounded once.
TEST_P(Structured, HasThatGradientInShorterTypesToo) {
  if (GetParam().work != Work::Multiplies) return;
  SampleRandom random(7);
  for (int round = 0; round < kRounds; ++round) {
    const Use use = GetParam().make(random);
    ASSERT_EQ(compareGradient(use.op, use.inputs, DType::BF16, 5e-2), "") << describe(use);
    ASSERT_EQ(compareGradient(use.op, use.inputs, DType::F16, 6e-3), "") << describe(use);
  }
}

TEST_P(Structured, GivesTheSameShapesAndTypesOnMeta) {
  SampleRandom random(6);
  for (int round = 0; round < kRounds; ++round) {
    const Use use = GetParam().make(random);
    for (const DType type : {DType::F64, DType::F32, DType::BF16, DType::F16})
      ASSERT_EQ(compareMeta(use.op, use.inputs, type), "") << name(type) << ' ' << describe(use);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Structured, testing::ValuesIn(allCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Dropout, KeepsAShareAndScalesIt) {
  manualSeed(4);
  const Tensor x = ones({100, 100}).setRequiresGrad();
  const Tensor y = dropout(x, 0.3, true);
  double kept = 0;
  for (const double value : y.toVector<double>()) {
    if (value == 0) continue;
    EXPECT_NEAR(value, 1 / 0.7, 1e-6);
    ++kept;
  }
  EXPECT_NEAR(kept / 1e4, 0.7, 0.03);
  sum(y).backward();
  EXPECT_EQ(x.grad().toVector<double>(), y.toVector<double>()) << "the gradient has the same mask";
  EXPECT_EQ(dropout(x, 0.3, false).toVector<float>(), x.detach().toVector<float>());
}

}  // namespace
}  // namespace lacuna::rt
