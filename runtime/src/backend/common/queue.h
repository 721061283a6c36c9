// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "instrument/observer.h"

namespace lacuna::rt {

/// Work estimate of an execution, for rooflines; 0 where it is not known.
struct Work {
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  LacunaRtExecutionKind kind = LACUNA_RT_EXECUTION_COMPUTE;
};

/// The CPU device's in-order asynchronous queue: one thread runs what is enqueued from any thread, in order. With
/// LACUNA_SYNC=1, in a forked child and after exit() began, tasks run on the calling thread instead.
class CpuQueue {
 public:
  /// The queue of the process; lives for good.
  static CpuQueue& instance();

  /// `task` is any callable; what it captures must stay valid by queue-ordered memory. Blocks when the queue is full.
  template <class Task>
  void enqueue(const Name& name, const Work& work, Task task) {
    if (synchronous_.load(std::memory_order_relaxed)) [[unlikely]] {
      runNow(
          name, work, [](void* held) { (*static_cast<Task*>(held))(); }, &task);
      return;
    }
    Slot& slot = reserve(name, work);
    if constexpr (sizeof(Task) <= kInlineBytes && alignof(Task) <= 16) {
      new (slot.storage) Task(std::move(task));
      slot.run = [](Slot& own) {
        struct End {
          Task* task;
          ~End() { task->~Task(); }
        } end{std::launder(reinterpret_cast<Task*>(own.storage))};
        (*end.task)();
      };
    } else {
      new (slot.storage) Task*(new Task(std::move(task)));
      slot.run = [](Slot& own) {
        struct End {
          Task* task;
          ~End() { delete task; }
        } end{*std::launder(reinterpret_cast<Task**>(own.storage))};
        (*end.task)();
      };
    }
    commit();
  }

  /// Waits until all of it has run, then throws the first error, if there was one.
  void synchronize(const Name& what, LacunaRtSyncKind kind);
  /// Waits without throwing or clearing errors.
  void drain();
  [[nodiscard]] std::uint64_t enqueued() const { return head_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t completed() const { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] bool onQueueThread() const;

 private:
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::size_t kInlineBytes = 656;
  struct alignas(64) Slot {
    void (*run)(Slot&) = nullptr;
    const Name* name = nullptr;
    alignas(16) std::byte storage[kInlineBytes];
    instrument::Execution execution;
  };

  CpuQueue();
  Slot& reserve(const Name& name, const Work& work);
  void commit();
  void runNow(const Name& name, const Work& work, void (*run)(void*), void* task);
  void work();
  bool waitForWork(std::uint64_t at);
  void execute(Slot& slot);
  void fillExecution(instrument::Execution& execution, const Name& name, const Work& work, std::uint64_t sequence);
  void keepError(const Name& name, const char* text);
  void stop();
  void installForkHandlers();

  Slot* slots_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> head_{0};  ///< enqueued
  std::atomic<bool> lock_{false};                   ///< producers
  alignas(64) std::atomic<std::uint64_t> tail_{0};  ///< completed
  alignas(64) std::atomic<bool> sleeping_{false};
  std::atomic<std::uint32_t> wake_{0};
  std::atomic<std::uint32_t> waiters_{0};
  std::atomic<bool> synchronous_{false};
  std::atomic<bool> started_{false};  ///< the thread has set itself up
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  struct State;
  State* state_ = nullptr;
};

}  // namespace lacuna::rt
