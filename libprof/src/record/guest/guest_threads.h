// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "record/guest/guest.h"

namespace lacuna::prof::recording {

/// In a thread's epoch: its stamps come from a system call, so the inline path is not for it.
inline constexpr std::uint64_t kSlowClock = 1ull << 63;

/// Once per process, before the first thread records.
bool makeThreadKeys();
void setThreadName(LacunaName name);

}  // namespace lacuna::prof::recording
