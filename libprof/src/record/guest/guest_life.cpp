// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "record/guest/guest.h"
#include "record/guest/guest_threads.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

extern "C" {
__thread LacunaThread lacunaThread_ __attribute__((tls_model("initial-exec"))) = {0, 0};
const std::uint64_t* lacunaGate_ = nullptr;
}

namespace lacuna::prof::recording {
namespace {

std::atomic<ForkPage*> gPage;
std::atomic<Mapping*> gMapping;
std::uint64_t gEpochs = 0;  // under the life lock
bool gKeys = false;         // under the life lock
char gDirectory[1024];      // under the life lock

void wipeInChild() {
  if (ForkPage* page = gPage.load()) std::memset(static_cast<void*>(page), 0, sizeof *page);
}

/// Makes a built mapping the one that records. Under both locks.
void publishMapping(Mapping& built) {
  built.epoch = ++gEpochs;
  gMapping.store(&built, std::memory_order_release);
  __atomic_store_n(&gPage.load()->epoch, built.epoch, __ATOMIC_RELEASE);
  __atomic_store_n(&lacunaGate_, &gPage.load()->epoch, __ATOMIC_RELEASE);
}

/// Under the life lock.
int join(const char* directory) {
  void* room =
      mmap(nullptr, sizeof(Mapping), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return -ENOMEM;
  auto* built = new (room) Mapping;
  int error = buildMapping(directory, *built);
  if (error == 0 && !copyNames(*built, publishMapping)) {
    munmap(built->view.base, built->view.offsets.end);
    unlink(built->path);
    error = -ENOSPC;
  }
  if (error != 0) munmap(room, sizeof(Mapping));
  return error;
}

/// Other threads may be in the middle of writing a record, so the addresses stay usable; the memory
/// behind them goes.
void abandon(Mapping& mapping) {
  (void)mmap(mapping.view.base, mapping.view.offsets.end, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int attach(const char* directory) {
  // A program with more rights than its caller must not write where the caller chooses.
  if (directory == nullptr && getauxval(AT_SECURE) != 0) return -EPERM;
  if (directory == nullptr) directory = std::getenv("LACUNA_RECORDING");
  if (directory == nullptr || *directory == 0) return -ENOENT;
  if (std::strlen(directory) >= sizeof gDirectory) return -ENAMETOOLONG;
  ForkPage* page = forkPage();
  if (page == nullptr) return -ENOMEM;
  if (lacunaIsRecording() != 0) return 0;
  const Locked lock(page->life);
  if (lacunaGate_ != nullptr) return 0;
  if (!gKeys && !makeThreadKeys()) return -EAGAIN;
  gKeys = true;
  // Children may have changed directory by the time they join.
  char* absolute = realpath(directory, nullptr);
  if (absolute == nullptr) return -errno;
  std::strncpy(gDirectory, absolute, sizeof gDirectory - 1);
  std::free(absolute);
  return join(gDirectory);
}

__attribute__((constructor)) void joinFromEnvironment() {
  if (std::getenv("LACUNA_RECORDING") != nullptr) lacunaAttach(nullptr);
}

}  // namespace

void SpinLock::lock() {
  while (taken_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}

ForkPage* forkPage() {
  ForkPage* page = gPage.load(std::memory_order_acquire);
  if (page != nullptr) return page;
  void* room = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  ForkPage* made = new (room) ForkPage;
  const bool wiped = madvise(room, 4096, MADV_WIPEONFORK) == 0;
  if (gPage.compare_exchange_strong(page, made, std::memory_order_acq_rel)) {
    if (!wiped) pthread_atfork(nullptr, nullptr, wipeInChild);
    return made;
  }
  munmap(room, 4096);
  return page;
}

Mapping* mapping() {
  return gMapping.load(std::memory_order_acquire);
}

bool rejoinAfterFork() {
  ForkPage* page = forkPage();
  if (__atomic_load_n(&page->epoch, __ATOMIC_ACQUIRE) != 0) return true;
  const Locked lock(page->life);
  if (__atomic_load_n(&page->epoch, __ATOMIC_ACQUIRE) != 0) return true;
  Mapping* old = gMapping.exchange(nullptr);
  lacunaThread_ = {0, 0};
  if (old != nullptr) munmap(old->view.base, old->view.offsets.end);
  if (join(gDirectory) == 0) return true;
  __atomic_store_n(&lacunaGate_, nullptr, __ATOMIC_RELEASE);
  return false;
}

}  // namespace lacuna::prof::recording

using namespace lacuna::prof::recording;

extern "C" int lacunaAttach(const char* directory) {
  const int savedErrno = errno;
  const int result = attach(directory);
  errno = savedErrno;
  return result;
}

extern "C" void lacunaDetach(void) {
  if (lacunaIsRecording() == 0) return;
  ForkPage* page = forkPage();
  const Locked lock(page->life);
  const Locked names(page->names);
  if (lacunaGate_ == nullptr) return;
  __atomic_store_n(&lacunaGate_, nullptr, __ATOMIC_RELEASE);
  Mapping* last = gMapping.exchange(nullptr);
  const bool ours = __atomic_load_n(&page->epoch, __ATOMIC_ACQUIRE) !=
                    0;  // not so in a child that recorded nothing
  if (last == nullptr) return;
  if (ours) {
    last->view.header().detached.store(1, std::memory_order_release);
    // So that a scope which began before does not write its end into memory that nobody reads.
    __atomic_store_n(&page->epoch, ++gEpochs, __ATOMIC_RELEASE);
  }
  abandon(*last);
}

extern "C" int lacunaIsRecording(void) {
  return __atomic_load_n(&lacunaGate_, __ATOMIC_RELAXED) != nullptr ? 1 : 0;
}

extern "C" uint64_t lacunaDropped(void) {
  Mapping* active = mapping();
  if (active == nullptr) return 0;
  std::uint64_t dropped = active->view.header().dropped.load(std::memory_order_relaxed);
  for (std::uint32_t i = 1; i <= kMaxThreads; ++i) {
    const ThreadEntry& entry = active->view.thread(i);
    dropped += entry.dropped.load(std::memory_order_relaxed) +
               __atomic_load_n(&entry.ended, __ATOMIC_RELAXED) + rangesInGap(entry).lost;
  }
  return dropped;
}
