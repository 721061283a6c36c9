// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nvtx/schema.h"

namespace lacuna::collector::nvtx {

/// A range that is open on this thread and that becomes rows when it ends.
struct OpenRange {
  const Domain* domain;
  std::uint16_t level;
  prof::TimeNs startNs;
  LacunaName name;
  const prof::NvtxPlan* plan;
  std::uint64_t values[prof::NvtxPlan::kMaxFields];
  std::size_t valueCount;
};

/// The open ranges of a thread that carry a payload of the runtime's schema, innermost last. Deeper ones than fit stay
/// ranges only.
struct OpenRanges {
  static constexpr std::size_t kMost = 64;
  std::size_t count = 0;
  OpenRange ranges[kMost];
};

/// What a thread keeps between calls: nesting levels (domains from the eighth on share one), and its open ranges once
/// there are any. In initial-exec TLS, so that a range costs no call.
struct ThreadLevels {
  std::uint16_t level[8];
  OpenRanges* open;
};
extern thread_local ThreadLevels threadLevels __attribute__((tls_model("initial-exec")));

/// This thread's open ranges, made at first use and freed with the thread; null when there is no memory.
OpenRanges* openRanges();
std::uint32_t threadId();
prof::TimeNs nowNs();

/// Hands the rows of an ended range or a mark to the recording.
void recordRows(const prof::NvtxPlan& plan, const prof::NvtxEvent& event, const Payloads* payloads);

}  // namespace lacuna::collector::nvtx
