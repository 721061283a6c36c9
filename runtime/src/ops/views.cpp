// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/backend.h"
#include "instrument/operator_recorder.h"
#include "lacuna/runtime/ops.h"
#include "tensor/layout.h"
#include "tensor/node.h"

/// Views and copies. A view enqueues nothing; its node has the operator's name all the same.
namespace lacuna::rt {

namespace {

/// A view whose gradient is computed by `info`; ints and shapes are what that needs.
Tensor finishView(const OpInfo& info, const Tensor& x, const Shape& shape, const Shape& strides,
                  std::int64_t offset, std::initializer_list<std::int64_t> ints = {}) {
  Tensor out = makeView(x.impl()->storage, shape, strides, offset, x.dtype());
  if (!recording() || !x.requiresGrad()) return out;
  Op op(info, {&x});
  if (Node* node = op.record({&x}, {&out})) {
    node->shapes = {x.shape()};
    std::copy(ints.begin(), ints.end(), node->ints.begin());
  }
  return out;
}

void viewBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = g[0].reshape(n.shapes[0]);
}

void permuteBackward(Node& n, const Tensor* g, Tensor* out) {
  Shape inverse = Shape::filled(g[0].rank(), 0);
  for (int i = 0; i < inverse.rank(); ++i)
    inverse[static_cast<int>(n.ints[static_cast<std::size_t>(i)])] = i;
  out[0] = g[0].permute(inverse);
}

void expandBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = sumTo(g[0], n.shapes[0]);
}

const OpInfo kSlicePad{"slice_pad", [](Node& n, const Tensor* g, Tensor* out) {
                         out[0] = g[0].slice(static_cast<int>(n.ints[0]), n.ints[1], n.ints[2],
                                             n.ints[3]);
                       }};

/// Zeros of `shape` with `values` at begin, begin + step, … of `dim`: the gradient of slice.
Tensor slicePad(const Tensor& values, const Shape& shape, int dim, std::int64_t begin,
                std::int64_t end, std::int64_t step) {
  Op op(kSlicePad, {&values});
  Tensor out;
  {
    const NoGrad guard;
    out = zeros(shape, {values.dtype(), values.device()});
    out.slice(dim, begin, end, step).copy_(values);
  }
  if (Node* node = op.record({&values}, {&out})) node->ints = {dim, begin, end, step};
  return out;
}

void sliceBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] =
      slicePad(g[0], n.shapes[0], static_cast<int>(n.ints[0]), n.ints[1], n.ints[2], n.ints[3]);
}

void copyBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = g[0].to(static_cast<DType>(n.ints[0]));
}

void copyInPlaceBackward(Node& n, const Tensor* g, Tensor* out) {
  zeroBackward(n, g, out);
  if (n.wanted(1)) out[1] = sumTo(g[0], n.shapes[0]).to(static_cast<DType>(n.ints[0]));
}

Tensor copyOf(const OpInfo& info, const Tensor& x, DType dtype) {
  Op op(info, {&x});
  Tensor out = empty(x.shape(), {dtype, x.device()});
  op.launch(x.device(), {x.sizeBytes() + out.sizeBytes(), 0, LACUNA_RT_EXECUTION_COPY},
            [to = viewOf(out), from = viewOf(x)] { kernel::copy(to, from); });
  noteWritten(out);
  if (Node* node = op.record({&x}, {&out})) node->ints[0] = static_cast<std::int64_t>(x.dtype());
  return out;
}

/// Strides under which `shape` shows the same elements in the same order, if there are any.
bool viewStrides(const Tensor& x, const Shape& shape, Shape& strides) {
  strides = shape.contiguousStrides();
  if (x.isContiguous() || x.numel() == 0) return true;
  int from = x.rank() - 1;
  int to = shape.rank() - 1;
  // From the inside out: dimensions that lie together in memory are cut anew. Those of one element
  // lie anywhere.
  while (from >= 0) {
    const std::int64_t step = x.strides()[from];
    std::int64_t have = x.shape()[from--];
    if (have == 1) continue;
    for (; from >= 0 && (x.shape()[from] == 1 || x.strides()[from] == have * step); --from)
      have *= x.shape()[from];
    for (std::int64_t given = 1; given != have; given *= shape[to--]) {
      if (to < 0 || given > have) return false;
      strides[to] = step * given;
    }
  }
  return true;
}

Shape resolve(const Tensor& x, const Shape& asked, const char* op) {
  Shape shape = asked;
  int open = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < -1 || (shape[i] == -1 && open >= 0))
      fail(op, "sizes " + asked.toString() + " for " + x.shape().toString() +
                   "; one may be -1, and none negative otherwise");
    if (shape[i] == -1) open = i;
  }
  Shape given = shape;
  if (open >= 0) given[open] = 1;
  const std::int64_t known = checkedNumel(op, given, x.dtype());
  if (open >= 0 && known != 0) shape[open] = x.numel() / known;
  if (shape.numel() != x.numel() || (open >= 0 && known == 0)) {
    fail(op, "a tensor " + x.shape().toString() + " cannot be seen as " + asked.toString());
  }
  return shape;
}

}  // namespace

View viewOf(const Tensor& tensor) {
  if (instrument::recordingOperators()) [[unlikely]]
    instrument::recordUse(tensor);
  const TensorImpl& impl = *checked(tensor);
  return {usedData(impl), impl.shape, impl.strides, impl.dtype};
}

Tensor Tensor::view(const Shape& wanted) const {
  needsDefined("view", "the tensor", *this);
  static const OpInfo kInfo{"view", viewBackward};
  const Shape shape = resolve(*this, wanted, "view");
  Shape strides;
  if (!viewStrides(*this, shape, strides)) {
    fail("view", "the strides " + this->strides().toString() + " of " + this->shape().toString() +
                     " do not allow " + shape.toString() + " without a copy; use reshape()");
  }
  return finishView(kInfo, *this, shape, strides, impl_->offset);
}

Tensor Tensor::reshape(const Shape& wanted) const {
  needsDefined("reshape", "the tensor", *this);
  const Shape shape = resolve(*this, wanted, "reshape");
  Shape strides;
  return viewStrides(*this, shape, strides) ? view(shape) : contiguous().view(shape);
}

Tensor Tensor::flatten(int startDim, int endDim) const {
  needsDefined("flatten", "the tensor", *this);
  const int start = normalizeDim("flatten", startDim, this->shape());
  const int end = normalizeDim("flatten", endDim, this->shape());
  if (start > end)
    fail("flatten", "dimension " + std::to_string(startDim) + " comes after dimension " +
                        std::to_string(endDim) + " of " + this->shape().toString());
  Shape shape;
  for (int i = 0; i < start; ++i) shape.push(this->shape()[i]);
  std::int64_t joined = 1;
  for (int i = start; i <= end && i < rank(); ++i) joined *= this->shape()[i];
  shape.push(joined);
  for (int i = end + 1; i < rank(); ++i) shape.push(this->shape()[i]);
  return reshape(shape);
}

Tensor Tensor::permute(Shape dims) const {
  needsDefined("permute", "the tensor", *this);
  static const OpInfo kInfo{"permute", permuteBackward};
  if (dims.rank() != rank())
    fail("permute", dims.toString() + " does not name the dimensions of " + shape().toString());
  Shape shape = dims;
  Shape strides = dims;
  unsigned seen = 0;
  for (int i = 0; i < rank(); ++i) {
    dims[i] = normalizeDim("permute", dims[i], this->shape());
    seen |= 1U << dims[i];
    shape[i] = this->shape()[static_cast<int>(dims[i])];
    strides[i] = this->strides()[static_cast<int>(dims[i])];
  }
  if (seen != (1U << rank()) - 1)
    fail("permute",
         dims.toString() + " names a dimension of " + this->shape().toString() + " twice");
  Tensor out = finishView(kInfo, *this, shape, strides, impl_->offset);
  if (!out.isLeaf())
    std::copy(dims.begin(), dims.end(), out.impl()->autograd->gradFn->ints.begin());
  return out;
}

Tensor Tensor::transpose(int a, int b) const {
  needsDefined("transpose", "the tensor", *this);
  Shape dims = Shape::filled(rank(), 0);
  for (int i = 0; i < rank(); ++i) dims[i] = i;
  if (rank() == 0) return *this;
  std::swap(dims[normalizeDim("transpose", a, shape())],
            dims[normalizeDim("transpose", b, shape())]);
  return permute(dims);
}

Tensor Tensor::expand(Shape wanted) const {
  needsDefined("expand", "the tensor", *this);
  static const OpInfo kInfo{"expand", expandBackward};
  const int extra = wanted.rank() - rank();
  Shape strides = Shape::filled(wanted.rank(), 0);
  for (int i = 0; i < wanted.rank(); ++i) {
    const std::int64_t own = i < extra ? 1 : shape()[i - extra];
    if (wanted[i] == -1) wanted[i] = own;
    if (extra < 0 || wanted[i] < 0 || (own != wanted[i] && own != 1))
      fail("expand", shape().toString() + " does not stretch to " + wanted.toString());
    if (own != 1) strides[i] = this->strides()[i - extra];
  }
  (void)checkedNumel("expand", wanted, dtype());
  return finishView(kInfo, *this, wanted, strides, impl_->offset);
}

Tensor Tensor::squeeze(int dim) const {
  needsDefined("squeeze", "the tensor", *this);
  const int at = normalizeDim("squeeze", dim, this->shape());
  if (rank() == 0 || shape()[at] != 1) return *this;
  static const OpInfo kInfo{"squeeze", viewBackward};
  Shape shape = this->shape();
  Shape strides = this->strides();
  shape.erase(at);
  strides.erase(at);
  return finishView(kInfo, *this, shape, strides, impl_->offset);
}

Tensor Tensor::unsqueeze(int dim) const {
  needsDefined("unsqueeze", "the tensor", *this);
  static const OpInfo kInfo{"unsqueeze", viewBackward};
  const int at = normalizeDim("unsqueeze", dim, this->shape(), 1);
  if (rank() == kMaxRank)
    fail("unsqueeze", this->shape().toString() + " has " + std::to_string(kMaxRank) +
                          " dimensions, and none may have more");
  Shape shape = this->shape();
  Shape strides = this->strides();
  strides.insert(at, at < rank() ? shape[at] * strides[at] : 1);
  shape.insert(at, 1);
  return finishView(kInfo, *this, shape, strides, impl_->offset);
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  needsDefined("slice", "the tensor", *this);
  static const OpInfo kInfo{"slice", sliceBackward};
  const int at = normalizeDim("slice", dim, this->shape());
  if (rank() == 0) fail("slice", "a tensor without dimensions, [], cannot be sliced");
  if (step < 1)
    fail("slice", "the step " + std::to_string(step) + " along " + this->shape().toString() +
                      " must be at least 1");
  const std::int64_t size = shape()[at];
  const auto bound = [size](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  begin = bound(begin);
  end = std::max(begin, bound(end));
  step = std::min(
      step, std::max<std::int64_t>(size, 1));  // a longer one takes the first element alone, too
  Shape shape = this->shape();
  Shape strides = this->strides();
  const std::int64_t offset = impl_->offset + begin * strides[at];
  shape[at] = (end - begin + step - 1) / step;
  strides[at] *= step;
  return finishView(kInfo, *this, shape, strides, offset, {at, begin, end, step});
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  needsDefined("select", "the tensor", *this);
  const int at = normalizeDim("select", dim, shape());
  if (rank() == 0) fail("select", "a tensor without dimensions, [], has none to pick from");
  const std::int64_t size = shape()[at];
  if (index < -size || index >= size) {
    fail("select", "index " + std::to_string(index) + " is outside dimension " +
                       std::to_string(dim) + " of " + shape().toString());
  }
  if (index < 0) index += size;
  return slice(at, index, index + 1).squeeze(at);
}

Tensor Tensor::contiguous() const {
  needsDefined("contiguous", "the tensor", *this);
  static const OpInfo kInfo{"contiguous", copyBackward};
  return isContiguous() ? *this : copyOf(kInfo, *this, dtype());
}

Tensor Tensor::clone() const {
  needsDefined("clone", "the tensor", *this);
  static const OpInfo kInfo{"clone", copyBackward};
  return copyOf(kInfo, *this, dtype());
}

Tensor Tensor::to(DType wanted) const {
  needsDefined("to", "the tensor", *this);
  static const OpInfo kInfo{"convert", copyBackward};
  if (wanted == dtype()) return *this;
  // An integer or a truth value does not follow small changes of what it was made of: it has no
  // gradient.
  if (!isFloating(wanted) && requiresGrad()) return detach().to(wanted);
  return copyOf(kInfo, *this, wanted);
}

Tensor Tensor::to(Device wanted) const {
  needsDefined("to", "the tensor", *this);
  if (wanted == device()) return *this;
  if (wanted.type == DeviceType::Meta) {
    if (recording() && requiresGrad())
      fail("to", "no gradient comes back from meta; detach() the tensor first");
    return empty(shape(), {dtype(), wanted});
  }
  fail("to",
       "a tensor on " + rt::toString(device()) + " cannot be moved to " + rt::toString(wanted));
}

Tensor& Tensor::fill_(double value) {
  needsDefined("fill_", "the tensor", *this);
  static const OpInfo kInfo{"fill_", zeroBackward};
  Op op(kInfo, {this});
  beginInPlace(op, *this);
  op.launch(device(), {sizeBytes(), 0, LACUNA_RT_EXECUTION_FILL},
            [to = viewOf(*this), value] { kernel::fill(to, value); });
  if (op.needsGrad()) op.record({this}, {this});
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source) {
  needsDefined("copy_", "the tensor, source", *this, source);
  static const OpInfo kInfo{"copy_", copyInPlaceBackward};
  if (!isFloating(dtype()) && source.requiresGrad()) return copy_(source.detach());
  if (overlaps(*this, source)) return copy_(source.clone());
  Op op(kInfo, {this, &source});
  sameDevice(op.name(), {this, &source});
  if (broadcast(op.name(), shape(), source.shape()) != shape()) {
    op.fail("the source " + source.shape().toString() + " does not fit into " + shape().toString());
  }
  beginInPlaceOnEach(op, *this);
  op.launch(device(), {sizeBytes() + source.sizeBytes(), 0, LACUNA_RT_EXECUTION_COPY},
            [to = viewOf(*this), from = viewOf(source)] { kernel::copy(to, from); });
  noteWritten(*this);
  if (Node* node = op.record({this, &source}, {this})) {
    node->shapes = {source.shape()};
    node->ints[0] = static_cast<std::int64_t>(source.dtype());
  }
  return *this;
}

}  // namespace lacuna::rt
