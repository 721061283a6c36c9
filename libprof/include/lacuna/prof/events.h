// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lacuna/prof/schema.h"

/// The event kinds of a trace. This file is the only place where their columns are named; see
/// schema.h for the rules.
namespace lacuna::prof {

enum class DeviceKind : std::uint8_t { Other, Cpu, Cuda, Rocm };
/// The purpose of an allocation.
enum class MemoryRole : std::uint8_t {
  Other,
  Parameter,
  Gradient,
  Activation,
  Optimizer,
  Input,
  Workspace,
  Communication,
  Cached
};
enum class MemoryAction : std::uint8_t {
  Allocate,          ///< a block was handed out
  Free,              ///< it came back
  ExternalAllocate,  ///< memory that the allocator did not hand out (a library's scratch), reported
                     ///< by its owner
  ExternalFree,
  Reserve,  ///< the caching allocator took a segment from the device
  Release,  ///< and gave it back
};
enum class RangeKind : std::uint8_t { PushPop, StartEnd };
enum class PayloadType : std::uint8_t { None, U64, I64, F64, U32, I32, F32 };
enum class ApiKind : std::uint8_t { Runtime, Driver, Other };
enum class CopyKind : std::uint8_t {
  Unknown,
  HostToDevice,
  DeviceToHost,
  HostToArray,
  ArrayToHost,
  ArrayToArray,
  ArrayToDevice,
  DeviceToArray,
  DeviceToDevice,
  HostToHost,
  PeerToPeer
};
enum class MemoryKind : std::uint8_t {
  Unknown,
  Pageable,
  Pinned,
  Device,
  Array,
  Managed,
  DeviceStatic,
  ManagedStatic
};
enum class SyncKind : std::uint8_t { Unknown, Event, StreamWait, Stream, Context };
enum class ThreadState : std::uint8_t { Unknown, Running, Runnable, Sleeping, Blocked };
enum class FlowPhase : std::uint8_t { Begin, Step, End };
enum class ArgScope : std::uint8_t { Argument, Field };
/// Json is a list or an object as JSON text; Text and Json values are StringIds.
enum class ArgType : std::uint8_t { Null, Bool, I64, F64, Text, Json };
enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

/// Bits of Range::flags and of the other kinds' flags columns.
inline constexpr std::uint8_t kUnfinished =
    1;  ///< the end was not seen; the duration runs to the last moment known
inline constexpr std::uint8_t kNoStart =
    2;  ///< the beginning was not seen (recording began inside it)
inline constexpr std::uint8_t kAsync = 4;  ///< a copy or memset that does not block its caller

// clang-format off: one column a line reads best
#define LACUNA_PROCESS_COLUMNS(COLUMN)                                                            \
  COLUMN(ProcessId, id, Rising, "number that events refer to")                                    \
  COLUMN(ProcessId, parent, Plain, "the process that started it, if recorded")                    \
  COLUMN(std::uint32_t, osPid, Plain, "the operating system's process id")                        \
  COLUMN(TimeNs, startNs, Time, "first moment seen")                                              \
  COLUMN(TimeNs, endNs, Plain, "last moment seen")                                                \
  COLUMN(StringId, name, Plain, "program or given name")                                          \
  COLUMN(StringId, commandLine, Plain, "arguments, separated by spaces")                          \
  COLUMN(std::int32_t, exitCode, Plain, "exit status; 128 + signal when killed; -1 when unknown") \
  COLUMN(std::int32_t, rank, Plain, "rank in a distributed job, -1 when there is none")
LACUNA_TABLE(Process, 1, "process", LACUNA_PROCESS_COLUMNS)

#define LACUNA_THREAD_COLUMNS(COLUMN)                                     \
  COLUMN(ThreadId, id, Rising, "number that events refer to")             \
  COLUMN(ProcessId, process, Plain, "the process it belongs to")          \
  COLUMN(std::uint32_t, osTid, Plain, "the operating system's thread id") \
  COLUMN(TimeNs, startNs, Time, "first moment seen")                      \
  COLUMN(TimeNs, endNs, Plain, "last moment seen")                        \
  COLUMN(StringId, name, Plain, "given name")
LACUNA_TABLE(Thread, 2, "thread", LACUNA_THREAD_COLUMNS)

#define LACUNA_DEVICE_COLUMNS(COLUMN)                                                    \
  COLUMN(DeviceId, id, Rising, "number that events refer to")                            \
  COLUMN(DeviceKind, kind, Plain, "what sort of device")                                 \
  COLUMN(std::uint32_t, index, Plain, "index as the program knows it (cuda:3 is 3)")     \
  COLUMN(ProcessId, process, Plain, "owner of a CPU device; none for a physical device") \
  COLUMN(StringId, name, Plain, "model name")                                            \
  COLUMN(StringId, uuid, Plain, "unique id, if known")                                   \
  COLUMN(std::uint64_t, memoryBytes, Plain, "memory of the device")                      \
  COLUMN(std::uint64_t, memoryBandwidth, Plain, "peak bytes per second, 0 when unknown") \
  COLUMN(std::uint32_t, multiprocessors, Plain, "number of multiprocessors or cores")    \
  COLUMN(std::uint32_t, clockKhz, Plain, "core clock")                                   \
  COLUMN(std::uint16_t, computeMajor, Plain, "compute capability")                       \
  COLUMN(std::uint16_t, computeMinor, Plain, "compute capability")
LACUNA_TABLE(Device, 3, "device", LACUNA_DEVICE_COLUMNS)

#define LACUNA_QUEUE_COLUMNS(COLUMN)                                   \
  COLUMN(QueueId, id, Rising, "number that events refer to")           \
  COLUMN(DeviceId, device, Plain, "the device that works it off")      \
  COLUMN(ProcessId, process, Plain, "the process that fills it")       \
  COLUMN(std::uint64_t, nativeId, Plain,                               \
         "the stream id of the driver, or the runtime's queue number") \
  COLUMN(StringId, name, Plain, "given name")
LACUNA_TABLE(Queue, 4, "queue", LACUNA_QUEUE_COLUMNS)

#define LACUNA_CLOCK_COLUMNS(COLUMN)                                     \
  COLUMN(TimeNs, timeNs, Time, "CLOCK_MONOTONIC")                        \
  COLUMN(TimeNs, realtimeNs, Time, "CLOCK_REALTIME at the same moment")  \
  COLUMN(std::uint64_t, tsc, Rising,                                     \
         "time stamp counter at the same moment, 0 when it is not used") \
  COLUMN(ProcessId, process, Plain, "who read them")
LACUNA_TABLE(Clock, 5, "clock", LACUNA_CLOCK_COLUMNS)

#define LACUNA_ENVIRONMENT_COLUMNS(COLUMN)                                      \
  COLUMN(ProcessId, process, Plain, "where it holds; none for the whole trace") \
  COLUMN(StringId, key, Plain, "what, as a dotted name (driver.version)")       \
  COLUMN(StringId, value, Plain, "its value as text")
LACUNA_TABLE(Environment, 6, "environment", LACUNA_ENVIRONMENT_COLUMNS)

#define LACUNA_RANGE_COLUMNS(COLUMN)                                                             \
  COLUMN(TimeNs, startNs, Time, "begin")                                                         \
  COLUMN(TimeNs, durNs, Length, "length")                                                        \
  COLUMN(ThreadId, thread, Plain, "the thread that began it")                                    \
  COLUMN(ThreadId, endThread, Plain, "the thread that ended it, when another one")               \
  COLUMN(StringId, domain, Plain, "library that annotates, empty for the program itself")        \
  COLUMN(StringId, category, Plain, "group within the domain")                                   \
  COLUMN(StringId, name, Plain, "what was going on")                                             \
  COLUMN(StringId, text, Plain, "details as text: shapes, a decoded payload")                    \
  COLUMN(std::uint16_t, depth, Plain, "nesting depth on its thread and domain, from 0")          \
  COLUMN(RangeKind, kind, Plain, "pushed and popped on a thread, or started and ended anywhere") \
  COLUMN(PayloadType, payloadType, Plain, "how to read the payload")                             \
  COLUMN(std::uint8_t, flags, Plain, "1 unfinished, 2 begun before the recording")               \
  COLUMN(std::uint32_t, colour, Plain, "0xAARRGGBB, 0 when none was given")                      \
  COLUMN(std::uint64_t, payload, Plain, "a number given by the program, as bits")                \
  COLUMN(std::uint64_t, correlation, Rising, "joins a range to what it started; 0 when nothing") \
  COLUMN(QueueId, queue, Plain, "the queue it lies on, when it annotates device work")           \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Range, 10, "range", LACUNA_RANGE_COLUMNS)

#define LACUNA_MARK_COLUMNS(COLUMN)                                               \
  COLUMN(TimeNs, timeNs, Time, "when")                                            \
  COLUMN(ThreadId, thread, Plain, "the marking thread")                           \
  COLUMN(StringId, domain, Plain, "library that annotates")                       \
  COLUMN(StringId, category, Plain, "group within the domain")                    \
  COLUMN(StringId, name, Plain, "what happened")                                  \
  COLUMN(StringId, text, Plain, "details as text")                                \
  COLUMN(PayloadType, payloadType, Plain, "how to read the payload")              \
  COLUMN(std::uint32_t, colour, Plain, "0xAARRGGBB, 0 when none was given")       \
  COLUMN(std::uint64_t, payload, Plain, "a number given by the program, as bits") \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Mark, 11, "mark", LACUNA_MARK_COLUMNS)

#define LACUNA_API_CALL_COLUMNS(COLUMN)                                                      \
  COLUMN(TimeNs, startNs, Time, "entry")                                                     \
  COLUMN(TimeNs, durNs, Length, "length")                                                    \
  COLUMN(ThreadId, thread, Plain, "the calling thread")                                      \
  COLUMN(ApiKind, kind, Plain, "runtime or driver call")                                     \
  COLUMN(StringId, name, Plain, "function")                                                  \
  COLUMN(std::uint64_t, correlation, Rising, "joins the call to the device work it started") \
  COLUMN(std::int32_t, returnCode, Plain, "0 is success")                                    \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(ApiCall, 12, "api_call", LACUNA_API_CALL_COLUMNS)

#define LACUNA_KERNEL_COLUMNS(COLUMN)                                                              \
  COLUMN(TimeNs, startNs, Time, "begin on the device")                                             \
  COLUMN(TimeNs, durNs, Length, "length")                                                          \
  COLUMN(QueueId, queue, Plain, "the queue that ran it")                                           \
  COLUMN(DeviceId, device, Plain, "the device that ran it")                                        \
  COLUMN(std::uint64_t, correlation, Rising, "joins it to the launching call, within its process") \
  COLUMN(StringId, name, Plain, "kernel or operator name")                                         \
  COLUMN(std::uint32_t, gridX, Plain, "blocks")                                                    \
  COLUMN(std::uint32_t, gridY, Plain, "blocks")                                                    \
  COLUMN(std::uint32_t, gridZ, Plain, "blocks")                                                    \
  COLUMN(std::uint32_t, blockX, Plain, "threads")                                                  \
  COLUMN(std::uint32_t, blockY, Plain, "threads")                                                  \
  COLUMN(std::uint32_t, blockZ, Plain, "threads")                                                  \
  COLUMN(std::uint16_t, registersPerThread, Plain, "registers")                                    \
  COLUMN(std::uint32_t, staticSharedBytes, Plain, "shared memory declared")                        \
  COLUMN(std::uint32_t, dynamicSharedBytes, Plain, "shared memory asked for at launch")            \
  COLUMN(std::uint32_t, graphId, Plain, "executable graph that launched it, 0 for none")           \
  COLUMN(std::uint64_t, graphNodeId, Plain, "node in that graph")                                  \
  COLUMN(std::uint8_t, flags, Plain, "1 unfinished")                                               \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Kernel, 13, "kernel", LACUNA_KERNEL_COLUMNS)

#define LACUNA_MEMCPY_COLUMNS(COLUMN)                                   \
  COLUMN(TimeNs, startNs, Time, "begin on the device")                  \
  COLUMN(TimeNs, durNs, Length, "length")                               \
  COLUMN(QueueId, queue, Plain, "the queue that ran it")                \
  COLUMN(DeviceId, device, Plain, "the device that ran it")             \
  COLUMN(DeviceId, peer, Plain, "the other device of a peer copy")      \
  COLUMN(std::uint64_t, correlation, Rising, "joins it to the call")    \
  COLUMN(std::uint64_t, bytes, Plain, "size")                           \
  COLUMN(CopyKind, copyKind, Plain, "direction")                        \
  COLUMN(MemoryKind, sourceKind, Plain, "memory copied from")           \
  COLUMN(MemoryKind, targetKind, Plain, "memory copied to")             \
  COLUMN(std::uint8_t, flags, Plain, "4 asynchronous")                  \
  COLUMN(std::uint32_t, graphId, Plain, "executable graph, 0 for none") \
  COLUMN(std::uint64_t, graphNodeId, Plain, "node in that graph")       \
  COLUMN(StringId, name, Plain, "as the source of the trace called it") \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Memcpy, 14, "memcpy", LACUNA_MEMCPY_COLUMNS)

#define LACUNA_MEMSET_COLUMNS(COLUMN)                                   \
  COLUMN(TimeNs, startNs, Time, "begin on the device")                  \
  COLUMN(TimeNs, durNs, Length, "length")                               \
  COLUMN(QueueId, queue, Plain, "the queue that ran it")                \
  COLUMN(DeviceId, device, Plain, "the device that ran it")             \
  COLUMN(std::uint64_t, correlation, Rising, "joins it to the call")    \
  COLUMN(std::uint64_t, bytes, Plain, "size")                           \
  COLUMN(std::uint32_t, value, Plain, "the value set")                  \
  COLUMN(MemoryKind, memoryKind, Plain, "memory set")                   \
  COLUMN(std::uint8_t, flags, Plain, "4 asynchronous")                  \
  COLUMN(std::uint32_t, graphId, Plain, "executable graph, 0 for none") \
  COLUMN(std::uint64_t, graphNodeId, Plain, "node in that graph")       \
  COLUMN(StringId, name, Plain, "as the source of the trace called it") \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Memset, 15, "memset", LACUNA_MEMSET_COLUMNS)

#define LACUNA_SYNC_COLUMNS(COLUMN)                                         \
  COLUMN(TimeNs, startNs, Time, "begin of the wait")                        \
  COLUMN(TimeNs, durNs, Length, "length")                                   \
  COLUMN(ThreadId, thread, Plain, "the waiting thread, if known")           \
  COLUMN(QueueId, queue, Plain, "the queue waited for, or that waits")      \
  COLUMN(DeviceId, device, Plain, "its device")                             \
  COLUMN(SyncKind, kind, Plain, "what is waited for")                       \
  COLUMN(std::uint64_t, correlation, Rising, "joins it to the call")        \
  COLUMN(std::uint64_t, eventId, Plain, "the event waited for, 0 for none") \
  COLUMN(StringId, name, Plain, "call or operator that waits")              \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Sync, 16, "sync", LACUNA_SYNC_COLUMNS)

#define LACUNA_ALLOCATION_COLUMNS(COLUMN)                                                 \
  COLUMN(TimeNs, timeNs, Time, "when, on the host")                                       \
  COLUMN(ThreadId, thread, Plain, "the thread that asked")                                \
  COLUMN(DeviceId, device, Plain, "whose memory")                                         \
  COLUMN(QueueId, queue, Plain, "the queue in whose order it happens")                    \
  COLUMN(std::uint64_t, sequence, Rising, "position in that queue")                       \
  COLUMN(MemoryAction, action, Plain, "handed out, given back, or reported from outside") \
  COLUMN(MemoryRole, role, Plain, "what it is for")                                       \
  COLUMN(std::uint64_t, address, Address, "start address")                                \
  COLUMN(std::uint64_t, bytes, Plain, "size")                                             \
  COLUMN(StringId, tensor, Plain, "name of the tensor")                                   \
  COLUMN(StringId, op, Plain, "operator that asked")                                      \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Allocation, 17, "allocation", LACUNA_ALLOCATION_COLUMNS)

#define LACUNA_COUNTER_TRACK_COLUMNS(COLUMN)                        \
  COLUMN(TrackId, id, Rising, "number that samples refer to")       \
  COLUMN(ProcessId, process, Plain, "whose counter")                \
  COLUMN(ThreadId, thread, Plain, "whose counter, when a thread's") \
  COLUMN(DeviceId, device, Plain, "whose counter, when a device's") \
  COLUMN(StringId, name, Plain, "what is counted")                  \
  COLUMN(StringId, unit, Plain, "bytes, percent, …")
LACUNA_TABLE(CounterTrack, 18, "counter_track", LACUNA_COUNTER_TRACK_COLUMNS)

#define LACUNA_COUNTER_SAMPLE_COLUMNS(COLUMN)    \
  COLUMN(TimeNs, timeNs, Time, "when")           \
  COLUMN(TrackId, track, Plain, "which counter") \
  COLUMN(double, value, Plain, "its value from here on")
LACUNA_TABLE(CounterSample, 19, "counter_sample", LACUNA_COUNTER_SAMPLE_COLUMNS)

#define LACUNA_STACK_FRAME_COLUMNS(COLUMN)                       \
  COLUMN(FrameId, id, Rising, "a frame with all its callers")    \
  COLUMN(FrameId, parent, Plain, "its caller")                   \
  COLUMN(std::uint64_t, address, Address, "instruction address") \
  COLUMN(StringId, function, Plain, "symbol")                    \
  COLUMN(StringId, module, Plain, "program or library")          \
  COLUMN(StringId, file, Plain, "source file")                   \
  COLUMN(std::uint32_t, line, Plain, "source line")
LACUNA_TABLE(StackFrame, 20, "stack_frame", LACUNA_STACK_FRAME_COLUMNS)

#define LACUNA_CPU_SAMPLE_COLUMNS(COLUMN)               \
  COLUMN(TimeNs, timeNs, Time, "when")                  \
  COLUMN(ThreadId, thread, Plain, "the running thread") \
  COLUMN(FrameId, stack, Plain, "where it was")         \
  COLUMN(std::uint64_t, weightNs, Plain, "CPU time the sample stands for")
LACUNA_TABLE(CpuSample, 21, "cpu_sample", LACUNA_CPU_SAMPLE_COLUMNS)

#define LACUNA_THREAD_STATE_COLUMNS(COLUMN)                    \
  COLUMN(TimeNs, startNs, Time, "begin")                       \
  COLUMN(TimeNs, durNs, Length, "length")                      \
  COLUMN(ThreadId, thread, Plain, "whose state")               \
  COLUMN(ThreadState, state, Plain, "running or not, and why") \
  COLUMN(std::uint16_t, cpu, Plain, "the core it ran on")      \
  COLUMN(ThreadId, wokenBy, Plain, "the thread that ended the wait, if known")
LACUNA_TABLE(ThreadSpan, 22, "thread_state", LACUNA_THREAD_STATE_COLUMNS)

#define LACUNA_FLOW_COLUMNS(COLUMN)                                                          \
  COLUMN(TimeNs, timeNs, Time, "when")                                                       \
  COLUMN(ThreadId, thread, Plain, "where, on the host")                                      \
  COLUMN(QueueId, queue, Plain, "where, on a device")                                        \
  COLUMN(std::uint64_t, id, Rising, "points of one flow share it, within name and category") \
  COLUMN(FlowPhase, phase, Plain, "begin, step or end")                                      \
  COLUMN(StringId, name, Plain, "kind of flow")                                              \
  COLUMN(StringId, category, Plain, "group")                                                 \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Flow, 23, "flow", LACUNA_FLOW_COLUMNS)

#define LACUNA_LOG_COLUMNS(COLUMN)                                              \
  COLUMN(TimeNs, timeNs, Time, "when")                                          \
  COLUMN(ThreadId, thread, Plain, "who wrote it")                               \
  COLUMN(LogLevel, level, Plain, "how serious")                                 \
  COLUMN(StringId, source, Plain, "its source; lacuna for the recorder itself") \
  COLUMN(StringId, text, Plain, "the line")
LACUNA_TABLE(LogLine, 24, "log", LACUNA_LOG_COLUMNS)

#define LACUNA_DROP_COLUMNS(COLUMN)                                       \
  COLUMN(TimeNs, timeNs, Time, "when it was noticed")                     \
  COLUMN(ProcessId, process, Plain, "who lost them")                      \
  COLUMN(ThreadId, thread, Plain, "who lost them, when known")            \
  COLUMN(std::uint64_t, count, Plain, "events lost since the row before") \
  COLUMN(StringId, reason, Plain, "why")
LACUNA_TABLE(Drop, 25, "drop", LACUNA_DROP_COLUMNS)

#define LACUNA_OVERHEAD_COLUMNS(COLUMN)                            \
  COLUMN(TimeNs, startNs, Time, "begin")                           \
  COLUMN(TimeNs, durNs, Length, "length")                          \
  COLUMN(ThreadId, thread, Plain, "the thread that was held up")   \
  COLUMN(StringId, name, Plain, "what the profiler or driver did") \
  COLUMN(ArgSetId, args, Rising, "its further arguments, if any")
LACUNA_TABLE(Overhead, 26, "overhead", LACUNA_OVERHEAD_COLUMNS)

#define LACUNA_ARG_SET_COLUMNS(COLUMN)                                         \
  COLUMN(ArgSetId, id, Rising, "number that an event's args column refers to") \
  COLUMN(StringId, shape, Plain,                                               \
         "names of the arguments in order, one a line; + kept in arg, = repeated from a column")
LACUNA_TABLE(ArgSet, 27, "arg_set", LACUNA_ARG_SET_COLUMNS)

#define LACUNA_ARG_COLUMNS(COLUMN)                                           \
  COLUMN(ArgSetId, set, Rising, "whose argument")                            \
  COLUMN(ArgScope, scope, Plain,                                             \
         "an argument, or a field of the event itself that no column holds") \
  COLUMN(StringId, key, Plain, "name")                                       \
  COLUMN(ArgType, type, Plain, "how to read the value")                      \
  COLUMN(std::uint64_t, value, Rising, "a number as bits, or the number of a text")
LACUNA_TABLE(Arg, 28, "arg", LACUNA_ARG_COLUMNS)

#define LACUNA_PYTHON_SAMPLE_COLUMNS(COLUMN)                                                   \
  COLUMN(TimeNs, timeNs, Time, "when the frames were read: the end of the time it stands for") \
  COLUMN(ThreadId, thread, Plain, "a thread of a Python program, running or not")              \
  COLUMN(FrameId, stack, Plain,                                                                \
         "where its interpreter was: function, program as module, and line")                   \
  COLUMN(std::uint64_t, weightNs, Plain, "wall time the sample stands for")                    \
  COLUMN(ThreadState, state, Plain, "whether it ran then; only of a process's first thread")
LACUNA_TABLE(PythonSample, 29, "python_sample", LACUNA_PYTHON_SAMPLE_COLUMNS)

#define LACUNA_GRAPH_NODE_COLUMNS(COLUMN)                                             \
  COLUMN(TimeNs, timeNs, Time, "when, on the host; the call around it made the node") \
  COLUMN(ThreadId, thread, Plain,                                                     \
         "the thread that made it, so the operators around it are the node's")        \
  COLUMN(std::uint64_t, id, Rising,                                                   \
         "the node, as graphNodeId of device work names it, within its process")      \
  COLUMN(std::uint64_t, original, Plain,                                              \
         "the node that it copies, where it is one of an executable graph; 0 for none")
LACUNA_TABLE(GraphNode, 30, "graph_node", LACUNA_GRAPH_NODE_COLUMNS)

// clang-format on

/// Every declared table's row type, in order.
using AllRows =
    std::tuple<Process, Thread, Device, Queue, Clock, Environment, Range, Mark, ApiCall, Kernel,
               Memcpy, Memset, Sync, Allocation, CounterTrack, CounterSample, StackFrame, CpuSample,
               ThreadSpan, Flow, LogLine, Drop, Overhead, ArgSet, Arg, PythonSample, GraphNode>;

/// Calls `visit.operator()<Row>()` for every declared table.
template <class Visit>
constexpr void forEachTable(Visit&& visit) {
  [&]<class... Row>(std::tuple<Row...>*) {
    (visit.template operator()<Row>(), ...);
  }(static_cast<AllRows*>(nullptr));
}

/// Every declared table, in the order of forEachTable.
std::span<const TableSpec> allTables();

/// True for the tables whose rows are events, which make up a trace's span. Processes and threads
/// begin and end with them or around them, and clocks are read at any time.
bool holdsEvents(std::uint16_t table);

}  // namespace lacuna::prof
