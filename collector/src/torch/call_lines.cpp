// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/call_lines.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "torch/python_api.h"

namespace lacuna::collector::torch {
namespace {

constexpr int kMostFrames = 64;
constexpr std::uint8_t kFirstOwnerWithoutCode = 3;
constexpr std::uint64_t kWholeCode = ~std::uint64_t{0};

FramePlaces gPlaces{};
SkippedFolders* gSkipped = nullptr;  // never destroyed: threads may call operators at the very end
std::atomic<bool> gWanted{false};

template <class Value>
Value at(const void* base, std::uint32_t offset) {
  Value value;
  std::memcpy(&value, static_cast<const unsigned char*>(base) + offset, sizeof value);
  return value;
}

/// A place in the code of a function, and its text. That of a whole code object is null: nothing
/// in it counts. The code is kept, so that no other comes to its address.
struct Site {
  const void* code;
  std::uint64_t instruction;
  std::string text;
  bool isSkipped;
};

/// Sites that were met before. Readers take no lock.
class Sites {
 public:
  const Site* find(const void* code, std::uint64_t instruction) const {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      const Site* site = slot(code, instruction, probe).load(std::memory_order_acquire);
      if (site == nullptr) return nullptr;
      if (site->code == code && site->instruction == instruction) return site;
    }
    return nullptr;
  }
  /// Null where there is no room.
  const Site* add(std::unique_ptr<Site> fresh) {
    const std::lock_guard lock(mutex_);
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      auto& place = slot(fresh->code, fresh->instruction, probe);
      if (place.load(std::memory_order_relaxed) != nullptr) continue;
      place.store(fresh.get(), std::memory_order_release);
      return fresh.release();
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 16384;
  static constexpr std::size_t kProbes = 16;
  std::atomic<const Site*>& slot(const void* code, std::uint64_t instruction,
                                 std::size_t probe) const {
    const auto key = reinterpret_cast<std::uintptr_t>(code) ^ instruction * 0x9E3779B97F4A7C15U;
    const std::uint64_t hash = key * 0xD6E8FEB86659FD93U;
    return slots_[((hash >> 40) + probe) % kSlots];
  }
  mutable std::array<std::atomic<const Site*>, kSlots> slots_{};
  std::mutex mutex_;
};
Sites& gSites = *new Sites;

/// Holds Python's lock, which this thread may have already.
class Lock {
 public:
  explicit Lock(const PythonApi& python) : python_(python), state_(python.lock()) {}
  ~Lock() { python_.unlock(state_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const PythonApi& python_;
  int state_;
};

std::string fileOf(const PythonApi& python, Object* code) {
  static Object* const kName = python.lastingText("co_filename");
  Object* file = python.attribute(code, kName);
  const char* words = file != nullptr ? python.words(file) : nullptr;
  std::string text = words != nullptr ? words : "";
  if (words == nullptr) python.clearError();
  if (file != nullptr) python.decRef(file);
  return text;
}

bool isSkipped(std::string_view file) {
  if (file.empty() || file.front() == '<' || file.starts_with(gSkipped->pytorch)) return true;
  // Packages of others are below the library's own folder.
  return file.starts_with(gSkipped->library) && file.find("-packages/") == std::string_view::npos;
}

/// Asks Python about a place that is new. Null where that is not possible.
const Site* meet(void* code, std::uint64_t instruction) {
  const PythonApi& python = *pythonApi();
  if (python.isFinalizing != nullptr && python.isFinalizing() != 0) return nullptr;
  const Lock lock(python);
  auto* object = static_cast<Object*>(code);
  const std::string file = fileOf(python, object);
  const bool skipped = isSkipped(file);
  const int line = skipped ? 0 : python.lineOf(object, static_cast<int>(instruction));
  python.incRef(object);
  const std::string name = file.substr(file.rfind('/') + 1);
  auto site = std::unique_ptr<Site>(new (std::nothrow) Site{
      code, skipped ? kWholeCode : instruction, name + ":" + std::to_string(line), skipped});
  return site != nullptr ? gSites.add(std::move(site)) : nullptr;
}

/// In bytes from the begin of the code.
std::uint64_t instructionOf(const void* frame, const void* code) {
  if (gPlaces.numberScale != 0)
    return std::uint64_t{at<std::uint32_t>(frame, gPlaces.instruction)} * gPlaces.numberScale;
  const auto address = at<std::uintptr_t>(frame, gPlaces.instruction);
  return address - reinterpret_cast<std::uintptr_t>(code) - gPlaces.bytecode;
}

const Site* siteOf(const void* frame) {
  constexpr std::uintptr_t kTags = 7;
  void* code = reinterpret_cast<void*>(at<std::uintptr_t>(frame, gPlaces.code) & ~kTags);
  if (code == nullptr) return nullptr;
  if (const Site* whole = gSites.find(code, kWholeCode)) return whole;
  const std::uint64_t instruction = instructionOf(frame, code);
  const Site* site = gSites.find(code, instruction);
  return site != nullptr ? site : meet(code, instruction);
}

const void* innermostFrame() {
  const void* thread = pythonApi()->threadState();
  if (thread == nullptr) return nullptr;
  if (gPlaces.viaFrame < 0) return at<const void*>(thread, gPlaces.frame);
  const auto* between = at<const void*>(thread, static_cast<std::uint32_t>(gPlaces.viaFrame));
  return between != nullptr ? at<const void*>(between, gPlaces.frame) : nullptr;
}

}  // namespace

bool findCallLines(const FramePlaces& places, SkippedFolders skipped) {
  if (pythonApi() == nullptr) return false;
  gPlaces = places;
  if (gSkipped == nullptr) gSkipped = new SkippedFolders(std::move(skipped));
  gWanted.store(true, std::memory_order_release);
  return true;
}

const char* callLine() {
  if (!gWanted.load(std::memory_order_acquire)) return nullptr;
  const void* frame = innermostFrame();
  for (int i = 0; frame != nullptr && i < kMostFrames; ++i) {
    const bool hasCode =
        gPlaces.owner < 0 ||
        at<std::uint8_t>(frame, static_cast<std::uint32_t>(gPlaces.owner)) < kFirstOwnerWithoutCode;
    const Site* site = hasCode ? siteOf(frame) : nullptr;
    if (hasCode && site == nullptr) return nullptr;
    if (site != nullptr && !site->isSkipped) return site->text.c_str();
    frame = at<const void*>(frame, gPlaces.back);
  }
  return nullptr;
}

}  // namespace lacuna::collector::torch
