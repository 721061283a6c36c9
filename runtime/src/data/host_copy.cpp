// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/host_copy.h"

#include <cstring>

namespace lacuna::rt {
namespace {

/// The part that remains to be walked over: the outermost `dims` dimensions, whose innermost
/// elements are pieces of `bytes`.
struct Walk {
  const Shape& shape;
  const Shape& strides;
  std::int64_t itemBytes;
  int dims;
  std::size_t bytes;
};

/// kBytes is the size of a piece where it is known: a copy of a fixed size is one instruction.
template <std::size_t kBytes>
std::byte* copyPieces(const Walk& walk, int dim, const std::byte* from, std::byte* to) {
  const std::size_t bytes = kBytes > 0 ? kBytes : walk.bytes;
  const std::int64_t step = walk.strides[dim] * walk.itemBytes;
  const bool last = dim + 1 == walk.dims;
  for (std::int64_t i = 0; i < walk.shape[dim]; ++i, from += step) {
    if (last) {
      std::memcpy(to, from, bytes);
      to += bytes;
    } else {
      to = copyPieces<kBytes>(walk, dim + 1, from, to);
    }
  }
  return to;
}

}  // namespace

void copyElements(const Tensor& tensor, std::byte* to) {
  if (tensor.isMeta()) fail("DataLoader", "a tensor on meta has no elements to put into a batch");
  if (tensor.sizeBytes() == 0) return;
  const auto* from = static_cast<const std::byte*>(tensor.data());
  const std::size_t itemBytes = itemSize(tensor.dtype());
  Walk walk{tensor.shape(), tensor.strides(), static_cast<std::int64_t>(itemBytes), tensor.rank(),
            itemBytes};
  // The innermost dimensions that lie one after the other are one piece.
  std::int64_t run = 1;
  for (; walk.dims > 0; --walk.dims) {
    const std::int64_t size = walk.shape[walk.dims - 1];
    if (size != 1 && walk.strides[walk.dims - 1] != run) break;
    run *= size;
  }
  walk.bytes = itemBytes * static_cast<std::size_t>(run);
  if (walk.dims == 0) {
    std::memcpy(to, from, walk.bytes);
    return;
  }
  switch (walk.bytes) {
    case 1:
      copyPieces<1>(walk, 0, from, to);
      break;
    case 2:
      copyPieces<2>(walk, 0, from, to);
      break;
    case 4:
      copyPieces<4>(walk, 0, from, to);
      break;
    case 8:
      copyPieces<8>(walk, 0, from, to);
      break;
    default:
      copyPieces<0>(walk, 0, from, to);
  }
}

namespace {

template <class Short>
void convertTo(const Tensor& to, const std::vector<float>& values) {
  auto* out = static_cast<Short*>(to.data());
  for (const float value : values) *out++ = Short(value);
}

Tensor shortened(const Tensor& tensor, DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  copyElements(tensor, reinterpret_cast<std::byte*>(values.data()));
  Tensor out = emptyHost(tensor.shape(), dtype);
  dtype == DType::F16 ? convertTo<Float16>(out, values) : convertTo<BFloat16>(out, values);
  return out;
}

}  // namespace

void shorten(std::vector<Tensor>& tensors, DType dtype) {
  for (Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.dtype() == DType::F32) tensor = shortened(tensor, dtype);
  }
}

}  // namespace lacuna::rt
