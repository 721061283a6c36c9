// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "lacuna/analyzer/operators.h"

namespace lacuna::analyzer {

inline constexpr std::size_t kNumberCount = 8;
std::string_view numberName(Number number);

/// Knows matrix products, linear layers, attention, elementwise operators, and convolutions whose
/// output is among the inputs or follows from stride, padding and dilation. Shapes as our
/// recordings ("f32[8,4] f32[2,4]", then lists of numbers such as "(1,1)") or Kineto ("[[8, 4], [2,
/// 4]]") give them; without a type a value counts `defaultBytes`.
Demand demandOf(std::string_view name, std::string_view shapes, double defaultBytes = 4);

}  // namespace lacuna::analyzer
