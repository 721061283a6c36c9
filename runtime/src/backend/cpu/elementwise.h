// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/loops.h"

/// Loops of the elementwise operators. The operators are spread over several files, by family,
/// because each combination of operator and type is a loop to compile.
namespace lacuna::rt::cpu {

/// Operands that are one short row of memory each.
struct Row {
  void* out;
  const void* a;
  const void* b;
  std::int64_t count;
};

inline bool isRow(const View& view) {
  return view.shape.rank() == 1 && view.strides[0] == 1;
}

/// One compiled loop for each operator and type, whoever calls it.
template <class O, class T, class F>
LACUNA_RT_EVERY_WIDTH void zipRow(O* out, const T* a, const T* b, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = O(f(WideT<T>(a[i]), WideT<T>(b[i])));
}

template <class O, class T, class F>
void zip(const View& out, const View& a, const View& b, F f) {
  auto* to = static_cast<O*>(out.data);
  const auto* left = static_cast<const T*>(a.data);
  const auto* right = static_cast<const T*>(b.data);
  // Most operators see their operands as one row each.
  if (isRow(out) && isRow(a) && isRow(b)) {
    return parallelFor(out.shape[0], kGrain, [=](std::int64_t begin, std::int64_t end) {
      zipRow(to + begin, left + begin, right + begin, end - begin, f);
    });
  }
  const auto loop = makeLoop<3>({&out, &a, &b});
  const std::int64_t so = loop.strides[0][0];
  const std::int64_t sa = loop.strides[1][0];
  const std::int64_t sb = loop.strides[2][0];
  runLoop(loop, [&](const auto& at, std::int64_t n) {
    O* o = to + at[0];
    const T* x = left + at[1];
    const T* y = right + at[2];
    if (so == 1 && sa == 1 && sb == 1) return zipRow(o, x, y, n, f);
    for (std::int64_t i = 0; i < n; ++i) o[i * so] = O(f(WideT<T>(x[i * sa]), WideT<T>(y[i * sb])));
  });
}

template <class T, class F>
LACUNA_RT_EVERY_WIDTH void mapRow(T* out, const T* x, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = T(f(static_cast<WideT<T>>(x[i])));
}

template <class T, class F>
void map(const View& out, const View& x, F f) {
  const auto loop = makeLoop<2>({&out, &x});
  auto* to = static_cast<T*>(out.data);
  const auto* from = static_cast<const T*>(x.data);
  const std::int64_t so = loop.strides[0][0];
  const std::int64_t sx = loop.strides[1][0];
  runLoop(loop, [&](const auto& at, std::int64_t n) {
    T* o = to + at[0];
    const T* a = from + at[1];
    if (so == 1 && sx == 1) return mapRow(o, a, n, f);
    for (std::int64_t i = 0; i < n; ++i) o[i * so] = T(f(static_cast<WideT<T>>(a[i * sx])));
  });
}

/// base^exponent; overflow wraps, and of negative powers what is below one is cut off.
template <class T>
T integerPower(T base, std::int64_t exponent) {
  static_assert(kIsWhole<T>);
  using U = std::make_unsigned_t<T>;
  if (exponent < 0)
    return base == T(1) || (base == T(-1) && exponent % 2 == 0) ? T(1)
           : base == T(-1)                                      ? T(-1)
                                                                : T(0);
  std::uint64_t result = 1;
  for (std::uint64_t square = static_cast<U>(base); exponent != 0;
       exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

/// The families; each throws for an operator that is not its own.
void arithmetic(kernel::Binary op, const View& out, const View& a, const View& b, double alpha);
void arithmetic(kernel::Binary op, DType dtype, const Row& row, double alpha);
void compare(kernel::Binary op, const View& out, const View& a, const View& b);
void floatingBinary(kernel::Binary op, const View& out, const View& a, const View& b, double alpha);
void floatingUnary(kernel::Unary op, const View& out, const View& x, double p);

}  // namespace lacuna::rt::cpu
