// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <string_view>

/// Sends what PyTorch does over NVTX, in the schema of docs/nvtx-schema.md. Any thread may call
/// every function. With no tool attached a call costs a branch. A thread's ranges nest: closing a
/// range closes those inside it too, so a range that an exception left open does not shift the
/// ranges that follow.
namespace lacuna::collector::torch {

enum class Category : std::uint32_t {
  None,
  Step,
  Phase,
  Operator,
  Module,
  Loader,
  Execution,
  Memory,
  Sync,
  Info
};
enum class Direction : std::uint32_t { None, Forward, Backward, Optimizer };

/// True when a tool listens.
bool listening();
/// While it is on, nobody listens: the program records itself, and has ended that for now.
void beQuiet(bool on);

struct LoaderNote {
  std::uint64_t batch;
  std::uint32_t loader;
  std::int32_t worker;  ///< -1: the consumer
};

struct OperatorNote {
  std::uint64_t sequence = 0;
  Direction direction = Direction::None;
  std::uint64_t correlation = 0;
  const char* shapes = nullptr;
};

/// Each returns the level to hand to closeTo(), -1 when nobody listens. `owner` is the range's
/// owner when it ends out of turn; null where closeTo() ends it.
int open(Category category, const char* name, const void* owner = nullptr);
int openOperator(const char* name, const OperatorNote& note, const void* owner);
/// `plain`: of what happens in the step, operators, modules and allocations are not reported.
int openStep(std::uint64_t index, std::uint64_t samples, bool plain);
int openLoader(const char* stage, const LoaderNote& note);
int openExecution(const char* name, std::uint64_t correlation, const void* owner);
/// A collective is begun here and now; its execution comes later, on a thread of its own.
void noteCollectiveCall(const char* name, std::uint64_t correlation);
/// The collectives that this thread executes are a queue of the CPU device. This one was begun by
/// the earliest call of its kind that no other execution has taken. Else it was begun by a call of
/// a kind that nothing executes by its name. Without such a call it is a range like any other.
int openCollective(const char* name, const void* owner);

/// The engine calls the backward of an operator in a function of this name, followed by the
/// backward's.
inline constexpr std::string_view kEvaluates = "autograd::engine::evaluate_function: ";
/// Where torch.compile checks and calls what it compiled. The operators and kernels inside do the
/// work. The rest is work of the host, and may be seconds: the compiler runs inside, too.
bool holdsCompiledCode(std::string_view operatorName);

/// Closes every range of this thread above `level`.
void closeTo(int level);
/// Closes the ranges of `owner` and what is inside them; nothing when it has none open on this
/// thread.
void closeOwner(const void* owner);
/// While it is on, this thread does everything for its events but hand them to a listener. The work
/// can be timed, and is not recorded. Ranges that are open when it changes stay open.
void rehearse(bool on);
/// Operators that are open on this thread.
unsigned operatorsOpen();

void knob(const char* name, const char* value);
/// A moment with a text.
void remark(const char* name, const char* text);
void loaderDepth(std::uint32_t loader, std::int64_t ready);
void nameThread(const char* name);
/// Announces queue 0: the CPU, where operators of a CPU-only build run.
void announceCpuQueue();

enum class MemoryAction : std::uint8_t { Allocate, Free };
/// Memory of device `device` (the number of a CUDA device, 0 for the CPU's), asked for by the
/// innermost open operator.
void memory(MemoryAction action, std::uint64_t address, std::uint64_t bytes, std::uint8_t role,
            std::uint32_t device, const char* tensor = nullptr);

}  // namespace lacuna::collector::torch
