// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::collector::torch {

/// Sends a step of training that the program marked itself, on this thread, when it is over: both
/// times in nanoseconds of CLOCK_MONOTONIC. Such steps are ranges of category `step` in the domain
/// `lacuna`, which nest with nothing. Analyses prefer them to the steps that the hook infers. Any
/// thread may call it.
void emitProgramStep(std::int64_t beginNs, std::int64_t endNs);

}  // namespace lacuna::collector::torch
