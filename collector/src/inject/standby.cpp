// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "inject/standby.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "core/guest.h"
#include "core/standby_page.h"
#include "cupti/in_process.h"
#include "lacuna/prof/process.h"
#include "lacuna/prof/prof.h"
#include "lacuna/prof/rank.h"
#include "nvtx/events.h"

namespace lacuna::collector::guest {
namespace {

constexpr std::atomic<std::uint32_t> kOff{0};

StandbyPage* page = nullptr;
std::atomic<StandbySlot*> own{nullptr};
std::atomic<bool> byCall{false};
/// Threads whose steps end at the same time: one of them switches.
std::atomic_flag switching = ATOMIC_FLAG_INIT;

StandbyPage* mapPage() {
  const char* path = std::getenv(kStandbyVariable);
  if (path == nullptr || *path == 0) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat info {};
  const bool fits =
      fstat(fd, &info) == 0 && static_cast<std::size_t>(info.st_size) >= sizeof(StandbyPage);
  void* mapped = fits
                     ? mmap(nullptr, sizeof(StandbyPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  close(fd);
  if (mapped == MAP_FAILED) return nullptr;
  auto* found = static_cast<StandbyPage*>(mapped);
  return found->magic == StandbyPage::kMagic ? found : nullptr;
}

std::uint64_t ownNumber() {
  return CaptureSlot::ownerOf(static_cast<std::uint32_t>(getpid()), prof::pidNamespaceAt());
}

StandbySlot* freeSlot(std::uint64_t owner) {
  // The program that this process ran before.
  for (StandbySlot& slot : page->slots) {
    if (slot.owner.load() == owner) return &slot;
  }
  for (StandbySlot& slot : page->slots) {
    std::uint64_t none = 0;
    if (slot.owner.compare_exchange_strong(none, StandbySlot::kTaken)) return &slot;
  }
  return nullptr;
}

/// Null when all are taken.
StandbySlot* takeSlot() {
  const std::uint64_t owner = ownNumber();
  StandbySlot* slot = freeSlot(owner);
  enabled = slot != nullptr ? &slot->enabled : &kOff;
  own.store(slot);
  if (slot == nullptr) return nullptr;
  const prof::PlaceInJob place = prof::placeInJob();
  slot->enabled.store(0);
  slot->step.store(0);
  slot->rank.store(place.rank);
  slot->world.store(place.world);
  if (slot->state.load() != StandbyState::Waiting) slot->state.store(StandbyState::Missed);
  slot->owner.store(owner);
  return slot;
}

/// A forked child that trains takes a place of its own.
StandbySlot* ownSlot() {
  StandbySlot* slot = own.load();
  const auto self = static_cast<std::uint32_t>(getpid());
  return slot != nullptr && CaptureSlot::pidOf(slot->owner.load()) == self ? slot : takeSlot();
}

/// The CUDA timeline is wanted, and the driver is there.
bool usesCuda() {
  return std::getenv("CUDA_INJECTION64_PATH") != nullptr &&
         dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

void begin(StandbySlot& slot, std::int64_t step) {
  const bool inTime = step == slot.from.load();
  StandbyState armed = StandbyState::Armed;
  if (!slot.state.compare_exchange_strong(armed,
                                          inTime ? StandbyState::Recording : StandbyState::Missed))
    return;
  if (!inTime) return;
  slot.recording[StandbySlot::kPathBytes - 1] = 0;
  if (const int code = lacunaAttach(slot.recording); code != 0) {
    slot.error.store(-code);
    slot.state.store(StandbyState::Failed);
    return;
  }
  nvtx::repeatDescriptions();
  slot.enabled.store(1);
  if (usesCuda()) cupti::startCudaTimeline();
}

void end(StandbySlot& slot) {
  slot.enabled.store(0);
  cupti::stopCudaTimeline();
  lacunaDetach();
  slot.state.store(StandbyState::Done);
}

void checkSlot(StandbySlot& slot, std::int64_t step) {
  const StandbyState state = slot.state.load(std::memory_order_acquire);
  const bool begins = state == StandbyState::Armed && step >= slot.from.load();
  const bool ends = state == StandbyState::Recording && step >= slot.to.load();
  if ((!begins && !ends) || switching.test_and_set()) return;
  begins ? begin(slot, step) : end(slot);
  switching.clear();
}

}  // namespace

bool beginStandby() {
  page = mapPage();
  if (page == nullptr) return false;
  takeSlot();
  nvtx::keepDescriptions();
  return true;
}

bool onStandby() {
  return page != nullptr;
}

bool countStep() {
  StandbySlot* slot = ownSlot();
  if (slot == nullptr) return false;
  checkSlot(*slot, slot->step.fetch_add(1) + 1);
  return slot->enabled.load() != 0;
}

bool isLastStep() {
  const StandbySlot* slot = ownSlot();
  return slot != nullptr && slot->state.load() == StandbyState::Recording &&
         slot->step.load() + 1 >= slot->to.load();
}

void countStepRange(std::int64_t) {
  if (!byCall.load(std::memory_order_relaxed)) countStep();
}

void ignoreStepRanges() {
  byCall.store(true);
}

}  // namespace lacuna::collector::guest
