// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elementwise.h"

namespace lacuna::rt::cpu {

namespace {

/// Operands as views, or, where `out` is null, as rows.
struct Operands {
  const View* out;
  const View* a;
  const View* b;
  Row row;
};

template <class T>
void arithmeticOf(kernel::Binary op, DType dtype, const Operands& of, double alpha) {
  using W = WideT<T>;
  using enum kernel::Binary;
  const auto run = [&](auto f) {
    if (of.out != nullptr) return zip<T, T>(*of.out, *of.a, *of.b, f);
    zipRow(static_cast<T*>(of.row.out), static_cast<const T*>(of.row.a),
           static_cast<const T*>(of.row.b), of.row.count, f);
  };
  const W s = std::is_integral_v<W> ? static_cast<W>(static_cast<std::int64_t>(alpha))
                                    : static_cast<W>(alpha);
  switch (op) {
    case Add:
      if (alpha == 1) return run([](W x, W y) { return W(wrapping(x) + wrapping(y)); });
      return run([s](W x, W y) { return W(wrapping(x) + wrapping(W(wrapping(s) * wrapping(y)))); });
    case Sub:
      return run([](W x, W y) { return W(wrapping(x) - wrapping(y)); });
    case Mul:
      return run([](W x, W y) { return W(wrapping(x) * wrapping(y)); });
    case Div:
      if constexpr (std::is_floating_point_v<W>) return run([](W x, W y) { return W(x / y); });
      break;
    case Pow:
      if constexpr (kIsWhole<W>)
        return run([](W x, W y) { return integerPower(x, static_cast<std::int64_t>(y)); });
      break;
    case Maximum:
      return run([](W x, W y) { return x > y || x != x ? x : y; });
    case Minimum:
      return run([](W x, W y) { return x < y || x != x ? x : y; });
    case ReluGrad:
      return run([](W g, W y) { return y > W(0) ? g : W(0); });
    default:
      break;
  }
  throw Error(std::string("needs a floating type, not ") + name(dtype));
}

void arithmeticOn(kernel::Binary op, DType dtype, const Operands& of, double alpha) {
  dispatch(dtype, [&](auto tag) { arithmeticOf<decltype(tag)>(op, dtype, of, alpha); });
}

}  // namespace

void arithmetic(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
  arithmeticOn(op, a.dtype, {&out, &a, &b, {}}, alpha);
}

void arithmetic(kernel::Binary op, DType dtype, const Row& row, double alpha) {
  arithmeticOn(op, dtype, {nullptr, nullptr, nullptr, row}, alpha);
}

}  // namespace lacuna::rt::cpu
