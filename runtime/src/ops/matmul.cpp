// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

/// All rows of all matrices as one matrix.
Tensor rowsOf(const Tensor& x) {
  if (x.rank() == 2) return x;
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) rows *= x.shape()[d];
  return x.reshape({rows, x.size(-1)});
}

/// The backward finds the first factor, where it was kept, in slot 0, and the second one after it.
void keepFactors(Node& node, const Tensor& a, const Tensor& b) {
  node.shapes = {a.shape(), b.shape()};
  if (node.needs(1)) node.save(a);
  if (node.needs(0)) node.save(b);
}
Tensor secondFactor(Node& node) {
  return node.unpack(node.needs(1) ? 1 : 0);
}

/// A product of many matrices with one is a product of two.
void matmulBackward(Node& n, const Tensor* g, Tensor* out) {
  if (n.wanted(0)) out[0] = sumTo(matmul(g[0], secondFactor(n).t()), n.shapes[0]);
  if (!n.wanted(1)) return;
  const Tensor a = n.unpack(0);
  const bool one = n.shapes[1].rank() == 2 && a.rank() > 2;
  out[1] = one ? matmul(rowsOf(a).t(), rowsOf(g[0])) : sumTo(matmul(a.t(), g[0]), n.shapes[1]);
}

Work productWork(const Tensor& a, const Tensor& b, const Tensor& out) {
  return {a.sizeBytes() + b.sizeBytes() + out.sizeBytes(),
          2 * static_cast<std::uint64_t>(out.numel()) * static_cast<std::uint64_t>(a.size(-1))};
}

Shape batchOf(const Shape& shape) {
  Shape batch = shape;
  batch.erase(batch.rank() - 1);
  batch.erase(batch.rank() - 1);
  return batch;
}

/// Without history. A matrix in whose memory neither rows nor columns lie whole is copied, which
/// costs less than the plain loops that would have to read it.
Tensor readable(const Tensor& x) {
  const std::int64_t row = x.strides()[x.rank() - 2];
  const std::int64_t column = x.strides()[x.rank() - 1];
  const bool compact = (column == 1 && row >= x.size(-1)) || (row == 1 && column >= x.size(-2));
  return compact || x.dtype() == DType::F64 ? x.detach() : x.detach().contiguous();
}

/// Runs the product. The library's own memory comes from the allocator too, and ends with the
/// execution.
void launchProduct(const Op& op, Device device, const Work& work, const View& out, const View& a,
                   const View& b, const View& bias) {
  if (device.type != DeviceType::Cpu) return;
  const bool accumulate = bias.data != nullptr;
  const Tensor workspace = emptyWorkspace(kernel::matmulWorkspace(out, a, b, accumulate), device);
  op.launch(device, work, [out, a, b, bias, accumulate, memory = viewOrNone(workspace)] {
    if (accumulate) kernel::copy(out, bias);
    kernel::matmul(out, a, b, accumulate, memory);
  });
}

/// Both with at least two dimensions.
Tensor product(const Tensor& a, const Tensor& b) {
  static const OpInfo kInfo{"matmul", matmulBackward};
  Op op(kInfo, {&a, &b});
  if (a.size(-1) != b.size(-2))
    op.fail("inner sizes differ: " + a.shape().toString() + " × " + b.shape().toString());
  if (!canBroadcast(batchOf(a.shape()), batchOf(b.shape())))
    op.fail("leading sizes do not fit: " + a.shape().toString() + " × " + b.shape().toString());
  Shape shape = broadcast(op.name(), batchOf(a.shape()), batchOf(b.shape()));
  Shape left = shape;
  Shape right = shape;
  for (const int d : {-2, -1}) {
    left.push(a.size(d));
    right.push(b.size(d));
    shape.push(d == -2 ? a.size(-2) : b.size(-1));
  }
  Tensor out = empty(shape, {a.dtype(), a.device()});
  View to = viewOf(out);
  Tensor x = readable(a);
  Tensor y = readable(b);
  if (b.rank() == 2 && a.rank() > 2) {
    x = readable(rowsOf(x));
    to.shape = {x.size(0), b.size(-1)};
    to.strides = to.shape.contiguousStrides();
  } else {
    x = x.expand(left);
    y = y.expand(right);
  }
  launchProduct(op, a.device(), productWork(a, b, out), to, viewOf(x), viewOf(y), {});
  if (Node* node = op.record({&a, &b}, {&out})) keepFactors(*node, a, b);
  return out;
}

void linearBackward(Node& n, const Tensor* g, Tensor* out) {
  const Tensor gradient = rowsOf(g[0]);
  if (n.wanted(0)) out[0] = matmul(gradient, secondFactor(n)).view(n.shapes[0]);
  if (n.wanted(1)) out[1] = matmul(gradient.t(), rowsOf(n.unpack(0)));
  if (n.wanted(2)) out[2] = sum(gradient, {0});
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  needsDefined("matmul", "a, b", a, b);
  if (takesShort(a, b)) [[unlikely]]
    return matmul(shortOf(a), shortOf(b));
  if (a.rank() == 0 || b.rank() == 0)
    fail("matmul",
         "a tensor without dimensions: " + a.shape().toString() + " × " + b.shape().toString());
  sameDevice("matmul", {&a, &b});
  if (a.dtype() != b.dtype()) {
    const DType type = promote(a.dtype(), b.dtype());
    return matmul(a.to(type), b.to(type));
  }
  if (!isFloating(a.dtype()))
    fail("matmul", std::string("needs a floating type, not ") + name(a.dtype()));
  if (a.rank() == 1) {
    const Tensor out = matmul(a.unsqueeze(0), b);
    return b.rank() == 1 ? out : out.squeeze(-2);
  }
  if (b.rank() == 1) return product(a, b.unsqueeze(1)).squeeze(-1);
  return product(a, b);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  needsDefined("linear", "x, weight", x, weight);
  if (takesShort(x, weight, bias)) [[unlikely]]
    return linear(shortOf(x), shortOf(weight), shortOf(bias));
  static const OpInfo kInfo{"linear", linearBackward};
  Op op(kInfo, {&x, &weight, &bias});
  if (weight.rank() != 2 || x.rank() == 0 || x.size(-1) != weight.size(1)) {
    op.fail("input " + x.shape().toString() + " does not fit weight " + weight.shape().toString() +
            " [out,in]");
  }
  if (bias.defined() && bias.shape() != Shape{weight.size(0)}) {
    op.fail("bias " + bias.shape().toString() + " for weight " + weight.shape().toString());
  }
  if (x.dtype() != weight.dtype() || (bias.defined() && bias.dtype() != x.dtype()) ||
      !isFloating(x.dtype())) {
    op.fail(std::string("input is ") + name(x.dtype()) + ", weight " + name(weight.dtype()) +
            "; they must be the same floating type");
  }
  sameDevice(op.name(), {&x, &weight, &bias});
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.size(0);
  Tensor out = empty(shape, {x.dtype(), x.device()});
  const Tensor flat = readable(rowsOf(x.detach()));
  View to = viewOf(out);
  to.shape = {flat.size(0), weight.size(0)};
  to.strides = to.shape.contiguousStrides();
  const Tensor factor = readable(weight).t();
  launchProduct(op, x.device(), productWork(x, weight, out), to, viewOf(flat), viewOf(factor),
                viewOrNone(bias));
  if (Node* node = op.record({&x, &weight, &bias}, {&out})) keepFactors(*node, x, weight);
  return out;
}

}  // namespace lacuna::rt
