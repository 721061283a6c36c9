// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/cpu/fast_math.h"
#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::dispatch;
using cpu::dispatchFloating;
using cpu::WideT;

namespace {

template <class T, class F>
void map(const View& out, const View& x, F f) {
  const auto loop = cpu::makeLoop<2>({&out, &x});
  auto* to = static_cast<T*>(out.data);
  const auto* from = static_cast<const T*>(x.data);
  const std::int64_t so = loop.strides[0][0];
  const std::int64_t sx = loop.strides[1][0];
  cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
    T* o = to + at[0];
    const T* a = from + at[1];
    if (so == 1 && sx == 1) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = T(f(static_cast<WideT<T>>(a[i])));
    } else {
      for (std::int64_t i = 0; i < n; ++i) o[i * so] = T(f(static_cast<WideT<T>>(a[i * sx])));
    }
  });
}

template <class T>
void mapFloating(kernel::Unary op, const View& out, const View& x, double p, double q) {
  using W = WideT<T>;
  using enum kernel::Unary;
  const W a = static_cast<W>(p);
  const W b = static_cast<W>(q);
  const W half = W(0.5);
  switch (op) {
    case Exp:
      return map<T>(out, x, [](W v) { return std::exp(v); });
    case Log:
      return map<T>(out, x, [](W v) { return std::log(v); });
    case Log1p:
      return map<T>(out, x, [](W v) { return std::log1p(v); });
    case Expm1:
      return map<T>(out, x, [](W v) { return std::expm1(v); });
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
      return map<T>(out, x, [half](W v) { return half * v * (W(1) + cpu::fastErf(v * W(0.70710678118654752440))); });
    case GeluTanh:
      return map<T>(out, x, [half](W v) {
        return half * v * (W(1) + std::tanh(W(0.79788456080286535588) * (v + W(0.044715) * v * v * v)));
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
    case PowScalar:
      return map<T>(out, x, [a](W v) { return std::pow(v, a); });
    default:
      (void)b;
      throw Error("no such elementwise operation");
  }
}

template <class T>
void mapAny(kernel::Unary op, const View& out, const View& x, double p, double q) {
  using W = WideT<T>;
  using enum kernel::Unary;
  const W a = static_cast<W>(p);
  const W b = static_cast<W>(q);
  switch (op) {
    case Neg:
      return map<T>(out, x, [](W v) { return W(W(0) - v); });
    case Abs:
      return map<T>(out, x, [](W v) { return v < W(0) ? W(W(0) - v) : v; });
    case Square:
      return map<T>(out, x, [](W v) { return W(v * v); });
    case Relu:
      return map<T>(out, x, [](W v) { return v > W(0) || v != v ? v : W(0); });
    case Sign:
      return map<T>(out, x, [](W v) { return W((v > W(0)) - (v < W(0))); });
    case Clamp:
      return map<T>(out, x, [a, b](W v) { return v < a ? a : (v > b ? b : v); });
    case AddScalar:
      return map<T>(out, x, [a](W v) { return W(v + a); });
    case MulScalar:
      return map<T>(out, x, [a](W v) { return W(v * a); });
    default:
      if constexpr (std::is_floating_point_v<W>) {
        return mapFloating<T>(op, out, x, p, q);
      } else {
        throw Error(std::string("needs a floating type, not ") + name(x.dtype));
      }
  }
}

template <class T>
void test(kernel::Unary op, const View& out, const View& x) {
  const auto loop = cpu::makeLoop<2>({&out, &x});
  auto* to = static_cast<bool*>(out.data);
  const auto* from = static_cast<const T*>(x.data);
  const bool logicalNot = op == kernel::Unary::LogicalNot;
  cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<WideT<T>>(from[at[1] + i * loop.strides[1][0]]);
      to[at[0] + i * loop.strides[0][0]] = logicalNot ? v == 0 : v - v == 0;
    }
  });
}

}  // namespace

void kernel::fill(const View& out, double value) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T v = T(static_cast<WideT<T>>(value));
    const auto loop = cpu::makeLoop<1>({&out});
    auto* to = static_cast<T*>(out.data);
    cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
      const std::int64_t step = loop.strides[0][0];
      for (std::int64_t i = 0; i < n; ++i) to[at[0] + i * step] = v;
    });
  });
}

void kernel::arange(const View& out) {
  dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto* to = static_cast<T*>(out.data);
    for (std::int64_t i = 0; i < out.shape.numel(); ++i) to[i] = T(static_cast<WideT<T>>(i));
  });
}

void kernel::unary(Unary op, const View& out, const View& x, double p, double q) {
  dispatch(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (op == Unary::LogicalNot || op == Unary::IsFinite) {
      test<T>(op, out, x);
    } else {
      mapAny<T>(op, out, x, p, q);
    }
  });
}

void kernel::copy(const View& out, const View& unstretched) {
  const View x = cpu::stretched(unstretched, out.shape);
  const auto loop = cpu::makeLoop<2>({&out, &x});
  dispatch(out.dtype, [&](auto outTag) {
    using O = decltype(outTag);
    dispatch(x.dtype, [&](auto inTag) {
      using I = decltype(inTag);
      auto* to = static_cast<O*>(out.data);
      const auto* from = static_cast<const I*>(x.data);
      const std::int64_t so = loop.strides[0][0];
      const std::int64_t sx = loop.strides[1][0];
      cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto wide = static_cast<WideT<I>>(from[at[1] + i * sx]);
          to[at[0] + i * so] = O(static_cast<WideT<O>>(wide));
        }
      });
    });
  });
}

}  // namespace lacuna::rt
