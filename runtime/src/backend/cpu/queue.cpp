// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/common/queue.h"

#include <immintrin.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "backend/cpu/parallel.h"
#include "backend/cpu/thread_setting.h"
#include "core/environment.h"
#include "core/fork_locks.h"
#include "core/process_barrier.h"
#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace {

thread_local bool tIsQueueThread = false;
constexpr int kSpins = 2000;
constexpr std::int64_t kPatienceNs = 2'000'000;  ///< of a producer, awake

}  // namespace

std::atomic<CpuQueue*> CpuQueue::made_{nullptr};
thread_local constinit bool CpuQueue::tDrainsAtEnd_ = false;

struct CpuQueue::State {
  std::thread thread;
  std::mutex errorMutex;
  std::string error;
  std::mutex runMutex;        ///< synchronous mode: tasks of several threads, one after the other
  bool throwsAtOnce = false;  ///< LACUNA_SYNC: an error is thrown where the task was enqueued

  /// Throws the error that was kept, if one was, and forgets it.
  void throwKept(std::atomic<bool>& failed) {
    if (!failed.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(errorMutex);
    failed = false;
    throw Error(error);
  }
};

CpuQueue& CpuQueue::make() {
  threadsFromEnvironment();  // what is wrong there is an error here; the queue's thread could only end the program
  static auto* queue = new CpuQueue;
  made_.store(queue, std::memory_order_release);
  return *queue;
}

CpuQueue::CpuQueue() : state_(new State) {
  publishBarrier_ = !processBarrierThere();
  if (switchFromEnvironment("LACUNA_SYNC")) {
    synchronous_ = true;
    state_->throwsAtOnce = true;
    instrument::queueCreated("cpu:0 queue", 0, static_cast<std::uint32_t>(threadCount()));
    installForkHandlers();
    return;
  }
  void* memory = ::mmap(nullptr, kUnits * kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("queue", "no memory for the queue of the CPU device");
  ring_ = static_cast<std::byte*>(memory);
  state_->thread = std::thread([this] { this->work(); });
  // A fork must not catch the thread while it sets itself up: the child would find locks that nobody gives back.
  started_.wait(false, std::memory_order_acquire);
  installForkHandlers();
  std::atexit([] { instance().stop(); });
}

// A child of fork() has no queue thread, so it goes on synchronously, and with no OpenMP team; parent and child
// continue with nothing in flight and no lock held. A thread may hold the queue's lock while it takes an allocator's,
// and either while it informs a sink or asks for a name.
void CpuQueue::installForkHandlers() {
  ::pthread_atfork([] { instance().lockForFork(); }, [] { instance().unlockAfterFork(); },
                   [] {
                     instance().synchronous_.store(true);
                     instance().unlockAfterFork();
                     useOneThread();
                   });
}

void CpuQueue::lockForFork() {
  lock_.lockForFork();
  while (tail_.load(std::memory_order_acquire) != head_.load(std::memory_order_relaxed)) std::this_thread::yield();
  state_->runMutex.lock();
  state_->errorMutex.lock();
  rt::lockForFork();
}

void CpuQueue::unlockAfterFork() {
  rt::unlockAfterFork();
  state_->errorMutex.unlock();
  state_->runMutex.unlock();
  lock_.unlock();
}

// exit() ends the objects of its thread before any static one. Enqueued work must have run by then: the libraries that
// it uses end their own static objects next.
void CpuQueue::drainAtThreadEnd() {
  tDrainsAtEnd_ = true;
  struct Drain {
    ~Drain() { instance().drain(); }
  };
  thread_local const Drain drain;
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

// Waits for a good piece of the ring at once and polls rarely: every poll slows the queue's thread down. Small
// operators free it soon. Large ones want the processor meanwhile.
std::int64_t CpuQueue::waitForUnits(std::uint64_t end) {
  freed_ = read_.load(std::memory_order_acquire);
  if (end - freed_ <= kUnits) return 0;
  const std::uint64_t wanted = end + kUnits / 4 - kUnits;
  const std::int64_t fromNs = instrument::nowNs();
  const std::int64_t until = fromNs + kPatienceNs;
  for (int spin = 0; freed_ < wanted && (spin < kSpins || instrument::nowNs() < until); spin += 32) {
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
  for (freed_ = read_.load(std::memory_order_acquire); freed_ < unit; freed_ = read_.load(std::memory_order_acquire))
    read_.wait(freed_, std::memory_order_acquire);
  roomAt_.store(kNobody, std::memory_order_relaxed);
}

void CpuQueue::announce(Record& record, const Name& name, const Work& work, std::int64_t waitedFromNs) {
  auto* at = reinterpret_cast<std::byte*>(&record) + record.execution;
  auto& execution = *new (at) instrument::Execution;
  fillExecution(execution, name, work, record.sequence);
  execution.enqueueEndNs = instrument::nowNs();
  execution.enqueueStartNs = waitedFromNs != 0 ? waitedFromNs : execution.enqueueEndNs;
  if (record.sequence % 16 == 0) instrument::queueDepth(record.sequence - 1 - tail_.load(std::memory_order_relaxed));
}

void CpuQueue::fillExecution(instrument::Execution& execution, const Name& name, const Work& work,
                             std::uint64_t sequence) {
  const instrument::OpContext* op = instrument::tOp;
  execution.name = &name;
  const bool ofOperator = op != nullptr && op->correlation != 0 && work.kind != LACUNA_RT_EXECUTION_UPKEEP;
  execution.correlation = ofOperator ? op->correlation : instrument::nextCorrelation();
  execution.sequence = sequence;
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

// A producer publishes, then looks for a sleeper, with no barrier between. The queue's thread does the same with those
// who wait for it or for room. So a sleeper publishes that it sleeps, makes all threads pass a barrier, and looks
// again.
void CpuQueue::sleepBarrier() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!publishBarrier_) processBarrier();
}

void CpuQueue::runNow(const Name& name, const Work& work, void (*run)(void*), void* task) {
  const std::lock_guard lock(state_->runMutex);
  threadCount();  // sets oneDNN's too: in a forked child it would else wait for the OpenMP team of the parent
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
  if (instrument::beginInOperator(name, work.kind, work.bytes, work.flops, sequence)) [[likely]] {
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
    execution = std::launder(
        reinterpret_cast<instrument::Execution*>(reinterpret_cast<std::byte*>(&record) + record.execution));
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

// Threads that wait for the queue look for what is published here: always when nothing is left, else now and then.
void CpuQueue::work() {
  tIsQueueThread = true;
  nameThread("cpu:0 queue");
  instrument::queueCreated("cpu:0 queue", instrument::threadId(), static_cast<std::uint32_t>(threadCount()));
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

bool CpuQueue::onQueueThread() const {
  return tIsQueueThread;
}

void CpuQueue::drain() {
  const std::uint64_t target = head_.load(std::memory_order_acquire);
  for (int spin = 0; spin < kSpins;) {
    if (tail_.load(std::memory_order_acquire) >= target) return;
    for (const int until = spin + std::min(1 + spin / 4, 16); spin < until; ++spin) _mm_pause();
  }
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  sleepBarrier();
  std::uint64_t seen = tail_.load(std::memory_order_acquire);
  while (seen < target) {
    tail_.wait(seen);
    seen = tail_.load(std::memory_order_acquire);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void CpuQueue::synchronize(const Name& what, LacunaRtSyncKind kind) {
  if (onQueueThread()) fail(what.text, "called from within the queue");
  {
    const instrument::SyncRange range(what, kind, head_.load(std::memory_order_relaxed));
    drain();
  }
  state_->throwKept(failed_);
}

// At exit: what is enqueued still runs; objects that end later than this use the queue synchronously. An error that no
// wait has thrown is reported, or nobody would learn of it.
void CpuQueue::stop() {
  if (!state_->thread.joinable() || synchronous_.load()) return;
  drain();
  if (failed_.exchange(false)) {
    const std::lock_guard lock(state_->errorMutex);
    std::fprintf(stderr, "lacuna: an operator failed after the last wait for its queue: %s\n", state_->error.c_str());
  }
  stopping_ = true;
  wake_.fetch_add(1);
  wake_.notify_one();
  state_->thread.join();
  synchronous_ = true;
}

void synchronize() {
  static const Name kName{"synchronize"};
  CpuQueue::instance().synchronize(kName, LACUNA_RT_SYNC_QUEUE);
}

}  // namespace lacuna::rt
