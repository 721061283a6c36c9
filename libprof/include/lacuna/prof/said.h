// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/prof/events.h"

/// What a program says of its queues and its memory through the tensor runtime's schema, in the form in which it is
/// recorded: as it was said. The rows that follow from it are made when the recording is drained, outside the program.
namespace lacuna::prof {

/// A queue executes something, while the range is open.
struct SaidExecution {
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  TimeNs enqueueStartNs = 0;  ///< 0: run in place, so that it was enqueued when it began, by the thread that ran it
  std::uint32_t enqueueNs = 0;
  std::uint32_t enqueueThread = 0;
  std::uint32_t queue = 0;
  std::uint8_t kind = 0;
};

/// Texts are LacunaNames in the program, StringIds in the trace.
struct SaidMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
  std::uint32_t op = 0;
  std::uint32_t tensor = 0;
  std::uint16_t queue = 0;
  std::uint8_t action = 0;
  std::uint8_t role = 0;
};

/// The host waits for a queue, while the range is open.
struct SaidWait {
  std::uint64_t sequence = 0;
  std::uint32_t queue = 0;
  std::uint8_t kind = 0;
};

}  // namespace lacuna::prof
