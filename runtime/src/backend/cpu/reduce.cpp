// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;
using cpu::wrapping;

namespace {

/// Floating sums are kept in double: the result does not depend on how work is cut, and long sums keep their digits.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<WideT<T>>, double, std::int64_t>;

/// What a reduction of T gives: `Whole` for integers, T for the others.
template <class T, class Whole>
using Result = std::conditional_t<std::is_floating_point_v<WideT<T>>, T, Whole>;

/// The dimensions of x split into kept and reduced ones, with x's strides.
struct Split {
  Shape kept, keptStrides, outStrides, reduced, reducedStrides;
};

Split split(const View& out, const View& x) {
  Split parts;
  for (int d = 0; d < x.shape.rank(); ++d) {
    if (out.shape[d] == x.shape[d]) {
      if (x.shape[d] == 1) continue;
      parts.kept.push(x.shape[d]);
      parts.keptStrides.push(x.strides[d]);
      parts.outStrides.push(out.strides[d]);
    } else {
      parts.reduced.push(x.shape[d]);
      parts.reducedStrides.push(x.strides[d]);
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

template <class T, class A, class Step>
A foldOne(const T* base, const Split& parts, A value, const Step& step) {
  const int inner = parts.reduced.rank() - 1;
  if (inner < 0) return step(value, A(static_cast<WideT<T>>(*base)));
  const std::int64_t row = parts.reduced[inner];
  const std::int64_t stride = parts.reducedStrides[inner];
  const std::int64_t rows = row == 0 ? 0 : parts.reduced.numel() / row;
  Shape outer = parts.reduced;
  outer.erase(inner);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* at = base + offsetOf(r, outer, parts.reducedStrides);
    for (std::int64_t i = 0; i < row; ++i) value = step(value, A(static_cast<WideT<T>>(at[i * stride])));
  }
  return value;
}

template <class T, class O = T, class A, class Step, class Finish>
void fold(const View& out, const View& x, A start, const Step& step, const Finish& finish) {
  const Split parts = split(out, x);
  auto* to = static_cast<O*>(out.data);
  const auto* from = static_cast<const T*>(x.data);
  const std::int64_t each = std::max<std::int64_t>(parts.reduced.numel(), 1);
  parallelFor(parts.kept.numel(), std::max<std::int64_t>(1, cpu::kGrain / each),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  const T* base = from + offsetOf(i, parts.kept, parts.keptStrides);
                  to[offsetOf(i, parts.kept, parts.outStrides)] =
                      O(static_cast<WideT<O>>(finish(foldOne(base, parts, start, step))));
                }
              });
}

// Sums over leading dimensions, the gradient of a bias: rows are added up in order, columns side by side.
template <class T>
bool sumColumns(const View& out, const View& x, double scale) {
  if constexpr (!std::is_floating_point_v<WideT<T>>) return false;
  const Split parts = split(out, x);
  if (parts.kept.rank() != 1 || parts.reduced.rank() != 1 || parts.keptStrides[0] != 1) return false;
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(out.data);
  const std::int64_t rows = parts.reduced[0];
  parallelFor(parts.kept[0], std::max<std::int64_t>(64, cpu::kGrain / std::max<std::int64_t>(rows, 1)),
              [&](std::int64_t begin, std::int64_t end) {
                std::vector<double> sums(static_cast<std::size_t>(end - begin), 0.0);
                for (std::int64_t r = 0; r < rows; ++r) {
                  const T* row = from + r * parts.reducedStrides[0] + begin;
                  for (std::size_t c = 0; c < sums.size(); ++c)
                    sums[c] += static_cast<double>(static_cast<WideT<T>>(row[c]));
                }
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
  const auto n = static_cast<double>(x.shape.numel() / kept);
  switch (op) {
    case kernel::Reduce::Sum:
      if (sumColumns<T>(out, x, 1)) return;
      return fold<T, Result<T, std::int64_t>>(
          out, x, S(0), [](S a, S b) { return S(wrapping(a) + wrapping(b)); }, [](S a) { return a; });
    case kernel::Reduce::Mean:
      if (sumColumns<T>(out, x, 1 / n)) return;
      return fold<T, Result<T, float>>(
          out, x, 0.0, [](double a, double b) { return a + b; }, [n](double a) { return a / n; });
    case kernel::Reduce::Prod:
      return fold<T>(
          out, x, S(1), [](S a, S b) { return S(wrapping(a) * wrapping(b)); }, [](S a) { return a; });
    case kernel::Reduce::Max:
      return fold<T>(
          out, x,
          std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity() : std::numeric_limits<W>::lowest(),
          [](W a, W b) { return b > a || b != b ? b : a; }, [](W a) { return a; });
    case kernel::Reduce::Min:
      return fold<T>(
          out, x,
          std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity() : std::numeric_limits<W>::max(),
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
    const std::int64_t grain = std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, x.shape[dim]));
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
