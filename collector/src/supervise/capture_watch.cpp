// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/capture_watch.h"

#include "lacuna/prof/process.h"

namespace lacuna::collector {
namespace {

prof::OwnNumber numberOf(std::uint64_t owner) {
  return {CaptureSlot::pidOf(owner), CaptureSlot::namespaceOf(owner), 0};
}

}  // namespace

void CaptureWatch::ended(pid_t pid) {
  for (CaptureSlot& slot : control_.captureSlots) {
    const prof::OwnNumber number = numberOf(slot.owner.load());
    if (number.pid == static_cast<std::uint32_t>(pid) && !prof::isForeign(number)) drop(slot);
  }
}

void CaptureWatch::check() {
  for (CaptureSlot& slot : control_.captureSlots) {
    const std::uint64_t owner = slot.owner.load();
    if (owner != 0 && hasEnded(owner)) drop(slot);
  }
}

bool CaptureWatch::hasEnded(std::uint64_t owner) {
  const prof::OwnNumber number = numberOf(owner);
  if (!prof::isForeign(number)) return !prof::processIsAlive(number.pid, 0);
  const auto known = numbers_.find(owner);
  if (known != numbers_.end()) return known->second != 0 && !prof::processIsAlive(known->second, 0);
  const prof::FoundProcess found = prof::findProcess(number);
  if (found.where == prof::FoundProcess::Where::Gone) return true;
  numbers_[owner] = found.pid;
  return false;
}

void CaptureWatch::drop(CaptureSlot& slot) {
  numbers_.erase(slot.owner.load());
  const bool open = slot.open.exchange(0) != 0;
  slot.owner.store(0);
  if (open) control_.stopUnlessCapturing();
}

}  // namespace lacuna::collector
