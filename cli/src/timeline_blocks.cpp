// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline_blocks.h"

#include <exception>

#include "held_interrupts.h"
#include "lacuna/analyzer/lanes.h"

namespace lacuna::cli {

bool addTimeline(const std::filesystem::path& trace) {
  const HeldInterrupts interrupts;
  try {
    (void)analyzer::addTracks(trace, [&](double) { return !interrupts.came(); });
  } catch (const std::exception&) {
  }
  return !interrupts.came();
}

}  // namespace lacuna::cli
