// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/amounts.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <span>

namespace lacuna::prof {
namespace {

constexpr double kThousand = 1000, kKibi = 1024;
constexpr std::string_view kTimeUnits[]{" ns", " µs", " ms", " s"};
constexpr std::string_view kByteUnits[]{" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
constexpr std::string_view kRateUnits[]{" B/s", " kB/s", " MB/s", " GB/s", " TB/s", " PB/s"};
constexpr std::string_view kCountUnits[]{"", " k", " M", " G", " T", " P"};

/// The next unit begins where three digits would be rounded up to it.
constexpr double kRoundsUp = 0.9995;
/// From so many seconds on a time is of minutes, and from so many on of hours.
constexpr double kManySeconds = 120, kManyMinutesInSeconds = 7200;

struct Scaled {
  double value = 0;
  std::size_t unit = 0;
};

Scaled scaled(double value, double base, std::size_t units, double nextFrom) {
  Scaled out{.value = value, .unit = 0};
  while (std::abs(out.value) >= base * nextFrom && out.unit + 1 < units) {
    out.value /= base;
    ++out.unit;
  }
  return out;
}

/// Numbers in the smallest unit are whole as a rule.
int decimalsOf(const Scaled& number) {
  const double size = std::abs(number.value);
  if (number.unit == 0 && size == std::floor(size)) return 0;
  return size < 10 * kRoundsUp ? 2 : size < 100 * kRoundsUp ? 1 : 0;
}

std::string threeDigits(double value, double base, std::span<const std::string_view> units) {
  const Scaled number = scaled(value, base, units.size(), kRoundsUp);
  return fmt::format("{:.{}f}{}", number.value, decimalsOf(number), units[number.unit]);
}

std::string fewDigits(double value, double base, std::span<const std::string_view> units) {
  const Scaled number = scaled(value, base, units.size(), 1);
  return fmt::format("{:g}{}", number.value, units[number.unit]);
}

/// In two units; what is left of the smaller one is cut.
std::string longTime(double seconds, std::string_view sign) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (seconds < kManyMinutesInSeconds)
    return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  return fmt::format("{}{} h {:02} min", sign, whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string amounts::timeText(double ns) {
  constexpr double kSecond = 1e9;
  const double seconds = std::abs(ns) / kSecond;
  return seconds < kManySeconds ? threeDigits(ns, kThousand, kTimeUnits)
                                : longTime(seconds, ns < 0 ? "-" : "");
}

std::string amounts::bytesText(double bytes) {
  return threeDigits(bytes, kKibi, kByteUnits);
}

std::string amounts::rateText(double bytesPerSecond) {
  return threeDigits(bytesPerSecond, kThousand, kRateUnits);
}

std::string amounts::scaledCount(double count) {
  return threeDigits(count, kThousand, kCountUnits);
}

std::string countText(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string countText(std::uint64_t count, std::string_view one, std::string_view several) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", countText(count), one)
                         : fmt::format("{} {}", countText(count), several);
}

std::string shareText(double share) {
  return fmt::format("{:.1f} %", kPercent * share);
}

std::string roundTimeText(double ns) {
  return fewDigits(ns, kThousand, kTimeUnits);
}

std::string roundBytesText(double bytes) {
  return fewDigits(bytes, kKibi, kByteUnits);
}

std::string bytesAxisText(double bytes, double top) {
  const std::size_t unit = scaled(top, kKibi, std::size(kByteUnits), 1).unit;
  return fmt::format("{:.4g}{}", bytes / std::pow(kKibi, static_cast<double>(unit)),
                     kByteUnits[unit]);
}

}  // namespace lacuna::prof
