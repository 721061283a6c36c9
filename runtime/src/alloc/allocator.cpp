// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <unordered_set>
#include <vector>

#include "alloc/planned_arena.h"
#include "backend/common/queue.h"
#include "core/biased_lock.h"
#include "core/environment.h"
#include "core/fork_locks.h"
#include "instrument/operator_recorder.h"

namespace lacuna::rt {

namespace {

constexpr std::size_t kBlockAlignment = 64;
constexpr std::size_t kGrowth = std::size_t{2} << 20;
constexpr std::size_t kSmallest = 64;
constexpr std::size_t kSmallLimit = 2048;
constexpr std::size_t kSlab = std::size_t{64} << 10;
constexpr std::size_t kRange = std::size_t{1} << 40;
constexpr std::size_t kSmallestRange = std::size_t{1} << 30;

std::size_t roundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t limitFromEnvironment() {
  const char* text = std::getenv("LACUNA_MEMORY_LIMIT");
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  const std::string suffix = end;
  double factor = 1;
  if (suffix == "K" || suffix == "k") factor = 1024;
  if (suffix == "M" || suffix == "m") factor = 1024.0 * 1024;
  if (suffix == "G" || suffix == "g") factor = 1024.0 * 1024 * 1024;
  const double bytes = value * factor;
  const bool isSize = bytes == 0 || (bytes >= 1 && bytes < 0x1p63);  // none is less than a byte, or not a number
  if (end == text || !isSize || (factor == 1 && !suffix.empty())) {
    fail("LACUNA_MEMORY_LIMIT",
         "'" + std::string(text) + "' is no size; write bytes or a number with K, M or G (0 for no limit)");
  }
  return static_cast<std::size_t>(bytes);
}

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
  }
};

/// Where the addresses come from: memory of the machine, or none at all for the meta device.
class RangeAllocator : public Allocator {
 public:
  RangeAllocator(bool backed, bool ordered, std::size_t limit, bool planned = false)
      : backed_(backed), ordered_(ordered), limit_(limit) {
    plan_.turn(planned);
    if (!backed) {
      base_ = std::uintptr_t{1} << 44;
      return;
    }
    // Limits on address space (ulimit -v, a sanitizer's layout) may leave less than one would like.
    void* range = MAP_FAILED;
    for (; range_ >= kSmallestRange; range_ /= 2) {
      range = ::mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range != MAP_FAILED) break;
    }
    if (range == MAP_FAILED) {
      fail("allocator", "the system refuses an address range of 1 GiB for the CPU device; is ulimit -v set?");
    }
    base_ = reinterpret_cast<std::uintptr_t>(range);
  }

  Block* allocate(std::size_t bytes, Role role) override {
    const std::lock_guard lock(lock_);
    const std::size_t rounded = std::max(kSmallest, roundUp(bytes, kBlockAlignment));
    Block* block = rounded <= kSmallLimit ? takeSmall(rounded)
                   : plan_.follows()      ? takePlanned(rounded)
                                          : takeLarge(rounded);
    block->requested = bytes;
    block->role = role;
    block->op = origin();
    block->tensor = instrument::tState.tensorName != nullptr ? instrument::tState.tensorName : "";
    block->serial = ++stats_.allocations;
    account(role, static_cast<std::int64_t>(bytes));
    note(LACUNA_RT_MEMORY_ALLOCATE, *block);
    return block;
  }

  void free(Block* block) override {
    const std::lock_guard lock(lock_);
    note(LACUNA_RT_MEMORY_FREE, *block);
    account(block->role, -static_cast<std::int64_t>(block->requested));
    ++stats_.frees;
    if (block->bytes <= kSmallLimit) {
      block->free = true;
      small_[block->bytes / kSmallest].push_back(block);
    } else if (block->arena != nullptr) {
      if (Block* memory = plan_.giveBack(block)) giveBack(memory, true);
    } else {
      if (block->recorded != 0) plan_.recordFree(*block);
      giveBack(block, true);
    }
  }

  void describe(Block* block, const char* tensor, Role role) override {
    const std::lock_guard lock(lock_);
    if (block->role == role && std::string_view(block->tensor) == tensor) return;
    emitEvent(LACUNA_RT_MEMORY_FREE, *block);
    account(block->role, -static_cast<std::int64_t>(block->requested));
    block->tensor = tensor;
    block->role = role;
    account(role, static_cast<std::int64_t>(block->requested));
    emitEvent(LACUNA_RT_MEMORY_ALLOCATE, *block);
  }

  MemoryStats stats() override {
    const std::lock_guard lock(lock_);
    return stats_;
  }

  void resetPeak() override {
    const std::lock_guard lock(lock_);
    stats_.peakActive = stats_.active;
    stats_.peakReserved = stats_.reserved;
    stats_.peakByRole = stats_.atPeakByRole = stats_.activeByRole;
  }

  void trim() override {
    const std::lock_guard lock(lock_);
    decommitFree();
  }

  void setLimit(std::size_t bytes) override {
    const std::lock_guard lock(lock_);
    limit_ = bytes;
  }

  std::string largest(std::size_t count) override {
    const std::lock_guard lock(lock_);
    return largestLocked(count);
  }

  void planIterations(bool on) override {
    const std::lock_guard lock(lock_);
    plan_.turn(on);
    dropUnneededArenas();
  }

  void recordPlanAgain() override {
    const std::lock_guard lock(lock_);
    plan_.recordAgain();
    dropUnneededArenas();
  }

  MemoryPlanStats planStats() override {
    const std::lock_guard lock(lock_);
    return plan_.stats();
  }

  bool beginIteration() override {
    const std::lock_guard lock(lock_);
    if (!plan_.canBegin()) return false;
    if (const std::size_t bytes = plan_.wantedBytes(); bytes > 0) installArena(bytes);
    return plan_.begin();
  }

  void endIteration(bool finished) override {
    std::optional<std::vector<PlannedBuffer>> recorded;
    {
      const std::lock_guard lock(lock_);
      recorded = plan_.end(finished);
      dropUnneededArenas();
    }
    if (!recorded) return;
    ArenaPlan packed = packArena(std::move(*recorded));
    const std::lock_guard lock(lock_);
    plan_.finish(std::move(packed));
  }

  void lockForFork() { lock_.lockForFork(); }
  void unlockAfterFork() { lock_.unlock(); }

 private:
  /// The one that asks: an operator, a stage of a loader, or the program itself.
  [[nodiscard]] const char* origin() const {
    if (instrument::tOp != nullptr) return instrument::tOp->name->text;
    if (instrument::tState.origin != nullptr) return instrument::tState.origin;
    return ordered_ ? "empty" : "empty_host";
  }

  Block* takePlanned(std::size_t bytes) {
    if (Block* block = plan_.take(bytes, origin())) return block;
    Block* block = takeLarge(bytes);
    if (plan_.state() == PlannedArena::State::Recording) plan_.recordAllocation(*block, bytes);
    return block;
  }

  // The memory that served the recorded iteration goes back first, or its memory would be held twice.
  void installArena(std::size_t bytes) {
    if (ordered_ && backed_) CpuQueue::instance().drain();
    decommitFree();
    try {
      plan_.install(takeLarge(roundUp(bytes, kBlockAlignment)));
    } catch (const OutOfMemory& error) {
      plan_.refuse(error.what());
    }
  }

  void dropUnneededArenas() {
    while (Block* memory = plan_.takeUnneeded()) giveBack(memory, true);
  }

  Block* takeSmall(std::size_t bytes) {
    auto& list = small_[bytes / kSmallest];
    if (list.empty()) carveSlab(bytes, list);
    Block* block = list.back();
    list.pop_back();
    block->free = false;
    return block;
  }

  void carveSlab(std::size_t bytes, std::vector<Block*>& list) {
    Block* slab = takeLarge(kSlab);
    slab->slab = true;
    for (std::size_t at = (kSlab / bytes - 1) * bytes;; at -= bytes) {
      auto* piece = new Block;
      piece->address = slab->address + at;
      piece->bytes = bytes;
      piece->free = true;
      list.push_back(piece);
      pieces_.push_back(piece);
      if (at == 0) break;
    }
  }

  Block* takeLarge(std::size_t bytes) {
    if (Block* fit = bestFit(committed_, bytes)) return split(fit, bytes);
    Block key;
    key.bytes = bytes;
    const bool bareFits = bare_.lower_bound(&key) != bare_.end();
    // Making room gives cached blocks back and joins them, so the search starts over.
    if (makeRoom(bareFits ? bytes : missingAtEnd(bytes))) return takeLarge(bytes);
    return bareFits ? commitAndSplit(bestFit(bare_, bytes), bytes) : grow(bytes);
  }

  static Block* bestFit(std::set<Block*, BySize>& blocks, std::size_t bytes) {
    Block key;
    key.bytes = bytes;
    const auto found = blocks.lower_bound(&key);
    if (found == blocks.end()) return nullptr;
    Block* block = *found;
    blocks.erase(found);
    return block;
  }

  Block* split(Block* block, std::size_t bytes) {
    block->free = false;
    if (block->bytes - bytes > kSmallLimit) {
      auto* rest = new Block;
      rest->address = block->address + bytes;
      rest->bytes = block->bytes - bytes;
      rest->before = block;
      rest->after = block->after;
      rest->free = true;
      rest->committed = block->committed;
      if (rest->after != nullptr) rest->after->before = rest;
      if (last_ == block) last_ = rest;
      block->after = rest;
      block->bytes = bytes;
      (rest->committed ? committed_ : bare_).insert(rest);
    }
    return block;
  }

  Block* commitAndSplit(Block* block, std::size_t bytes) {
    Block* taken = split(block, bytes);
    taken->committed = true;
    reserveBytes(*taken, taken->bytes);
    return taken;
  }

  // The address range grows at its end: by what is missing after a free block there, in steps of whole pages.
  [[nodiscard]] std::size_t missingAtEnd(std::size_t bytes) const {
    const std::size_t tail = last_ != nullptr && last_->free && last_->committed ? last_->bytes : 0;
    return roundUp(bytes - tail, backed_ ? growthUnit(bytes) : 512);
  }

  Block* grow(std::size_t bytes) {
    const std::size_t missing = missingAtEnd(bytes);
    if (missing > range_ - end_) {
      outOfMemory(missing, "the device's address range of " + std::to_string(range_) + " bytes is used up");
    }
    auto* fresh = new Block;
    fresh->address = base_ + end_;
    fresh->bytes = missing;
    if (backed_ && ::mprotect(reinterpret_cast<void*>(fresh->address), missing, PROT_READ | PROT_WRITE) != 0) {
      delete fresh;
      outOfMemory(missing, "the system has no more memory");
    }
    end_ += missing;
    fresh->committed = true;
    fresh->before = last_;
    (last_ != nullptr ? last_->after : first_) = fresh;
    last_ = fresh;
    reserveBytes(*fresh, missing);
    giveBack(fresh, true);
    Block* fit = bestFit(committed_, bytes);
    return split(fit, bytes);
  }

  [[nodiscard]] static std::size_t growthUnit(std::size_t bytes) { return bytes >= kGrowth ? 4096 : kSlab; }

  void reserveBytes(const Block& block, std::size_t bytes) {
    stats_.reserved += bytes;
    stats_.peakReserved = std::max(stats_.peakReserved, stats_.reserved);
    if ((instrument::sinks() & instrument::kNvtxSink) != 0) {
      instrument::memoryEvent(LACUNA_RT_MEMORY_RESERVE, block.address, bytes, Role::Cached, "", "", position(),
                              !backed_);
    }
  }

  void giveBack(Block* block, bool committed) {
    block->free = true;
    block->committed = committed;
    block = mergeAfter(block);
    if (block->before != nullptr && block->before->free && block->before->committed == committed) {
      Block* before = block->before;
      (committed ? committed_ : bare_).erase(before);
      block = absorb(before, block);
    }
    (committed ? committed_ : bare_).insert(block);
  }

  Block* mergeAfter(Block* block) {
    Block* after = block->after;
    if (after != nullptr && after->free && after->committed == block->committed) {
      (after->committed ? committed_ : bare_).erase(after);
      absorb(block, after);
    }
    return block;
  }

  Block* absorb(Block* keep, Block* gone) {
    keep->bytes += gone->bytes;
    keep->after = gone->after;
    if (gone->after != nullptr) gone->after->before = keep;
    if (last_ == gone) last_ = keep;
    delete gone;
    return keep;
  }

  void decommitFree() {
    const std::vector<Block*> blocks(committed_.begin(), committed_.end());
    committed_.clear();
    for (Block* block : blocks) {
      const std::uintptr_t first = roundUp(block->address, 4096);
      const std::uintptr_t past = (block->address + block->bytes) / 4096 * 4096;
      if (backed_ && past > first) ::madvise(reinterpret_cast<void*>(first), past - first, MADV_DONTNEED);
      stats_.reserved -= block->bytes;
      if ((instrument::sinks() & instrument::kNvtxSink) != 0) {
        instrument::memoryEvent(LACUNA_RT_MEMORY_RELEASE, block->address, block->bytes, Role::Cached, "", "",
                                position(), !backed_);
      }
      giveBack(block, false);
    }
  }

  /// True when it had to give cached memory back to stay below the limit.
  bool makeRoom(std::size_t bytes) {
    if (limit_ == 0 || stats_.reserved + bytes <= limit_) return false;
    if (Block* arena = plan_.surrender()) giveBack(arena, true);
    if (committed_.empty()) outOfMemory(bytes, "the limit is " + std::to_string(limit_) + " bytes");
    if (ordered_ && backed_) CpuQueue::instance().drain();
    decommitFree();
    return true;
  }

  [[noreturn]] void outOfMemory(std::size_t bytes, const std::string& why) {
    throw OutOfMemory(std::string(origin()) + ": no memory for " + std::to_string(bytes) + " more bytes (" + why +
                      "); " + std::to_string(stats_.active) + " bytes are held by tensors, the largest:\n" +
                      largestLocked(10));
  }

  std::string largestLocked(std::size_t count) {
    std::vector<const Block*> live;
    for (const Block* block = first_; block != nullptr; block = block->after) {
      if (!block->free && !block->slab) live.push_back(block);
    }
    for (const Block* piece : pieces_) {
      if (!piece->free) live.push_back(piece);
    }
    plan_.eachHeld([&](const Block& block) { live.push_back(&block); });
    count = std::min(count, live.size());
    std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count), live.end(),
                      [](const Block* a, const Block* b) {
                        return a->requested != b->requested ? a->requested > b->requested : a->serial < b->serial;
                      });
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const Block& block = *live[i];
      text += "  " + std::to_string(block.requested) + " bytes, " + name(block.role) + ", by " + block.op +
              (*block.tensor != '\0' ? ", \"" + std::string(block.tensor) + "\"" : "") + "\n";
    }
    return text;
  }

  void account(Role role, std::int64_t bytes) {
    auto& share = stats_.activeByRole[static_cast<std::size_t>(role)];
    stats_.active += static_cast<std::size_t>(bytes);
    share += static_cast<std::size_t>(bytes);
    auto& peak = stats_.peakByRole[static_cast<std::size_t>(role)];
    peak = std::max(peak, share);
    if (stats_.active > stats_.peakActive) {
      stats_.peakActive = stats_.active;
      stats_.atPeakByRole = stats_.activeByRole;
    }
  }

  void emitEvent(LacunaRtMemoryAction action, const Block& block) {
    if (instrument::sinks() == 0) [[likely]]
      return;
    instrument::memoryEvent(action, block.address, block.requested, block.role, block.op, block.tensor, position(),
                            !backed_);
  }

  void note(LacunaRtMemoryAction action, const Block& block) {
    if (instrument::sinks() == 0) [[likely]]
      return;
    emitEvent(action, block);
    if (!instrument::recordingOperators() || !ordered_) return;
    const DeviceType device = backed_ ? DeviceType::Cpu : DeviceType::Meta;
    if (action == LACUNA_RT_MEMORY_ALLOCATE) instrument::recordAllocation(block, device);
    if (action == LACUNA_RT_MEMORY_FREE) instrument::recordFree(block, device);
  }

  [[nodiscard]] std::uint64_t position() const { return backed_ && ordered_ ? CpuQueue::instance().enqueued() : 0; }

  BiasedLock lock_;
  const bool backed_;
  const bool ordered_;
  std::size_t limit_;
  std::size_t range_ = kRange;
  std::uintptr_t base_ = 0;
  std::size_t end_ = 0;
  Block* last_ = nullptr;
  Block* first_ = nullptr;
  std::set<Block*, BySize> committed_;
  std::set<Block*, BySize> bare_;
  std::vector<const Block*> pieces_;  ///< every small block there is
  std::vector<Block*> small_[kSmallLimit / kSmallest + 1];
  MemoryStats stats_;
  PlannedArena plan_;
};

RangeAllocator& cpuAllocator() {
  static auto* cpu =
      new RangeAllocator(true, true, limitFromEnvironment(), switchFromEnvironment("LACUNA_MEMORY_PLAN"));
  return *cpu;
}

RangeAllocator& metaAllocator() {
  static auto* meta = new RangeAllocator(false, true, 0);
  return *meta;
}

RangeAllocator& ownHostAllocator() {
  static auto* host = new RangeAllocator(true, false, 0);
  return *host;
}

struct Texts {
  std::mutex mutex;
  std::unordered_set<std::string> all;
};
Texts& texts() {
  static auto* one = new Texts;
  return *one;
}

}  // namespace

Allocator& allocatorOf(Device device) {
  if (device.type == DeviceType::Cuda) fail("device", "this build has no CUDA backend");
  if (device.type == DeviceType::Meta) return metaAllocator();
  return cpuAllocator();
}

Allocator& hostAllocator() {
  return ownHostAllocator();
}

const char* internText(std::string_view text) {
  const std::lock_guard lock(texts().mutex);
  return texts().all.emplace(text).first->c_str();
}

namespace {

const ForkLock kAllocatorLocks[] = {
    {LockOrder::CpuAllocator, [] { cpuAllocator().lockForFork(); }, [] { cpuAllocator().unlockAfterFork(); }},
    {LockOrder::MetaAllocator, [] { metaAllocator().lockForFork(); }, [] { metaAllocator().unlockAfterFork(); }},
    {LockOrder::HostAllocator, [] { ownHostAllocator().lockForFork(); }, [] { ownHostAllocator().unlockAfterFork(); }},
    {LockOrder::AllocatorTexts, [] { texts().mutex.lock(); }, [] { texts().mutex.unlock(); }},
};

}  // namespace

MemoryStats memoryStats(Device device) {
  return allocatorOf(device).stats();
}
void resetPeakMemory(Device device) {
  allocatorOf(device).resetPeak();
}
void releaseCachedMemory(Device device) {
  synchronize();
  allocatorOf(device).trim();
}
void setMemoryLimit(std::size_t bytes, Device device) {
  allocatorOf(device).setLimit(bytes);
}
void planMemory(bool on, Device device) {
  allocatorOf(device).planIterations(on);
}
void recordMemoryPlan(Device device) {
  allocatorOf(device).recordPlanAgain();
}
MemoryPlanStats memoryPlanStats(Device device) {
  return allocatorOf(device).planStats();
}
std::string largestTensors(std::size_t count, Device device) {
  return allocatorOf(device).largest(count);
}

}  // namespace lacuna::rt
