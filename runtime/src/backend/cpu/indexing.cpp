// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;

namespace {

std::int64_t checkedIndex(std::int64_t index, int dim, const Shape& shape) {
  if (index < 0 || index >= shape[dim]) [[unlikely]] {
    throw Error("index " + std::to_string(index) + " is outside dimension " + std::to_string(dim) +
                " of " + shape.toString());
  }
  return index;
}

struct Range {
  std::int64_t begin, end;
};

/// Calls visit(offset in `indexed`, offset in `plain`) for elements of `index`'s shape: gather and
/// its relatives.
template <class Visit>
void eachIndexed(Range range, const View& index, const View& indexed, const View& plain, int dim,
                 const Visit& visit) {
  const int rank = index.shape.rank();
  const auto* at = static_cast<const std::int64_t*>(index.data);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    std::int64_t rest = i;
    std::int64_t offsetIndex = 0;
    std::int64_t offsetIndexed = 0;
    std::int64_t offsetPlain = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const std::int64_t k = rest % index.shape[d];
      rest /= index.shape[d];
      offsetIndex += k * index.strides[d];
      offsetPlain += k * plain.strides[d];
      if (d != dim) offsetIndexed += k * indexed.strides[d];
    }
    offsetIndexed += checkedIndex(at[offsetIndex], dim, indexed.shape) * indexed.strides[dim];
    visit(offsetIndexed, offsetPlain);
  }
}

template <class T>
T added(T a, T b) {
  using W = WideT<T>;
  return T(W(cpu::wrapping(static_cast<W>(a)) + cpu::wrapping(static_cast<W>(b))));
}

struct Panels {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};
Panels panelsOf(const Shape& shape, int dim) {
  Panels panels;
  for (int d = 0; d < dim; ++d) panels.outer *= shape[d];
  for (int d = dim + 1; d < shape.rank(); ++d) panels.inner *= shape[d];
  return panels;
}

}  // namespace

void kernel::indexSelect(const View& out, const View& x, const View& index, int dim) {
  const Panels panels = panelsOf(x.shape, dim);
  const auto* at = static_cast<const std::int64_t*>(index.data);
  const std::int64_t count = index.shape.numel();
  const std::size_t bytes = static_cast<std::size_t>(panels.inner) * itemSize(x.dtype);
  for (std::int64_t i = 0; i < count; ++i) checkedIndex(at[i], dim, x.shape);
  const std::int64_t grain =
      std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, panels.inner));
  parallelFor(panels.outer * count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t from = i / count * x.shape[dim] + at[i % count];
      std::memcpy(static_cast<std::byte*>(out.data) + static_cast<std::size_t>(i) * bytes,
                  static_cast<const std::byte*>(x.data) + static_cast<std::size_t>(from) * bytes,
                  bytes);
    }
  });
}

// Columns are shared out among threads, so each sum is taken in the order of the indices.
void kernel::indexAdd(const View& out, const View& index, const View& values, int dim) {
  const Panels panels = panelsOf(out.shape, dim);
  const auto* at = static_cast<const std::int64_t*>(index.data);
  const std::int64_t count = index.shape.numel();
  for (std::int64_t i = 0; i < count; ++i) checkedIndex(at[i], dim, out.shape);
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallelFor(panels.inner, 32, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < panels.outer * count; ++i) {
        T* to =
            static_cast<T*>(out.data) + (i / count * out.shape[dim] + at[i % count]) * panels.inner;
        const T* from = static_cast<const T*>(values.data) + i * panels.inner;
        for (std::int64_t c = begin; c < end; ++c) to[c] = added(to[c], from[c]);
      }
    });
  });
}

void kernel::gather(const View& out, const View& x, const View& index, int dim) {
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallelFor(index.shape.numel(), cpu::kGrain / 4, [&](std::int64_t begin, std::int64_t end) {
      eachIndexed({begin, end}, index, x, out, dim, [&](std::int64_t from, std::int64_t to) {
        static_cast<T*>(out.data)[to] = static_cast<const T*>(x.data)[from];
      });
    });
  });
}

// Several elements may go to one place, so these two go through them in order.
void kernel::scatterAdd(const View& out, const View& index, const View& values, int dim) {
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    eachIndexed({0, index.shape.numel()}, index, out, values, dim,
                [&](std::int64_t to, std::int64_t from) {
                  T& sum = static_cast<T*>(out.data)[to];
                  sum = added(sum, static_cast<const T*>(values.data)[from]);
                });
  });
}

void kernel::scatter(const View& out, const View& index, const View& values, int dim) {
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    eachIndexed({0, index.shape.numel()}, index, out, values, dim,
                [&](std::int64_t to, std::int64_t from) {
                  static_cast<T*>(out.data)[to] = static_cast<const T*>(values.data)[from];
                });
  });
}

}  // namespace lacuna::rt
