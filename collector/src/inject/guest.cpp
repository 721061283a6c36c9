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

#include "lacuna/prof/prof.h"
#include "nvtx/domain.h"

namespace lacuna::collector::guest {
namespace {

std::atomic<std::uint32_t> alwaysOn{1};
Control* controlPage = nullptr;
const char* captureName = nullptr;
const char* stepName = nullptr;
bool joined = false;

const char* nonEmpty(const char* text) {
  return text != nullptr && *text != '\0' ? text : nullptr;
}

void mapControl() {
  const char* path = std::getenv(kControlVariable);
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED || static_cast<Control*>(page)->magic != Control::kMagic) return;
  controlPage = static_cast<Control*>(page);
  enabled = &controlPage->enabled;
  captureName = nonEmpty(std::getenv(kCaptureVariable));
  stepName = nonEmpty(std::getenv(kStepVariable));
}

void joinOnce() {
  // A program with more rights than its caller must not open files that the caller names.
  if (getauxval(AT_SECURE) != 0) return;
  mapControl();
  pthread_atfork(nvtx::lockRegistry, nvtx::unlockRegistry, nvtx::unlockRegistry);
  joined = lacunaAttach(nullptr) == 0 || lacunaIsRecording() != 0;
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
  const int code = lacunaAttach(directory);
  joined |= code == 0;
  return code;
}

void leaveRecording() {
  lacunaDetach();
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

void noteStep(std::int64_t durationNs) {
  if (controlPage == nullptr) return;
  const std::uint64_t number = controlPage->stepCount.fetch_add(1, std::memory_order_relaxed);
  StepNote& note = controlPage->steps[number % Control::kSteps];
  note.sequence.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  note.durationNs = durationNs;
  note.process = getpid();
  note.thread = static_cast<std::int32_t>(syscall(SYS_gettid));
  note.sequence.store(number + 1, std::memory_order_release);
}

}  // namespace lacuna::collector::guest
