// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/clock.h"
#include "nvtx/domain.h"
#include "nvtx/schema.h"

namespace lacuna::collector::nvtx {

/// What a thread keeps between calls: nesting levels. In initial-exec TLS, so that a range costs no call.
struct ThreadLevels {
  std::uint16_t level[Domain::kLevels] = {};
};
extern constinit thread_local ThreadLevels threadLevels __attribute__((tls_model("initial-exec")));

std::uint32_t threadId();

/// Hands the rows of a mark to the recording.
void recordRows(const prof::NvtxPlan& plan, const prof::NvtxEvent& event, const Payloads* payloads);

}  // namespace lacuna::collector::nvtx
