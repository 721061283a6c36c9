// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.h"
#include "nvtx/domain.h"
#include "nvtx/schema.h"

namespace lacuna::collector::nvtx {

/// The ranges that a thread has open in a domain, by level. The end of a range is recorded if, and
/// only if, its beginning was, also when the recording has been switched off meanwhile. Otherwise
/// it would end another range.
struct Nesting {
  std::uint16_t level = 0;  ///< how many there are
  /// All from this level on were recorded when they began; below lies the topmost run of ranges
  /// that were not.
  std::uint16_t recordedFrom = 0;
  std::uint16_t runFrom = 0;  ///< where that begins
  /// So many from the bottom began before the thread had recorded anything: they begin with the
  /// thread.
  std::uint16_t early = 0;
};
/// State that a thread keeps between calls. In initial-exec TLS, so that a range costs no call.
struct ThreadLevels {
  Nesting in[Domain::kLevels];
};
extern constinit thread_local ThreadLevels threadLevels __attribute__((tls_model("initial-exec")));

/// The range that has just begun at `level` is not recorded.
void beginUnrecorded(unsigned slot, unsigned level);
/// For a range below Nesting::recordedFrom that ends: whether its end is to be recorded while
/// recording is on.
bool endUnrecorded(unsigned slot, unsigned level);
/// In a forked child: what this thread has open began in its parent.
void forgetOpenRanges();

std::uint32_t threadId();

/// Hands the rows of a mark to the recording.
void recordRows(const prof::NvtxPlan& plan, const prof::NvtxEvent& event, const Payloads* payloads);

}  // namespace lacuna::collector::nvtx
