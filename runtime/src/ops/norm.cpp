// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/nn_kernels.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

/// Layer, group and instance normalisation: all of them normalise rows of the row-major tensor, and
/// differ in what a row is and in how weights are laid over it. Pictures whose channels lie last
/// stay so.
namespace lacuna::rt {

namespace {

using kernel::NormRows;

NormRows rowsOf(const Node& n) {
  return {n.ints[0], n.ints[1], n.ints[2], n.ints[3], n.ints[7] != 0};
}

/// x in the memory order of the rows.
Tensor inOrderOfRows(const Tensor& x, const NormRows& rows) {
  return rows.channelsLast ? asChannelsLast(x.detach()) : x.detach().contiguous();
}

Tensor emptyForRows(const Tensor& x, const NormRows& rows) {
  const Options options{x.dtype(), x.device()};
  return rows.channelsLast ? emptyChannelsLast(x.shape(), options) : empty(x.shape(), options);
}

/// [channels] or [width], laid over x seen as [rows, channels of a group, inner].
Tensor overRows(const Tensor& values, const NormRows& rows, DType type) {
  const std::int64_t channels = rows.width / rows.inner;
  return values.to(type)
      .reshape({1, rows.groups, channels, 1})
      .expand({rows.rows / rows.groups, -1, -1, rows.inner});
}

/// The gradients as differentiable operators, for gradients of gradients. 16-bit types compute in
/// f32, as without recording.
void recordedRowNormBackward(Node& n, const Tensor& g, Tensor* out) {
  const NormRows rows = rowsOf(n);
  const Tensor given = n.unpack(0);
  const Tensor x = given.to(wideType(given.dtype()));
  const Shape shape{rows.rows / rows.groups, rows.groups, rows.width / rows.inner, rows.inner};
  const Tensor centred = x.reshape(shape) - mean(x.reshape(shape), {2, 3}, true);
  const Tensor rstd = rsqrt(add(mean(square(centred), {2, 3}, true), n.doubles[0]));
  const Tensor standard = mul(centred, rstd);
  Tensor dy = g.to(x.dtype()).reshape(shape);
  if (n.wanted(1))
    out[1] = sum(mul(dy, standard), {0, 3}).to(static_cast<DType>(n.ints[4])).reshape(n.shapes[0]);
  if (n.wanted(2)) out[2] = sum(dy, {0, 3}).to(static_cast<DType>(n.ints[6])).reshape(n.shapes[0]);
  if (!n.wanted(0)) return;
  if (n.ints[5] != 0) dy = mul(dy, overRows(n.unpack(3), rows, x.dtype()));
  const Tensor rest =
      dy - mean(dy, {2, 3}, true) - mul(standard, mean(mul(dy, standard), {2, 3}, true));
  out[0] = mul(rest, rstd).reshape(x.shape()).to(given.dtype());
}

void rowNormBackward(Node& n, const Tensor* g, Tensor* out) {
  if (recording()) return recordedRowNormBackward(n, g[0], out);
  static const OpInfo kInfo{"row_norm_grad"};
  const Op op(kInfo, {&g[0]});
  const NormRows rows = rowsOf(n);
  const Tensor x = inOrderOfRows(n.unpack(0), rows);
  const Tensor weight = n.ints[5] != 0 ? n.unpack(3) : Tensor();
  const DType type = wideType(x.dtype());
  const Tensor gradY = inOrderOfRows(g[0], rows);
  const Tensor scale = weight.defined() ? weight.detach().to(type).contiguous() : Tensor();
  const Tensor gradX = n.wanted(0) ? emptyForRows(x, rows) : Tensor();
  Tensor gradWeight;
  Tensor gradBias;
  if (n.wanted(1) || n.wanted(2)) {
    gradWeight = empty(n.shapes[0], {type, x.device()});
    gradBias = empty(n.shapes[0], {type, x.device()});
  }
  op.launch(x.device(), {x.sizeBytes() * 5, static_cast<std::uint64_t>(x.numel()) * 10},
            [dx = viewOrNone(gradX), dw = viewOrNone(gradWeight), db = viewOrNone(gradBias),
             dy = viewOf(gradY), in = viewOf(x), mean = viewOf(n.unpack(1)),
             rstd = viewOf(n.unpack(2)), w = viewOrNone(scale),
             rows] { kernel::layerNormGrad(dx, dw, db, dy, in, mean, rstd, w, rows); });
  out[0] = gradX;
  if (n.wanted(1)) out[1] = gradWeight.to(static_cast<DType>(n.ints[4]));
  if (n.wanted(2)) out[2] = gradBias.to(static_cast<DType>(n.ints[6]));
}

void checkAffine(const Op& op, const Tensor& x, const Tensor& values, const Shape& shape,
                 const char* what) {
  if (!values.defined()) return;
  if (values.shape() != shape)
    op.fail(std::string(what) + " " + values.shape().toString() + " for an input " +
            x.shape().toString() + "; it must be " + shape.toString());
  if (values.device() != x.device())
    op.fail(std::string(what) + " is on " + toString(values.device()) + ", the input on " +
            toString(x.device()));
  if (!isFloating(values.dtype())) op.fail(std::string(what) + " is " + name(values.dtype()));
}

Tensor rowNorm(const OpInfo& info, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Shape& affine, const NormRows& rows, double epsilon) {
  Op op(info, {&x, &weight, &bias});
  if (!isFloating(x.dtype())) op.fail(std::string("needs a floating type, not ") + name(x.dtype()));
  checkAffine(op, x, weight, affine, "weight");
  checkAffine(op, x, bias, affine, "bias");
  const DType type = wideType(x.dtype());
  const Tensor in = inOrderOfRows(x, rows);
  const Tensor scale = weight.defined() ? weight.detach().to(type).contiguous() : Tensor();
  const Tensor shift = bias.defined() ? bias.detach().to(type).contiguous() : Tensor();
  const Tensor mean = empty({rows.rows}, {type, x.device()});
  const Tensor rstd = empty({rows.rows}, {type, x.device()});
  Tensor out = emptyForRows(x, rows);
  op.launch(x.device(), {x.sizeBytes() * 2, static_cast<std::uint64_t>(x.numel()) * 8},
            [y = viewOf(out), m = viewOf(mean), r = viewOf(rstd), from = viewOf(in),
             w = viewOrNone(scale), b = viewOrNone(shift), rows,
             epsilon] { kernel::layerNorm(y, m, r, from, w, b, rows, epsilon); });
  if (Node* node = op.record({&x, &weight, &bias}, {&out})) {
    node->ints = {rows.rows,
                  rows.width,
                  rows.inner,
                  rows.groups,
                  static_cast<std::int64_t>(weight.defined() ? weight.dtype() : type),
                  weight.defined() ? 1 : 0,
                  static_cast<std::int64_t>(bias.defined() ? bias.dtype() : type),
                  rows.channelsLast ? 1 : 0};
    node->doubles[0] = epsilon;
    node->shapes = {affine};
    node->save(x);
    node->save(mean);
    node->save(rstd);
    if (weight.defined()) node->save(weight);
  }
  return out;
}

Tensor grouped(const OpInfo& info, const Tensor& x, std::int64_t groups, const Tensor& weight,
               const Tensor& bias, double epsilon) {
  const char* op = info.name.text;
  if (x.rank() < 2) fail(op, "input " + x.shape().toString() + " has no channels [n,channels,…]");
  if (groups < 1 || x.size(1) % groups != 0)
    fail(op, std::to_string(groups) + " groups of the channels of " + x.shape().toString());
  const std::int64_t planes = x.size(0) * x.size(1);
  const std::int64_t inner = planes == 0 ? 1 : std::max<std::int64_t>(1, x.numel() / planes);
  // Pictures without pixels are no rows; their channels have weights all the same.
  const std::int64_t images = x.numel() == 0 ? 0 : x.size(0);
  const bool channelsLast = isChannelsLast(x) && !x.isContiguous();
  const NormRows rows{images * groups, x.size(1) / groups * inner, inner, groups, channelsLast};
  return rowNorm(info, x, weight, bias, {x.size(1)}, rows, epsilon);
}

}  // namespace

Tensor layerNorm(const Tensor& x, const Shape& normalized, const Tensor& weight, const Tensor& bias,
                 double epsilon) {
  needsDefined("layer_norm", "x", x);
  static const OpInfo kInfo{"layer_norm", rowNormBackward};
  if (takesWide(x)) [[unlikely]]
    return layerNorm(wideOf(x), normalized, weight, bias, epsilon);
  if (normalized.rank() == 0)
    fail("layer_norm", "no dimensions of " + x.shape().toString() + " are given to normalise over");
  for (int i = 0; i < normalized.rank(); ++i) {
    const int d = x.rank() - normalized.rank() + i;
    if (d < 0 || x.shape()[d] != normalized[i])
      fail("layer_norm",
           "input " + x.shape().toString() + " does not end in " + normalized.toString());
  }
  const std::int64_t width = std::max<std::int64_t>(1, normalized.numel());
  return rowNorm(kInfo, x, weight, bias, normalized, {x.numel() / width, width, 1, 1}, epsilon);
}

Tensor groupNorm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                 double epsilon) {
  needsDefined("group_norm", "x", x);
  static const OpInfo kInfo{"group_norm", rowNormBackward};
  if (takesWide(x)) [[unlikely]]
    return groupNorm(wideOf(x), groups, weight, bias, epsilon);
  return grouped(kInfo, x, groups, weight, bias, epsilon);
}

Tensor instanceNorm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  needsDefined("instance_norm", "x", x);
  static const OpInfo kInfo{"instance_norm", rowNormBackward};
  if (takesWide(x)) [[unlikely]]
    return instanceNorm(wideOf(x), weight, bias, epsilon);
  const std::int64_t channels = x.rank() < 2 ? 1 : std::max<std::int64_t>(1, x.size(1));
  return grouped(kInfo, x, channels, weight, bias, epsilon);
}

}  // namespace lacuna::rt
