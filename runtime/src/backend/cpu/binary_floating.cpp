// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/fast_math.h"

namespace lacuna::rt::cpu {

namespace {

template <class T>
void floating(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
  using W = WideT<T>;
  using enum kernel::Binary;
  const W p = static_cast<W>(alpha);
  switch (op) {
    case Pow:
      return zip<T, T>(out, a, b, [](W x, W y) { return std::pow(x, y); });
    case TanhGrad:
      return zip<T, T>(out, a, b, [](W g, W y) { return g * (W(1) - y * y); });
    case SigmoidGrad:
      return zip<T, T>(out, a, b, [](W g, W y) { return g * y * (W(1) - y); });
    case GeluGrad:
      return zip<T, T>(out, a, b, [](W g, W x) {
        const W cdf = W(0.5) * (W(1) + fastErf(x * W(0.70710678118654752440)));
        return g * (cdf + x * fastExp(W(-0.5) * x * x) * W(0.39894228040143267794));
      });
    case GeluTanhGrad:
      return zip<T, T>(out, a, b, [](W g, W x) {
        const W k = W(0.79788456080286535588);
        const W t = std::tanh(k * (x + W(0.044715) * x * x * x));
        return g * (W(0.5) * (W(1) + t) +
                    W(0.5) * x * (W(1) - t * t) * k * (W(1) + W(3 * 0.044715) * x * x));
      });
    case SiluGrad:
      return zip<T, T>(out, a, b, [](W g, W x) {
        const W s = W(1) / (W(1) + std::exp(-x));
        return g * s * (W(1) + x * (W(1) - s));
      });
    case EluGrad:
      return zip<T, T>(out, a, b, [p](W g, W y) { return y > W(0) ? g : g * (y + p); });
    default:
      throw Error("no such elementwise operation");
  }
}

}  // namespace

void floatingBinary(kernel::Binary op, const View& out, const View& a, const View& b,
                    double alpha) {
  dispatchFloating(a.dtype, [&](auto tag) { floating<decltype(tag)>(op, out, a, b, alpha); });
}

}  // namespace lacuna::rt::cpu
