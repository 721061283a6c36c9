// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/common/queue.h"

#include <immintrin.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "backend/cpu/parallel.h"
#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace {

thread_local bool tIsQueueThread = false;
constexpr int kSpins = 2000;

bool syncFromEnvironment() {
  const char* value = std::getenv("LACUNA_SYNC");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace

struct CpuQueue::State {
  std::thread thread;
  std::mutex errorMutex;
  std::string error;
  std::mutex runMutex;  ///< synchronous mode: tasks of several threads, one after the other
};

CpuQueue& CpuQueue::instance() {
  static auto* queue = new CpuQueue;
  return *queue;
}

CpuQueue::CpuQueue() : state_(new State) {
  if (syncFromEnvironment()) {
    synchronous_ = true;
    instrument::queueCreated("cpu:0 queue", 0, static_cast<std::uint32_t>(threadCount()));
    return;
  }
  void* memory = ::mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("queue", "no memory for the queue of the CPU device");
  slots_ = static_cast<Slot*>(memory);
  for (std::size_t i = 0; i < kSlots; ++i) new (&slots_[i]) Slot;
  state_->thread = std::thread([this] { this->work(); });
  // A fork must not catch the thread while it sets itself up: the child would find locks that nobody gives back.
  started_.wait(false, std::memory_order_acquire);
  installForkHandlers();
  std::atexit([] { instance().stop(); });
}

// A child of fork() has no queue thread, so it goes on synchronously; parent and child continue with nothing in flight.
void CpuQueue::installForkHandlers() {
  ::pthread_atfork(
      [] {
        CpuQueue& queue = instance();
        while (queue.lock_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
        while (queue.tail_.load(std::memory_order_acquire) != queue.head_.load(std::memory_order_relaxed)) {
          std::this_thread::yield();
        }
      },
      [] { instance().lock_.store(false, std::memory_order_release); },
      [] {
        CpuQueue& queue = instance();
        queue.synchronous_.store(true);
        queue.lock_.store(false, std::memory_order_release);
        useOneThread();
      });
}

CpuQueue::Slot& CpuQueue::reserve(const Name& name, const Work& work) {
  while (lock_.exchange(true, std::memory_order_acquire)) _mm_pause();
  const std::uint64_t at = head_.load(std::memory_order_relaxed);
  Slot& slot = slots_[at % kSlots];
  const bool seen = instrument::sinks() != 0;
  slot.name = &name;
  slot.execution.name = nullptr;
  if (seen) fillExecution(slot.execution, name, work, at + 1);
  if (at - tail_.load(std::memory_order_acquire) >= kSlots - 1) [[unlikely]] {
    for (int spins = 0; at - tail_.load(std::memory_order_acquire) >= kSlots - 1; ++spins) {
      if (spins < kSpins) {
        _mm_pause();
      } else {
        std::this_thread::yield();
      }
    }
    if (seen) slot.execution.enqueueEndNs = instrument::nowNs();
  }
  if (seen && at % 16 == 0) instrument::queueDepth(at - tail_.load(std::memory_order_relaxed));
  return slot;
}

void CpuQueue::fillExecution(instrument::Execution& execution, const Name& name, const Work& work,
                             std::uint64_t sequence) {
  const instrument::OpContext* op = instrument::tOp;
  execution.name = &name;
  execution.correlation = op != nullptr && op->correlation != 0 ? op->correlation : instrument::nextCorrelation();
  execution.sequence = sequence;
  execution.enqueueStartNs = execution.enqueueEndNs = instrument::nowNs();
  execution.bytes = work.bytes;
  execution.flops = work.flops;
  execution.kind = work.kind;
  execution.thread = instrument::threadId();
  execution.shapes = op != nullptr ? op->shapes : nullptr;
}

// The exchange that gives the lock back is also the full barrier between publishing and looking for a sleeper.
void CpuQueue::commit() {
  head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  lock_.exchange(false, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst)) [[unlikely]] {
    wake_.fetch_add(1);
    wake_.notify_one();
  }
}

void CpuQueue::runNow(const Name& name, const Work& work, void (*run)(void*), void* task) {
  const std::lock_guard lock(state_->runMutex);
  const std::uint64_t sequence = head_.load(std::memory_order_relaxed) + 1;
  head_.store(sequence, std::memory_order_relaxed);
  instrument::Execution execution;
  std::int64_t startNs = 0;
  if (instrument::sinks() != 0) {
    fillExecution(execution, name, work, sequence);
    startNs = instrument::nowNs();
    instrument::executionBegin(execution);
  }
  try {
    run(task);
  } catch (const std::exception& error) {
    keepError(name, error.what());
  }
  if (execution.name != nullptr) instrument::executionEnd(execution, startNs);
  tail_.store(sequence, std::memory_order_release);
}

void CpuQueue::keepError(const Name& name, const char* text) {
  const std::lock_guard lock(state_->errorMutex);
  if (failed_) return;
  const std::string what = text;
  const std::string prefix = std::string(name.text) + ": ";
  state_->error = what.starts_with(prefix) ? what : prefix + what;
  failed_ = true;
}

void CpuQueue::execute(Slot& slot) {
  std::int64_t startNs = 0;
  const bool seen = slot.execution.name != nullptr;
  if (seen) [[unlikely]] {
    startNs = instrument::nowNs();
    instrument::executionBegin(slot.execution);
  }
  try {
    slot.run(slot);
  } catch (const std::exception& error) {
    keepError(*slot.name, error.what());
  }
  if (seen) [[unlikely]]
    instrument::executionEnd(slot.execution, startNs);
}

bool CpuQueue::waitForWork(std::uint64_t at) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (head_.load(std::memory_order_acquire) != at) return true;
    _mm_pause();
  }
  while (true) {
    const std::uint32_t ticket = wake_.load();
    sleeping_.store(true, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) != at) break;
    if (stopping_.load()) return false;
    wake_.wait(ticket);
  }
  sleeping_.store(false, std::memory_order_relaxed);
  return true;
}

void CpuQueue::work() {
  tIsQueueThread = true;
  nameThread("cpu:0 queue");
  instrument::queueCreated("cpu:0 queue", instrument::threadId(), static_cast<std::uint32_t>(threadCount()));
  started_.store(true, std::memory_order_release);
  started_.notify_all();
  std::uint64_t at = 0;
  while (head_.load(std::memory_order_acquire) != at || waitForWork(at)) {
    execute(slots_[at % kSlots]);
    tail_.store(++at, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      tail_.notify_all();
  }
}

bool CpuQueue::onQueueThread() const {
  return tIsQueueThread;
}

void CpuQueue::drain() {
  const std::uint64_t target = head_.load(std::memory_order_acquire);
  for (int spin = 0; spin < kSpins; ++spin) {
    if (tail_.load(std::memory_order_acquire) >= target) return;
    _mm_pause();
  }
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  std::uint64_t seen = tail_.load(std::memory_order_seq_cst);
  while (seen < target) {
    tail_.wait(seen);
    seen = tail_.load(std::memory_order_seq_cst);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void CpuQueue::synchronize(const Name& what, LacunaRtSyncKind kind) {
  if (onQueueThread()) fail(what.text, "called from within the queue");
  {
    const instrument::SyncRange range(what, kind, head_.load(std::memory_order_relaxed));
    drain();
  }
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state_->errorMutex);
  failed_ = false;
  throw Error(state_->error);
}

// At exit: what is enqueued still runs; objects that end later than this use the queue synchronously.
void CpuQueue::stop() {
  if (!state_->thread.joinable() || synchronous_.load()) return;
  drain();
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
