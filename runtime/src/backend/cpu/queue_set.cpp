// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "backend/common/queue.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/queue_state.h"
#include "backend/cpu/thread_setting.h"
#include "core/environment.h"
#include "core/fork_locks.h"
#include "core/process_barrier.h"

/// The queues of the process: how they are made, how they meet a fork and the end, and waits for
/// several of them.
namespace lacuna::rt {

namespace {

constinit std::mutex gMakeMutex;
/// Under gMakeMutex: queues made from now on have no thread. In a forked child, and after exit()
/// began.
bool gNoThreads = false;

}  // namespace

std::atomic<CpuQueue*> CpuQueue::made_[kIndices] = {};
std::atomic<int> CpuQueue::end_{0};
thread_local constinit CpuQueue::Chosen CpuQueue::tChosen_;
thread_local constinit bool CpuQueue::tDrainsAtEnd_ = false;
thread_local constinit LaunchRecorder* tRecorder = nullptr;

CpuQueue& CpuQueue::make(int index) {
  const std::lock_guard lock(gMakeMutex);
  if (CpuQueue* queue = made_[index].load(std::memory_order_acquire)) return *queue;
  threadsFromEnvironment();  // what is wrong there is an error here; the queue's thread could only
                             // end the program
  auto* queue = new CpuQueue(index);
  made_[index].store(queue, std::memory_order_release);
  end_.store(std::max(end_.load(std::memory_order_relaxed), index + 1), std::memory_order_release);
  return *queue;
}

CpuQueue& CpuQueue::makeChosen() {
  CpuQueue& queue = of(tChosen_.index);
  choose(queue.index_);
  return queue;
}

void CpuQueue::lendIndex(int index) {
  made_[index].store(&instance(), std::memory_order_release);
}

void CpuQueue::leaveTrace() {
  if (tRecorder != nullptr)
    tRecorder->leave("it uses another queue, or a graph of gradients from outside");
}

CpuQueue::CpuQueue(int index) : index_(index), bit_(QueueMask{1} << index) {
  auto state = std::make_unique<State>();
  state->name = index == 0 ? "cpu:0 queue" : "cpu:0 queue " + std::to_string(index);
  publishBarrier_ = !processBarrierThere();
  state->throwsAtOnce = switchFromEnvironment("LACUNA_SYNC");
  if (state->throwsAtOnce || gNoThreads) {
    diverted_ = kSynchronous;
    state_ = state.release();
    announceItself(0);
    installHandlers();
    return;
  }
  void* memory =
      ::mmap(nullptr, kUnits * kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("queue", "no memory for a queue of the CPU device");
  ring_ = static_cast<std::byte*>(memory);
  state_ = state.release();
  state_->thread = std::thread([this] { this->work(); });
  // A fork must not catch the thread while it sets itself up: the child would find locks that
  // nobody gives back.
  started_.wait(false, std::memory_order_acquire);
  installHandlers();
}

void CpuQueue::announceItself(std::uint32_t thread) {
  instrument::queueCreated(index_, state_->name.c_str(), number(), thread,
                           static_cast<std::uint32_t>(threadCount()));
}

// A child of fork() has no queue threads, so it goes on synchronously, and with no OpenMP team;
// parent and child continue with nothing in flight and no lock held. A thread may hold a queue's
// lock while it takes an allocator's, and either while it informs a sink or asks for a name.
void CpuQueue::installHandlers() {
  static bool installed = false;  // under gMakeMutex
  if (std::exchange(installed, true)) return;
  ::pthread_atfork(lockForFork, unlockAfterFork, goOnInChild);
  std::atexit(stopAll);
}

// The queues' threads go on until all is done: one of them may wait for another.
void CpuQueue::lockForFork() {
  gMakeMutex.lock();
  each([](CpuQueue& queue) { queue.lock_.lockForFork(); });
  each([](CpuQueue& queue) {
    while (!queue.idle()) std::this_thread::yield();
  });
  each([](CpuQueue& queue) {
    queue.state_->runMutex.lock();
    queue.state_->errorMutex.lock();
  });
  rt::lockForFork();
}

void CpuQueue::unlockAfterFork() {
  rt::unlockAfterFork();
  each([](CpuQueue& queue) {
    queue.state_->errorMutex.unlock();
    queue.state_->runMutex.unlock();
    queue.lock_.unlock();
  });
  gMakeMutex.unlock();
}

void CpuQueue::goOnInChild() {
  gNoThreads = true;
  each([](CpuQueue& queue) { queue.diverted_.fetch_or(kSynchronous); });
  unlockAfterFork();
  useOneThread();
}

// exit() ends the objects of its thread before any static one. Enqueued work must have run by then:
// the libraries that it uses end their own static objects next.
void CpuQueue::drainAtThreadEnd() {
  tDrainsAtEnd_ = true;
  struct Drain {
    ~Drain() { drainAll(); }
  };
  thread_local const Drain drain;
}

// At exit: what is enqueued still runs; objects that end later than this use the queues
// synchronously.
void CpuQueue::stopAll() {
  {
    const std::lock_guard lock(gMakeMutex);
    gNoThreads = true;
  }
  drainAll();
  each([](CpuQueue& queue) { queue.stop(); });
}

void CpuQueue::drainAll() {
  each([](CpuQueue& queue) { queue.drain(); });
}

void CpuQueue::synchronizeAll(const Name& what) {
  if (onQueueThread()) fail(what.text, "called from within the queue");
  instance().waitShown(what, LACUNA_RT_SYNC_QUEUE);
  each([&](CpuQueue& queue) {
    if (!queue.idle()) queue.waitShown(what, LACUNA_RT_SYNC_QUEUE);
  });
  each([](CpuQueue& queue) { queue.state_->throwKept(queue.failed_); });
}

void CpuQueue::whenPassed(QueueMask queues, const Name& name, std::function<void()> release) {
  QueueMask busy = 0;
  each(queues, [&](const CpuQueue& queue) { busy |= queue.idle() ? 0 : queue.bit(); });
  if (busy == 0) return release();
  const Work upkeep{.kind = LACUNA_RT_EXECUTION_UPKEEP};
  if ((busy & (busy - 1)) == 0)
    return of(__builtin_ctzll(busy)).enqueue(name, upkeep, std::move(release));
  struct Rest {
    Rest(std::function<void()> last, int count) : release(std::move(last)), queues(count) {}
    std::function<void()> release;
    std::atomic<int> queues;
  };
  auto rest = std::make_shared<Rest>(std::move(release), __builtin_popcountll(busy));
  each(busy, [&](CpuQueue& queue) {
    queue.enqueue(name, upkeep, [rest] {
      if (rest->queues.fetch_sub(1) == 1) rest->release();
    });
  });
}

}  // namespace lacuna::rt
