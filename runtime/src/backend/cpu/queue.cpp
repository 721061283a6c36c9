// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/common/queue.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>

#include "backend/cpu/parallel.h"
#include "backend/cpu/queue_state.h"
#include "core/process_barrier.h"
#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace {

thread_local bool tIsQueueThread = false;
constexpr int kSpins = 2000;
constexpr std::int64_t kPatienceNs = 2'000'000;  ///< of a producer, awake

}  // namespace

void CpuQueue::enqueueKept(const KeptLaunch& launch) {
  if ((diverted_.load(std::memory_order_relaxed) & kSynchronous) != 0)
    return runNow(*launch.name, launch.work, launch.run, launch.task);
  put(*launch.name, launch.work, [&launch] { launch.run(launch.task); });
}

std::int64_t CpuQueue::lockLater(bool seen) {
  const std::int64_t fromNs = seen ? instrument::nowNs() : 0;
  lock_.lock();
  return fromNs;
}

// A record never wraps around the end of the ring: what is left there is skipped.
std::int64_t CpuQueue::makeRoom(std::uint32_t units) {
  const std::uint64_t left = kUnits - written_ % kUnits;
  std::int64_t waitedFromNs = 0;
  if (units > left) {
    waitedFromNs = waitForUnits(written_ + left);
    reinterpret_cast<Record*>(ring_ + written_ % kUnits * kUnit)->run = nullptr;
    written_ += left;
  }
  const std::int64_t againFromNs = waitForUnits(written_ + units);
  return waitedFromNs != 0 ? waitedFromNs : againFromNs;
}

// Waits for a good piece of the ring at once and polls rarely: every poll slows the queue's thread
// down. Small operators free it soon. Large ones want the processor meanwhile.
std::int64_t CpuQueue::waitForUnits(std::uint64_t end) {
  freed_ = read_.load(std::memory_order_acquire);
  if (end - freed_ <= kUnits) return 0;
  const std::uint64_t wanted = end + kUnits / 4 - kUnits;
  const std::int64_t fromNs = instrument::nowNs();
  const std::int64_t until = fromNs + kPatienceNs;
  for (int spin = 0; freed_ < wanted && (spin < kSpins || instrument::nowNs() < until);
       spin += 32) {
    for (int i = 0; i < 32; ++i) _mm_pause();
    if (spin > kSpins) std::this_thread::yield();
    freed_ = read_.load(std::memory_order_acquire);
  }
  if (freed_ < wanted) sleepForRoom(wanted);
  return fromNs;
}

void CpuQueue::sleepForRoom(std::uint64_t unit) {
  roomAt_.store(unit, std::memory_order_relaxed);
  sleepBarrier();
  for (freed_ = read_.load(std::memory_order_acquire); freed_ < unit;
       freed_ = read_.load(std::memory_order_acquire))
    read_.wait(freed_, std::memory_order_acquire);
  roomAt_.store(kNobody, std::memory_order_relaxed);
}

void CpuQueue::announce(Record& record, const Name& name, const Work& work,
                        std::int64_t waitedFromNs) {
  auto* at = reinterpret_cast<std::byte*>(&record) + record.execution;
  auto& execution = *new (at) instrument::Execution;
  fillExecution(execution, name, work, record.sequence);
  execution.enqueueEndNs = instrument::nowNs();
  execution.enqueueStartNs = waitedFromNs != 0 ? waitedFromNs : execution.enqueueEndNs;
  if (record.sequence % 16 == 0)
    instrument::queueDepth(index_, record.sequence - 1 - tail_.load(std::memory_order_relaxed));
}

void CpuQueue::fillExecution(instrument::Execution& execution, const Name& name, const Work& work,
                             std::uint64_t sequence) {
  const instrument::OpContext* op = instrument::tOp;
  execution.name = &name;
  const bool ofOperator =
      op != nullptr && op->correlation != 0 && work.kind != LACUNA_RT_EXECUTION_UPKEEP;
  execution.correlation = ofOperator ? op->correlation : instrument::nextCorrelation();
  execution.sequence = sequence;
  execution.queue = number();
  execution.bytes = work.bytes;
  execution.flops = work.flops;
  execution.kind = work.kind;
  execution.thread = instrument::threadId();
  execution.shapes = op != nullptr ? op->shapes : nullptr;
}

// One producer wakes the sleeper; the others need not ask the system until it sleeps again.
void CpuQueue::wake() {
  if (!sleeping_.exchange(false)) return;
  wake_.fetch_add(1);
  wake_.notify_one();
}

// A producer publishes, then looks for a sleeper, with no barrier between. The queue's thread does
// the same with those who wait for it or for room. So a sleeper publishes that it sleeps, makes all
// threads pass a barrier, and looks again.
void CpuQueue::sleepBarrier() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!publishBarrier_) processBarrier();
}

void CpuQueue::runNow(const Name& name, const Work& work, void (*run)(void*), void* task) {
  const std::lock_guard lock(state_->runMutex);
  threadCount();  // sets oneDNN's too: in a forked child it would else wait for the OpenMP team of
                  // the parent
  runSeen(name, work, run, task);
  if (state_->throwsAtOnce) state_->throwKept(failed_);
}

// The lock keeps the order of sequence numbers; false when somebody enqueued in between.
bool CpuQueue::runSmallSeen(const Name& name, const Work& work, void (*run)(void*), void* task) {
  const std::lock_guard lock(lock_);
  if (tail_.load(std::memory_order_acquire) != head_.load(std::memory_order_relaxed)) return false;
  runSeen(name, work, run, task);
  return true;
}

void CpuQueue::runSeen(const Name& name, const Work& work, void (*run)(void*), void* task) {
  const std::uint64_t sequence = head_.load(std::memory_order_relaxed) + 1;
  head_.store(sequence, std::memory_order_relaxed);
  if (instrument::beginInOperator(name, work.kind, work.bytes, work.flops, sequence, number()))
      [[likely]] {
    runKeepingError(name, run, task);
    instrument::endInOperator();
    return finish(sequence);
  }
  instrument::Execution execution;
  std::int64_t startNs = 0;
  if (instrument::sinks() != 0) {
    fillExecution(execution, name, work, sequence);
    if ((instrument::sinks() & instrument::kTableSink) != 0) startNs = instrument::nowNs();
    instrument::executionBegin(execution);
  }
  runKeepingError(name, run, task);
  if (execution.name != nullptr) instrument::executionEnd(execution, startNs);
  finish(sequence);  // another thread may wait for it, as for what the queue's thread runs
}

void CpuQueue::runKeepingError(const Name& name, void (*run)(void*), void* task) {
  try {
    run(task);
  } catch (const std::exception& error) {
    keepError(name, error.what());
  }
}

void CpuQueue::keepError(const Name& name, const char* text) {
  const std::lock_guard lock(state_->errorMutex);
  if (failed_) return;
  const std::string what = text;
  const std::string prefix = std::string(name.text) + ": ";
  state_->error = what.starts_with(prefix) ? what : prefix + what;
  failed_ = true;
}

void CpuQueue::execute(Record& record) {
  std::int64_t startNs = 0;
  instrument::Execution* execution = nullptr;
  if (record.execution != 0) [[unlikely]] {
    execution = std::launder(reinterpret_cast<instrument::Execution*>(
        reinterpret_cast<std::byte*>(&record) + record.execution));
    if ((instrument::sinks() & instrument::kTableSink) != 0) startNs = instrument::nowNs();
    instrument::executionBegin(*execution);
  }
  try {
    record.run(&record + 1);
  } catch (const std::exception& error) {
    keepError(*record.name, error.what());
  }
  if (execution != nullptr) [[unlikely]]
    instrument::executionEnd(*execution, startNs);
}

bool CpuQueue::waitForWork(std::uint64_t unit) {
  // Every look takes the counter's cache line away from the producers, so looks become rarer.
  for (int spin = 0; spin < kSpins;) {
    if (published_.load(std::memory_order_acquire) != unit) return true;
    for (const int until = spin + std::min(1 + spin / 4, 16); spin < until; ++spin) _mm_pause();
  }
  while (true) {
    const std::uint32_t ticket = wake_.load();
    sleeping_.store(true, std::memory_order_relaxed);
    sleepBarrier();
    if (published_.load(std::memory_order_acquire) != unit) break;
    if (stopping_.load()) return false;
    wake_.wait(ticket);
  }
  sleeping_.store(false, std::memory_order_relaxed);
  return true;
}

// Threads that wait for the queue look for what is published here: always when nothing is left,
// else now and then.
void CpuQueue::work() {
  tIsQueueThread = true;
  nameThread(state_->name.c_str());
  announceItself(instrument::threadId());
  started_.store(true, std::memory_order_release);
  started_.notify_all();
  std::uint64_t unit = 0;
  std::uint64_t known = 0;
  while (true) {
    if (unit == known) {
      known = published_.load(std::memory_order_acquire);
      if (unit == known) {
        if (!waitForWork(unit)) return;
        continue;
      }
    }
    auto* record = reinterpret_cast<Record*>(ring_ + unit % kUnits * kUnit);
    if (record->run == nullptr) {
      unit += kUnits - unit % kUnits;
      continue;
    }
    __builtin_prefetch(ring_ + (unit + kAhead) % kUnits * kUnit);
    __builtin_prefetch(ring_ + (unit + kAhead + 1) % kUnits * kUnit);
    const std::uint32_t units = record->units;
    const std::uint64_t sequence = record->sequence;
    execute(*record);
    unit += units;
    read_.store(unit, std::memory_order_release);
    finish(sequence);
    if (unit >= roomAt_.load(std::memory_order_relaxed)) [[unlikely]]
      read_.notify_all();  // who sleeps takes the mark away: by then it may be that of the next one
  }
}

bool CpuQueue::onQueueThread() {
  return tIsQueueThread;
}

void CpuQueue::waitFor(std::uint64_t sequence) {
  for (int spin = 0; spin < kSpins;) {
    if (tail_.load(std::memory_order_acquire) >= sequence) return;
    for (const int until = spin + std::min(1 + spin / 4, 16); spin < until; ++spin) _mm_pause();
  }
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  sleepBarrier();
  std::uint64_t seen = tail_.load(std::memory_order_acquire);
  while (seen < sequence) {
    tail_.wait(seen);
    seen = tail_.load(std::memory_order_acquire);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

// The other queue's task was enqueued before this wait, so queues cannot wait for one another in a
// circle.
void CpuQueue::runAfter(CpuQueue& other, std::uint64_t sequence) {
  if (&other == this || other.completed() >= sequence) return;
  static const Name kWait{LACUNA_RT_MSG_QUEUE_WAIT};
  put(kWait, {.kind = LACUNA_RT_EXECUTION_UPKEEP, .silent = true}, [this, &other, sequence] {
    const instrument::SyncRange range(kWait, LACUNA_RT_SYNC_WAIT, sequence, number(),
                                      other.number());
    other.waitFor(sequence);
  });
}

void CpuQueue::waitShown(const Name& what, LacunaRtSyncKind kind) {
  const instrument::SyncRange range(what, kind, head_.load(std::memory_order_relaxed), number());
  drain();
}

void CpuQueue::synchronize(const Name& what, LacunaRtSyncKind kind) {
  if (onQueueThread()) fail(what.text, "called from within the queue");
  waitShown(what, kind);
  state_->throwKept(failed_);
}

// An error that no wait has thrown is reported, or nobody would learn of it.
void CpuQueue::stop() {
  if (!state_->thread.joinable() || (diverted_.load() & kSynchronous) != 0) return;
  drain();
  if (failed_.exchange(false)) {
    const std::lock_guard lock(state_->errorMutex);
    std::fprintf(stderr, "lacuna: an operator failed after the last wait for its queue: %s\n",
                 state_->error.c_str());
  }
  stopping_ = true;
  wake_.fetch_add(1);
  wake_.notify_one();
  state_->thread.join();
  diverted_.fetch_or(kSynchronous);
}

}  // namespace lacuna::rt
