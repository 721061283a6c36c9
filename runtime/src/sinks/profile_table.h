// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instrument/observer.h"

/// Calls from the NVTX side of the observer to the table of rt::profile.
namespace lacuna::rt::instrument {

void tableOperator(const OpContext& op, std::int64_t totalNs);
void tableExecution(const Execution& execution, std::int64_t durationNs);

}  // namespace lacuna::rt::instrument
