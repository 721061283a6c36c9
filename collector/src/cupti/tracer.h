// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cupti/library.h"
#include "cupti/row_sink.h"
#include "cupti/subscription.h"

namespace lacuna::collector::cupti {

struct TracerReport;

struct TracerOptions {
  bool graphNodes =
      true;  ///< a record per node of a CUDA graph; false: one per launch of a graph (cheaper)
  bool calls =
      true;  ///< of the runtime and the driver, what they wait for, and CUPTI's own overhead
  bool memory = true;        ///< allocations and pools
  bool environment = false;  ///< clocks, temperature, power
  /// Time between two samples of the hardware's counters; 0: none.
  std::chrono::nanoseconds hardwareInterval{0};
  std::size_t bufferBytes = 4u << 20;
  std::size_t buffers = 8;  ///< ready for the next threads that ask
  std::size_t maxBuffers =
      256;  ///< each thread that calls CUDA has one; beyond, CUPTI drops and counts
  std::chrono::milliseconds flushEvery{500};
  /// The longest time between two calls of the sink's beforeRows().
  std::chrono::milliseconds pollEvery{500};
  std::chrono::milliseconds clockEvery{100};  ///< between two readings of the clocks
  /// At the end the device may go on for so long, for its last work to have its true length.
  std::chrono::milliseconds settle{1000};
  const char* driver = "libcuda.so.1";
  std::string capturePath;  ///< keep what CUPTI hands over, for replay; empty: no
  /// Called from the drain thread at its start and after every flush.
  std::function<void(const TracerReport&)> onReport;
};

struct TracerReport {
  TracerState state = TracerState::Failed;
  std::string text;  ///< for people: what, and what to do about it
  std::uint64_t droppedByCupti = 0;
  std::uint64_t lostBuffers = 0;    ///< requests that found the pool empty
  std::uint64_t truncated = 0;      ///< buffers that ended within a record
  std::uint64_t clockTimesSet = 0;  ///< the clock of the records' stamps, while it recorded
  std::int64_t clockMostSetNs = 0;  ///< by so much at most
  std::string captureText;          ///< why the capture is not whole, when one was wanted
  std::string hardwareText;         ///< why there are no hardware counters, when they were wanted
  std::uint64_t hardwareOverflows = 0;  ///< times that their buffer was full
  DecodeStats decoded;
};

/// The CUDA timeline of this process. A thread of its own drains CUPTI's buffers, decodes them and
/// gives rows to the sink. Only that thread and stop() use the sink. At most one in a process;
/// CUPTI's part is kept for the life of the process, because CUPTI may call back at any time. In a
/// forked child every function does nothing. Where memory or threads run out, the timeline ends and
/// the report names it; nothing is thrown.
class Tracer {
 public:
  /// Sets CUPTI up. The tracer is returned even when that fails; report() gives the reason.
  static std::unique_ptr<Tracer> start(Library library, RowSink& sink,
                                       const TracerOptions& options);
  ~Tracer();

  [[nodiscard]] TracerReport report() const;
  /// Hands over what CUPTI still holds and ends the drain thread. The sink is not used afterwards.
  void stop();

 private:
  struct Impl;
  explicit Tracer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::collector::cupti
