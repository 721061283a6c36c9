// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elementwise.h"

namespace lacuna::rt {

using cpu::dispatch;
using cpu::kIsWhole;
using cpu::WideT;
using cpu::wrapping;

namespace {

/// The number of an operator with a number. A negative one wraps around where there is no sign.
template <class W>
W operand(double number) {
  if constexpr (kIsWhole<W>) {
    return static_cast<W>(static_cast<std::int64_t>(number));
  } else {
    return static_cast<W>(number);
  }
}

template <class T>
void mapAny(kernel::Unary op, const View& out, const View& x, double p, double q) {
  using W = WideT<T>;
  using enum kernel::Unary;
  const W a = cpu::nearest<W>(p);
  const W b = cpu::nearest<W>(q);
  switch (op) {
    case Neg:
      return cpu::map<T>(out, x, [](W v) { return W(wrapping(W(0)) - wrapping(v)); });
    case Abs:
      return cpu::map<T>(
          out, x, [](W v) { return v > W(0) || v != v ? v : W(wrapping(W(0)) - wrapping(v)); });
    case Square:
      return cpu::map<T>(out, x, [](W v) { return W(wrapping(v) * wrapping(v)); });
    case Relu:
      return cpu::map<T>(out, x, [](W v) { return v > W(0) || v != v ? v : W(0); });
    case Sign:
      return cpu::map<T>(out, x, [](W v) { return W((v > W(0)) - (v < W(0))); });
    case Clamp:
      return cpu::map<T>(out, x, [a, b](W v) {
        const W raised = v < a ? a : v;
        return raised > b ? b : raised;
      });
    case AddScalar:
      return cpu::map<T>(out, x, [c = operand<W>(p)](W v) { return W(wrapping(v) + wrapping(c)); });
    case MulScalar:
      return cpu::map<T>(out, x, [c = operand<W>(p)](W v) { return W(wrapping(v) * wrapping(c)); });
    case PowScalar:
      if constexpr (kIsWhole<W>)
        return cpu::map<T>(
            out, x, [e = static_cast<std::int64_t>(p)](W v) { return cpu::integerPower(v, e); });
      return cpu::floatingUnary(op, out, x, p);
    default:
      return cpu::floatingUnary(op, out, x, p);
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

}  // namespace lacuna::rt
