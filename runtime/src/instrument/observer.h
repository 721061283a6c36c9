// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "lacuna/runtime/nvtx_schema.h"
#include "lacuna/runtime/tensor.h"

/// One internal observer with two sinks: NVTX, for any tool, and the table of rt::profile. When
/// neither is on, an event costs the one branch on `sinks()`.
namespace lacuna::rt {

/// A name with its registered NVTX string, made on first use.
struct Name {
  const char* text;
  mutable std::atomic<void*> handle{nullptr};
};
/// The one Name of a text, for good; takes a lock. For names that are not static objects.
const Name* internName(std::string_view text);

namespace instrument {

inline constexpr std::uint32_t kNvtxSink = 1;
inline constexpr std::uint32_t kTableSink = 2;
extern std::atomic<std::uint32_t> gSinks;
inline std::uint32_t sinks() {
  return gSinks.load(std::memory_order_relaxed);
}

enum class Direction : std::uint8_t { None, Forward, Backward, Optimizer };

/// An operator in progress on this thread.
struct OpContext {
  const Name* name = nullptr;
  OpContext* outer = nullptr;
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;
  const Name* module = nullptr;
  Direction direction = Direction::None;
  bool composite = false;    ///< made of others, enqueues nothing itself
  bool announced = false;    ///< the sinks heard of its beginning
  bool elsewhere = false;    ///< its memory is that of another device than the CPU
  std::int64_t startNs = 0;  ///< for the table
  std::int64_t childNs = 0;
  std::int64_t memory = 0;  ///< bytes allocated minus freed, for the table
  std::int64_t childMemory = 0;
  const char* shapes = nullptr;
};
extern thread_local constinit OpContext* tOp;
/// The purpose of new tensors, and the direction of the computation.
struct ThreadState {
  Direction direction = Direction::Forward;
  const Name* module = nullptr;
  const char* tensorName = nullptr;
  const char* origin = nullptr;  ///< what asks for memory where no operator does; lives for good
};
extern thread_local constinit ThreadState tState;

/// While it lives, memory that no operator asks for has this origin.
class MemoryOrigin {
 public:
  explicit MemoryOrigin(const char* origin) : before_(std::exchange(tState.origin, origin)) {}
  ~MemoryOrigin() { tState.origin = before_; }
  MemoryOrigin(const MemoryOrigin&) = delete;
  MemoryOrigin& operator=(const MemoryOrigin&) = delete;

 private:
  const char* before_;
};

/// An execution as the queue keeps it; filled only when a sink is on.
struct Execution {
  const Name* name = nullptr;
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;
  std::int64_t enqueueStartNs = 0;
  std::int64_t enqueueEndNs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  std::uint32_t thread = 0;
  std::uint32_t queue = 0;
  LacunaRtExecutionKind kind = LACUNA_RT_EXECUTION_COMPUTE;
  const char* shapes = nullptr;
  bool announced = false;
};

std::int64_t nowNs();
std::uint32_t threadId();
std::uint64_t nextCorrelation();

/// `small`: it will most likely run on this thread, and be over soon.
void opBegin(OpContext& op, std::span<const Tensor* const> inputs, bool small = false);
void opEnd(OpContext& op);
/// An execution in place that is reported along with its operator (see operator_report.h); nobody
/// needs an Execution of it. False where it is to be reported by itself.
bool beginInOperator(const Name& name, LacunaRtExecutionKind kind, std::uint64_t bytes,
                     std::uint64_t flops, std::uint64_t sequence, std::uint32_t queue);
void endInOperator();
void executionBegin(Execution& execution);
void executionEnd(const Execution& execution, std::int64_t startNs);
/// The place in a queue that a memory event belongs to.
struct QueuePoint {
  std::uint64_t sequence = 0;
  std::uint32_t queue = 0;
};
/// `elsewhere`: of meta, which has none; for the table alone.
void memoryEvent(LacunaRtMemoryAction action, std::uintptr_t address, std::size_t bytes, Role role,
                 const char* op, const char* tensor, QueuePoint point, bool elsewhere = false);
/// A mark about memory, without a payload; `message` lives for good.
void memoryMark(const char* message);
/// The same for a mark about the run.
void infoMark(const char* message);
/// A mark: the factor that losses are multiplied by from now on.
void lossScale(double factor);
/// `index` counts the queues of the device, `number` is the schema's; `name` lives for good.
void queueCreated(int index, const char* name, std::uint32_t number, std::uint32_t thread,
                  std::uint32_t cores);
void queueDepth(int index, std::uint64_t waiting);
/// The wait of the host for a queue, or that of `queue` for another one, from construction to
/// destruction.
class SyncRange {
 public:
  SyncRange(const Name& name, LacunaRtSyncKind kind, std::uint64_t sequence, std::uint32_t queue,
            std::uint32_t other = 0);
  ~SyncRange();

 private:
  bool pushed_ = false;
};

}  // namespace instrument
}  // namespace lacuna::rt
