// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::cli {

/// The run behind a trace. Empty texts and lists where the trace holds nothing about it.
struct RunDescription {
  std::string program;  ///< the command line of the first process, or its name
  std::size_t processes = 0;
  std::string date;  ///< of the first event: "2026-11-29 18:05:03 UTC"
  std::string host;  ///< name, cores and kernel
  std::vector<std::string> devices;
  std::optional<std::size_t> steps;  ///< none where they were not counted
};

/// Counts steps where that takes a moment: in traces of up to kMostRangesForSteps ranges.
RunDescription describeRun(const analyzer::Store& store);
inline constexpr std::uint64_t kMostRangesForSteps = 5'000'000;

}  // namespace lacuna::cli
