// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::analyzer {
namespace {

/// A band that one decimal of a percentage shows as nothing, and one that needs no decimal.
constexpr double kTinyBand = 0.0005, kWideBand = 0.0995;

}  // namespace

std::string humanBand(std::int64_t bandNs, std::int64_t ns) {
  if (bandNs <= 0 || ns <= 0) return {};
  const double share = static_cast<double>(bandNs) / static_cast<double>(ns);
  if (share < kTinyBand) return "±<0.1 %";
  return fmt::format("±{:.{}f} %", prof::kPercent * std::min(1.0, share),
                     share < kWideBand ? 1 : 0);
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
