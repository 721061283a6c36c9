// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/window.h"

#include <algorithm>

namespace lacuna::collector::sampler {

void Window::update(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  readNotes(nowNs, into);
  // Also where the note of it is still being written, or never will be.
  turn(control_.enabled.load(std::memory_order_relaxed) != 0, nowNs, into);
}

void Window::readNotes(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  prof::TimeNs timeNs = 0;
  bool on = false;
  const auto read = [&](const SwitchNote& note) {
    timeNs = note.timeNs.load(std::memory_order_relaxed);
    on = note.on.load(std::memory_order_relaxed);
  };
  followNotes(control_.switchNotes, control_.switchCount, seen_, read,
              [&] { turn(on, std::min(timeNs, nowNs), into); });
}

void Window::turn(bool open, prof::TimeNs timeNs, std::vector<PerfRecord>& into) {
  if (open == open_) return;
  open_ = open;
  openings_ += open ? 1 : 0;
  PerfRecord edge;
  edge.kind = PerfRecord::Kind::Window;
  edge.timeNs = std::max(timeNs, turnedNs_);
  edge.open = open;
  turnedNs_ = edge.timeNs;
  into.push_back(std::move(edge));
}

}  // namespace lacuna::collector::sampler
