// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/tensor_impl.h"

/// The order in which the elements of a tensor lie in memory. Beside row-major there is one order
/// that matters: channels last, where the channels of one pixel of [n, c, h, w] are neighbours. It
/// is a matter of strides alone, so every operator takes such tensors; convolutions and poolings
/// make them.
namespace lacuna::rt {

/// True when the strides are a permutation of row-major ones: every element once, and no gaps.
bool stridesAreDense(const Shape& shape, const Shape& strides);
inline bool isDense(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return impl.contiguous || stridesAreDense(impl.shape, impl.strides);
}

/// True when one place in memory is several elements, so that changing each of them in place means
/// nothing.
bool repeatsMemory(const TensorImpl& tensor);
/// True when writing `to`, element by element, may change elements of `from` before they are read.
bool overlapsWithin(const TensorImpl& to, const TensorImpl& from);
inline bool overlaps(const Tensor& to, const Tensor& from) {
  const TensorImpl* a = to.impl();
  const TensorImpl* b = from.impl();
  return a != nullptr && b != nullptr && a->storage == b->storage && overlapsWithin(*a, *b);
}

/// For four dimensions; sizes of 1 fit every order.
bool isChannelsLast(const Tensor& tensor);
/// x itself if it is channels last, else a copy. Records no gradient.
Tensor asChannelsLast(const Tensor& x);
Tensor emptyChannelsLast(const Shape& shape, Options options);
/// Dense memory in the given order.
Tensor emptyStrided(const Shape& shape, const Shape& strides, Options options);
/// x, or a copy, in the memory order of `like`, which is dense and of the same shape. Records no
/// gradient.
Tensor inOrderOf(const Tensor& like, const Tensor& x);
/// The memory that an execution works in, of the role workspace; undefined where it needs none.
Tensor emptyWorkspace(std::size_t bytes, Device device);
/// Memory for the result of an elementwise operator on both: in the order of the first dense one of
/// that shape.
Tensor emptyInOrderOf(const Shape& shape, DType dtype, const Tensor& a, const Tensor& b);

}  // namespace lacuna::rt
