// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "core/biased_lock.h"
#include "instrument/observer.h"

namespace lacuna::rt {

/// Work estimate of an execution, for rooflines; 0 where it is not known.
struct Work {
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  LacunaRtExecutionKind kind = LACUNA_RT_EXECUTION_COMPUTE;
  bool small = false;   ///< takes less time than handing it to another thread
  bool silent = false;  ///< not reported as an execution: the queue only waits in it
};

/// A set of queues of one device: bit n is queue n. The bits from CpuQueue::kMost on stand for
/// traces.
using QueueMask = std::uint64_t;

/// A launch that a trace keeps, to run it again.
struct KeptLaunch {
  void (*run)(void* task);
  void* task;
  const Name* name;
  Work work;
};
/// Takes the launches of a thread (see tensor/trace.h).
class LaunchRecorder {
 public:
  /// Memory for a task, which lives as long as the trace.
  virtual void* memoryFor(std::size_t bytes, std::size_t alignment) = 0;
  /// Takes a launch whose task lies there. `flat`: the task owns no other memory, where it could
  /// hold addresses. `end` ends the task.
  virtual const KeptLaunch& keep(const KeptLaunch& launch, std::size_t bytes, bool flat,
                                 void (*end)(void*)) = 0;
  /// Gives the recording up: launches from now on cannot be run again.
  virtual void leave(const std::string& why) = 0;

 protected:
  ~LaunchRecorder() = default;
};
extern thread_local constinit LaunchRecorder* tRecorder;

/// An in-order asynchronous queue of the CPU device: one thread runs what is enqueued from any
/// thread, in order. With LACUNA_SYNC=1, in a forked child and after exit() began, tasks run on the
/// calling thread instead. Queues are made when they are first asked for and live for good. A
/// queue's sequence numbers are its events: "execution n has run".
///
/// Tasks lie one after the other in a ring of bytes. A producer takes a lock (see BiasedLock),
/// writes its task and publishes it with plain stores; who goes to sleep pays for the barrier
/// between the two sides. A small task runs at once on the calling thread when the queue is idle:
/// whatever it depends on has run by then, and whatever depends on it is enqueued later.
class CpuQueue {
 public:
  static constexpr int kMost = 32;
  /// The indices from kMost on are those of traces. Each stands for the first queue, with memory of
  /// its own: what is allocated under such an index is used again under that index alone.
  static constexpr int kIndices = 64;

  /// `index` is below kIndices.
  static CpuQueue& of(int index) {
    CpuQueue* queue = made_[index].load(std::memory_order_acquire);
    return queue != nullptr ? *queue : make(index);
  }
  /// The first queue, to which every thread enqueues until it chooses another.
  static CpuQueue& instance() { return of(0); }
  /// The one to which the calling thread enqueues.
  static CpuQueue& current() {
    CpuQueue* queue = tChosen_.queue;
    return queue != nullptr ? *queue : makeChosen();
  }
  static int chosenIndex() { return tChosen_.index; }
  static QueueMask chosenBit() { return tChosen_.bit; }
  /// The thread enqueues to that queue from now on. It need not have been made.
  static void choose(int index) {
    if (tChosen_.index >= kMost) [[unlikely]]
      leaveTrace();
    chooseAsIs(index);
  }
  /// The same, and no trace minds.
  static void chooseAsIs(int index) {
    tChosen_ = {made_[index].load(std::memory_order_acquire), QueueMask{1} << index, index};
  }
  /// Calls f(queue) for those that were made, the first one first.
  template <class F>
  static void each(const F& f) {
    const int end = end_.load(std::memory_order_acquire);
    for (int i = 0; i < end; ++i) {
      if (CpuQueue* queue = made_[i].load(std::memory_order_acquire)) f(*queue);
    }
  }
  template <class F>
  static void each(QueueMask queues, const F& f) {
    for (; queues != 0; queues &= queues - 1) f(of(__builtin_ctzll(queues)));
  }
  /// Tasks enqueued to that queue; none where it was not made.
  static std::uint64_t enqueuedTo(int index) {
    const CpuQueue* queue = made_[index].load(std::memory_order_acquire);
    return queue != nullptr ? queue->enqueued() : 0;
  }
  /// Waits until all queues have run what is enqueued now; without throwing or clearing errors.
  static void drainAll();
  /// The same, then throws the first error, if there was one.
  static void synchronizeAll(const Name& what);
  /// Calls `release` once these queues have run what is enqueued now: at once if they have, else on
  /// a queue's thread.
  static void whenPassed(QueueMask queues, const Name& name, std::function<void()> release);
  /// True on the thread of a queue.
  [[nodiscard]] static bool onQueueThread();

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] QueueMask bit() const { return bit_; }
  /// As the NVTX schema counts queues.
  [[nodiscard]] std::uint32_t number() const { return numberOf(index_); }
  static constexpr std::uint32_t numberOf(int index) {
    return index < kMost ? static_cast<std::uint32_t>(index) * kNumbersBetween : 0;
  }

  /// `task` is any callable; what it captures must stay valid by queue-ordered memory. Blocks when
  /// the queue is full.
  template <class Task>
  void enqueue(const Name& name, const Work& work, Task task) {
    if (diverted_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      if (divert(name, work, task)) return;
    }
    if (work.small &&
        tail_.load(std::memory_order_acquire) == head_.load(std::memory_order_relaxed)) {
      if (instrument::sinks() == 0) [[likely]] {
        runSmall(name, task);
      } else if (!runSmallSeen(
                     name, work, [](void* held) { (*static_cast<Task*>(held))(); }, &task)) {
        put(name, work, std::move(task));
      }
      return;
    }
    if constexpr (sizeof(Task) <= kLargestTask && alignof(Task) <= 8) {
      put(name, work, std::move(task));
    } else {
      put(name, work, [held = std::make_unique<Task>(std::move(task))] { (*held)(); });
    }
  }
  /// Runs a launch of a trace once more.
  void enqueueAgain(const KeptLaunch& launch) {
    enqueue(*launch.name, launch.work, [&launch] { launch.run(launch.task); });
  }
  /// While threads trace, launches take a slower way.
  void traceBegins() { diverted_.fetch_add(kTracing, std::memory_order_relaxed); }
  void traceEnds() { diverted_.fetch_sub(kTracing, std::memory_order_relaxed); }
  /// From now on `index` stands for the first queue.
  static void lendIndex(int index);

  /// Waits until all of it has run, then throws the first error, if there was one.
  void synchronize(const Name& what, LacunaRtSyncKind kind);
  /// Waits without throwing or clearing errors.
  void drain() { waitFor(head_.load(std::memory_order_acquire)); }
  /// Waits until that task has run.
  void waitFor(std::uint64_t sequence);
  /// What is enqueued from now on runs after that task of the other queue.
  void runAfter(CpuQueue& other, std::uint64_t sequence);
  void runAfter(CpuQueue& other) { runAfter(other, other.enqueued()); }
  [[nodiscard]] std::uint64_t enqueued() const { return head_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t completed() const { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] bool idle() const { return completed() >= enqueued(); }

 private:
  static constexpr std::uint32_t kNumbersBetween =
      256;  ///< see docs/nvtx-schema.md, "Queues of one device"
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kUnits = 4096;
  static constexpr std::size_t kLargestTask = 4096;
  static constexpr std::size_t kAhead = 8;
  /// An entry of the ring: this, the task, and an Execution when somebody listens. `run` also ends
  /// the task.
  struct Record {
    void (*run)(void* task);  ///< none: the rest of the ring up to its end is unused
    const Name* name;
    std::uint32_t units;
    std::uint32_t execution;  ///< where it is, in bytes from here; 0 for none
    std::uint64_t sequence;
  };

  /// False for what goes into the ring all the same.
  template <class Task>
  [[gnu::cold, gnu::noinline]] bool divert(const Name& name, const Work& work, Task& task) {
    if (tRecorder != nullptr && work.kind != LACUNA_RT_EXECUTION_UPKEEP) {
      auto* kept = new (tRecorder->memoryFor(sizeof(Task), alignof(Task))) Task(std::move(task));
      const KeptLaunch launch{[](void* held) { (*static_cast<Task*>(held))(); }, kept, &name, work};
      enqueueKept(tRecorder->keep(launch, sizeof(Task), std::is_trivially_copyable_v<Task>,
                                  [](void* held) { static_cast<Task*>(held)->~Task(); }));
      return true;
    }
    if ((diverted_.load(std::memory_order_relaxed) & kSynchronous) == 0) return false;
    runNow(
        name, work, [](void* held) { (*static_cast<Task*>(held))(); }, &task);
    return true;
  }

  template <class Task>
  void runSmall(const Name& name, Task& task) {
    try {
      task();
    } catch (const std::exception& error) {
      keepError(name, error.what());
    }
  }

  template <class Task>
  static void runAndEnd(void* memory) {
    Task* task = std::launder(static_cast<Task*>(memory));
    struct End {
      Task* task;
      ~End() { task->~Task(); }
    } end{task};
    (*task)();
  }
  template <class Task>
  void put(const Name& name, const Work& work, Task task) {
    constexpr std::size_t kBytes = (sizeof(Record) + sizeof(Task) + 7) / 8 * 8;
    Record* record = reserve(kBytes, name, work);
    record->run = runAndEnd<Task>;
    new (record + 1) Task(std::move(task));
    commit(*record);
  }

  explicit CpuQueue(int index);
  static CpuQueue& make(int index);
  [[gnu::cold]] static CpuQueue& makeChosen();
  Record* reserve(std::size_t bytes, const Name& name, const Work& work) {
    if (!tDrainsAtEnd_) [[unlikely]]
      drainAtThreadEnd();
    const bool seen = instrument::sinks() != 0 && !work.silent;
    // The launch begins here, also where another thread holds the lock because it waits for room.
    std::int64_t waitedFromNs = 0;
    if (!lock_.tryLock()) [[unlikely]]
      waitedFromNs = lockLater(seen);
    const auto units = static_cast<std::uint32_t>(
        (bytes + (seen ? sizeof(instrument::Execution) : 0) + kUnit - 1) / kUnit);
    if (written_ % kUnits + units > kUnits || written_ + units - freed_ > kUnits) [[unlikely]] {
      const std::int64_t roomFromNs = makeRoom(units);
      if (waitedFromNs == 0) waitedFromNs = roomFromNs;
    }
    auto* record = reinterpret_cast<Record*>(ring_ + written_ % kUnits * kUnit);
    record->name = &name;
    record->units = units;
    record->execution = 0;
    record->sequence = head_.load(std::memory_order_relaxed) + 1;
    // The next entry is still in the cache of the queue's thread; it is fetched while the operator
    // goes on.
    __builtin_prefetch(ring_ + (written_ + kAhead) % kUnits * kUnit, 1);
    __builtin_prefetch(ring_ + (written_ + kAhead + 1) % kUnits * kUnit, 1);
    if (seen) [[unlikely]] {
      record->execution = static_cast<std::uint32_t>(bytes);
      announce(*record, name, work, waitedFromNs);
    }
    return record;
  }
  void commit(const Record& record) {
    written_ += record.units;
    head_.store(record.sequence, std::memory_order_release);
    published_.store(written_, std::memory_order_release);
    lock_.unlock();
    if (publishBarrier_) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_relaxed)) [[unlikely]]
      wake();
  }
  /// Records that the task with this number ran, and wakes those who wait for it (see
  /// sleepBarrier).
  void finish(std::uint64_t sequence) {
    tail_.store(sequence, std::memory_order_release);
    if (publishBarrier_) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      tail_.notify_all();
  }
  /// When the wait for the lock began; 0 if nobody asks.
  std::int64_t lockLater(bool seen);
  /// When the wait for room began; 0 if there was room.
  std::int64_t makeRoom(std::uint32_t units);
  static void drainAtThreadEnd();
  [[gnu::cold]] static void leaveTrace();
  /// The first run of a launch that a trace has taken.
  void enqueueKept(const KeptLaunch& launch);
  std::int64_t waitForUnits(std::uint64_t end);
  void sleepForRoom(std::uint64_t unit);
  /// `waitedFromNs`: see makeRoom.
  void announce(Record& record, const Name& name, const Work& work, std::int64_t waitedFromNs);
  bool runSmallSeen(const Name& name, const Work& work, void (*run)(void*), void* task);
  void runSeen(const Name& name, const Work& work, void (*run)(void*), void* task);
  void runKeepingError(const Name& name, void (*run)(void*), void* task);
  void runNow(const Name& name, const Work& work, void (*run)(void*), void* task);
  void work();
  bool waitForWork(std::uint64_t unit);
  void wake();
  void sleepBarrier() const;
  void execute(Record& record);
  void fillExecution(instrument::Execution& execution, const Name& name, const Work& work,
                     std::uint64_t sequence);
  void keepError(const Name& name, const char* text);
  void announceItself(std::uint32_t thread);
  void waitShown(const Name& what, LacunaRtSyncKind kind);
  void stop();
  static void stopAll();
  static void installHandlers();
  static void lockForFork();
  static void unlockAfterFork();
  static void goOnInChild();

  static std::atomic<CpuQueue*> made_[kIndices];
  static std::atomic<int> end_;  ///< past the highest index that was made
  struct Chosen {
    CpuQueue* queue = nullptr;  ///< null before its first use
    QueueMask bit = 1;
    int index = 0;
  };
  static thread_local constinit Chosen tChosen_;
  static thread_local constinit bool tDrainsAtEnd_;
  const int index_;
  const QueueMask bit_;
  std::byte* ring_ = nullptr;
  bool publishBarrier_ =
      false;  ///< the system has no barrier that a sleeper can impose on the others
  static constexpr std::uint32_t kSynchronous = 1;
  static constexpr std::uint32_t kTracing = 2;
  /// Not zero where launches cannot go straight into the ring: kSynchronous, and kTracing for each
  /// thread that traces.
  std::atomic<std::uint32_t> diverted_{0};
  // Producers' side.
  alignas(64) BiasedLock lock_;
  std::uint64_t written_ = 0;                       ///< units of the ring, under the lock
  std::uint64_t freed_ = 0;                         ///< what producers last knew of read_
  alignas(64) std::atomic<std::uint64_t> head_{0};  ///< tasks enqueued
  std::atomic<std::uint64_t> published_{0};         ///< units that the queue's thread may read
  // The queue thread's side.
  alignas(64) std::atomic<std::uint64_t> tail_{0};  ///< tasks completed
  std::atomic<std::uint64_t> read_{0};              ///< units of the ring that may be written again
  // Sleepers.
  alignas(64) std::atomic<bool> sleeping_{false};
  std::atomic<std::uint32_t> wake_{0};
  std::atomic<std::uint32_t> waiters_{0};
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  std::atomic<std::uint64_t> roomAt_{
      kNobody};  ///< where read_ has to be for the producer that sleeps for room
  std::atomic<bool> started_{false};  ///< the thread has set itself up
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  struct State;
  State* state_ = nullptr;
};

/// While it lives the thread enqueues to that queue.
class ChosenQueue {
 public:
  explicit ChosenQueue(int index) : before_(CpuQueue::chosenIndex()) {
    if (index != before_) [[unlikely]]
      CpuQueue::choose(index);
  }
  ~ChosenQueue() {
    if (CpuQueue::chosenIndex() != before_) [[unlikely]]
      CpuQueue::choose(before_);
  }
  ChosenQueue(const ChosenQueue&) = delete;
  ChosenQueue& operator=(const ChosenQueue&) = delete;

 private:
  int before_;
};

}  // namespace lacuna::rt
