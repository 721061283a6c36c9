// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "rules/outcome.h"

namespace lacuna::analyzer {

/// The time of all kernels but those that communicate, and of some kinds of them.
struct KernelShares {
  std::int64_t all = 0;
  std::int64_t matrix = 0;
  std::int64_t matrixWithoutCores = 0;
  std::int64_t pointwise = 0;
  std::uint64_t pointwiseCount = 0;
};
KernelShares kernelShares(const Analysis& analysis);

/// Adds the finding only where the replay of its change gains this share of the step.
void offer(const Facts& facts, Outcome& out, Finding finding, std::string_view change,
           const Threshold& atLeast);

/// A mean count as a quantity: "1 fill", "12 fills".
Quantity roundedCount(std::string_view name, double count, std::string_view one);

}  // namespace lacuna::analyzer
