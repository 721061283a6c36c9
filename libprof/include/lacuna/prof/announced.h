// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/prof/events.h"

/// Statements of a program on its queues and its memory through the tensor runtime's schema, in the
/// form in which they are recorded: unchanged. The rows that follow from them are made when the
/// recording is drained, outside the program.
namespace lacuna::prof {

/// A queue executes something, while the range is open.
struct AnnouncedExecution {
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  TimeNs enqueueStartNs =
      0;  ///< 0: run in place, so that it was enqueued when it began, by the thread that ran it
  std::uint32_t enqueueNs = 0;
  std::uint32_t enqueueThread = 0;
  std::uint32_t queue = 0;
  std::uint8_t kind = 0;
};

/// Texts are LacunaNames in the program, StringIds in the trace.
struct AnnouncedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
  std::uint32_t op = 0;
  std::uint32_t tensor = 0;
  std::uint16_t queue = 0;
  // Wider than the payload's: a copy of two bytes at once would wait until both of them, just
  // stored, are in the cache.
  std::uint16_t action = 0;
  std::uint16_t role = 0;
};

/// Op 24 | action 8 | role 16 | queue 16.
constexpr std::uint64_t memoryWhat(const AnnouncedMemory& announced) {
  return static_cast<std::uint64_t>(announced.op & 0xffffff) << 40 |
         static_cast<std::uint64_t>(announced.action & 0xff) << 32 |
         static_cast<std::uint64_t>(announced.role & 0xff) << 16 | announced.queue;
}

/// The host waits for a queue, or `queue` for another one, while the range is open.
struct AnnouncedWait {
  std::uint64_t sequence = 0;
  std::uint32_t queue = 0;
  std::uint8_t kind = 0;
};

}  // namespace lacuna::prof
