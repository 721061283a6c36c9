// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/cpu/fast_math.h"
#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;

namespace {

bool isRow(const View& view) {
  return view.shape.rank() == 1 && view.strides[0] == 1;
}

/// Most operators see their operands as one row each.
template <class O, class T, class F>
void zipRows(const View& out, const View& a, const View& b, F f) {
  auto* to = static_cast<O*>(out.data);
  const auto* left = static_cast<const T*>(a.data);
  const auto* right = static_cast<const T*>(b.data);
  parallelFor(out.shape[0], cpu::kGrain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = O(f(WideT<T>(left[i]), WideT<T>(right[i])));
  });
}

template <class O, class T, class F>
void zip(const View& out, const View& a, const View& b, F f) {
  if (isRow(out) && isRow(a) && isRow(b)) return zipRows<O, T>(out, a, b, f);
  const auto loop = cpu::makeLoop<3>({&out, &a, &b});
  auto* to = static_cast<O*>(out.data);
  const auto* left = static_cast<const T*>(a.data);
  const auto* right = static_cast<const T*>(b.data);
  const std::int64_t so = loop.strides[0][0];
  const std::int64_t sa = loop.strides[1][0];
  const std::int64_t sb = loop.strides[2][0];
  cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
    O* o = to + at[0];
    const T* x = left + at[1];
    const T* y = right + at[2];
    if (so == 1 && sa == 1 && sb == 1) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = O(f(WideT<T>(x[i]), WideT<T>(y[i])));
    } else {
      for (std::int64_t i = 0; i < n; ++i) o[i * so] = O(f(WideT<T>(x[i * sa]), WideT<T>(y[i * sb])));
    }
  });
}

template <class T>
void arithmetic(kernel::Binary op, const View& out, const View& a, const View& b, double alpha);

template <class T>
void gradient(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
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
        const W cdf = W(0.5) * (W(1) + cpu::fastErf(x * W(0.70710678118654752440)));
        return g * (cdf + x * cpu::fastExp(W(-0.5) * x * x) * W(0.39894228040143267794));
      });
    case GeluTanhGrad:
      return zip<T, T>(out, a, b, [](W g, W x) {
        const W k = W(0.79788456080286535588);
        const W t = std::tanh(k * (x + W(0.044715) * x * x * x));
        return g * (W(0.5) * (W(1) + t) + W(0.5) * x * (W(1) - t * t) * k * (W(1) + W(3 * 0.044715) * x * x));
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

template <class T>
void arithmetic(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
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
    case Equal:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x == y; });
    case NotEqual:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x != y; });
    case Less:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x < y; });
    case LessEqual:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x <= y; });
    case Greater:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x > y; });
    case GreaterEqual:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x >= y; });
    case And:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x != W(0) && y != W(0); });
    case Or:
      return zip<bool, T>(out, a, b, [](W x, W y) { return x != W(0) || y != W(0); });
    default:
      if constexpr (std::is_floating_point_v<W>) return gradient<T>(op, out, a, b, alpha);
  }
  throw Error(std::string("needs a floating type, not ") + name(a.dtype));
}

}  // namespace

void kernel::binary(Binary op, const View& out, const View& a, const View& b, double alpha) {
  if (a.shape == out.shape && b.shape == out.shape) {
    return cpu::dispatch(a.dtype, [&](auto tag) { arithmetic<decltype(tag)>(op, out, a, b, alpha); });
  }
  const View x = cpu::stretched(a, out.shape);
  const View y = cpu::stretched(b, out.shape);
  cpu::dispatch(a.dtype, [&](auto tag) { arithmetic<decltype(tag)>(op, out, x, y, alpha); });
}

void kernel::where(const View& out, const View& condition, const View& a, const View& b) {
  const View c = cpu::stretched(condition, out.shape);
  const View x = cpu::stretched(a, out.shape);
  const View y = cpu::stretched(b, out.shape);
  const auto loop = cpu::makeLoop<4>({&out, &c, &x, &y});
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto* to = static_cast<T*>(out.data);
    const auto* test = static_cast<const bool*>(c.data);
    const auto* left = static_cast<const T*>(x.data);
    const auto* right = static_cast<const T*>(y.data);
    cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        to[at[0] + i * loop.strides[0][0]] = test[at[1] + i * loop.strides[1][0]]
                                                 ? left[at[2] + i * loop.strides[2][0]]
                                                 : right[at[3] + i * loop.strides[3][0]];
      }
    });
  });
}

}  // namespace lacuna::rt
