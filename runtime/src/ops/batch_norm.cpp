// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/nn_kernels.h"
#include "lacuna/runtime/ops.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"
#include "tensor/replay.h"

namespace lacuna::rt {

namespace {

using kernel::ChannelLayout;

/// x itself where its memory order suits the kernels, else a row-major copy; without history.
Tensor ordered(const Tensor& x) {
  return x.isContiguous() || isChannelsLast(x) ? x.detach() : x.detach().contiguous();
}

/// x is contiguous or channels last.
ChannelLayout layoutOf(const Tensor& x) {
  const std::int64_t channels = x.size(1);
  const std::int64_t rows = x.size(0);
  const std::int64_t inner = rows * channels == 0 ? 0 : x.numel() / (rows * channels);
  if (inner <= 1 || isChannelsLast(x)) return {rows * inner, channels, 1};
  return {rows, channels, inner};
}

Shape channelShape(const Tensor& x) {
  Shape shape = Shape::filled(x.rank(), 1);
  shape[1] = x.size(1);
  return shape;
}

/// The gradients as differentiable operators, for gradients of gradients. 16-bit types compute in
/// f32, as without recording.
void recordedBatchNormBackward(Node& n, const Tensor& gradY, Tensor* out) {
  const Tensor given = n.unpack(0);
  const Tensor x = given.to(wideType(given.dtype()));
  const Tensor g = gradY.to(x.dtype());
  const Tensor weight = n.ints[1] != 0 ? n.unpack(3) : Tensor();
  const bool training = n.ints[0] != 0;
  std::vector<int> dims{0};
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  const Shape shape = channelShape(x);
  Tensor centred;
  Tensor rstd;
  if (training) {
    centred = x - mean(x, dims, true);
    rstd = rsqrt(add(mean(square(centred), dims, true), n.doubles[0]));
  } else {
    centred = x - n.unpack(1).to(x.dtype()).view(shape);
    rstd = n.unpack(2).to(x.dtype()).view(shape);
  }
  const Tensor standard = mul(centred, rstd);
  if (n.wanted(1)) out[1] = sum(mul(g, standard), dims).to(weight.dtype());
  if (n.wanted(2)) out[2] = sum(g, dims).to(static_cast<DType>(n.ints[2]));
  if (!n.wanted(0)) return;
  const Tensor dy = weight.defined() ? mul(g, weight.to(x.dtype()).view(shape)) : g;
  const Tensor rest =
      training ? dy - mean(dy, dims, true) - mul(standard, mean(mul(dy, standard), dims, true))
               : dy;
  out[0] = mul(rest, rstd).to(given.dtype());
}

void batchNormBackward(Node& n, const Tensor* g, Tensor* out) {
  if (recording()) return recordedBatchNormBackward(n, g[0], out);
  static const OpInfo kInfo{"batch_norm_grad"};
  const Op op(kInfo, {&g[0]});
  const Tensor x = ordered(n.unpack(0));
  const Tensor weight = n.ints[1] != 0 ? n.unpack(3) : Tensor();
  const DType type = wideType(x.dtype());
  const Tensor gradY = inOrderOf(x, g[0]);
  const Tensor scale = weight.defined() ? weight.detach().to(type).contiguous() : Tensor();
  Tensor gradX = n.wanted(0) ? op.donateOrEmptyLike(gradY) : Tensor();
  const Tensor gradWeight = empty({x.size(1)}, {type, x.device()});
  const Tensor gradBias = empty({x.size(1)}, {type, x.device()});
  op.launch(
      x.device(), {x.sizeBytes() * 5, static_cast<std::uint64_t>(x.numel()) * 8},
      [dx = viewOrNone(gradX), dw = viewOf(gradWeight), db = viewOf(gradBias), dy = viewOf(gradY),
       in = viewOf(x), mean = viewOf(n.unpack(1)), rstd = viewOf(n.unpack(2)),
       w = viewOrNone(scale), layout = layoutOf(x), training = n.ints[0] != 0] {
        kernel::batchNormGrad(dx, dw, db, dy, in, mean, rstd, w, layout, training);
      });
  out[0] = gradX;
  if (n.wanted(1)) out[1] = gradWeight.to(weight.dtype());
  if (n.wanted(2)) out[2] = gradBias.to(static_cast<DType>(n.ints[2]));
}

void checkChannels(const Op& op, const Tensor& x, const Tensor& values, const char* what) {
  if (!values.defined()) return;
  if (values.shape() != Shape{x.size(1)})
    op.fail(std::string(what) + " " + values.shape().toString() + " for the channels of " +
            x.shape().toString());
  if (values.device() != x.device())
    op.fail(std::string(what) + " is on " + toString(values.device()) + ", the input on " +
            toString(x.device()));
  if (!isFloating(values.dtype())) op.fail(std::string(what) + " is " + name(values.dtype()));
}

struct Statistics {
  Tensor mean, rstd;
};

Statistics fromBatch(const Op& op, const Tensor& x, const Tensor& runningMean,
                     const Tensor& runningVar, double momentum, double epsilon) {
  const ChannelLayout layout = layoutOf(x);
  if (layout.rows * layout.inner < 2)
    op.fail("training needs more than one value per channel, not " + x.shape().toString());
  const Options options{wideType(x.dtype()), x.device()};
  const Statistics out{empty({x.size(1)}, options), empty({x.size(1)}, options)};
  // Run again for the backward, it has moved them already.
  const Tensor moved[] = {replaying() ? Tensor() : runningMean,
                          replaying() ? Tensor() : runningVar};
  for (const Tensor& running : moved) {
    if (running.defined()) bumpVersion(running);
  }
  op.launch(x.device(), {x.sizeBytes(), static_cast<std::uint64_t>(x.numel()) * 4},
            [mean = viewOf(out.mean), rstd = viewOf(out.rstd), keepMean = viewOrNone(moved[0]),
             keepVar = viewOrNone(moved[1]), in = viewOf(x), layout, momentum, epsilon] {
              kernel::batchNormStatistics(mean, rstd, keepMean, keepVar, in, layout, momentum,
                                          epsilon);
            });
  return out;
}

Statistics fromRunning(const Op& op, const Tensor& x, const Tensor& runningMean,
                       const Tensor& runningVar, double epsilon) {
  if (!runningMean.defined() || !runningVar.defined())
    op.fail("running statistics are needed outside training, for the channels of " +
            x.shape().toString());
  const DType type = wideType(x.dtype());
  // Copies: the running statistics may move on before a backward.
  const Tensor variance = runningVar.detach().to(type).contiguous();
  const Statistics out{runningMean.detach().to(type).clone(),
                       empty({x.size(1)}, {type, x.device()})};
  op.launch(x.device(), {}, [rstd = viewOf(out.rstd), v = viewOf(variance), epsilon] {
    kernel::inverseDeviation(rstd, v, epsilon);
  });
  return out;
}

}  // namespace

Tensor batchNorm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Tensor& runningMean, const Tensor& runningVar, bool training,
                 double momentum, double epsilon) {
  needsDefined("batch_norm", "x", x);
  static const OpInfo kInfo{"batch_norm", batchNormBackward};
  Op op(kInfo, {&x, &weight, &bias});
  if (x.rank() < 2) op.fail("input " + x.shape().toString() + " has no channels [n,channels,…]");
  if (!isFloating(x.dtype())) op.fail(std::string("needs a floating type, not ") + name(x.dtype()));
  checkChannels(op, x, weight, "weight");
  checkChannels(op, x, bias, "bias");
  checkChannels(op, x, runningMean, "running mean");
  checkChannels(op, x, runningVar, "running variance");
  const Tensor in = ordered(x);
  const DType type = wideType(x.dtype());
  const Statistics used = training ? fromBatch(op, in, runningMean, runningVar, momentum, epsilon)
                                   : fromRunning(op, in, runningMean, runningVar, epsilon);
  const Tensor scale = weight.defined() ? weight.detach().to(type).contiguous() : Tensor();
  const Tensor shift = bias.defined() ? bias.detach().to(type).contiguous() : Tensor();
  Tensor out = emptyLike(in);
  op.launch(x.device(), {x.sizeBytes() * 2, static_cast<std::uint64_t>(x.numel()) * 2},
            [y = viewOf(out), from = viewOf(in), mean = viewOf(used.mean), rstd = viewOf(used.rstd),
             w = viewOrNone(scale), b = viewOrNone(shift),
             layout = layoutOf(in)] { kernel::batchNormApply(y, from, mean, rstd, w, b, layout); });
  if (Node* node = op.record({&x, &weight, &bias}, {&out})) {
    node->ints = {training ? 1 : 0, weight.defined() ? 1 : 0,
                  static_cast<std::int64_t>(bias.defined() ? bias.dtype() : x.dtype())};
    node->doubles[0] = epsilon;
    node->save(x);
    node->save(used.mean);
    node->save(used.rstd);
    if (weight.defined()) node->save(weight);
  }
  return out;
}

}  // namespace lacuna::rt
