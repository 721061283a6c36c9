// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Work that a program may do besides training, of a length that is chosen.
namespace lacuna::drawn {

/// Computes checksums for about so long, which was measured once: a busy core does not make the
/// work less.
void compute(std::int64_t us);
void sleepFor(std::int64_t us);
/// Sorts numbers for about so long.
void sort(std::int64_t us);
/// Writes and parses settings for about so long.
void parse(std::int64_t us);

/// A thread that holds a lock for so long each time it is asked to, and one that answers so late.
void waitForLock(std::int64_t us);
void waitForServer(std::int64_t us);

}  // namespace lacuna::drawn
