// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/random.h"
#include "runtime/sweep/arrangement.h"

/// Operators with structure (products, normalisations, losses, picking, pictures) against plain loops in f64 and finite
/// differences, over random shapes and layouts.
namespace lacuna::rt {
namespace {

constexpr int kRounds = 12;
using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

/// One random use of an operator, and what a plain loop says of it.
struct Use {
  std::vector<Arranged> inputs;
  std::function<Tensor(const Inputs&)> op;
  std::function<Values(const std::vector<Values>&)> exact;  ///< empty: gradients only
};
struct OperatorCase {
  const char* name;
  std::function<Use(SampleRandom&)> make;
};
void PrintTo(const OperatorCase& test, std::ostream* out) {
  *out << test.name;
}

std::int64_t sizeIn(SampleRandom& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}
Arranged any(SampleRandom& random, Shape shape) {
  return randomArranged(random, shape, -1.5, 1.5);
}
/// Without equal elements, for what looks for the largest.
Arranged distinct(SampleRandom& random, Shape shape) {
  Arranged out = any(random, shape);
  if (out.layout == Layout::Expanded) out = {shape, Layout::Contiguous, randomBase(random, shape, -1.5, 1.5)};
  return out;
}
Tensor indices(SampleRandom& random, Shape shape, std::int64_t bound) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.numel()));
  for (auto& value : values) value = sizeIn(random, 0, bound - 1);
  return fromVector(values, shape);
}

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
                  total += v[0][static_cast<std::size_t>(row * k + i)] * v[1][static_cast<std::size_t>(i * c + j)];
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
                  total += v[0][static_cast<std::size_t>(i * in + k)] * v[1][static_cast<std::size_t>(o * in + k)];
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
          [=](const std::vector<Values>& v) { return softmaxOf(v[0], static_cast<std::size_t>(row), logarithm); }};
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
              for (std::size_t i = 0; i < n; ++i) square += std::pow(v[0][at + i] - mean, 2) / static_cast<double>(n);
              for (std::size_t i = 0; i < n; ++i)
                out.push_back((v[0][at + i] - mean) / std::sqrt(square + 1e-5) * v[1][i] + v[2][i]);
            }
            return out;
          }};
}

Use batchNormUse(SampleRandom& random) {
  const std::int64_t c = sizeIn(random, 1, 3);
  return {{distinct(random, {sizeIn(random, 2, 3), c, sizeIn(random, 1, 3), 2}), any(random, {c}), any(random, {c})},
          [](const Inputs& in) { return batchNorm(in[0], in[1], in[2], {}, {}, true); },
          {}};
}
Use groupNormUse(SampleRandom& random) {
  return {{distinct(random, {sizeIn(random, 0, 2), 4, 3}), any(random, {4}), any(random, {4})},
          [](const Inputs& in) { return groupNorm(in[0], 2, in[1], in[2]) + instanceNorm(in[0], in[1], in[2]); },
          {}};
}

Use lossUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 1, 4);
  const std::int64_t classes = sizeIn(random, 1, 5);
  const Tensor target = indices(random, {n}, classes);
  const auto labels = target.toVector<std::int64_t>();
  return {{any(random, {n, classes})},
          [=](const Inputs& in) { return crossEntropy(in[0], target); },
          [=](const std::vector<Values>& v) {
            const Values logs = softmaxOf(v[0], static_cast<std::size_t>(classes), true);
            double total = 0;
            for (std::size_t i = 0; i < labels.size(); ++i)
              total -= logs[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(labels[i])];
            return Values{total / static_cast<double>(n)};
          }};
}
Use pairLossUse(SampleRandom& random) {
  const Shape shape{sizeIn(random, 1, 3), sizeIn(random, 1, 4)};
  return {{any(random, shape), any(random, shape)},
          [](const Inputs& in) {
            return mseLoss(in[0], in[1]) + l1Loss(in[0] * 2.0, in[1], Reduction::Sum) +
                   bceWithLogits(in[0], full(in[0].shape(), 0.3, {in[0].dtype()}));
          },
          {}};
}

Use gatherUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 1, 4);
  const std::int64_t m = sizeIn(random, 1, 5);
  const std::int64_t k = sizeIn(random, 0, 4);
  const Tensor index = indices(random, {n, k}, m);
  const auto at = index.toVector<std::int64_t>();
  return {
      {any(random, {n, m})},
      [=](const Inputs& in) { return gather(in[0], 1, index); },
      [=](const std::vector<Values>& v) {
        Values out;
        for (std::size_t i = 0; i < at.size(); ++i)
          out.push_back(
              v[0][i / static_cast<std::size_t>(k) * static_cast<std::size_t>(m) + static_cast<std::size_t>(at[i])]);
        return out;
      }};
}
Use scatterAddUse(SampleRandom& random) {
  const std::int64_t n = sizeIn(random, 1, 3);
  const std::int64_t m = sizeIn(random, 1, 4);
  const std::int64_t k = sizeIn(random, 0, 5);
  const Tensor index = indices(random, {n, k}, m);
  const auto at = index.toVector<std::int64_t>();
  return {{any(random, {n, m}), any(random, {n, k})},
          [=](const Inputs& in) { return scatterAdd(in[0], 1, index, in[1]); },
          [=](const std::vector<Values>& v) {
            Values out = v[0];
            for (std::size_t i = 0; i < at.size(); ++i)
              out[i / static_cast<std::size_t>(k) * static_cast<std::size_t>(m) + static_cast<std::size_t>(at[i])] +=
                  v[1][i];
            return out;
          }};
}
Use scatterUse(SampleRandom& random) {
  const std::int64_t m = sizeIn(random, 2, 5);
  // No place twice: which value wins is not defined.
  const Tensor index = fromVector<std::int64_t>({m - 1, 0}, {1, 2});
  return {{any(random, {1, m}), any(random, {1, 2})},
          [=](const Inputs& in) { return scatter(in[0], 1, index, in[1]); },
          [=](const std::vector<Values>& v) {
            Values out = v[0];
            out[static_cast<std::size_t>(m - 1)] = v[1][0];
            out[0] = v[1][1];
            return out;
          }};
}
Use pickUse(SampleRandom& random) {
  const std::int64_t rows = sizeIn(random, 1, 5);
  const std::int64_t width = sizeIn(random, 1, 3);
  const Tensor index = indices(random, {sizeIn(random, 0, 6)}, rows);
  const auto at = index.toVector<std::int64_t>();
  const bool table = random.below(2) == 0;
  return {{any(random, {rows, width})},
          [=](const Inputs& in) { return table ? embedding(in[0], index) : indexSelect(in[0], 0, index); },
          [=](const std::vector<Values>& v) {
            Values out;
            for (const std::int64_t row : at) {
              for (std::int64_t i = 0; i < width; ++i) out.push_back(v[0][static_cast<std::size_t>(row * width + i)]);
            }
            return out;
          }};
}
Use joinUse(SampleRandom& random) {
  const std::int64_t a = sizeIn(random, 0, 3);
  const std::int64_t b = sizeIn(random, 0, 3);
  const std::int64_t n = sizeIn(random, 1, 3);
  return {{any(random, {a, n}), any(random, {b, n})},
          [](const Inputs& in) {
            return concat({in[0], in[1]}, 0);
          },
          [](const std::vector<Values>& v) {
            Values out = v[0];
            out.insert(out.end(), v[1].begin(), v[1].end());
            return out;
          }};
}
Use splitUse(SampleRandom& random) {
  const Shape shape{sizeIn(random, 2, 5), sizeIn(random, 1, 3)};
  return {{any(random, shape), any(random, shape)},
          [](const Inputs& in) {
            const Tensor both = stack({in[0], in[1]}, 1);
            Tensor total = sum(unbind(both, 1)[1] * 3.0);
            for (const Tensor& part : split(both, 2, 0)) total = total + sum(square(part));
            return total;
          },
          [](const std::vector<Values>& v) {
            double total = 0;
            for (const double x : v[0]) total += x * x;
            for (const double x : v[1]) total += x * x + 3 * x;
            return Values{total};
          }};
}
Use viewUse(SampleRandom& random) {
  return {{any(random, {sizeIn(random, 1, 3), 4, sizeIn(random, 1, 3)})},
          [](const Inputs& in) {
            const Tensor x = in[0].permute({2, 0, 1}).slice(-1, 0, 4, 3).flatten(0, 1).unsqueeze(0);
            return square(x.expand({2, x.size(1), 2}).contiguous().reshape({-1}));
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

struct ConvPlan {
  std::int64_t n, in, out, h, w, kh, kw, stride, padding, dilation, groups;
};
ConvPlan convPlan(SampleRandom& random) {
  ConvPlan p{};
  p.groups = sizeIn(random, 1, 2);
  p.n = sizeIn(random, 0, 2);
  p.in = p.groups * sizeIn(random, 1, 2);
  p.out = p.groups * sizeIn(random, 1, 2);
  p.h = sizeIn(random, 3, 6);
  p.w = sizeIn(random, 5, 6);
  p.kh = sizeIn(random, 1, 2);
  p.kw = sizeIn(random, 1, 3);
  p.stride = sizeIn(random, 1, 2);
  p.dilation = sizeIn(random, 1, 2);
  // Padding on both sides of a window of one pixel could leave nothing of a transposed picture.
  p.padding = std::min(p.kh, p.kw) > 1 ? sizeIn(random, 0, 1) : 0;
  return p;
}
Values convolved(const ConvPlan& p, const Values& x, const Values& weight, const Values& bias) {
  Values out;
  const std::int64_t oh = (p.h + 2 * p.padding - p.dilation * (p.kh - 1) - 1) / p.stride + 1;
  const std::int64_t ow = (p.w + 2 * p.padding - p.dilation * (p.kw - 1) - 1) / p.stride + 1;
  const std::int64_t share = p.in / p.groups;
  for (std::int64_t at = 0; at < p.n * p.out * oh * ow; ++at) {
    const std::int64_t column = at % ow;
    const std::int64_t row = at / ow % oh;
    const std::int64_t o = at / ow / oh % p.out;
    const std::int64_t image = at / ow / oh / p.out;
    double total = bias[static_cast<std::size_t>(o)];
    for (std::int64_t tap = 0; tap < share * p.kh * p.kw; ++tap) {
      const std::int64_t kx = tap % p.kw;
      const std::int64_t ky = tap / p.kw % p.kh;
      const std::int64_t c = o / (p.out / p.groups) * share + tap / p.kw / p.kh;
      const std::int64_t y = row * p.stride - p.padding + ky * p.dilation;
      const std::int64_t z = column * p.stride - p.padding + kx * p.dilation;
      if (y < 0 || y >= p.h || z < 0 || z >= p.w) continue;
      total += x[static_cast<std::size_t>(((image * p.in + c) * p.h + y) * p.w + z)] *
               weight[static_cast<std::size_t>(o * share * p.kh * p.kw + tap)];
    }
    out.push_back(total);
  }
  return out;
}
Use convUse(SampleRandom& random) {
  const ConvPlan p = convPlan(random);
  const Conv2dOptions options{.stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups};
  return {{any(random, {p.n, p.in, p.h, p.w}), any(random, {p.out, p.in / p.groups, p.kh, p.kw}), any(random, {p.out})},
          [=](const Inputs& in) { return conv2d(in[0], in[1], in[2], options); },
          [=](const std::vector<Values>& v) { return convolved(p, v[0], v[1], v[2]); }};
}
/// <conv(x), y> = <x, transposed(y)> for the same weight.
Use convTransposeUse(SampleRandom& random) {
  ConvPlan p = convPlan(random);
  p.n = std::max<std::int64_t>(p.n, 1);
  const std::int64_t reach = p.dilation * (p.kh - 1) + 1 - 2 * p.padding;
  const std::int64_t across = p.dilation * (p.kw - 1) + 1 - 2 * p.padding;
  const std::int64_t oh = sizeIn(random, 2, 3);
  const std::int64_t ow = sizeIn(random, 2, 3);
  p.h = (oh - 1) * p.stride + reach;
  p.w = (ow - 1) * p.stride + across;
  const ConvTranspose2dOptions options{
      .stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups};
  const Tensor x = randomBase(random, {p.n, p.in, p.h, p.w}, -1, 1);
  return {{any(random, {p.n, p.out, oh, ow}), any(random, {p.out, p.in / p.groups, p.kh, p.kw})},
          [=](const Inputs& in) { return sum(convTranspose2d(in[0], in[1], {}, options) * x.to(in[0].dtype())); },
          [=](const std::vector<Values>& v) {
            const Values forward = convolved(p, x.toVector<double>(), v[1], Values(static_cast<std::size_t>(p.out)));
            double total = 0;
            for (std::size_t i = 0; i < forward.size(); ++i) total += forward[i] * v[0][i];
            return Values{total};
          }};
}

Use poolUse(SampleRandom& random) {
  const std::int64_t h = sizeIn(random, 3, 6);
  const std::int64_t w = sizeIn(random, 3, 5);
  const std::int64_t window = sizeIn(random, 1, 3);
  const std::int64_t stride = sizeIn(random, 1, 2);
  const bool largest = random.below(2) == 0;
  const std::int64_t n = sizeIn(random, 0, 2);
  const Pool2dOptions options{.window = window, .stride = stride};
  return {{distinct(random, {n, 2, h, w})},
          [=](const Inputs& in) { return largest ? maxPool2d(in[0], options) : avgPool2d(in[0], options); },
          [=](const std::vector<Values>& v) {
            Values out;
            for (std::int64_t plane = 0; plane < 2 * n; ++plane) {
              for (std::int64_t y = 0; y + window <= h; y += stride) {
                for (std::int64_t x = 0; x + window <= w; x += stride) {
                  double most = -1e9;
                  double total = 0;
                  for (std::int64_t i = 0; i < window * window; ++i) {
                    const double value =
                        v[0][static_cast<std::size_t>((plane * h + y + i / window) * w + x + i % window)];
                    most = std::max(most, value);
                    total += value;
                  }
                  out.push_back(largest ? most : total / static_cast<double>(window * window));
                }
              }
            }
            return out;
          }};
}
Use resampleUse(SampleRandom& random) {
  const Extent size(sizeIn(random, 1, 6), sizeIn(random, 1, 6));
  const auto mode = random.below(2) == 0 ? Interpolation::Nearest : Interpolation::Bilinear;
  return {{any(random, {sizeIn(random, 0, 2), sizeIn(random, 1, 2), sizeIn(random, 2, 4), sizeIn(random, 2, 4)})},
          [=](const Inputs& in) {
            return interpolate(blur2d(in[0], {0.25, 0.5, 0.25}), size, mode) +
                   interpolate(upFirDn2d(in[0], {1, 2, 1}, {.up = 2, .down = 1, .before = 2, .after = 1}), size, mode);
          },
          {}};
}
Use adaptiveUse(SampleRandom& random) {
  return {{any(random, {sizeIn(random, 1, 2), 2, sizeIn(random, 2, 5), sizeIn(random, 2, 5)})},
          [](const Inputs& in) { return adaptiveAvgPool2d(in[0], 2); },
          {}};
}
Use recurrentUse(SampleRandom& random, bool longMemory) {
  const std::int64_t gates = longMemory ? 4 : 3;
  const std::int64_t hidden = sizeIn(random, 1, 3);
  const std::int64_t features = sizeIn(random, 1, 3);
  return {{any(random, {sizeIn(random, 1, 2), sizeIn(random, 1, 3), features}), any(random, {gates * hidden, features}),
           any(random, {gates * hidden, hidden}), any(random, {gates * hidden}), any(random, {gates * hidden})},
          [=](const Inputs& in) {
            const RecurrentWeights weights{in[1], in[2], in[3], in[4]};
            return (longMemory ? lstm(in[0], weights) : gru(in[0], weights)).output;
          },
          {}};
}

const OperatorCase kCases[] = {
    {"matmul", matmulUse},
    {"linear", linearUse},
    {"softmax", [](SampleRandom& r) { return softmaxUse(r, false); }},
    {"log_softmax", [](SampleRandom& r) { return softmaxUse(r, true); }},
    {"softmax_of_any_dimension", softmaxOfAnyDimensionUse},
    {"layer_norm", normUse},
    {"batch_norm", batchNormUse},
    {"group_and_instance_norm", groupNormUse},
    {"cross_entropy", lossUse},
    {"losses_of_pairs", pairLossUse},
    {"gather", gatherUse},
    {"scatter", scatterUse},
    {"scatter_add", scatterAddUse},
    {"embedding_and_index_select", pickUse},
    {"concat", joinUse},
    {"stack_split_unbind", splitUse},
    {"views", viewUse},
    {"attention", attentionUse},
    {"conv2d", convUse},
    {"conv_transpose2d", convTransposeUse},
    {"pooling", poolUse},
    {"adaptive_pooling", adaptiveUse},
    {"resampling", resampleUse},
    {"lstm", [](SampleRandom& r) { return recurrentUse(r, true); }},
    {"gru", [](SampleRandom& r) { return recurrentUse(r, false); }},
};

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
    const auto got = use.op(inputs).toVector<double>();
    if (use.exact) {
      const Values exact = use.exact(values);
      ASSERT_EQ(got.size(), exact.size()) << describe(use);
      for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(got[i], exact[i], 1e-12) << describe(use);
    }
    // f32 takes other ways through the library, so it is held against f64.
    const auto single = use.op(singles).toVector<double>();
    ASSERT_EQ(single.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(single[i], got[i], 2e-4 * std::max(1.0, std::abs(got[i]))) << describe(use);
  }
}

/// The operator in `type` against itself in f64, of the same values. Results are rounded, and what lies between them
/// too.
TEST_P(Structured, GivesInShorterTypesWhatItGivesInF64) {
  const bool isProduct = std::string_view("matmul linear conv2d conv_transpose2d lstm gru").find(GetParam().name) !=
                         std::string_view::npos;
  SampleRandom random(4);
  for (int round = 0; round < 3 * kRounds; ++round) {
    const Use use = GetParam().make(random);
    for (const auto& [type, tolerance] : {std::pair(DType::BF16, 3e-2), std::pair(DType::F16, 4e-3)}) {
      Inputs shorter;
      Inputs wide;
      for (const Arranged& input : use.inputs) {
        shorter.push_back(input.view(type));
        wide.push_back(shorter.back().to(DType::F64));
      }
      if (isProduct && type == DType::F16) {
        ASSERT_THROW((void)use.op(shorter), Error) << describe(use);
        continue;
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
  if (std::string_view("gather scatter scatter_add embedding_and_index_select concat stack_split_unbind")
          .find(GetParam().name) == std::string_view::npos) {
    return;
  }
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
      ASSERT_EQ(use.op(inputs).toVector<double>(), use.exact(values)) << name(type) << ' ' << describe(use);
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

INSTANTIATE_TEST_SUITE_P(Operators, Structured, testing::ValuesIn(kCases),
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
