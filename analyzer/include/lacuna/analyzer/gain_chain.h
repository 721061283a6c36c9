// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/gain_limits.h"
#include "lacuna/analyzer/prediction.h"

namespace lacuna::analyzer {

/// A number that is computed step by step from named numbers, and then kept within limits. It keeps every value on the
/// way, so its account always ends at the number itself.
class GainSum {
 public:
  enum class Op : std::uint8_t {
    Start,  ///< the value itself
    Minus,  ///< less the value
    Times,
    Over,  ///< divided by the value, rounded towards 0
    From,  ///< the value less what there was
  };
  struct Term {
    Op op = Op::Start;
    std::string_view name;
    std::int64_t value = 0;  ///< of Times and Over a count, else in the unit of the sum
    std::int64_t after = 0;

    [[nodiscard]] bool isCount() const { return op == Op::Times || op == Op::Over; }
  };

  GainSum() = default;
  /// Names are in words for people, and are never freed.
  GainSum(std::string_view name, std::int64_t value) { add(Op::Start, name, value); }
  GainSum& minus(std::string_view name, std::int64_t value) { return add(Op::Minus, name, value); }
  GainSum& times(std::string_view name, std::int64_t count) { return add(Op::Times, name, count); }
  GainSum& over(std::string_view name, std::int64_t count) { return add(Op::Over, name, count); }
  GainSum& from(std::string_view name, std::int64_t value) { return add(Op::From, name, value); }
  GainSum& atLeast(const GainLimit& limit, std::int64_t least);
  GainSum& atMost(const GainLimit& limit, std::int64_t most);

  /// 0 of an empty sum.
  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] std::span<const Term> terms() const { return terms_; }
  [[nodiscard]] std::span<const GainLimit> limits() const { return limits_.all(); }
  /// The last limit that moved the value; null where the terms alone decide.
  [[nodiscard]] const GainLimit* decisive() const;

 private:
  GainSum& add(Op op, std::string_view name, std::int64_t value);

  std::vector<Term> terms_;
  GainLimits limits_;
  std::int64_t value_ = 0;
};
/// "minus"
std::string_view textOf(GainSum::Op op);

/// How a finding's gain and the ends of its interval came about: in time of a step, or in bytes.
struct GainChain {
  std::string change;                    ///< "loader.workers=4": what was replayed; empty without a replay
  std::optional<Prediction> prediction;  ///< of that change
  GainSum gain;
  GainSum low;
  GainSum high;
};

}  // namespace lacuna::analyzer
