// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elementwise.h"

namespace lacuna::rt::cpu {

namespace {

template <class T>
void arithmeticOf(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
  using W = WideT<T>;
  using enum kernel::Binary;
  const W s = static_cast<W>(alpha);
  switch (op) {
    case Add:
      if (alpha == 1) return zip<T, T>(out, a, b, [](W x, W y) { return W(x + y); });
      return zip<T, T>(out, a, b, [s](W x, W y) { return W(x + s * y); });
    case Sub:
      return zip<T, T>(out, a, b, [](W x, W y) { return W(x - y); });
    case Mul:
      return zip<T, T>(out, a, b, [](W x, W y) { return W(x * y); });
    case Div:
      if constexpr (std::is_floating_point_v<W>) return zip<T, T>(out, a, b, [](W x, W y) { return W(x / y); });
      break;
    case Maximum:
      return zip<T, T>(out, a, b, [](W x, W y) { return x > y || x != x ? x : y; });
    case Minimum:
      return zip<T, T>(out, a, b, [](W x, W y) { return x < y || x != x ? x : y; });
    case ReluGrad:
      return zip<T, T>(out, a, b, [](W g, W y) { return y > W(0) ? g : W(0); });
    default:
      break;
  }
  throw Error(std::string("needs a floating type, not ") + name(a.dtype));
}

}  // namespace

void arithmetic(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
  dispatch(a.dtype, [&](auto tag) { arithmeticOf<decltype(tag)>(op, out, a, b, alpha); });
}

}  // namespace lacuna::rt::cpu
