// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/nn_kernels.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

using kernel::PoolArguments;

void remember(Node& node, const PoolArguments& a) {
  node.ints = {a.window[0],  a.window[1],  a.stride[0],           a.stride[1],
               a.padding[0], a.padding[1], a.countPadding ? 1 : 0};
}
PoolArguments recallPool(const Node& n) {
  const auto& i = n.ints;
  return {{i[0], i[1]}, {i[2], i[3]}, {i[4], i[5]}, i[6] != 0};
}

PoolArguments argumentsOf(const char* op, const Tensor& x, const Pool2dOptions& options) {
  checkPicture(op, x);
  const Extent stride = options.stride == Extent(0) ? options.window : options.stride;
  const PoolArguments a{{options.window.height, options.window.width},
                        {stride.height, stride.width},
                        {options.padding.height, options.padding.width},
                        options.countPadding};
  for (std::size_t i = 0; i < 2; ++i) {
    if (a.window[i] < 1 || a.stride[i] < 1)
      fail(op, "window " + show(options.window) + " and stride " + show(stride) + " over " +
                   x.shape().toString() + " must be at least 1");
    if (a.padding[i] < 0 || a.padding[i] * 2 > a.window[i])
      fail(op, "the padding " + show(options.padding) + " of " + x.shape().toString() +
                   " must be at most half of the window " + show(options.window));
    if (x.size(2 + static_cast<int>(i)) == 0)
      fail(op, "the pictures " + x.shape().toString() + " have no pixels");
    const std::int64_t beyond = options.ceilMode ? a.stride[i] - 1 : 0;
    if (x.size(2 + static_cast<int>(i)) + 2 * a.padding[i] + beyond < a.window[i])
      fail(op, "the window " + show(options.window) + " is larger than the padded input " +
                   x.shape().toString());
  }
  return a;
}

Shape pooled(const Tensor& x, const PoolArguments& a, bool ceilMode) {
  Shape shape = x.shape();
  for (std::size_t i = 0; i < 2; ++i) {
    const int d = 2 + static_cast<int>(i);
    const std::int64_t beyond = ceilMode ? a.stride[i] - 1 : 0;
    shape[d] = (x.size(d) + 2 * a.padding[i] - a.window[i] + beyond) / a.stride[i] + 1;
    if (ceilMode && (shape[d] - 1) * a.stride[i] >= x.size(d) + a.padding[i]) --shape[d];
  }
  return shape;
}

Work poolWork(const Tensor& a, const Tensor& b) {
  return {a.sizeBytes() + b.sizeBytes(),
          static_cast<std::uint64_t>(std::max(a.numel(), b.numel()))};
}

// The gradient spreads values to where the maxima were, and the gradient of that picks them up
// there again.
void maxPoolBackward(Node& n, const Tensor* g, Tensor* out);
void spreadBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kSpread{"max_pool2d_grad", spreadBackward};
const OpInfo kPick{"max_pool2d_pick", maxPoolBackward};

Tensor spread(const Tensor& g, const Tensor& which, const Shape& shape,
              const PoolArguments& arguments) {
  Op op(kSpread, {&g});
  const Tensor gradient = asChannelsLast(g);
  Tensor out = emptyChannelsLast(shape, {g.dtype(), g.device()});
  op.launch(g.device(), poolWork(g, out),
            [x = viewOf(out), y = viewOf(gradient), w = viewOf(which), arguments] {
              kernel::maxPoolGrad(x, y, w, arguments);
            });
  if (Node* node = op.record({&g}, {&out})) {
    remember(*node, arguments);
    node->shapes = {g.shape()};
    node->save(which);
  }
  return out;
}

void maxPoolBackward(Node& n, const Tensor* g, Tensor* out) {
  const DType type = g[0].dtype();
  out[0] = spread(g[0].to(wideType(type)), n.unpack(0), n.shapes[0], recallPool(n)).to(type);
}

void spreadBackward(Node& n, const Tensor* g, Tensor* out) {
  Op op(kPick, {&g[0]});
  const Tensor which = n.unpack(0);
  const Tensor picture = asChannelsLast(g[0]);
  out[0] = emptyChannelsLast(n.shapes[0], {g[0].dtype(), g[0].device()});
  op.launch(g[0].device(), poolWork(picture, out[0]),
            [y = viewOf(out[0]), x = viewOf(picture), w = viewOf(which),
             arguments = recallPool(n)] { kernel::maxPoolGather(y, x, w, arguments); });
  if (Node* node = op.record({&g[0]}, {&out[0]})) {
    remember(*node, recallPool(n));
    node->shapes = {g[0].shape()};
    node->save(which);
  }
}

using Forward = void (*)(const View& y, const View& x, const PoolArguments& arguments);

/// The averages are linear: the gradient of one direction is the other.
Tensor average(const OpInfo& info, Forward run, const Tensor& x, const Shape& shape,
               const PoolArguments& arguments) {
  Op op(info, {&x});
  const Tensor picture = asChannelsLast(x);
  Tensor out = emptyChannelsLast(shape, {x.dtype(), x.device()});
  op.launch(
      x.device(), poolWork(x, out),
      [to = viewOf(out), from = viewOf(picture), arguments, run] { run(to, from, arguments); });
  if (Node* node = op.record({&x}, {&out})) {
    remember(*node, arguments);
    node->shapes = {x.shape()};
  }
  return out;
}

void avgForward(const View& y, const View& x, const PoolArguments& arguments) {
  kernel::avgPool(y, x, arguments);
}
void avgSpread(const View& x, const View& y, const PoolArguments& arguments) {
  kernel::avgPoolGrad(x, y, arguments);
}
void adaptiveForward(const View& y, const View& x, const PoolArguments& /*unused*/) {
  kernel::adaptiveAvgPool(y, x);
}
void adaptiveSpread(const View& x, const View& y, const PoolArguments& /*unused*/) {
  kernel::adaptiveAvgPoolGrad(x, y);
}

void avgBackward(Node& n, const Tensor* g, Tensor* out);
void avgGradBackward(Node& n, const Tensor* g, Tensor* out);
void adaptiveBackward(Node& n, const Tensor* g, Tensor* out);
void adaptiveGradBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kAvg{"avg_pool2d", avgBackward};
const OpInfo kAvgGrad{"avg_pool2d_grad", avgGradBackward};
const OpInfo kAdaptive{"adaptive_avg_pool2d", adaptiveBackward};
const OpInfo kAdaptiveGrad{"adaptive_avg_pool2d_grad", adaptiveGradBackward};

/// Windows may share pixels, whose gradients are added up.
Tensor spreadAverages(const OpInfo& info, Forward run, const Tensor& g, const Shape& shape,
                      const PoolArguments& arguments) {
  return average(info, run, g.to(wideType(g.dtype())), shape, arguments).to(g.dtype());
}

void avgBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = spreadAverages(kAvgGrad, avgSpread, g[0], n.shapes[0], recallPool(n));
}
void avgGradBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = average(kAvg, avgForward, g[0], n.shapes[0], recallPool(n));
}
void adaptiveBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = spreadAverages(kAdaptiveGrad, adaptiveSpread, g[0], n.shapes[0], {});
}
void adaptiveGradBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = average(kAdaptive, adaptiveForward, g[0], n.shapes[0], {});
}

}  // namespace

Tensor maxPool2d(const Tensor& x, Pool2dOptions options) {
  needsDefined("max_pool2d", "x", x);
  static const OpInfo kInfo{"max_pool2d", maxPoolBackward};
  const PoolArguments arguments = argumentsOf("max_pool2d", x, options);
  Op op(kInfo, {&x});
  const Shape shape = pooled(x, arguments, options.ceilMode);
  const Tensor picture = asChannelsLast(x);
  Tensor out = emptyChannelsLast(shape, {x.dtype(), x.device()});
  Tensor which;
  if (op.needsGrad()) {
    const bool small = arguments.window[0] * arguments.window[1] <= 255;
    which = emptyChannelsLast(shape, {small ? DType::U8 : DType::I32, x.device()});
  }
  op.launch(x.device(), poolWork(x, out),
            [y = viewOf(out), p = viewOf(picture), w = viewOrNone(which), arguments] {
              kernel::maxPool(y, w, p, arguments);
            });
  if (Node* node = op.record({&x}, {&out})) {
    remember(*node, arguments);
    node->shapes = {x.shape()};
    node->save(which);
  }
  return out;
}

Tensor avgPool2d(const Tensor& x, Pool2dOptions options) {
  needsDefined("avg_pool2d", "x", x);
  const PoolArguments arguments = argumentsOf("avg_pool2d", x, options);
  return average(kAvg, avgForward, x, pooled(x, arguments, options.ceilMode), arguments);
}

Tensor adaptiveAvgPool2d(const Tensor& x, Extent size) {
  needsDefined("adaptive_avg_pool2d", "x", x);
  checkPicture("adaptive_avg_pool2d", x);
  if (size.height < 1 || size.width < 1 || x.size(2) == 0 || x.size(3) == 0) {
    fail("adaptive_avg_pool2d", "input " + x.shape().toString() + " to " + show(size));
  }
  return average(kAdaptive, adaptiveForward, x, {x.size(0), x.size(1), size.height, size.width},
                 {});
}

}  // namespace lacuna::rt
