// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/tensor.h"

/// The types in which tensors meet plain numbers, and the checks that no digit is lost there.
namespace lacuna::rt {

/// Fails for bool: what arithmetic would make of it (the negative of true is true) is hardly ever
/// meant.
void checkNumbers(const char* op, DType type);

[[nodiscard]] bool isWhole(double number);

/// Fails where `number` has no place among the integers of `type`; a negative one wraps, also where
/// there is no sign.
void checkFits(const char* op, double number, DType type);

/// `x` in a type in which it can be put together with a number, `whole` or not; the type of the
/// result.
[[nodiscard]] Tensor meeting(Tensor x, bool whole);
/// The same for a number that has to fit into that type.
[[nodiscard]] Tensor meeting(const char* op, const Tensor& x, double number);

/// For an operator in place on `x`, whose type cannot change.
void checkMeets(const char* op, const Tensor& x, double number);

/// Fails where an operator in place on integers would cut the fractions of `other` off.
void checkKeepsFraction(const char* op, const Tensor& x, const Tensor& other);

}  // namespace lacuna::rt
