// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "analyses/work/step_work.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

struct CopyRow {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t ns = 0;
  std::int64_t recordingNs = 0;  ///< of ns, what recording may have added: to copies of CPU devices
};
inline constexpr std::size_t kCopyKindCount = 11;
std::string_view copyKindName(std::size_t kind);
struct CopyStats {
  std::array<CopyRow, kCopyKindCount> byKind{};  ///< by CopyKind
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pageableCount = 0;  ///< between pageable host memory and the device
  std::uint64_t pageableBytes = 0;
  std::int64_t pageableNs = 0;
  std::uint64_t memsetCount = 0;
  std::int64_t memsetNs = 0;
  std::uint64_t stepCount = 0;
  std::uint64_t stepMemsets = 0;
  std::uint64_t stepPageableCount =
      0;  ///< in the steps, of those too large to be staged (kStagedBytes)
  std::uint64_t stepPageableBytes = 0;
  std::int64_t stepPageableNs = 0;
  std::int64_t pageableRecordingNs = 0;
  std::int64_t memsetRecordingNs = 0;
};
prof::Result<CopyStats> copyStats(const Store& store, prof::TimeWindow window,
                                  const TableScope& scope = {}, const StepWork& work = {});

}  // namespace lacuna::analyzer
