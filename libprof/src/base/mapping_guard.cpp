// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/mapping_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace lacuna::prof {

// Segments could be read with pread() instead, where a short file is an error, or lie in a sealed
// memory file. But both sides change the free list in place, so a copy is not enough. A memory file
// is gone when both processes were killed, while recover() finds a file. The guard costs nothing
// until a file is shortened.

/// A guarded mapping. Slots are never freed: a handler may go through them at any moment.
struct MappingGuard::Slot {
  std::atomic<bool> taken{true};
  std::atomic<std::uintptr_t> base{0};  ///< 0 while it guards nothing
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> broken{false};
  Slot* next = nullptr;
};

namespace {

std::atomic<MappingGuard::Slot*> gSlots{nullptr};
std::uintptr_t gPageBytes = 4096;
struct sigaction gBefore {};

MappingGuard::Slot* slotAt(std::uintptr_t address) {
  for (MappingGuard::Slot* slot = gSlots.load(std::memory_order_acquire); slot != nullptr;
       slot = slot->next) {
    const std::uintptr_t base = slot->base.load(std::memory_order_acquire);
    if (base != 0 && address >= base &&
        address - base < slot->bytes.load(std::memory_order_relaxed))
      return slot;
  }
  return nullptr;
}

/// Puts an empty page where one is gone. mmap() is a bare system call.
bool replacePage(std::uintptr_t address) {
  void* page = reinterpret_cast<void*>(address / gPageBytes * gPageBytes);
  return mmap(page, gPageBytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == page;
}

void passOn(int number, siginfo_t* info, void* context) {
  if ((gBefore.sa_flags & SA_SIGINFO) != 0) return gBefore.sa_sigaction(number, info, context);
  const bool sent = info->si_code <= 0;
  if (gBefore.sa_handler == SIG_IGN && sent) return;
  if (gBefore.sa_handler != SIG_DFL && gBefore.sa_handler != SIG_IGN)
    return gBefore.sa_handler(number);
  // A fault comes again, at the same place, once this returns; what was sent does not.
  signal(number, SIG_DFL);
  if (sent) raise(number);
}

void onBus(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  MappingGuard::Slot* slot = info->si_code == BUS_ADRERR ? slotAt(address) : nullptr;
  if (slot != nullptr && replacePage(address)) {
    slot->broken.store(true, std::memory_order_release);
  } else {
    passOn(number, info, context);
  }
  errno = error;
}

void install() {
  gPageBytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Read first: the handler may be entered as soon as it is there.
  sigaction(SIGBUS, nullptr, &gBefore);
  struct sigaction ours {};
  ours.sa_sigaction = onBus;
  ours.sa_mask = gBefore.sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (gBefore.sa_flags & (SA_RESTART | SA_NODEFER));
  sigaction(SIGBUS, &ours, nullptr);
}

MappingGuard::Slot* freeSlot() {
  for (MappingGuard::Slot* slot = gSlots.load(std::memory_order_acquire); slot != nullptr;
       slot = slot->next) {
    bool taken = false;
    if (slot->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return slot;
  }
  auto* slot = new MappingGuard::Slot;
  slot->next = gSlots.load(std::memory_order_relaxed);
  while (!gSlots.compare_exchange_weak(slot->next, slot, std::memory_order_acq_rel)) {
  }
  return slot;
}

}  // namespace

MappingGuard::MappingGuard(void* base, std::size_t bytes) {
  static std::once_flag once;
  std::call_once(once, install);
  slot_ = freeSlot();
  slot_->broken.store(false, std::memory_order_relaxed);
  slot_->bytes.store(bytes, std::memory_order_relaxed);
  slot_->base.store(reinterpret_cast<std::uintptr_t>(base), std::memory_order_release);
}

MappingGuard::~MappingGuard() {
  if (slot_ == nullptr) return;
  slot_->base.store(0, std::memory_order_release);
  slot_->taken.store(false, std::memory_order_release);
}

bool MappingGuard::broken() const {
  return slot_ != nullptr && slot_->broken.load(std::memory_order_acquire);
}

MappingGuard::Scope::Scope() {
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &bus, &before_);
}

MappingGuard::Scope::~Scope() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace lacuna::prof
