// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/fast_math.h"

namespace lacuna::rt::cpu {

namespace {

template <class T>
void floating(kernel::Unary op, const View& out, const View& x, double p) {
  using W = WideT<T>;
  using enum kernel::Unary;
  const W a = static_cast<W>(p);
  const W half = W(0.5);
  switch (op) {
    case Exp:
      return map<T>(out, x, [](W v) { return std::exp(v); });
    case Log:
      return map<T>(out, x, [](W v) { return std::log(v); });
    case Log1p:
      return map<T>(out, x, [](W v) { return std::log1p(v); });
    case Sqrt:
      return map<T>(out, x, [](W v) { return std::sqrt(v); });
    case Rsqrt:
      return map<T>(out, x, [](W v) { return W(1) / std::sqrt(v); });
    case Reciprocal:
      return map<T>(out, x, [](W v) { return W(1) / v; });
    case Sin:
      return map<T>(out, x, [](W v) { return std::sin(v); });
    case Cos:
      return map<T>(out, x, [](W v) { return std::cos(v); });
    case Tanh:
      return map<T>(out, x, [](W v) { return std::tanh(v); });
    case Sigmoid:
      return map<T>(out, x, [](W v) { return W(1) / (W(1) + std::exp(-v)); });
    case Gelu:
      return map<T>(out, x, [half](W v) {
        return half * v * (W(1) + fastErf(v * W(0.70710678118654752440)));
      });
    case GeluTanh:
      return map<T>(out, x, [half](W v) {
        return half * v *
               (W(1) + std::tanh(W(0.79788456080286535588) * (v + W(0.044715) * v * v * v)));
      });
    case Silu:
      return map<T>(out, x, [](W v) { return v / (W(1) + std::exp(-v)); });
    case Softplus:
      return map<T>(out, x, [](W v) { return v > W(20) ? v : std::log1p(std::exp(v)); });
    case Erf:
      return map<T>(out, x, [](W v) { return std::erf(v); });
    case Floor:
      return map<T>(out, x, [](W v) { return std::floor(v); });
    case Ceil:
      return map<T>(out, x, [](W v) { return std::ceil(v); });
    case Round:
      return map<T>(out, x, [](W v) { return std::nearbyint(v); });
    case Elu:
      return map<T>(out, x, [a](W v) { return v > W(0) ? v : a * std::expm1(v); });
    case DivScalar:
      return map<T>(out, x, [a](W v) { return v / a; });
    case PowScalar:  // the usual exponents, and what is left of them in gradients, without the
                     // library's function
      if (p == 1) return map<T>(out, x, [](W v) { return v; });
      if (p == 2) return map<T>(out, x, [](W v) { return v * v; });
      if (p == 3) return map<T>(out, x, [](W v) { return v * v * v; });
      return map<T>(out, x, [a](W v) { return std::pow(v, a); });
    default:
      throw Error("no such elementwise operation");
  }
}

}  // namespace

void floatingUnary(kernel::Unary op, const View& out, const View& x, double p) {
  dispatchFloating(x.dtype, [&](auto tag) { floating<decltype(tag)>(op, out, x, p); });
}

}  // namespace lacuna::rt::cpu
