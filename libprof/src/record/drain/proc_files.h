// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/prof/process.h"
#include "record/layout.h"

namespace lacuna::prof::recording {

enum class Life : std::uint8_t { Runs, Ended, Unseen };
/// Finds whether the process of a recorder still runs. One of another PID namespace is looked for
/// once, and its number here noted in the header.
Life lifeOf(Header& header);

/// The number here of a recorder's process: what was noted, or what it calls itself.
std::uint32_t pidOf(const Header& header);
/// The number of its parent, 0 when it is not known.
std::uint32_t parentPidOf(const Header& header);
/// The number here of a recorder's thread: what it calls itself when that is unknown.
std::uint32_t tidOf(const Header& header, std::uint32_t ownTid);

}  // namespace lacuna::prof::recording
