// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers.h"

#include <cmath>
#include <string>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {

void checkNumbers(const char* op, DType type) {
  if (type == DType::Bool) fail(op, "needs numbers, not bool; convert it first");
}

bool isWhole(double number) {
  return std::trunc(number) == number && std::isfinite(number);
}

void checkFits(const char* op, double number, DType type) {
  const double limit = type == DType::U8 ? 0x1p8 : type == DType::I32 ? 0x1p31 : 0x1p63;
  if (!(std::abs(number) < limit))
    fail(op, std::to_string(number) + " does not fit into " + name(type));
}

Tensor meeting(Tensor x, bool whole) {
  if (isFloating(x.dtype())) return x;
  if (!whole) return x.to(DType::F32);
  return x.dtype() == DType::Bool ? x.to(DType::I64) : x;
}

Tensor meeting(const char* op, const Tensor& x, double number) {
  if (isFloating(x.dtype())) return x;
  const bool whole = isWhole(number);
  if (whole) checkFits(op, number, x.dtype() == DType::Bool ? DType::I64 : x.dtype());
  return meeting(x, whole);
}

void checkMeets(const char* op, const Tensor& x, double number) {
  if (isFloating(x.dtype())) return;
  if (!isWhole(number) || x.dtype() == DType::Bool)
    fail(op, std::to_string(number) + " in place on " + name(x.dtype()) +
                 " would be cut off; convert it first");
  checkFits(op, number, x.dtype());
}

void checkKeepsFraction(const char* op, const Tensor& x, const Tensor& other) {
  if (isFloating(other.dtype()) && !isFloating(x.dtype()))
    fail(op, std::string(name(other.dtype())) + " in place on " + name(x.dtype()) +
                 " would be cut off; convert it first");
}

}  // namespace lacuna::rt
