// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/nothing_to_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kDamageNamed = 3;

/// The remedy for a trace that is too little readable.
std::string remedyOf(const Store& trace) {
  const std::string path = trace.path().string();
  const auto kind = sniff(trace.path());
  if (!kind || *kind != SourceKind::Lcn)
    return "write it again, or record with `lacuna run -- PROGRAM`";
  std::error_code none;
  if (std::filesystem::exists(path + ".recording", none))
    return fmt::format("`lacuna recover {}.recording` makes the trace of what the recording left",
                       path);
  return fmt::format(
      "`lacuna recover {}` makes a whole file of what is readable; for more, record again with "
      "`lacuna run -- PROGRAM`",
      path);
}

}  // namespace

std::string nothingToReport(const Store& trace) {
  constexpr std::string_view kNeeded =
      "ranges, calls, device work or allocations, so there is nothing to report";
  const std::vector<std::string> damage = trace.warnings();
  if (damage.empty())
    return fmt::format("the trace holds no {}; record with `lacuna run -- PROGRAM`", kNeeded);
  std::string out = fmt::format("what is readable of the trace holds no {}", kNeeded);
  for (std::size_t i = 0; i < std::min(damage.size(), kDamageNamed); ++i)
    out += "; " + oneLine(damage[i]);
  if (damage.size() > kDamageNamed)
    out += fmt::format("; and {} more", damage.size() - kDamageNamed);
  return out + "; " + remedyOf(trace);
}

}  // namespace lacuna::analyzer
