// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/collector/settings.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The sources to record. The libraries' own annotations arrive as NVTX, so they need `nvtx` too.
/// How much of CUDA is recorded. Each record costs the program time.
enum class CudaMode : std::uint8_t {
  Full,     ///< device work, a record for each node of a graph; calls that launch or wait; memory
  Kernels,  ///< device work alone
  Graphs,   ///< as Full, with one record for each launch of a graph
  Off,
};

struct Sources {
  bool nvtx = true;
  bool cuda = true;
  CudaMode cudaMode = CudaMode::Full;  ///< never Off: then `cuda` is false
  bool cublas = false;
  bool cudnn = false;
  bool cusparse = false;
  bool cusolver = false;
  bool nccl = true;
  bool counters = true;  ///< CPU time, memory, page faults and disk reads of processes and threads
  bool gpuCounters =
      false;             ///< hardware counters of GPUs over time, where the driver lets this user
  bool samples = false;  ///< CPU samples with call stacks, and thread states
};

/// Reads a comma-separated list such as "nvtx,cuda,cublas"; "all" and "none" are words too. Nothing
/// between two commas, or at all, is refused.
prof::Result<Sources> parseSources(std::string_view list);
/// The words of such a list.
std::vector<std::string_view> sourceNames();

/// Reads "full", "kernels", "graphs" or "off".
prof::Result<CudaMode> parseCudaMode(std::string_view word);

/// Reads "256M", "4G", "65536" and the like as bytes; units are powers of 1024.
prof::Result<std::uint64_t> parseBytes(std::string_view text);
/// Reads "90s", "1.5m", "2h", "500ms", "90" (seconds) as nanoseconds.
prof::Result<std::int64_t> parseDuration(std::string_view text);

/// Where CPU samples come from.
enum class Sampler : std::uint8_t {
  Auto,   ///< the kernel where it permits, else timers
  Perf,   ///< the kernel: perf_event_open
  Timer,  ///< a timer in each thread of the programs
  Proc,   ///< looking at /proc: no stacks
};
/// Reads "auto", "perf", "timer" or "proc".
prof::Result<Sampler> parseSampler(std::string_view word);

/// When a flight recorder writes what it holds.
struct DumpOn {
  bool signal = false;    ///< SIGUSR2 to the supervisor, which then keeps it from the program
  bool crash = false;     ///< the program was killed by a signal or ended with a code other than 0
  bool slowStep = false;  ///< a step took much longer than those before it
};
/// Reads a comma-separated list of "signal", "crash" and "slow-step".
prof::Result<DumpOn> parseDumpOn(std::string_view list);

/// Whether Python programs are watched from inside: their lines, and PyTorch where they import it.
enum class PythonHook : std::uint8_t {
  Off,
  IfInstalled,  ///< a note reports a missing hook
  On,           ///< a missing hook fails the run
};

/// The steps of a PyTorch program that are recorded with their operators, modules and allocations.
enum class Detail : std::uint8_t {
  All,
  Some,  ///< the first ones and then a twentieth: collector/python/lacuna_detail.py
};
/// Reads "all" or "some".
prof::Result<Detail> parseDetail(std::string_view word);

struct RunOptions {
  std::vector<std::string> command;
  /// Empty: named after the program, with a number where the name is taken.
  std::filesystem::path output;
  bool replace = false;  ///< a file that is there as `output`; without it, that is an error before
                         ///< the program starts
  /// Folder of a job that records only when it is triggered: see runOnStandby(). Empty: record at
  /// once.
  std::filesystem::path standby;
  Sources sources;
  PythonHook pythonHook = PythonHook::Off;
  Detail detail = Detail::All;    ///< with the hook
  std::vector<Setting> settings;  ///< applied to PyTorch programs from inside; they need the hook
  std::filesystem::path rawCapture;  ///< folder for what CUPTI hands over; empty: none is kept
  std::int64_t durationNs = 0;       ///< 0: to the end of the program
  std::int64_t delayNs = 0;
  std::string captureRange;                 ///< record only while a range of this name is open
  std::int64_t samplePeriodNs = 1'000'000;  ///< CPU time between two samples
  Sampler sampler = Sampler::Auto;
  /// With the hook: time between two looks where Python programs are. 0: none. A flight recorder
  /// takes none either.
  std::int64_t pythonPeriodNs = 10'000'000;
  std::uint64_t memoryLimit = std::uint64_t{512} << 20;
  std::uint64_t ringBytes = 0;  ///< 0: keep everything; else a flight recorder of that size
  DumpOn dumpOn;
  std::string stepRange;      ///< what a step is; empty: the runtime's and PyTorch's step ranges
  double slowDeviations = 5;  ///< median absolute deviations above the median that make a step slow
  bool waitForAll = true;     ///< wait for daemonised and background children too
  bool live = true;           ///< a status line, where standard error is a terminal
  bool summary = true;
  /// Called before the program starts, once for each thing that will not be recorded, in words for
  /// the user.
  std::function<void(const std::string&)> onNote;
};

/// True when the recording includes where Python programs are.
inline bool samplesPython(const RunOptions& options) {
  return options.pythonHook != PythonHook::Off && options.pythonPeriodNs > 0 &&
         options.ringBytes == 0;
}

/// Refuses options that contradict or miss one another, with the remedy.
prof::Status checkOptions(const RunOptions& options);

}  // namespace lacuna::collector
