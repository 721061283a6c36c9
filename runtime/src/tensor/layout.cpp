// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/layout.h"

#include <algorithm>
#include <array>

#include "backend/backend.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

Shape channelsLastStrides(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
}

}  // namespace

bool stridesAreDense(const Shape& shape, const Shape& strides) {
  std::array<int, kMaxRank> order{};
  int count = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1) order[static_cast<std::size_t>(count++)] = d;
  }
  std::sort(order.begin(), order.begin() + count,
            [&](int a, int b) { return strides[a] < strides[b]; });
  std::int64_t step = 1;
  for (int i = 0; i < count; ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    if (strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

bool repeatsMemory(const TensorImpl& impl) {
  if (impl.contiguous || impl.shape.numel() == 0) return false;
  for (int d = 0; d < impl.shape.rank(); ++d) {
    if (impl.shape[d] != 1 && impl.strides[d] == 0) return true;
  }
  return false;
}

bool overlapsWithin(const TensorImpl& a, const TensorImpl& b) {
  if (a.shape.numel() == 0 || b.shape.numel() == 0) return false;
  if (a.offset == b.offset && a.shape == b.shape &&
      (a.strides == b.strides || (a.contiguous && b.contiguous)))
    return false;
  const auto last = [](const TensorImpl& impl) {
    std::int64_t at = impl.offset;
    for (int d = 0; d < impl.shape.rank(); ++d) at += (impl.shape[d] - 1) * impl.strides[d];
    return at;
  };
  return a.offset <= last(b) && b.offset <= last(a);
}

bool isChannelsLast(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 4) return false;
  const Shape wanted = channelsLastStrides(shape);
  for (int d = 0; d < 4; ++d) {
    if (shape[d] != 1 && tensor.strides()[d] != wanted[d]) return false;
  }
  return true;
}

Tensor asChannelsLast(const Tensor& x) {
  static const OpInfo kInfo{"channels_last"};
  if (isChannelsLast(x)) return x;
  const Op op(kInfo, {});
  Tensor out = emptyChannelsLast(x.shape(), {x.dtype(), x.device()});
  op.launch(x.device(), {x.sizeBytes() + out.sizeBytes(), 0, LACUNA_RT_EXECUTION_COPY},
            [to = viewOf(out), from = viewOf(x)] { kernel::copy(to, from); });
  return out;
}

Tensor emptyChannelsLast(const Shape& shape, Options options) {
  return emptyStrided(shape, channelsLastStrides(shape), options);
}

Tensor emptyStrided(const Shape& shape, const Shape& strides, Options options) {
  Tensor out = empty(shape, options);
  TensorImpl& impl = *out.impl();
  impl.strides = strides;
  impl.contiguous = stridesAreContiguous(shape, strides);
  return out;
}

Tensor inOrderOf(const Tensor& like, const Tensor& x) {
  static const OpInfo kInfo{"reorder"};
  if (x.strides() == like.strides() || (x.isContiguous() && like.isContiguous())) return x.detach();
  const Op op(kInfo, {});
  Tensor out = emptyStrided(like.shape(), like.strides(), {x.dtype(), x.device()});
  op.launch(x.device(), {x.sizeBytes() + out.sizeBytes(), 0, LACUNA_RT_EXECUTION_COPY},
            [to = viewOf(out), from = viewOf(x)] { kernel::copy(to, from); });
  return out;
}

Tensor emptyInOrderOf(const Shape& shape, DType dtype, const Tensor& a, const Tensor& b) {
  const Options options{dtype, a.device()};
  for (const Tensor* like : {&a, &b}) {
    if (like->shape() != shape) continue;
    if (like->isContiguous()) break;
    if (isDense(*like)) return emptyStrided(shape, like->strides(), options);
  }
  return empty(shape, options);
}

Tensor emptyWorkspace(std::size_t bytes, Device device) {
  return bytes == 0
             ? Tensor()
             : empty({static_cast<std::int64_t>(bytes)}, {DType::U8, device, Role::Workspace});
}

}  // namespace lacuna::rt
