// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "backend/backend.h"
#include "backend/cpu/parallel.h"

/// Loops over strided operands: dimensions that lie together are joined, the innermost runs in one
/// call.
namespace lacuna::rt::cpu {

/// In front of a function that is a loop over values. The function is compiled for the vectors of
/// the usual processors, with all that it calls, and the program's start picks one. Kernels are
/// compiled without contraction, so all of them give the same numbers. Inlined at its callers it
/// would be compiled once more for each, and for one width alone.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(LACUNA_RT_ONE_WIDTH)
#define LACUNA_RT_EVERY_WIDTH \
  [[gnu::noinline, gnu::flatten, gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define LACUNA_RT_EVERY_WIDTH
#endif

inline constexpr std::int64_t kGrain = 16384;

/// Number of values that are added up or compared side by side in a row: each step of one sum would
/// wait for the one before. As many on every processor, so that all give the same numbers.
inline constexpr std::int64_t kLanes = 16;

/// step(… step(start, at(0)) …, at(count - 1)), lane by lane and then lane after lane.
template <class A, class At, class Step>
A foldLanes(std::int64_t count, A start, const At& at, const Step& step) {
  A value = start;
  std::int64_t i = 0;
  if (count >= kLanes) {
    std::array<A, kLanes> lanes;
    lanes.fill(start);
    for (; i + kLanes <= count; i += kLanes) {
      for (std::int64_t k = 0; k < kLanes; ++k) {
        A& lane = lanes[static_cast<std::size_t>(k)];
        lane = step(lane, at(i + k));
      }
    }
    for (const A lane : lanes) value = step(value, lane);
  }
  for (; i < count; ++i) value = step(value, at(i));
  return value;
}
template <class W, class At>
W sumLanes(std::int64_t count, const At& at) {
  return foldLanes(count, W(0), at, [](W a, W b) { return a + b; });
}
/// sums[c] += at(r, c), one row after the other; four at a time, so that the sums are read and
/// written less often.
template <class A, class At>
void addRows(A* __restrict sums, std::int64_t rows, std::int64_t columns, const At& at) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    for (std::int64_t c = 0; c < columns; ++c)
      sums[c] = sums[c] + at(r, c) + at(r + 1, c) + at(r + 2, c) + at(r + 3, c);
  }
  for (; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += at(r, c);
  }
}
/// NaN counts for nothing; -infinity where there is nothing else.
template <class W, class At>
W largestOf(std::int64_t count, const At& at) {
  return foldLanes(count, -std::numeric_limits<W>::infinity(), at,
                   [](W a, W b) { return b > a ? b : a; });
}

/// Arithmetic of the 16-bit types happens in float.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<BFloat16> {
  using Type = float;
};
template <>
struct Wide<Float16> {
  using Type = float;
};
template <class T>
using WideT = typename Wide<T>::Type;

/// `value` as T; what an integer cannot hold becomes its nearest.
template <class T>
T nearest(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!(value > static_cast<double>(std::numeric_limits<T>::min())))
      return value == value ? std::numeric_limits<T>::min() : T(0);
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

/// `value` as O, whatever it is: of floating numbers an integer gets the nearest that it holds (NaN
/// gives 0), of wider integers what remains when they wrap around.
template <class O, class I>
O converted(I value) {
  if constexpr (std::is_floating_point_v<I> && std::is_integral_v<O>) {
    return nearest<O>(static_cast<double>(value));
  } else {
    return static_cast<O>(value);
  }
}

template <class T>
inline constexpr bool kIsWhole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// A whole number as the unsigned one of its size, whose arithmetic wraps around; any other number
/// as it is.
template <class W>
auto wrapping(W value) {
  if constexpr (kIsWhole<W>) {
    return static_cast<std::make_unsigned_t<W>>(value);
  } else {
    return value;
  }
}

/// Calls f(T{}) with the C++ type of `type`.
template <class F>
void dispatchFloating(DType type, F&& f) {
  switch (type) {
    case DType::F32:
      return f(float{});
    case DType::F64:
      return f(double{});
    case DType::BF16:
      return f(BFloat16{});
    case DType::F16:
      return f(Float16{});
    default:
      throw Error(std::string("needs a floating type, not ") + name(type));
  }
}
template <class F>
void dispatch(DType type, F&& f) {
  switch (type) {
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::U8:
      return f(std::uint8_t{});
    case DType::Bool:
      return f(bool{});
    default:
      return dispatchFloating(type, f);
  }
}

template <int N>
struct Loop {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};  ///< innermost first
  std::array<std::array<std::int64_t, kMaxRank>, N> strides{};
  std::int64_t count = 1;
};

/// The dimensions from the widest step in memory to the narrowest: the order in which to go through
/// `view`.
inline std::array<int, kMaxRank> byStride(const View& view) {
  std::array<int, kMaxRank> order{};
  const int rank = view.shape.rank();
  for (int d = 0; d < rank; ++d) {
    int at = d;
    for (; at > 0; --at) {
      const int before = order[static_cast<std::size_t>(at - 1)];
      if (view.shape[d] == 1 || view.shape[before] == 1 || view.strides[before] >= view.strides[d])
        break;
      order[static_cast<std::size_t>(at)] = before;
    }
    order[static_cast<std::size_t>(at)] = d;
  }
  return order;
}

/// Operands are views of the same shape (operand 0's), missing sizes given as stride 0.
template <int N>
Loop<N> makeLoop(const std::array<const View*, N>& views) {
  Loop<N> loop;
  const Shape& shape = views[0]->shape;
  const std::array<int, kMaxRank> order = byStride(*views[0]);
  for (int at = shape.rank() - 1; at >= 0; --at) {
    const int d = order[static_cast<std::size_t>(at)];
    loop.count *= shape[d];
    if (shape[d] == 1) continue;
    bool join = loop.rank > 0;
    for (int i = 0; i < N && join; ++i) {
      const auto& own = loop.strides[static_cast<std::size_t>(i)];
      const auto inner = static_cast<std::size_t>(loop.rank - 1);
      join = views[static_cast<std::size_t>(i)]->strides[d] == own[inner] * loop.sizes[inner];
    }
    if (join) {
      loop.sizes[static_cast<std::size_t>(loop.rank - 1)] *= shape[d];
      continue;
    }
    loop.sizes[static_cast<std::size_t>(loop.rank)] = shape[d];
    for (int i = 0; i < N; ++i) {
      loop.strides[static_cast<std::size_t>(i)][static_cast<std::size_t>(loop.rank)] =
          views[static_cast<std::size_t>(i)]->strides[d];
    }
    ++loop.rank;
  }
  if (loop.rank == 0) {
    loop.rank = 1;
    loop.sizes[0] = 1;
  }
  return loop;
}

/// Calls inner(offsets, count) for pieces of innermost rows; offsets are in elements, one per
/// operand.
template <int N, class Inner>
void runLoop(const Loop<N>& loop, const Inner& inner) {
  if (loop.count == 0) return;
  const std::int64_t row = loop.sizes[0];
  parallelFor(loop.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::array<std::int64_t, N> offsets{};
      const std::int64_t within = begin % row;
      std::int64_t rest = begin / row;
      for (int i = 0; i < N; ++i) offsets[i] = within * loop.strides[i][0];
      for (int d = 1; d < loop.rank; ++d) {
        const std::int64_t at = rest % loop.sizes[d];
        rest /= loop.sizes[d];
        for (int i = 0; i < N; ++i) offsets[i] += at * loop.strides[i][d];
      }
      const std::int64_t piece = std::min(row - within, end - begin);
      inner(offsets, piece);
      begin += piece;
    }
  });
}

/// Views of x with x's dimensions stretched to `shape`.
inline View stretched(const View& x, const Shape& shape) {
  View out = x;
  out.shape = shape;
  out.strides = Shape::filled(shape.rank(), 0);
  for (int i = 1; i <= x.shape.rank(); ++i) {
    if (x.shape[x.shape.rank() - i] != 1)
      out.strides[shape.rank() - i] = x.strides[x.shape.rank() - i];
  }
  return out;
}

}  // namespace lacuna::rt::cpu
