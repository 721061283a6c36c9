// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"

/// Kernels of neural-network operators; the rules of backend.h hold.
namespace lacuna::rt::kernel {

/// Pairs are height, then width.
struct ConvArguments {
  std::array<std::int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
};
enum class ConvPass : std::uint8_t { Forward, Data, Weights };
/// Bytes that a pass works in beside its operands, which it is given as a view of them (of nothing,
/// where there are none). May be asked on any thread.
std::size_t convWorkspace(ConvPass pass, const View& x, const View& y, const View& weight,
                          bool bias, const ConvArguments& arguments);
/// The order that a forward wants its weights in, and the bytes of a copy; none where it takes them
/// as they are.
struct WeightOrder {
  std::string text;
  std::size_t bytes = 0;
};
const WeightOrder& convWeightOrder(const View& x, const View& y, const View& weight, bool bias,
                                   const ConvArguments& arguments);
/// A copy of weights in such an order for executions of one queue to share: the first fills it.
struct ArrangedWeights {
  void* data;
  std::string order;
  bool filled = false;  ///< of the executions alone

  ArrangedWeights(void* memory, std::string text) : data(memory), order(std::move(text)) {}
};
/// x [n, groups·ci, h, w], y [n, groups·co, oh, ow] channels last; weight [groups·co, ci, kh, kw]
/// and bias row-major. `arranged` may be null.
void convForward(const View& y, const View& x, const View& weight, const View& bias,
                 const ConvArguments& arguments, const View& workspace, ArrangedWeights* arranged);
void convBackwardData(const View& gradX, const View& gradY, const View& weight,
                      const ConvArguments& arguments, const View& workspace);
/// gradBias may be empty.
void convBackwardWeights(const View& gradWeight, const View& gradBias, const View& x,
                         const View& gradY, const ConvArguments& arguments, const View& workspace);

/// x as [rows, channels, inner] in memory: inner is 1 for channels last.
struct ChannelLayout {
  std::int64_t rows, channels, inner;
};
/// Statistics are f64 for f64 and f32 for all others. Running statistics may be empty.
void batchNormStatistics(const View& mean, const View& rstd, const View& runningMean,
                         const View& runningVar, const View& x, const ChannelLayout& layout,
                         double momentum, double epsilon);
/// rstd of a variance of x's type.
void inverseDeviation(const View& rstd, const View& variance, double epsilon);
void batchNormApply(const View& y, const View& x, const View& mean, const View& rstd,
                    const View& weight, const View& bias, const ChannelLayout& layout);
/// gradWeight and gradBias are always written. Without `training` the statistics count as
/// constants.
void batchNormGrad(const View& gradX, const View& gradWeight, const View& gradBias,
                   const View& gradY, const View& x, const View& mean, const View& rstd,
                   const View& weight, const ChannelLayout& layout, bool training);

/// Rows of `width`; `groups` rows in turn share out the channels, each with `inner` elements of a
/// row. Row-major, or channels last: then the `inner` pixels of a picture follow one another, each
/// with the channels of all groups.
struct NormRows {
  std::int64_t rows, width, inner, groups;
  bool channelsLast = false;
};
/// Statistics [rows] as for batch normalisation.
void layerNorm(const View& y, const View& mean, const View& rstd, const View& x, const View& weight,
               const View& bias, const NormRows& rows, double epsilon);
/// gradX may be empty, gradWeight and gradBias both too.
void layerNormGrad(const View& gradX, const View& gradWeight, const View& gradBias,
                   const View& gradY, const View& x, const View& mean, const View& rstd,
                   const View& weight, const NormRows& rows);

/// Four dimensions each, [batch, heads, time, features]; mask may be empty or broadcast by zero
/// strides. `sums` is [batch, heads, time, 2]: of each row the largest score and one over the sum
/// of exponentials of the scores less that, f64 for f64 and f32 for all others. (The logarithm of
/// the sum, added to a large score, would be rounded away.)
struct AttentionArguments {
  double scale;
  bool causal;
};
void attention(const View& out, const View& sums, const View& query, const View& key,
               const View& value, const View& mask, const AttentionArguments& arguments,
               const View& workspace);
/// Bytes that it works in, which it is given as a view of them. May be asked on any thread.
std::size_t attentionWorkspace(const View& query, const View& key, const View& value);
struct AttentionGradients {
  View query, key, value;  ///< any of them may be empty
};
/// `out` and `value` may be empty where only the gradient of the value is asked for.
void attentionGrad(const AttentionGradients& gradients, const View& gradOut, const View& out,
                   const View& sums, const View& query, const View& key, const View& value,
                   const View& mask, const AttentionArguments& arguments, const View& workspace);
std::size_t attentionGradWorkspace(const View& gradOut, const View& query, const View& key);

struct PoolArguments {
  std::array<std::int64_t, 2> window{1, 1}, stride{1, 1}, padding{0, 0};
  bool countPadding = true;
};
/// Channels last. `which` holds the place of the maximum within its window: u8, or i32 for windows
/// above 255.
void maxPool(const View& y, const View& which, const View& x, const PoolArguments& arguments);
void maxPoolGrad(const View& gradX, const View& gradY, const View& which,
                 const PoolArguments& arguments);
/// The values of x at the places that `which` names.
void maxPoolGather(const View& y, const View& x, const View& which, const PoolArguments& arguments);
void avgPool(const View& y, const View& x, const PoolArguments& arguments);
void avgPoolGrad(const View& gradX, const View& gradY, const PoolArguments& arguments);
/// Windows that cut [h, w] into y's size as evenly as possible.
void adaptiveAvgPool(const View& y, const View& x);
void adaptiveAvgPoolGrad(const View& gradX, const View& gradY);

/// One output pixel of a resampling in one direction: (1 - weight) · first + weight · second.
struct Tap {
  std::int64_t first, second;
  double weight;
};
/// Channels last; one tap per row and per column of y.
void resample(const View& y, const View& x, const std::vector<Tap>& rows,
              const std::vector<Tap>& columns);
void resampleGrad(const View& gradX, const View& gradY, const std::vector<Tap>& rows,
                  const std::vector<Tap>& columns);

/// y[o] = Σ filter[k] · u[o · down - before + k] in both directions, where u is x with up - 1 zeros
/// after each pixel.
struct UpFirDnArguments {
  std::array<std::int64_t, 2> up{1, 1}, down{1, 1}, before{0, 0};
};
void upFirDn(const View& y, const View& x, const std::vector<double>& filter,
             const UpFirDnArguments& arguments);

/// gain · (slope · x where x is negative), dense views of one order; the gradient needs the sign of
/// x, which y has too.
void leakyRelu(const View& y, const View& x, double slope, double gain);
void leakyReluGrad(const View& gradX, const View& gradY, const View& y, double slope, double gain);

}  // namespace lacuna::rt::kernel
