// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/nn_kernels.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "ops/cast.h"
#include "ops/kept_weights.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

/// Three operators, each linear in both of its inputs, whose gradients are the other two. They are
/// the convolution y(x, w), its gradient for the input x(y, w), and its gradient for the weight
/// w(x, y). The second is also the transposed convolution. So gradients of every order exist.
namespace lacuna::rt {

namespace {

using kernel::ConvArguments;

void remember(Node& node, const ConvArguments& a) {
  node.ints = {a.stride[0],   a.stride[1],   a.padding[0], a.padding[1],
               a.dilation[0], a.dilation[1], a.groups};
}
ConvArguments recallConv(const Node& n) {
  const auto& i = n.ints;
  return {{i[0], i[1]}, {i[2], i[3]}, {i[4], i[5]}, i[6]};
}

Work convWork(const Tensor& picture, const Tensor& result, const Tensor& weight) {
  const Tensor& out = result;
  const auto perValue =
      static_cast<std::uint64_t>(weight.size(0) == 0 ? 0 : weight.numel() / weight.size(0));
  return {picture.sizeBytes() + out.sizeBytes() + weight.sizeBytes(),
          2 * static_cast<std::uint64_t>(out.numel()) * perValue};
}

/// The saved first input is there when the second needs a gradient, and the other way round.
struct SavedPair {
  Tensor first, second;
};
void savePair(Node& node, const Tensor& first, const Tensor& second) {
  if (node.needs(1)) node.save(first);
  if (node.needs(0)) node.save(second);
}
SavedPair unpackPair(Node& n) {
  SavedPair pair;
  if (n.wanted(1)) pair.first = n.unpack(0);
  if (n.wanted(0)) pair.second = n.unpack(n.needs(1) ? 1 : 0);
  return pair;
}

/// The memory that the library works in comes from the allocator too, and ends with the execution.
Tensor workspaceOf(kernel::ConvPass pass, const View& x, const View& y, const View& weight,
                   bool bias, const ConvArguments& arguments, Device device) {
  if (device.type != DeviceType::Cpu) return {};
  return emptyWorkspace(kernel::convWorkspace(pass, x, y, weight, bias, arguments), device);
}

void forwardBackward(Node& n, const Tensor* g, Tensor* out);
void dataBackward(Node& n, const Tensor* g, Tensor* out);
void weightBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kForward{"conv2d", forwardBackward};
const OpInfo kData{"conv2d_grad_input", dataBackward};
const OpInfo kTransposed{"conv_transpose2d", dataBackward};
const OpInfo kWeight{"conv2d_grad_weight", weightBackward};

/// Keep: a forward may find the weights as another one left them. A gradient's forward is no
/// inference: UseOnce.
enum class Weights : std::uint8_t { Keep, UseOnce };

std::shared_ptr<KeptWeights> keptFor(const Op& op, const Tensor& weight, const View& x,
                                     const View& y, const View& w, bool bias,
                                     const ConvArguments& arguments) {
  if (op.needsGrad()) dropKeptWeights(weight);
  if (op.needsGrad() || weight.device().type != DeviceType::Cpu) return nullptr;
  return keptWeights(weight, kernel::convWeightOrder(x, y, w, bias, arguments));
}

Tensor forwardOf(const OpInfo& info, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Shape& shape, const ConvArguments& arguments, Weights use) {
  Op op(info, {&x, &weight, &bias});
  const Tensor picture = asChannelsLast(x);
  const Tensor kernelWeight = weight.detach().contiguous();
  Tensor out = emptyChannelsLast(shape, {x.dtype(), x.device()});
  const View y = viewOf(out), p = viewOf(picture), w = viewOf(kernelWeight);
  const Tensor workspace =
      workspaceOf(kernel::ConvPass::Forward, p, y, w, bias.defined(), arguments, x.device());
  const auto kept =
      use == Weights::Keep ? keptFor(op, weight, p, y, w, bias.defined(), arguments) : nullptr;
  op.launch(x.device(), convWork(x, out, weight),
            [y, p, w, b = bias.defined() ? viewOf(bias.detach().contiguous()) : View{}, arguments,
             memory = viewOrNone(workspace), arranged = kept ? kept->arranged : nullptr] {
              kernel::convForward(y, p, w, b, arguments, memory, arranged.get());
            });
  if (Node* node = op.record({&x, &weight, &bias}, {&out})) {
    remember(*node, arguments);
    node->shapes = {x.shape(), weight.shape()};
    savePair(*node, x, weight);
  }
  return out;
}

Tensor dataOf(const OpInfo& info, const Tensor& g, const Tensor& weight, const Shape& shape,
              const ConvArguments& arguments) {
  Op op(info, {&g, &weight});
  const Tensor gradient = asChannelsLast(g);
  const Tensor kernelWeight = weight.detach().contiguous();
  Tensor out = emptyChannelsLast(shape, {g.dtype(), g.device()});
  const View x = viewOf(out), y = viewOf(gradient), w = viewOf(kernelWeight);
  const Tensor workspace =
      workspaceOf(kernel::ConvPass::Data, x, y, w, false, arguments, g.device());
  op.launch(g.device(), convWork(out, g, weight),
            [x, y, w, arguments, memory = viewOrNone(workspace)] {
              kernel::convBackwardData(x, y, w, arguments, memory);
            });
  if (Node* node = op.record({&g, &weight}, {&out})) {
    remember(*node, arguments);
    node->shapes = {g.shape(), weight.shape()};
    savePair(*node, g, weight);
  }
  return out;
}

/// `gradBias`, if given, gets the gradient of the bias from the same pass; it records nothing.
Tensor weightOf(const Tensor& x, const Tensor& g, const Shape& shape,
                const ConvArguments& arguments, Tensor* gradBias) {
  Op op(kWeight, {&x, &g});
  const Tensor picture = asChannelsLast(x);
  const Tensor gradient = asChannelsLast(g);
  Tensor out = empty(shape, {x.dtype(), x.device()});
  if (gradBias != nullptr) *gradBias = empty({shape[0]}, {x.dtype(), x.device()});
  const View w = viewOf(out), p = viewOf(picture), y = viewOf(gradient);
  const Tensor workspace =
      workspaceOf(kernel::ConvPass::Weights, p, y, w, gradBias != nullptr, arguments, x.device());
  op.launch(x.device(), convWork(x, g, out),
            [w, p, y, b = gradBias != nullptr ? viewOf(*gradBias) : View{}, arguments,
             memory = viewOrNone(workspace)] {
              kernel::convBackwardWeights(w, b, p, y, arguments, memory);
            });
  if (Node* node = op.record({&x, &g}, {&out})) {
    remember(*node, arguments);
    node->shapes = {x.shape(), g.shape()};
    savePair(*node, x, g);
  }
  return out;
}

void forwardBackward(Node& n, const Tensor* g, Tensor* out) {
  const ConvArguments arguments = recallConv(n);
  const SavedPair saved = unpackPair(n);
  const bool biasInPass = n.wanted(1) && n.wanted(2) && !recording();
  if (n.wanted(1))
    out[1] = weightOf(saved.first, g[0], n.shapes[1], arguments, biasInPass ? &out[2] : nullptr);
  if (n.wanted(2) && !biasInPass) out[2] = sum(g[0], {0, 2, 3});
  if (n.wanted(0)) out[0] = dataOf(kData, g[0], saved.second, n.shapes[0], arguments);
}

void dataBackward(Node& n, const Tensor* g, Tensor* out) {
  const ConvArguments arguments = recallConv(n);
  const SavedPair saved = unpackPair(n);
  if (n.wanted(1)) out[1] = weightOf(g[0], saved.first, n.shapes[1], arguments, nullptr);
  if (n.wanted(0))
    out[0] = forwardOf(kForward, g[0], saved.second, {}, n.shapes[0], arguments, Weights::UseOnce);
}

void weightBackward(Node& n, const Tensor* g, Tensor* out) {
  const ConvArguments arguments = recallConv(n);
  const SavedPair saved = unpackPair(n);
  if (n.wanted(0)) out[0] = dataOf(kData, saved.second, g[0], n.shapes[0], arguments);
  if (n.wanted(1))
    out[1] = forwardOf(kForward, saved.first, g[0], {}, n.shapes[1], arguments, Weights::UseOnce);
}

std::array<std::int64_t, 2> pairOf(Extent extent) {
  return {extent.height, extent.width};
}

std::string describe(const Tensor& x, const Tensor& weight) {
  return "input " + x.shape().toString() + ", weight " + weight.shape().toString();
}

/// Takes conv2d's options and convTranspose2d's.
template <class Options>
ConvArguments argumentsOf(const char* op, const Tensor& x, const Tensor& weight,
                          const Options& options) {
  const auto check = [&](const char* what, Extent given, std::int64_t least) {
    if (std::min(given.height, given.width) >= least) return;
    fail(op, std::string("the ") + what + " " + show(given) + " for " + describe(x, weight) +
                 " must be at least " + std::to_string(least));
  };
  check("stride", options.stride, 1);
  check("dilation", options.dilation, 1);
  check("padding", options.padding, 0);
  if (options.groups < 1)
    fail(op, std::to_string(options.groups) + " groups for " + describe(x, weight));
  return {pairOf(options.stride), pairOf(options.padding), pairOf(options.dilation),
          options.groups};
}

void checkTensors(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                  std::int64_t outputs) {
  if (x.rank() != 4 || weight.rank() != 4) {
    fail(op, "input " + x.shape().toString() + " and weight " + weight.shape().toString() +
                 " must both have four dimensions, the input [n,channels,height,width]");
  }
  const bool sameType =
      x.dtype() == weight.dtype() && (!bias.defined() || bias.dtype() == x.dtype());
  if (!sameType || !isFloating(x.dtype())) {
    fail(op, std::string("input is ") + name(x.dtype()) + ", weight " + name(weight.dtype()) +
                 (bias.defined() ? std::string(", bias ") + name(bias.dtype()) : "") +
                 "; they must be the same floating type");
  }
  if (x.device() != weight.device() || (bias.defined() && bias.device() != x.device())) {
    fail(op, "input is on " + toString(x.device()) + ", weight on " + toString(weight.device()));
  }
  if (bias.defined() && bias.shape() != Shape{outputs}) {
    fail(op, "bias " + bias.shape().toString() + " for the " + std::to_string(outputs) +
                 " output channels of weight " + weight.shape().toString());
  }
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Conv2dOptions options) {
  needsDefined("conv2d", "x, weight", x, weight);
  if (takesShort(x, weight, bias)) [[unlikely]]
    return conv2d(shortOf(x), shortOf(weight), shortOf(bias), options);
  const ConvArguments a = argumentsOf("conv2d", x, weight, options);
  checkTensors("conv2d", x, weight, bias, weight.rank() == 4 ? weight.size(0) : 0);
  if (x.size(1) != weight.size(1) * a.groups || weight.size(0) % a.groups != 0) {
    fail("conv2d", "input " + x.shape().toString() + " does not fit weight " +
                       weight.shape().toString() + " [out,in/groups,kh,kw] with " +
                       std::to_string(a.groups) + " groups");
  }
  Shape shape{x.size(0), weight.size(0), 0, 0};
  for (int d = 2; d < 4; ++d) {
    const auto i = static_cast<std::size_t>(d - 2);
    const std::int64_t room =
        x.size(d) + 2 * a.padding[i] - a.dilation[i] * (weight.size(d) - 1) - 1;
    if (room < 0) {
      fail("conv2d", "the kernel of weight " + weight.shape().toString() +
                         " is larger than the padded input " + x.shape().toString());
    }
    shape[d] = room / a.stride[i] + 1;
  }
  return forwardOf(kForward, x, weight, bias, shape, a, Weights::Keep);
}

Tensor convTranspose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       ConvTranspose2dOptions options) {
  needsDefined("conv_transpose2d", "x, weight", x, weight);
  if (takesShort(x, weight, bias)) [[unlikely]]
    return convTranspose2d(shortOf(x), shortOf(weight), shortOf(bias), options);
  const char* op = kTransposed.name.text;
  const ConvArguments a = argumentsOf(op, x, weight, options);
  checkTensors(op, x, weight, bias, weight.rank() == 4 ? weight.size(1) * a.groups : 0);
  if (x.size(1) != weight.size(0) || weight.size(0) % a.groups != 0) {
    fail(op, "input " + x.shape().toString() + " does not fit weight " + weight.shape().toString() +
                 " [in,out/groups,kh,kw] with " + std::to_string(a.groups) + " groups");
  }
  const std::array<std::int64_t, 2> extra = pairOf(options.outputPadding);
  Shape shape{x.size(0), weight.size(1) * a.groups, 0, 0};
  Shape reached = shape;
  for (int d = 2; d < 4; ++d) {
    const auto i = static_cast<std::size_t>(d - 2);
    if (extra[i] < 0 || extra[i] >= std::max(a.stride[i], a.dilation[i]))
      fail(op, "the output padding " + std::to_string(extra[i]) + " for " + describe(x, weight) +
                   " must be below the stride or the dilation");
    shape[d] = (x.size(d) - 1) * a.stride[i] - 2 * a.padding[i] +
               a.dilation[i] * (weight.size(d) - 1) + extra[i] + 1;
    if (shape[d] < 1) fail(op, describe(x, weight) + ": the padding leaves nothing");
    // oneDNN takes no picture that is a whole stride longer than what the rows of x reach. There
    // the bias is alone.
    reached[d] = shape[d] - std::max<std::int64_t>(0, extra[i] - a.padding[i] - (a.stride[i] - 1));
    if (reached[d] < 1) fail(op, describe(x, weight) + ": nothing is left but output padding");
  }
  Tensor out = dataOf(kTransposed, x, weight, reached, a);
  for (int d = 2; d < 4; ++d) {
    Shape rest = out.shape();
    rest[d] = shape[d] - reached[d];
    if (rest[d] != 0) out = concat({out, zeros(rest, {x.dtype(), x.device()})}, d);
  }
  if (bias.defined()) out.add_(bias.view({1, shape[1], 1, 1}));
  return out;
}

}  // namespace lacuna::rt
