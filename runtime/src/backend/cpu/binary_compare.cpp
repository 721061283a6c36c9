// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elementwise.h"

namespace lacuna::rt::cpu {

namespace {

template <class T>
void compareOf(kernel::Binary op, const View& out, const View& a, const View& b) {
  using W = WideT<T>;
  using enum kernel::Binary;
  switch (op) {
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
      throw Error("no such comparison");
  }
}

}  // namespace

void compare(kernel::Binary op, const View& out, const View& a, const View& b) {
  dispatch(a.dtype, [&](auto tag) { compareOf<decltype(tag)>(op, out, a, b); });
}

}  // namespace lacuna::rt::cpu
