// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;
using cpu::wrapping;

namespace {

/// Floating sums are kept in double: the result does not depend on how work is cut, and long sums
/// keep their digits.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<WideT<T>>, double, std::int64_t>;

/// The type that a reduction of T gives: `Whole` for integers, T for the others.
template <class T, class Integral>
using Result = std::conditional_t<std::is_floating_point_v<WideT<T>>, T, Integral>;

/// The dimensions of x split into kept and reduced ones, from the widest step in memory to the
/// narrowest. Those that lie together are joined.
struct Split {
  Shape kept, keptStrides, outStrides, reduced, reducedStrides;

  void keep(std::int64_t size, std::int64_t stride, std::int64_t outStride) {
    const int last = kept.rank() - 1;
    if (last >= 0 && keptStrides[last] == size * stride && outStrides[last] == size * outStride) {
      kept[last] *= size;
      keptStrides[last] = stride;
      outStrides[last] = outStride;
      return;
    }
    kept.push(size);
    keptStrides.push(stride);
    outStrides.push(outStride);
  }
  void reduce(std::int64_t size, std::int64_t stride) {
    const int last = reduced.rank() - 1;
    if (last >= 0 && reducedStrides[last] == size * stride) {
      reduced[last] *= size;
      reducedStrides[last] = stride;
      return;
    }
    reduced.push(size);
    reducedStrides.push(stride);
  }
};

Split split(const View& out, const View& x) {
  Split parts;
  const std::array<int, kMaxRank> order = cpu::byStride(x);
  for (int i = 0; i < x.shape.rank(); ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    if (out.shape[d] != x.shape[d]) {
      parts.reduce(x.shape[d], x.strides[d]);
    } else if (x.shape[d] != 1) {
      parts.keep(x.shape[d], x.strides[d], out.strides[d]);
    }
  }
  return parts;
}

std::int64_t offsetOf(std::int64_t index, const Shape& shape, const Shape& strides) {
  std::int64_t offset = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    offset += index % shape[d] * strides[d];
    index /= shape[d];
  }
  return offset;
}

/// Elements that are folded in one go. A longer reduction folds each such piece by itself, and then
/// the pieces in their order. So the result does not depend on how work is cut.
constexpr std::int64_t kPiece = cpu::kGrain;

template <class T, class A, class Step>
LACUNA_RT_EVERY_WIDTH A foldRow(const T* row, std::int64_t count, A start, Step step) {
  return cpu::foldLanes(
      count, start, [row](std::int64_t i) { return A(static_cast<WideT<T>>(row[i])); }, step);
}
template <class T, class A, class Step>
A foldRow(const T* row, std::int64_t stride, std::int64_t count, A start, const Step& step) {
  if (stride == 1) return foldRow(row, count, start, step);
  const auto at = [row, stride](std::int64_t i) {
    return A(static_cast<WideT<T>>(row[i * stride]));
  };
  return cpu::foldLanes(count, start, at, step);
}

/// The elements begin … end of one reduction.
template <class T, class A, class Step>
A foldPiece(const T* base, const Split& parts, std::int64_t begin, std::int64_t end, A start,
            const Step& step) {
  const int inner = parts.reduced.rank() - 1;
  if (inner < 0) return step(start, A(static_cast<WideT<T>>(*base)));
  const std::int64_t row = parts.reduced[inner];
  const std::int64_t stride = parts.reducedStrides[inner];
  Shape outer = parts.reduced;
  outer.erase(inner);
  A value = start;
  while (begin < end) {
    const std::int64_t within = begin % row;
    const std::int64_t count = std::min(row - within, end - begin);
    const T* first = base + offsetOf(begin / row, outer, parts.reducedStrides) + within * stride;
    value = step(value, foldRow(first, stride, count, start, step));
    begin += count;
  }
  return value;
}

template <class T, class O = T, class A, class Step, class Finish>
void fold(const View& out, const View& x, A start, const Step& step, const Finish& finish) {
  const Split parts = split(out, x);
  const std::int64_t kept = parts.kept.numel();
  const std::int64_t each = parts.reduced.numel();
  const std::int64_t pieces = std::max<std::int64_t>(1, (each + kPiece - 1) / kPiece);
  const auto ofPiece = [&](std::int64_t i, std::int64_t piece) {
    const T* base = static_cast<const T*>(x.data) + offsetOf(i, parts.kept, parts.keptStrides);
    return foldPiece(base, parts, piece * kPiece, std::min(each, (piece + 1) * kPiece), start,
                     step);
  };
  const auto put = [&](std::int64_t i, A value) {
    static_cast<O*>(out.data)[offsetOf(i, parts.kept, parts.outStrides)] =
        O(static_cast<WideT<O>>(finish(value)));
  };
  if (pieces == 1) {
    const std::int64_t grain =
        std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, each));
    parallelFor(kept, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) put(i, ofPiece(i, 0));
    });
    return;
  }
  const auto partial = std::make_unique<A[]>(static_cast<std::size_t>(kept * pieces));
  parallelFor(kept * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      partial[static_cast<std::size_t>(i)] = ofPiece(i / pieces, i % pieces);
  });
  for (std::int64_t i = 0; i < kept; ++i) {
    A value = start;
    for (std::int64_t piece = 0; piece < pieces; ++piece)
      value = step(value, partial[static_cast<std::size_t>(i * pieces + piece)]);
    put(i, value);
  }
}

template <class T>
LACUNA_RT_EVERY_WIDTH void addRows(double* sums, const T* from, std::int64_t step,
                                   std::int64_t rows, std::int64_t columns) {
  cpu::addRows(sums, rows, columns, [from, step](std::int64_t r, std::int64_t c) {
    return static_cast<double>(static_cast<WideT<T>>(from[r * step + c]));
  });
}

// Sums over leading dimensions, the gradient of a bias: rows are added up in order, columns side by
// side.
template <class T>
bool sumColumns(const View& out, const View& x, double scale) {
  if constexpr (!std::is_floating_point_v<WideT<T>>) return false;
  const Split parts = split(out, x);
  if (parts.kept.rank() != 1 || parts.reduced.rank() != 1 || parts.keptStrides[0] != 1)
    return false;
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(out.data);
  const std::int64_t rows = parts.reduced[0];
  parallelFor(parts.kept[0],
              std::max<std::int64_t>(64, cpu::kGrain / std::max<std::int64_t>(rows, 1)),
              [&](std::int64_t begin, std::int64_t end) {
                std::vector<double> sums(static_cast<std::size_t>(end - begin), 0.0);
                addRows(sums.data(), from + begin, parts.reducedStrides[0], rows, end - begin);
                for (std::size_t c = 0; c < sums.size(); ++c) {
                  to[(begin + static_cast<std::int64_t>(c)) * parts.outStrides[0]] =
                      T(static_cast<WideT<T>>(sums[c] * scale));
                }
              });
  return true;
}

template <class T>
void reduceAs(kernel::Reduce op, const View& out, const View& x) {
  using W = WideT<T>;
  using S = Sum<T>;
  const std::int64_t kept = std::max<std::int64_t>(out.shape.numel(), 1);
  const std::int64_t each = x.shape.numel() / kept;
  const auto n = static_cast<double>(each);
  switch (op) {
    case kernel::Reduce::Sum:
      if (sumColumns<T>(out, x, 1)) return;
      return fold<T, Result<T, std::int64_t>>(
          out, x, S(0), [](S a, S b) { return S(wrapping(a) + wrapping(b)); },
          [](S a) { return a; });
    case kernel::Reduce::Mean:
      if (sumColumns<T>(out, x, 1 / n)) return;
      return fold<T, Result<T, float>>(
          out, x, 0.0, [](double a, double b) { return a + b; }, [n](double a) { return a / n; });
    case kernel::Reduce::Max:
      return fold<T>(
          out, x,
          W(std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity()
                                                 : std::numeric_limits<W>::lowest()),
          [](W a, W b) { return b > a || b != b ? b : a; }, [](W a) { return a; });
    case kernel::Reduce::Min:
      return fold<T>(
          out, x,
          W(std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity()
                                                 : std::numeric_limits<W>::max()),
          [](W a, W b) { return b < a || b != b ? b : a; }, [](W a) { return a; });
  }
}

}  // namespace

void kernel::reduce(Reduce op, const View& out, const View& x) {
  cpu::dispatch(x.dtype, [&](auto tag) { reduceAs<decltype(tag)>(op, out, x); });
}

void kernel::argReduce(bool max, const View& out, const View& x, int dim) {
  cpu::dispatch(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    View moved = x;
    moved.shape[dim] = 1;
    const std::int64_t stride = x.strides[dim];
    auto* to = static_cast<std::int64_t*>(out.data);
    const std::int64_t grain =
        std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, x.shape[dim]));
    parallelFor(moved.shape.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* base = static_cast<const T*>(x.data) + offsetOf(i, moved.shape, moved.strides);
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < x.shape[dim]; ++k) {
          const auto value = static_cast<WideT<T>>(base[k * stride]);
          const auto held = static_cast<WideT<T>>(base[best * stride]);
          if (held != held) break;  // NaN, as for max and min
          if (value != value || (max ? value > held : value < held)) best = k;
        }
        to[i] = best;
      }
    });
  });
}

}  // namespace lacuna::rt
