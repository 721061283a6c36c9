// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The agreement of a process that samples itself and the supervisor: one file for each program
/// image of a process.
namespace lacuna::collector::timer {

/// The folder for the files, and the CPU time between two samples of a thread in nanoseconds.
inline constexpr const char* kFolderVariable = "LACUNA_STACKS";
inline constexpr const char* kPeriodVariable = "LACUNA_STACKS_PERIOD";
/// Names of the files: this, the process id, a dash and when it began.
inline constexpr const char* kFilePrefix = "stacks-";

inline constexpr std::size_t kFrames = 60;
inline constexpr std::size_t kSamples = 1024;
inline constexpr std::size_t kMapsBytes = std::size_t{64} << 10;

struct Sample {
  /// Its number in the ring + 1, written last.
  std::atomic<std::uint64_t> turn;
  std::int64_t timeNs;
  std::uint64_t cpuNs;  ///< CPU time of the thread since it began
  std::uint32_t tid;
  std::uint32_t depth;
  std::uint64_t frames[kFrames];  ///< the instruction, then return addresses, outwards
};
static_assert(sizeof(Sample) == 512);

/// Many threads write, in signal handlers; the supervisor reads and believes nothing that could
/// hurt. It lies in a file, so that what was sampled outlives the process.
struct Ring {
  static constexpr std::uint32_t kMagic = 0x3253544c;  // LTS2
  std::atomic<std::uint32_t> magic;                    ///< written last
  std::int32_t pid;
  std::int32_t parent;
  std::uint64_t pidNamespace;  ///< in which these are numbers, and the threads' ids
  std::int64_t startNs;
  char name[16];
  std::atomic<std::uint64_t> head;       ///< samples ever begun
  std::atomic<std::uint64_t> tail;       ///< of these, those that the supervisor has taken
  std::atomic<std::uint64_t> dropped;    ///< for want of room
  std::atomic<std::uint32_t> untimed;    ///< threads that the kernel gave no timer
  std::atomic<std::uint32_t> mapsTurn;   ///< odd while `maps` is written
  std::atomic<std::uint32_t> mapsBytes;  ///< lines of /proc/PID/maps that hold code
  alignas(64) char maps[kMapsBytes];
  Sample samples[kSamples];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace lacuna::collector::timer
