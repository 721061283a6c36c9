// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rows.h"

#include "backend/cpu/elementwise.h"

namespace lacuna::rt {

namespace {

bool isArithmetic(kernel::Binary op, DType dtype) {
  return op <= kernel::Binary::ReluGrad && (op != kernel::Binary::Pow || isInteger(dtype));
}

void sameShape(kernel::Binary op, const View& out, const View& a, const View& b, double alpha) {
  using enum kernel::Binary;
  if (op >= Equal) return cpu::compare(op, out, a, b);
  if (!isArithmetic(op, a.dtype)) return cpu::floatingBinary(op, out, a, b, alpha);
  cpu::arithmetic(op, out, a, b, alpha);
}

}  // namespace

void kernel::binary(Binary op, const View& out, const View& a, const View& b, double alpha) {
  if (a.shape == out.shape && b.shape == out.shape) return sameShape(op, out, a, b, alpha);
  sameShape(op, out, cpu::stretched(a, out.shape), cpu::stretched(b, out.shape), alpha);
}

void kernel::binaryRow(Binary op, DType dtype, void* out, void* a, void* b, std::int64_t count,
                       double alpha) {
  if (count <= kSmallRow && isArithmetic(op, dtype))
    return cpu::arithmetic(op, dtype, {out, a, b, count}, alpha);
  const auto rowOf = [count](void* data, DType type) { return View{data, {count}, {1}, type}; };
  sameShape(op, rowOf(out, isComparison(op) ? DType::Bool : dtype), rowOf(a, dtype),
            rowOf(b, dtype), alpha);
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
    const std::int64_t stepTo = loop.strides[0][0];
    const std::int64_t stepTest = loop.strides[1][0];
    const std::int64_t stepLeft = loop.strides[2][0];
    const std::int64_t stepRight = loop.strides[3][0];
    // Both are read, whichever is wanted: no branch to guess, and the loops vectorise.
    cpu::runLoop(loop, [&](const auto& at, std::int64_t n) {
      T* o = to + at[0];
      const bool* chooses = test + at[1];
      const T* first = left + at[2];
      const T* second = right + at[3];
      if (stepTo == 1 && stepTest == 1 && stepLeft == 1 && stepRight == 0) {
        const T other = *second;
        for (std::int64_t i = 0; i < n; ++i) {
          const T one = first[i];
          o[i] = chooses[i] ? one : other;
        }
        return;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const T one = first[i * stepLeft];
        const T other = second[i * stepRight];
        o[i * stepTo] = chooses[i * stepTest] ? one : other;
      }
    });
  });
}

}  // namespace lacuna::rt
