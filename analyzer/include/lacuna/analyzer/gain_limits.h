// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lacuna::analyzer {

/// A constant with its name in the source.
struct NamedNumber {
  std::string_view name;  ///< empty where only the recording decides
  double value = 0;
};
#define LACUNA_NAMED(constant) (::lacuna::analyzer::NamedNumber{#constant, static_cast<double>(constant)})

/// A limit that a prediction passes, in time of a step (or bytes, of a gain of memory).
struct GainLimit {
  /// The pieces of a step, what work gains from a warm CPU, the predicted step, the ends of its interval, and a
  /// finding's gain or an end of its interval.
  enum class Of : std::uint8_t { Pieces, Warming, Step, Low, High, Gain };
  std::string_view name;    ///< "waits"
  std::string_view reason;  ///< in words for people
  Of of = Of::Step;
  NamedNumber constant{};
  std::int64_t beforeNs = 0;
  std::int64_t limitNs = 0;
  std::int64_t afterNs = 0;
  bool isMost = false;  ///< else the limit is the least

  [[nodiscard]] bool isHeld() const { return beforeNs != afterNs; }
};
/// "step"
std::string_view textOf(GainLimit::Of of);

/// All limits that a prediction passed, in order.
class GainLimits {
 public:
  /// Both answer the time within the limit.
  std::int64_t atLeast(GainLimit limit, std::int64_t ns, std::int64_t leastNs);
  std::int64_t atMost(GainLimit limit, std::int64_t ns, std::int64_t mostNs);
  /// A limit whose times are filled in.
  void passed(const GainLimit& limit) { limits_.push_back(limit); }

  [[nodiscard]] std::span<const GainLimit> all() const { return limits_; }
  /// The last limit that moved the predicted step; null where the replay decided it.
  [[nodiscard]] const GainLimit* decisive() const;

 private:
  std::int64_t add(GainLimit limit, std::int64_t ns, std::int64_t limitNs, std::int64_t afterNs);

  std::vector<GainLimit> limits_;
};

}  // namespace lacuna::analyzer
