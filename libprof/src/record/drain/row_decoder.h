// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "record/drain/guest_tables.h"

namespace lacuna::prof::recording {

/// Unpacks a row that a guest recorded, renumbers its ids by what its columns refer to, and appends
/// it. A row of an older guest lacks the newest columns; they are zero. False when there is no such
/// table.
bool appendGuestRow(std::uint32_t table, std::span<const std::byte> packed, GuestTables& tables,
                    TraceState& trace, ProcessId process);

}  // namespace lacuna::prof::recording
