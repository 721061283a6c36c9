// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lacuna/analyzer/self_overhead.h"

namespace lacuna::analyzer {
namespace {

constexpr std::int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;
constexpr std::uint64_t kKiB = std::uint64_t{1} << 10, kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;
/// A band that one decimal of a percentage shows as nothing, and one that needs no decimal.
constexpr double kTinyBand = 0.0005, kWideBand = 0.0995;

}  // namespace

std::string humanTime(std::int64_t ns) {
  const auto in = [&](std::int64_t unit) { return static_cast<double>(ns) / static_cast<double>(unit); };
  if (std::abs(ns) < kMicrosecond) return fmt::format("{} ns", ns);
  if (std::abs(ns) < kMillisecond) return fmt::format("{:.1f} µs", in(kMicrosecond));
  if (std::abs(ns) < kSecond) return fmt::format("{:.2f} ms", in(kMillisecond));
  return fmt::format("{:.2f} s", in(kSecond));
}

std::string humanBytes(std::uint64_t bytes) {
  const auto in = [&](std::uint64_t unit) { return static_cast<double>(bytes) / static_cast<double>(unit); };
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  if (bytes < kMiB) return fmt::format("{:.1f} KiB", in(kKiB));
  if (bytes < kGiB) return fmt::format("{:.1f} MiB", in(kMiB));
  return fmt::format("{:.2f} GiB", in(kGiB));
}

std::string humanShare(double share) {
  return fmt::format("{:.1f} %", kPercent * share);
}

std::string humanCount(std::uint64_t count, std::string_view one, std::string_view several) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, several);
}

std::string humanBand(std::int64_t bandNs, std::int64_t ns) {
  if (bandNs <= 0 || ns <= 0) return {};
  const double share = static_cast<double>(bandNs) / static_cast<double>(ns);
  if (share < kTinyBand) return "±<0.1 %";
  return fmt::format("±{:.{}f} %", kPercent * std::min(1.0, share), share < kWideBand ? 1 : 0);
}

std::string plainName(std::string_view kernel) {
  static constexpr std::string_view kReturned = "void ", kUnnamed = "(anonymous namespace)::";
  if (kernel.starts_with(kReturned)) kernel.remove_prefix(kReturned.size());
  std::string name(kernel);
  for (std::size_t at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed, at))
    name.erase(at, kUnnamed.size());
  return name.substr(0, name.find_first_of("<("));
}

}  // namespace lacuna::analyzer
