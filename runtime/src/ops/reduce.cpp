// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

struct Reduced {
  Shape kept;    ///< x's rank, 1 where reduced
  Shape result;  ///< as asked for
  std::int64_t each = 1;
};

Reduced plan(const char* op, const Tensor& x, const std::vector<int>& dims, bool keepDims) {
  unsigned mask = dims.empty() ? ~0U : 0U;
  for (const int dim : dims) mask |= 1U << normalizeDim(op, dim, x.shape());
  Reduced out;
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = (mask >> d & 1U) != 0;
    if (reduced) out.each *= x.shape()[d];
    out.kept.push(reduced ? 1 : x.shape()[d]);
    if (!reduced || keepDims) out.result.push(out.kept[d]);
  }
  return out;
}

DType resultType(kernel::Reduce kind, DType type) {
  if (isFloating(type)) return type;
  return kind == kernel::Reduce::Sum    ? DType::I64
         : kind == kernel::Reduce::Mean ? DType::F32
                                        : type;
}

Tensor run(const OpInfo& info, kernel::Reduce kind, const Tensor& x, const std::vector<int>& dims,
           bool keepDims, bool keepValues) {
  needsDefined(info.name.text, "x", x);
  const bool needsValues = kind == kernel::Reduce::Max || kind == kernel::Reduce::Min;
  if (needsValues && x.dtype() == DType::Bool)
    return run(info, kind, x.to(DType::I64), dims, keepDims, keepValues);
  Op op(info, {&x});
  const Reduced to = plan(op.name(), x, dims, keepDims);
  if (needsValues && to.each == 0) op.fail("of no elements: " + x.shape().toString());
  Tensor out = empty(to.result, {resultType(kind, x.dtype()), x.device()});
  View view = viewOf(out);
  view.shape = to.kept;
  view.strides = to.kept.contiguousStrides();
  op.launch(x.device(), {x.sizeBytes() + out.sizeBytes(), static_cast<std::uint64_t>(x.numel())},
            [kind, view, from = viewOf(x)] { kernel::reduce(kind, view, from); });
  if (Node* node = op.record({&x}, {&out})) {
    node->shapes = {x.shape(), to.kept};
    node->doubles[0] = to.each == 0 ? 0 : 1.0 / static_cast<double>(to.each);
    if (keepValues) {
      node->save(x);
      node->saveOutput(out);
    }
  }
  return out;
}

void sumBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = g[0].view(n.shapes[1]).expand(n.shapes[0]);
}
void meanBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = mul(g[0], n.doubles[0]).view(n.shapes[1]).expand(n.shapes[0]);
}
// Elements that reach the extreme share its gradient; NaN is the extreme where there is one. How
// many there are may be too much for 16 bits.
void reducedExtremeBackward(Node& n, const Tensor* g, Tensor* out) {
  const Tensor x = n.unpack(0).detach();
  const DType type = g[0].dtype();
  const Tensor hit = logicalOr(equal(x, n.unpack(1).detach().view(n.shapes[1])), notEqual(x, x));
  std::vector<int> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (n.shapes[1][d] != x.shape()[d]) dims.push_back(d);
  }
  Tensor share = g[0].view(n.shapes[1]);
  if (!dims.empty()) share = div(share.to(wideType(type)), sum(hit, dims, true)).to(type);
  out[0] = where(hit, share, zeros({}, {type, share.device()}));
}

Tensor argExtreme(const OpInfo& info, bool max, const Tensor& x, int dim, bool keepDim) {
  needsDefined(info.name.text, "x", x);
  const Op op(info, {});
  const int at = normalizeDim(op.name(), dim, x.shape());
  if (x.rank() == 0) op.fail("a tensor without dimensions, [], has none to search; view it as [1]");
  if (x.shape()[at] == 0)
    op.fail("of no elements along dimension " + std::to_string(dim) + " of " +
            x.shape().toString());
  Shape shape = x.shape();
  shape[at] = 1;
  Tensor out = empty(shape, {DType::I64, x.device()});
  op.launch(x.device(), {x.sizeBytes()}, [max, to = viewOf(out), from = viewOf(x), at] {
    kernel::argReduce(max, to, from, at);
  });
  return keepDim ? out : out.squeeze(at);
}

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& dims, bool keepDims) {
  static const OpInfo kInfo{"sum", sumBackward};
  return run(kInfo, kernel::Reduce::Sum, wideOf(x), dims, keepDims, false);
}
Tensor mean(const Tensor& x, const std::vector<int>& dims, bool keepDims) {
  static const OpInfo kInfo{"mean", meanBackward};
  return run(kInfo, kernel::Reduce::Mean, wideOf(x), dims, keepDims, false);
}
Tensor max(const Tensor& x, const std::vector<int>& dims, bool keepDims) {
  static const OpInfo kInfo{"max", reducedExtremeBackward};
  return run(kInfo, kernel::Reduce::Max, x, dims, keepDims, true);
}
Tensor min(const Tensor& x, const std::vector<int>& dims, bool keepDims) {
  static const OpInfo kInfo{"min", reducedExtremeBackward};
  return run(kInfo, kernel::Reduce::Min, x, dims, keepDims, true);
}
Tensor var(const Tensor& x, const std::vector<int>& dims, bool keepDims, bool unbiased) {
  needsDefined("var", "x", x);
  if (takesWide(x)) [[unlikely]]
    return var(wideOf(x), dims, keepDims, unbiased);
  // The sum of squares may not fit into 16 bits where their mean does.
  if (isFloating(x.dtype()) && itemSize(x.dtype()) == 2)
    return var(x.to(DType::F32), dims, keepDims, unbiased).to(x.dtype());
  const Reduced to = plan("var", x, dims, keepDims);
  // Nothing, and unbiased a single element, has none: 0 / 0.
  const std::int64_t freedom = std::max<std::int64_t>(0, to.each - (unbiased ? 1 : 0));
  const Tensor squares = sum(square(x - mean(x, dims, true)), dims, keepDims);
  return squares / static_cast<double>(freedom);
}
Tensor argmax(const Tensor& x, int dim, bool keepDim) {
  static const OpInfo kInfo{"argmax"};
  return argExtreme(kInfo, true, x, dim, keepDim);
}
Tensor argmin(const Tensor& x, int dim, bool keepDim) {
  static const OpInfo kInfo{"argmin"};
  return argExtreme(kInfo, false, x, dim, keepDim);
}

}  // namespace lacuna::rt
