// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/guest.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "inject/standby.h"
#include "lacuna/prof/process.h"
#include "lacuna/prof/prof.h"
#include "nvtx/domain.h"
#include "nvtx/events.h"

namespace lacuna::collector::guest {
namespace {

std::atomic<std::uint32_t> alwaysOn{1};
Control* controlPage = nullptr;
const char* captureName = nullptr;
const char* stepName = nullptr;
bool joined = false;

/// Where this process counts its open capture ranges, once it had one; and those that had no room
/// there.
std::atomic<CaptureSlot*> captureSlot{nullptr};
std::atomic<std::uint32_t> capturesElsewhere{0};

/// The slot of this process. Null when it has none, for want of room or without `take`.
CaptureSlot* ownSlot(bool take) {
  CaptureSlot* known = captureSlot.load();
  const auto self = static_cast<std::uint32_t>(getpid());
  // A child that was made by a bare system call has its parent's.
  if (known != nullptr && CaptureSlot::pidOf(known->owner.load()) == self) return known;
  const std::uint64_t owner = CaptureSlot::ownerOf(self, prof::pidNamespaceAt());
  const nvtx::RegistryLock lock;  // so that two threads do not take one each
  CaptureSlot* own = nullptr;
  for (CaptureSlot& slot : controlPage->captureSlots) {
    if (slot.owner.load() == owner) own = &slot;
  }
  for (CaptureSlot& slot : controlPage->captureSlots) {
    std::uint64_t free = 0;
    if (own == nullptr && take && slot.owner.compare_exchange_strong(free, owner)) own = &slot;
  }
  if (own != nullptr) captureSlot.store(own);
  return own;
}

/// False when there was nothing to take away.
bool takeOne(std::atomic<std::uint32_t>& count) {
  std::uint32_t now = count.load();
  while (now != 0 && !count.compare_exchange_weak(now, now - 1)) {
  }
  return now != 0;
}

bool closeCapture() {
  if (CaptureSlot* slot = ownSlot(false); slot != nullptr && takeOne(slot->open)) return true;
  return takeOne(capturesElsewhere) && takeOne(controlPage->captures);
}

/// The program that this process ran before has no range open any more.
void forgetEarlierProgram() {
  CaptureSlot* slot = ownSlot(false);
  if (slot != nullptr && slot->open.exchange(0) != 0) controlPage->stopUnlessCapturing();
}

/// Everything that is open belongs to the parent.
void afterFork() {
  nvtx::unlockRegistry();
  nvtx::forgetParentsRanges();
  captureSlot.store(nullptr);
  capturesElsewhere.store(0);
}

const char* nonEmpty(const char* text) {
  return text != nullptr && *text != '\0' ? text : nullptr;
}

/// The control page that the environment names, or null.
Control* openControl() {
  const char* path = std::getenv(kControlVariable);
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED || static_cast<Control*>(page)->magic != Control::kMagic) return nullptr;
  return static_cast<Control*>(page);
}

void mapControl() {
  controlPage = openControl();
  if (controlPage == nullptr) return;
  enabled = &controlPage->enabled;
  captureName = nonEmpty(std::getenv(kCaptureVariable));
  if (captureName != nullptr) forgetEarlierProgram();
}

/// Puts the control page of the next recording in the place of the last one's. Other threads may
/// read `enabled` meanwhile, so its address stays.
void replaceControl() {
  Control* next = openControl();
  if (controlPage == nullptr) {
    controlPage = next;
    if (next != nullptr) enabled = &next->enabled;
  } else if (next == nullptr) {
    controlPage->enabled.store(1);  // nobody else has the page of a recording that is over
  } else {
    mremap(next, sizeof(Control), sizeof(Control), MREMAP_MAYMOVE | MREMAP_FIXED, controlPage);
  }
}

void joinOnce() {
  // A program with more rights than its caller must not open files that the caller names.
  if (getauxval(AT_SECURE) != 0) return;
  stepName = nonEmpty(std::getenv(kStepVariable));
  mapControl();
  pthread_atfork(nvtx::lockRegistry, nvtx::unlockRegistry, afterFork);
  joined = beginStandby() || lacunaAttach(nullptr) == 0 || lacunaIsRecording() != 0;
}

}  // namespace

const std::atomic<std::uint32_t>* enabled = &alwaysOn;

bool join() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, joinOnce);
  return joined;
}

int joinRecording(const char* directory) {
  join();
  if (lacunaIsRecording() != 0) return 0;  // joined just now, through the environment
  replaceControl();
  const int code = lacunaAttach(directory);
  joined |= code == 0;
  return code;
}

void leaveRecording() {
  lacunaDetach();
}

bool isRecording() {
  return lacunaIsRecording() != 0;
}

Control* control() {
  return controlPage;
}
const char* captureRange() {
  return captureName;
}
const char* stepRange() {
  return stepName;
}

void noteCapture(bool open) {
  if (controlPage == nullptr) return;
  if (!open) {
    if (closeCapture()) controlPage->stopUnlessCapturing();
    return;
  }
  if (CaptureSlot* slot = ownSlot(true); slot != nullptr) {
    slot->open.fetch_add(1);
  } else {
    capturesElsewhere.fetch_add(1);
    controlPage->captures.fetch_add(1);
  }
  controlPage->switchUnlessOrdered(true);
}

void noteStep(std::int64_t durationNs) {
  if (controlPage == nullptr) return;
  appendNote(controlPage->steps, controlPage->stepCount, [&](StepNote& note) {
    note.durationNs = durationNs;
    note.process = getpid();
    note.thread = static_cast<std::int32_t>(syscall(SYS_gettid));
  });
}

}  // namespace lacuna::collector::guest
