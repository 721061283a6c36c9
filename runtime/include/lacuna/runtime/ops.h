// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lacuna/runtime/tensor.h"

/// The operators. They check shapes, types and devices at once and throw Error naming themselves,
/// then enqueue. All floating ones are differentiable. Tensors taken by value give their memory to
/// the result when the caller moved the last handle in. Integers wrap around where they overflow.
namespace lacuna::rt {

// Two tensors: broadcast, and types promoted.
[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b, double alpha = 1);
[[nodiscard]] Tensor sub(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor mul(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b);  ///< integers are divided as f32
[[nodiscard]] Tensor pow(const Tensor& a,
                         const Tensor& b);  ///< integers to negative powers: 1/a, cut off
[[nodiscard]] Tensor maximum(const Tensor& a, const Tensor& b);  ///< gradient of ties goes to a
[[nodiscard]] Tensor minimum(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor equal(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor notEqual(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor less(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor lessEqual(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor greater(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor greaterEqual(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logicalAnd(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logicalOr(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logicalNot(const Tensor& x);
[[nodiscard]] Tensor isFinite(const Tensor& x);

// A tensor and a number. The type stays, but integers with a fraction give f32, and bool counts as
// i64.
[[nodiscard]] Tensor add(const Tensor& a, double b);
[[nodiscard]] Tensor mul(const Tensor& a, double b);
[[nodiscard]] Tensor div(const Tensor& a, double b);         ///< integers are divided as f32
[[nodiscard]] Tensor pow(const Tensor& a, double exponent);  ///< integers have no negative powers
inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return div(a, b);
}
inline Tensor operator+(const Tensor& a, double b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, double b) {
  return add(a, -b);
}
inline Tensor operator*(const Tensor& a, double b) {
  return mul(a, b);
}
inline Tensor operator*(double a, const Tensor& b) {
  return mul(b, a);
}
inline Tensor operator/(const Tensor& a, double b) {
  return div(a, b);
}
inline Tensor operator-(const Tensor& a) {
  return mul(a, -1);
}

// One tensor.
[[nodiscard]] Tensor neg(Tensor x);
[[nodiscard]] Tensor abs(Tensor x);
[[nodiscard]] Tensor exp(Tensor x);
[[nodiscard]] Tensor log(Tensor x);
[[nodiscard]] Tensor log1p(Tensor x);
[[nodiscard]] Tensor sqrt(Tensor x);
[[nodiscard]] Tensor rsqrt(Tensor x);
[[nodiscard]] Tensor reciprocal(Tensor x);
[[nodiscard]] Tensor square(Tensor x);
[[nodiscard]] Tensor sin(Tensor x);
[[nodiscard]] Tensor cos(Tensor x);
[[nodiscard]] Tensor erf(Tensor x);
[[nodiscard]] Tensor tanh(Tensor x);
[[nodiscard]] Tensor sigmoid(Tensor x);
[[nodiscard]] Tensor relu(Tensor x);
/// gain · x, times slope where x is negative.
[[nodiscard]] Tensor leakyRelu(Tensor x, double slope = 0.01, double gain = 1);
[[nodiscard]] Tensor elu(Tensor x, double alpha = 1);
[[nodiscard]] Tensor gelu(Tensor x, bool tanhApproximation = false);
[[nodiscard]] Tensor silu(Tensor x);
[[nodiscard]] Tensor softplus(Tensor x);
/// Integers stay what they are between bounds that are whole or infinite, and become f32 with
/// others. With `low` above `high` everything is `high`.
[[nodiscard]] Tensor clamp(Tensor x, double low, double high);
[[nodiscard]] Tensor sign(Tensor x);
[[nodiscard]] Tensor floor(Tensor x);
[[nodiscard]] Tensor ceil(Tensor x);
[[nodiscard]] Tensor round(Tensor x);

// Reductions. No dimensions given means all of them. bool is counted as i64.
[[nodiscard]] Tensor sum(const Tensor& x, const std::vector<int>& dims = {},
                         bool keepDims = false);  ///< of integers: i64
[[nodiscard]] Tensor mean(const Tensor& x, const std::vector<int>& dims = {},
                          bool keepDims = false);  ///< of integers: f32
[[nodiscard]] Tensor max(const Tensor& x, const std::vector<int>& dims = {},
                         bool keepDims = false);  ///< ties share the gradient
[[nodiscard]] Tensor min(const Tensor& x, const std::vector<int>& dims = {}, bool keepDims = false);
/// NaN of no elements, and unbiased of one.
[[nodiscard]] Tensor var(const Tensor& x, const std::vector<int>& dims = {}, bool keepDims = false,
                         bool unbiased = true);
/// The first of several; NaN counts as the extreme, as it does for max and min.
[[nodiscard]] Tensor argmax(const Tensor& x, int dim, bool keepDim = false);
[[nodiscard]] Tensor argmin(const Tensor& x, int dim, bool keepDim = false);

// Products.
/// [.., m, k] × [.., k, n]; leading dimensions are broadcast; vectors as in NumPy.
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);
/// x [.., in] × weight [out, in] transposed, plus bias [out] if defined.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// Probabilities and losses.
[[nodiscard]] Tensor softmax(const Tensor& x, int dim);
[[nodiscard]] Tensor logSoftmax(const Tensor& x, int dim);
enum class Reduction : std::uint8_t { Mean, Sum };
/// Scores [n, classes, …] against class numbers i64 [n, …]; targets equal to `ignore` do not count.
/// With a `weight` for each class, [classes], a target counts by the weight of its class. The mean
/// then divides by the sum of the weights of the targets that count. Label smoothing shares out
/// 1/classes to every class, by the weight of each.
[[nodiscard]] Tensor crossEntropy(const Tensor& scores, const Tensor& target,
                                  Reduction reduction = Reduction::Mean, double labelSmoothing = 0,
                                  std::int64_t ignore = -100, const Tensor& weight = {});
/// crossEntropy of what is logarithms of probabilities already (logSoftmax).
[[nodiscard]] Tensor nllLoss(const Tensor& logProbabilities, const Tensor& target,
                             Reduction reduction = Reduction::Mean, std::int64_t ignore = -100,
                             const Tensor& weight = {});
[[nodiscard]] Tensor mseLoss(const Tensor& x, const Tensor& target,
                             Reduction reduction = Reduction::Mean);
[[nodiscard]] Tensor l1Loss(const Tensor& x, const Tensor& target,
                            Reduction reduction = Reduction::Mean);
/// Scores against targets in [0, 1], stable for large scores. `positiveWeight`, which stretches to
/// the scores, multiplies what the target 1 adds: more than 1 finds more of what is rare. The mean
/// is over all elements.
[[nodiscard]] Tensor bceWithLogits(const Tensor& x, const Tensor& target,
                                   Reduction reduction = Reduction::Mean,
                                   const Tensor& positiveWeight = {});

// Picking and placing. Index tensors are i64; an index out of range surfaces at the next wait for
// the queue.
[[nodiscard]] Tensor embedding(const Tensor& weight, const Tensor& index);
[[nodiscard]] Tensor indexSelect(const Tensor& x, int dim, const Tensor& index);
[[nodiscard]] Tensor gather(const Tensor& x, int dim, const Tensor& index);
[[nodiscard]] Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& values);
[[nodiscard]] Tensor scatterAdd(const Tensor& x, int dim, const Tensor& index,
                                const Tensor& values);
[[nodiscard]] Tensor concat(const std::vector<Tensor>& parts, int dim);
[[nodiscard]] Tensor stack(const std::vector<Tensor>& parts, int dim);
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim);
/// Views of x at each index of a dimension, without it.
[[nodiscard]] std::vector<Tensor> unbind(const Tensor& x, int dim);
[[nodiscard]] Tensor dropout(const Tensor& x, double probability, bool training);
/// softmax(q kᵀ · scale + mask) v over [.., time, features]; scale 0 means 1/√features. `causal`
/// hides later keys, and so does a mask of bool where it is false, or -infinity in one of numbers;
/// a query that sees no key gives zeros. The matrix of scores is never kept: the gradient makes it
/// again. No gradient for the mask, which is broadcast.
[[nodiscard]] Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                               const Tensor& mask = {}, bool causal = false, double scale = 0);
/// Normalises over the last dimensions given by `normalized`; weight and bias may be undefined.
[[nodiscard]] Tensor layerNorm(const Tensor& x, const Shape& normalized, const Tensor& weight,
                               const Tensor& bias, double epsilon = 1e-5);
/// x [n, channels, …]; weight and bias [channels] may be undefined. In training, running statistics
/// that are defined move towards the batch's by `momentum` (the variance unbiased); otherwise they
/// are used.
[[nodiscard]] Tensor batchNorm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               const Tensor& runningMean, const Tensor& runningVar, bool training,
                               double momentum = 0.1, double epsilon = 1e-5);
/// x [n, channels, …], normalised over each of `groups` groups of channels of each example; weight
/// and bias [channels] may be undefined. Where the channels of x lie last in memory, so do those of
/// the result and the gradient.
[[nodiscard]] Tensor groupNorm(const Tensor& x, std::int64_t groups, const Tensor& weight,
                               const Tensor& bias, double epsilon = 1e-5);
/// groupNorm with a group for each channel.
[[nodiscard]] Tensor instanceNorm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  double epsilon = 1e-5);

}  // namespace lacuna::rt
