// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include "runtime/sweep/arrangement.h"

/// Random uses of operators, each with the result of a plain loop.
namespace lacuna::rt {

using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

/// One random use of an operator, and the result of a plain loop.
struct Use {
  std::vector<Arranged> inputs;
  std::function<Tensor(const Inputs&)> op;
  std::function<Values(const std::vector<Values>&)> exact;  ///< empty: gradients only
  std::optional<Shape> shape = {};  ///< of the result, where `exact` does not give it
};

/// The work on the elements: it decides which types are taken.
enum class Work : std::uint8_t { Computes, Multiplies, Moves };

struct OperatorCase {
  const char* name;
  std::function<Use(SampleRandom&)> make;
  Work work = Work::Computes;
};
inline void PrintTo(const OperatorCase& test, std::ostream* out) {
  *out << test.name;
}

inline std::int64_t sizeIn(SampleRandom& random, std::int64_t least, std::int64_t most) {
  return least +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}
inline Arranged any(SampleRandom& random, Shape shape) {
  return randomArranged(random, shape, -1.5, 1.5);
}
/// Without equal elements, for what looks for the largest.
inline Arranged distinct(SampleRandom& random, Shape shape) {
  Arranged out = any(random, shape);
  if (out.layout == Layout::Expanded)
    out = {shape, Layout::Contiguous, randomBase(random, shape, -1.5, 1.5)};
  return out;
}
inline Tensor indices(SampleRandom& random, Shape shape, std::int64_t bound) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.numel()));
  for (auto& value : values) value = sizeIn(random, 0, bound - 1);
  return fromVector(values, shape);
}

/// Operators that pick elements, place them or show them otherwise.
std::vector<OperatorCase> pickingCases();
/// Operators that work on pictures.
std::vector<OperatorCase> pictureCases();

}  // namespace lacuna::rt
