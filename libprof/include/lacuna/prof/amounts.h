// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// Times, sizes, counts and shares as every output prints them: three digits, and the unit that
/// fits.
namespace lacuna::prof {

template <class T>
concept Number = std::is_arithmetic_v<T>;

/// Internal.
namespace amounts {
std::string timeText(double ns);
std::string bytesText(double bytes);
std::string rateText(double bytesPerSecond);
std::string scaledCount(double count);
}  // namespace amounts

/// "999 ns", "1.24 ms", "12.3 s"; from two minutes on "3 min 05 s", from two hours on "2 h 00 min".
std::string timeText(Number auto ns) {
  return amounts::timeText(static_cast<double>(ns));
}
/// "512 B", "1.50 MiB": in powers of 1024.
std::string bytesText(Number auto bytes) {
  return amounts::bytesText(static_cast<double>(bytes));
}
/// "1.56 TB/s": in powers of 1000, as links and memories are specified.
std::string rateText(Number auto bytesPerSecond) {
  return amounts::rateText(static_cast<double>(bytesPerSecond));
}
/// Where nobody needs the last digit: "950", "12.3 k", "1.20 M". A unit may follow at once: "1.20
/// M" and "FLOP/s".
std::string scaledCount(Number auto count) {
  return amounts::scaledCount(static_cast<double>(count));
}

/// "1,234,567"
std::string countText(std::uint64_t count);
/// "1 copy", "1,234 copies"; without a plural of its own "s" makes it.
std::string countText(std::uint64_t count, std::string_view one, std::string_view several = {});
/// In a share of 1.
inline constexpr double kPercent = 100;
/// "12.3 %", of 0.123
std::string shareText(double share);

/// Numbers that are round in some unit, without zeros after them: "50 µs", "16 MiB".
std::string roundTimeText(double ns);
std::string roundBytesText(double bytes);
/// At an axis that reaches up to `top`: all in the unit of that.
std::string bytesAxisText(double bytes, double top);

}  // namespace lacuna::prof
