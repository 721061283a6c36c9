// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lacuna/prof/schema.h"

/// Numbers and texts that come from a file. Each column has bounds, which hold from where its rows
/// enter a store. Two moments of a store can be added or subtracted, and so can a moment and a
/// length. Sums of many rows can still grow beyond an integer; addTo and takeFrom keep them at its
/// limit. Texts have a bound where they are shown, because many rows can share one: a table of
/// those rows would repeat it without end.
namespace lacuna::prof {

/// The farthest moment from 0, either way, that a trace can have: 73 years.
inline constexpr TimeNs kFarthestNs = std::int64_t{1} << 61;
/// More memory than any device has: 1 PiB.
inline constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{1} << 50;

/// The most bytes of a text that are shown. The longest names of kernels have some 20,000.
inline constexpr std::size_t kLongestText = std::size_t{1} << 16;

/// The beginning of a text, within its bound; it ends between two characters.
constexpr std::string_view boundText(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  const auto isInsideCharacter = [&] {
    return (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U;
  };
  while (end > kLongestText - 3 && isInsideCharacter()) --end;
  return text.substr(0, end);
}

/// The values that a column can have.
struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  [[nodiscard]] bool any() const { return most != std::numeric_limits<std::uint64_t>::max(); }
};
/// Bounds of moments, lengths and sizes of memory; every other column has none.
constexpr Bounds boundsOf(const ColumnSpec& column) {
  if (column.type == ColumnType::I64 && column.hint == Hint::Length) return {0, kFarthestNs};
  if (column.type == ColumnType::I64 && column.name.ends_with("Ns"))
    return {-kFarthestNs, kFarthestNs};
  if (column.type == ColumnType::U64 && (column.name == "bytes" || column.name == "memoryBytes")) {
    return {0, kMostMemoryBytes};
  }
  return {};
}

/// Brings values back to the bounds of their column, and counts those that were outside. T is the
/// column's type. A whole column that is within costs one pass that no branch interrupts.
template <class T>
std::uint64_t bringBack(Bounds bounds, std::span<T> values) {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  const auto least = static_cast<std::uint64_t>(bounds.least);
  std::uint64_t seen = 0;
  for (const T value : values) seen |= static_cast<std::uint64_t>(value) - least;
  if (seen <= bounds.most - least) return 0;
  std::uint64_t far = 0;
  for (T& value : values) {
    const T kept = std::clamp(value, static_cast<T>(bounds.least), static_cast<T>(bounds.most));
    far += kept != value ? 1 : 0;
    value = kept;
  }
  return far;
}

/// Where a sum stops: half of what its type holds, so that two of them can be added or subtracted
/// in turn.
template <class Sum>
inline constexpr Sum kMostOfSum = std::numeric_limits<Sum>::max() / 2;
template <class Sum>
inline constexpr Sum kLeastOfSum = std::numeric_limits<Sum>::min() / 2;

/// Adds to a sum, which stops at its limit instead of going beyond its type.
template <class Sum, class Value>
constexpr void addTo(Sum& sum, Value value) {
  if constexpr (std::is_floating_point_v<Sum>) {
    sum += static_cast<Sum>(value);
  } else {
    static_assert(std::is_integral_v<Value>, "a fraction has to be rounded first");
    Sum out{};
    if (__builtin_add_overflow(sum, value, &out))
      out = std::cmp_less(value, 0) ? kLeastOfSum<Sum> : kMostOfSum<Sum>;
    sum = std::clamp(out, kLeastOfSum<Sum>, kMostOfSum<Sum>);
  }
}
/// The same for what is taken away.
template <class Sum, class Value>
constexpr void takeFrom(Sum& sum, Value value) {
  if constexpr (std::is_floating_point_v<Sum>) {
    sum -= static_cast<Sum>(value);
  } else {
    static_assert(std::is_integral_v<Value>, "a fraction has to be rounded first");
    Sum out{};
    if (__builtin_sub_overflow(sum, value, &out))
      out = std::cmp_less(value, 0) ? kMostOfSum<Sum> : kLeastOfSum<Sum>;
    sum = std::clamp(out, kLeastOfSum<Sum>, kMostOfSum<Sum>);
  }
}
/// A product that stops where a sum does.
template <class T>
constexpr T productOf(T a, std::type_identity_t<T> b) {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) {
    out = std::cmp_less(a, 0) != std::cmp_less(b, 0) ? kLeastOfSum<T> : kMostOfSum<T>;
  }
  return std::clamp(out, kLeastOfSum<T>, kMostOfSum<T>);
}
/// A number cut to an integer, which stops where a sum does; 0 for what is no number.
template <class T>
constexpr T wholeOf(double number) {
  if (number >= static_cast<double>(kMostOfSum<T>)) return kMostOfSum<T>;
  if (number <= static_cast<double>(kLeastOfSum<T>)) return kLeastOfSum<T>;
  return number == number ? static_cast<T>(number) : T{0};
}

}  // namespace lacuna::prof
