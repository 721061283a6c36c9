// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "alloc/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "alloc/block_map.h"
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
constexpr std::size_t kSlabOfTrace = std::size_t{8} << 10;  ///< it needs each size a few times
constexpr std::size_t kRange = std::size_t{1} << 40;
constexpr std::size_t kSmallestRange = std::size_t{1} << 30;

std::size_t roundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

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
      range =
          ::mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range != MAP_FAILED) break;
    }
    if (range == MAP_FAILED) {
      fail("allocator",
           "the system refuses an address range of 1 GiB for the CPU device; is ulimit -v set?");
    }
    base_ = reinterpret_cast<std::uintptr_t>(range);
  }

  Block* allocate(std::size_t bytes, Role role) override {
    const std::lock_guard lock(lock_);
    const std::size_t rounded = std::max(kSmallest, roundUp(bytes, kBlockAlignment));
    Block* block = rounded <= kSmallLimit ? takeSmall(rounded) : takeAbove(rounded);
    block->requested = bytes;
    block->role = role;
    block->op = origin();
    block->tensor = instrument::tState.tensorName != nullptr ? instrument::tState.tensorName : "";
    block->serial = ++stats_.allocations;
    account(role, static_cast<std::int64_t>(bytes));
    note(LACUNA_RT_MEMORY_ALLOCATE, *block);
    return block;
  }

  void free(Block* block, QueueMask users) override {
    const std::lock_guard lock(lock_);
    note(LACUNA_RT_MEMORY_FREE, *block);
    account(block->role, -static_cast<std::int64_t>(block->requested));
    ++stats_.frees;
    const QueueMask others = users & ~(QueueMask{1} << block->queue);
    if (others != 0 && byQueue_) [[unlikely]]
      return await(block, others);
    cache(block);
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
    waitForQueues();
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
    if (!plan_.canBegin(queue())) return false;
    if (const std::size_t bytes = plan_.wantedBytes(); bytes > 0) installArena(bytes);
    return plan_.begin(queue());
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

  std::vector<const Block*> liveUnder(std::uint8_t index) override {
    const std::lock_guard lock(lock_);
    std::vector<const Block*> live;
    eachLive([&](const Block& block) {
      if (block.queue == index) live.push_back(&block);
    });
    return live;
  }

  void endIndex(std::uint8_t index) override {
    const std::lock_guard lock(lock_);
    blocks_.giveToFirst(index, CpuQueue::enqueuedTo(0));
    for (Block* piece : pieces_) {
      if (piece->queue == index) piece->queue = 0;
    }
    for (std::size_t size = 0; size < small_.size(); ++size) {
      auto& own = smallOf(index)[size];
      small_[size].insert(small_[size].end(), own.begin(), own.end());
      own.clear();
    }
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

  [[nodiscard]] std::uint8_t queue() const {
    return byQueue_ ? static_cast<std::uint8_t>(CpuQueue::chosenIndex()) : std::uint8_t{0};
  }

  // In line, as small blocks come and go with every operator.
  [[gnu::always_inline]] void cache(Block* block) {
    if (block->bytes > kSmallLimit) return cacheLarge(block);
    block->free = true;
    smallOf(block->queue)[block->bytes / kSmallest].push_back(block);
  }

  [[gnu::noinline]] void cacheLarge(Block* block) {
    if (block->recorded != 0) plan_.recordFree(*block);
    if (block->arena == nullptr) return giveBack(block);
    if (Block* memory = plan_.giveBack(block)) giveBack(memory);
  }

  /// A freed block that other queues use yet, and the points which they have to pass.
  struct Awaited {
    Block* block;
    std::vector<std::pair<const CpuQueue*, std::uint64_t>> points;
  };

  [[gnu::noinline]] void await(Block* block, QueueMask queues) {
    if (block->recorded != 0) plan_.recordFree(*block);
    Awaited awaited{block, {}};
    CpuQueue::each(queues, [&](const CpuQueue& queue) {
      awaited.points.emplace_back(&queue, queue.enqueued());
    });
    awaited_.push_back(std::move(awaited));
  }

  [[gnu::noinline]] void collectPassed() {
    std::erase_if(awaited_, [this](const Awaited& awaited) {
      const bool passed =
          std::all_of(awaited.points.begin(), awaited.points.end(),
                      [](const auto& point) { return point.first->completed() >= point.second; });
      if (passed) cache(awaited.block);
      return passed;
    });
  }

  /// Afterwards no block is in use but those that somebody holds.
  void waitForQueues() {
    if (!byQueue_) return;
    CpuQueue::drainAll();
    collectPassed();
  }

  [[gnu::noinline]] Block* takeAbove(std::size_t bytes) {
    if (!awaited_.empty()) [[unlikely]]
      collectPassed();
    return plan_.follows(queue()) ? takePlanned(bytes) : takeLarge(bytes);
  }

  Block* takePlanned(std::size_t bytes) {
    if (Block* block = plan_.take(bytes, origin())) return block;
    Block* block = takeLarge(bytes);
    if (plan_.state() == PlannedArena::State::Recording) plan_.recordAllocation(*block, bytes);
    return block;
  }

  // The memory that served the recorded iteration goes back first, or its memory would be held
  // twice.
  void installArena(std::size_t bytes) {
    waitForQueues();
    decommitFree();
    try {
      plan_.install(takeLarge(roundUp(bytes, kBlockAlignment)));
    } catch (const OutOfMemory& error) {
      plan_.refuse(error.what());
    }
  }

  void dropUnneededArenas() {
    while (Block* memory = plan_.takeUnneeded()) giveBack(memory);
  }

  Block* takeSmall(std::size_t bytes) {
    auto& list = smallOf(queue())[bytes / kSmallest];
    if (list.empty()) carveSlab(bytes, list);
    Block* block = list.back();
    list.pop_back();
    block->free = false;
    return block;
  }

  [[gnu::noinline]] void carveSlab(std::size_t bytes, std::vector<Block*>& list) {
    if (!awaited_.empty()) collectPassed();
    const std::size_t whole = queue() < CpuQueue::kMost ? kSlab : kSlabOfTrace;
    Block* slab = takeLarge(whole);
    slab->slab = true;
    for (std::size_t at = (whole / bytes - 1) * bytes;; at -= bytes) {
      auto* piece = new Block;
      piece->address = slab->address + at;
      piece->bytes = bytes;
      piece->queue = slab->queue;
      piece->free = true;
      list.push_back(piece);
      pieces_.push_back(piece);
      if (at == 0) break;
    }
  }

  Block* takeLarge(std::size_t bytes) {
    Block* cached = blocks_.fit(bytes, queue());
    if (cached == nullptr) cached = passedElsewhere(bytes);
    if (cached != nullptr) return blocks_.take(cached, bytes, queue());
    Block* bare = blocks_.bareFit(bytes);
    // Making room gives cached blocks back and joins them, so the search starts over.
    if (makeRoom(bare != nullptr ? bytes : missingAtEnd(bytes))) return takeLarge(bytes);
    return bare != nullptr ? commit(blocks_.take(bare, bytes, queue())) : grow(bytes);
  }

  /// A block of another queue which that has passed.
  Block* passedElsewhere(std::size_t bytes) {
    Block* fit = nullptr;
    if (!byQueue_) return fit;
    CpuQueue::each([&](const CpuQueue& other) {
      if (fit != nullptr || other.index() == queue()) return;
      Block* block = blocks_.fit(bytes, static_cast<std::uint8_t>(other.index()));
      if (block != nullptr && block->freedAt <= other.completed()) fit = block;
    });
    return fit;
  }

  Block* commit(Block* block) {
    block->committed = true;
    reserveBytes(*block, block->bytes);
    return block;
  }

  // The address range grows at its end: by what is missing after a free block there, in steps of
  // whole pages.
  [[nodiscard]] std::size_t missingAtEnd(std::size_t bytes) const {
    return roundUp(bytes - blocks_.tail(queue()),
                   backed_ ? (bytes >= kGrowth ? 4096 : kSlab) : 512);
  }

  Block* grow(std::size_t bytes) {
    const std::size_t missing = missingAtEnd(bytes);
    if (missing > range_ - end_) {
      outOfMemory(missing,
                  "the device's address range of " + std::to_string(range_) + " bytes is used up");
    }
    auto* fresh = new Block;
    fresh->address = base_ + end_;
    fresh->bytes = missing;
    if (backed_ &&
        ::mprotect(reinterpret_cast<void*>(fresh->address), missing, PROT_READ | PROT_WRITE) != 0) {
      delete fresh;
      outOfMemory(missing, "the system has no more memory");
    }
    end_ += missing;
    fresh->queue = queue();
    reserveBytes(*fresh, missing);
    blocks_.append(fresh);
    return blocks_.take(blocks_.fit(bytes, queue()), bytes, queue());
  }

  void reserveBytes(const Block& block, std::size_t bytes) {
    stats_.reserved += bytes;
    stats_.peakReserved = std::max(stats_.peakReserved, stats_.reserved);
    if ((instrument::sinks() & instrument::kNvtxSink) != 0) {
      instrument::memoryEvent(LACUNA_RT_MEMORY_RESERVE, block.address, bytes, Role::Cached, "", "",
                              positionIn(block.queue), !backed_);
    }
  }

  void giveBack(Block* block) {
    block->freedAt = byQueue_ ? CpuQueue::enqueuedTo(block->queue) : 0;
    blocks_.free(block, true);
  }

  void decommitFree() {
    for (Block* block : blocks_.takeCommitted(CpuQueue::kMost)) {
      const std::uintptr_t first = roundUp(block->address, 4096);
      const std::uintptr_t past = (block->address + block->bytes) / 4096 * 4096;
      if (backed_ && past > first)
        ::madvise(reinterpret_cast<void*>(first), past - first, MADV_DONTNEED);
      stats_.reserved -= block->bytes;
      if ((instrument::sinks() & instrument::kNvtxSink) != 0) {
        instrument::memoryEvent(LACUNA_RT_MEMORY_RELEASE, block->address, block->bytes,
                                Role::Cached, "", "", positionIn(block->queue), !backed_);
      }
      blocks_.free(block, false);
    }
  }

  /// True when it had to give cached memory back to stay below the limit.
  bool makeRoom(std::size_t bytes) {
    if (limit_ == 0 || stats_.reserved + bytes <= limit_) return false;
    if (Block* arena = plan_.surrender()) giveBack(arena);
    if (!blocks_.anyCommitted(CpuQueue::kMost) && awaited_.empty())
      outOfMemory(bytes, "the limit is " + std::to_string(limit_) + " bytes");
    waitForQueues();
    decommitFree();
    return true;
  }

  [[noreturn]] void outOfMemory(std::size_t bytes, const std::string& why) {
    throw OutOfMemory(std::string(origin()) + ": no memory for " + std::to_string(bytes) +
                      " more bytes (" + why + "); " + std::to_string(stats_.active) +
                      " bytes are held by tensors, the largest:\n" + largestLocked(10));
  }

  /// Calls f for the blocks in use, but those of planned memory.
  template <class F>
  void eachLive(const F& f) const {
    blocks_.each([&](const Block& block) {
      if (!block.free && !block.slab) f(block);
    });
    for (const Block* piece : pieces_) {
      if (!piece->free) f(*piece);
    }
  }

  std::string largestLocked(std::size_t count) {
    std::vector<const Block*> live;
    eachLive([&](const Block& block) { live.push_back(&block); });
    plan_.eachHeld([&](const Block& block) { live.push_back(&block); });
    count = std::min(count, live.size());
    std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count), live.end(),
                      [](const Block* a, const Block* b) {
                        return a->requested != b->requested ? a->requested > b->requested
                                                            : a->serial < b->serial;
                      });
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const Block& block = *live[i];
      text += "  " + std::to_string(block.requested) + " bytes, " + name(block.role) + ", by " +
              block.op + (*block.tensor != '\0' ? ", \"" + std::string(block.tensor) + "\"" : "") +
              "\n";
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
    instrument::memoryEvent(action, block.address, block.requested, block.role, block.op,
                            block.tensor, positionIn(block.queue), !backed_);
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

  [[nodiscard]] instrument::QueuePoint positionIn(std::uint8_t queue) const {
    if (!byQueue_) return {};
    return {CpuQueue::enqueuedTo(queue), CpuQueue::numberOf(queue)};
  }

  using SmallLists = std::array<std::vector<Block*>, kSmallLimit / kSmallest + 1>;

  SmallLists& smallOf(std::uint8_t queue) {
    if (queue == 0) [[likely]]
      return small_;
    auto& lists = smallOfOthers_[queue];
    if (!lists) lists = std::make_unique<SmallLists>();
    return *lists;
  }

  BiasedLock lock_;
  const bool backed_;
  const bool ordered_;
  const bool byQueue_ =
      ordered_ && backed_;  ///< not the host's memory, which is free when it comes back
  std::size_t limit_;
  std::size_t range_ = kRange;
  std::uintptr_t base_ = 0;
  std::size_t end_ = 0;
  BlockMap blocks_{kSmallLimit};
  std::vector<Awaited> awaited_;
  std::vector<Block*> pieces_;  ///< every small block there is
  SmallLists small_;            ///< of the first queue
  std::array<std::unique_ptr<SmallLists>, CpuQueue::kIndices> smallOfOthers_;
  MemoryStats stats_;
  PlannedArena plan_;
};

RangeAllocator& cpuAllocator() {
  static auto* cpu = new RangeAllocator(true, true, memoryLimitFromEnvironment(),
                                        switchFromEnvironment("LACUNA_MEMORY_PLAN"));
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
    {LockOrder::CpuAllocator, [] { cpuAllocator().lockForFork(); },
     [] { cpuAllocator().unlockAfterFork(); }},
    {LockOrder::MetaAllocator, [] { metaAllocator().lockForFork(); },
     [] { metaAllocator().unlockAfterFork(); }},
    {LockOrder::HostAllocator, [] { ownHostAllocator().lockForFork(); },
     [] { ownHostAllocator().unlockAfterFork(); }},
    {LockOrder::AllocatorTexts, [] { texts().mutex.lock(); }, [] { texts().mutex.unlock(); }},
};

}  // namespace
}  // namespace lacuna::rt
