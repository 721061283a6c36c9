// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/nn_kernels.h"
#include "lacuna/runtime/ops.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

// The sign of the output is that of the input where the slope is positive; else the input is kept.
void leakyReluBackward(Node& n, const Tensor* g, Tensor* out) {
  static const OpInfo kInfo{"leaky_relu_grad"};
  const Tensor signs = n.unpack(0);
  const double slope = n.doubles[0];
  const double gain = n.doubles[1];
  if (recording()) {
    const Options like{signs.dtype(), signs.device()};
    const Tensor positive = greater(signs.detach(), zeros({}, like));
    out[0] = mul(g[0], where(positive, full({}, gain, like), full({}, gain * slope, like)));
    return;
  }
  const Op op(kInfo, {&g[0]});
  const Tensor order = isDense(signs) ? signs : signs.detach().contiguous();
  const Tensor gradient = inOrderOf(order, g[0]);
  out[0] = emptyLike(order);
  op.launch(order.device(), {order.sizeBytes() * 3, static_cast<std::uint64_t>(order.numel())},
            [dx = viewOf(out[0]), dy = viewOf(gradient), y = viewOf(order), slope, gain] {
              kernel::leakyReluGrad(dx, dy, y, slope, gain);
            });
}

}  // namespace

Tensor leakyRelu(Tensor x, double slope, double gain) {
  needsDefined("leaky_relu", "x", x);
  static const OpInfo kInfo{"leaky_relu", leakyReluBackward};
  if (gain <= 0) fail("leaky_relu", "the gain " + std::to_string(gain) + " must be positive");
  if (!isFloating(x.dtype()))
    fail("leaky_relu", std::string("needs a floating type, not ") + name(x.dtype()));
  if (!isDense(x)) x = x.contiguous();
  Op op(kInfo, {&x});
  const bool keepsInput = op.needsGrad() && slope <= 0;
  Tensor y = keepsInput ? emptyLike(x) : op.donateOrEmptyLike(x);
  op.launch(x.device(), {x.sizeBytes() + y.sizeBytes(), static_cast<std::uint64_t>(x.numel())},
            [to = viewOf(y), from = viewOf(x), slope, gain] {
              kernel::leakyRelu(to, from, slope, gain);
            });
  if (Node* node = op.record({&x}, {&y})) {
    node->doubles = {slope, gain};
    if (keepsInput) {
      node->save(x);
    } else {
      node->saveOutput(y);
    }
  }
  return y;
}

}  // namespace lacuna::rt
