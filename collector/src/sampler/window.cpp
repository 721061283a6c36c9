// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/window.h"

#include <algorithm>

namespace lacuna::collector::sampler {

void Window::look(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  readNotes(nowNs, into);
  // Also where the note of it is still being written, or never will be.
  turn(control_.enabled.load(std::memory_order_relaxed) != 0, nowNs, into);
}

void Window::readNotes(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  const std::uint64_t count = control_.switchCount.load(std::memory_order_acquire);
  seen_ = std::max(seen_, count - std::min<std::uint64_t>(count, Control::kSwitchNotes));
  for (; seen_ < count; ++seen_) {
    const SwitchNote& note = control_.switchNotes[seen_ % Control::kSwitchNotes];
    const std::uint64_t sequence = note.sequence.load(std::memory_order_acquire);
    const prof::TimeNs timeNs = note.timeNs.load(std::memory_order_relaxed);
    const bool on = note.on.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool whole = sequence == seen_ + 1 && note.sequence.load(std::memory_order_relaxed) == sequence;
    // One that is still being written is looked at the next time; one that was overwritten is lost.
    if (!whole && sequence <= seen_) return;
    if (whole) turn(on, std::min(timeNs, nowNs), into);
  }
}

void Window::turn(bool open, prof::TimeNs timeNs, std::vector<PerfRecord>& into) {
  if (open == open_) return;
  open_ = open;
  PerfRecord edge;
  edge.kind = PerfRecord::Kind::Window;
  edge.timeNs = std::max(timeNs, turnedNs_);
  edge.open = open;
  turnedNs_ = edge.timeNs;
  into.push_back(std::move(edge));
}

}  // namespace lacuna::collector::sampler
