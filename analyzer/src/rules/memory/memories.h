// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {

/// The memory of one device, or all there is where the trace has but one.
struct OneMemory {
  const MemoryStats& memory;
  std::string where;  ///< " of cuda:1"; empty where there is one
  prof::DeviceId device{};
};
/// None where the trace holds no allocations.
std::vector<OneMemory> memories(const Analysis& analysis);

/// So many places are evidence enough for a finding on memory.
inline constexpr std::size_t kMostMemoryEvidence = 5;

/// The operator or name that a tensor comes from.
std::string originOf(const LiveTensor& tensor);
/// Bytes as a gain counts them.
std::int64_t signedBytes(std::uint64_t bytes);
/// Evidence at one moment.
Evidence momentOf(prof::TimeNs atNs, std::string what, prof::DeviceId device);
/// The gain of an advice to need less memory: the bytes that the best of the edits of the peak
/// saves.
void predictEdit(const Analysis& analysis, Finding& finding, prof::DeviceId device,
                 std::uint64_t peakBytes);

}  // namespace lacuna::analyzer
