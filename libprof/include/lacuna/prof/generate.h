// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "lacuna/prof/events.h"
#include "lacuna/prof/result.h"
#include "lacuna/prof/writer.h"

namespace lacuna::prof {

/// A made-up training run that looks like a recorded one: a transformer trained data-parallel, seen
/// from its host threads and its devices. The sequence of operators repeats from step to step as it
/// does in training. Every length varies (log-normal), and kernels start when their launch and
/// their queue allow. Addresses come from a caching allocator and are used again. The same options
/// give the same trace on every machine with the same math library.
struct GenerateOptions {
  std::uint64_t events =
      1'000'000;  ///< stops after the step in which this is reached; ignored when steps is not 0
  std::uint64_t steps = 0;  ///< number of training steps
  std::uint64_t seed = 1;
  std::uint32_t processes = 1;  ///< ranks, each with a device of its own
  std::uint32_t threads =
      4;  ///< host threads per rank: main, autograd, and the rest loader workers; at least 3
  std::uint32_t layers = 12;  ///< of the transformer
};

/// Rows of all the tables that a generated trace has.
struct GeneratedRows {
  Process::Columns processes;
  Thread::Columns threads;
  Device::Columns devices;
  Queue::Columns queues;
  Environment::Columns environment;
  CounterTrack::Columns tracks;
  Range::Columns ranges;
  ApiCall::Columns apiCalls;
  Kernel::Columns kernels;
  Memcpy::Columns copies;
  Memset::Columns memsets;
  Sync::Columns syncs;
  Allocation::Columns allocations;
  CounterSample::Columns samples;

  [[nodiscard]] std::uint64_t rows() const;
  void clear();
};

/// Makes the trace step by step, so that memory does not grow with its length.
class TraceGenerator {
 public:
  using Intern = std::function<StringId(std::string_view)>;

  TraceGenerator(const GenerateOptions& options, Intern intern);
  TraceGenerator(TraceGenerator&&) noexcept;
  TraceGenerator& operator=(TraceGenerator&&) noexcept;
  ~TraceGenerator();

  /// Appends what the run consists of: processes, threads, devices, queues. Once, first.
  void describe(GeneratedRows& rows);
  /// Appends one step of all ranks; events of a kind in the order of their start.
  void step(GeneratedRows& rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct GenerateSummary {
  std::uint64_t events = 0;
  std::uint64_t steps = 0;
};

/// Writes a whole generated run; the caller finishes the writer.
Result<GenerateSummary> generateTrace(Writer& writer, const GenerateOptions& options);

}  // namespace lacuna::prof
