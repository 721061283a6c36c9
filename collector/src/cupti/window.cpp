// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/window.h"

#include <algorithm>
#include <atomic>

#include "core/clock.h"

namespace lacuna::collector::cupti {
namespace {

/// No record comes so late that it would need more.
constexpr std::size_t kMostEdges = 1 << 16;

}  // namespace

Window::Window(const Control* control) : control_(control) {
  if (control == nullptr) return;
  seen_ = control->switchCount.load(std::memory_order_acquire);
  atFirst_ = control->enabled.load() != 0;
}

void Window::follow() {
  if (control_ == nullptr) return;
  followNotes();
  // A note may be missing: it is being written, or its writer was killed.
  const bool now = control_->enabled.load() != 0;
  if (now != latest()) add({nowNs(), now});
}

void Window::followNotes() {
  const std::uint64_t count = control_->switchCount.load(std::memory_order_acquire);
  if (count - seen_ > Control::kSwitchNotes) {
    if (edges_.empty()) atFirst_ = true;
    if (!edges_.empty()) add({edges_.back().timeNs, true});
    seen_ = count - Control::kSwitchNotes;
  }
  for (; seen_ < count; ++seen_) {
    Edge edge{};
    const NoteState state = readNote(control_->switchNotes, seen_, [&](const SwitchNote& note) {
      edge = {note.timeNs.load(std::memory_order_relaxed), note.on.load(std::memory_order_relaxed)};
    });
    if (state == NoteState::Complete) add(edge);
  }
}

void Window::add(Edge edge) {
  if (edges_.size() == kMostEdges) {
    const auto half = edges_.begin() + kMostEdges / 2;
    atFirst_ = std::prev(half)->on;
    edges_.erase(edges_.begin(), half);
  }
  const auto behind = std::upper_bound(
      edges_.begin(), edges_.end(), edge.timeNs,
      [](prof::TimeNs timeNs, const Edge& other) { return timeNs < other.timeNs; });
  edges_.insert(behind, edge);
}

bool Window::on(prof::TimeNs at) const {
  const auto behind =
      std::upper_bound(edges_.begin(), edges_.end(), at,
                       [](prof::TimeNs timeNs, const Edge& edge) { return timeNs < edge.timeNs; });
  return behind == edges_.begin() ? atFirst_ : std::prev(behind)->on;
}

}  // namespace lacuna::collector::cupti
