// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>

#include "lacuna/prof/ids.h"

/// Clocks with which programs stamp deferred events and counters, and their relation to ours.
namespace lacuna::collector::nvtx {

/// The time domain that the semantics of an entry or counter name; 0 when they name none.
std::uint64_t timeDomainOf(const nvtxSemanticsHeader_t* semantics);

/// CLOCK_MONOTONIC of a stamp of that time domain: a registered one, or an NVTX_TIMESTAMP_TYPE; 0
/// means what nvtxTimestampGet() gives. False when it is unknown how that clock relates to ours.
bool toMonotonic(std::uint64_t timeDomain, std::int64_t stamp, prof::TimeNs& out);

void installTime(intptr_t* slots, std::size_t count);

}  // namespace lacuna::collector::nvtx
