// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Facts about a process from /proc. Everything is empty or zero when the process is gone or may
/// not be read.
namespace lacuna::collector::proc {

std::string read(const std::string& path);
/// Arguments separated by spaces.
std::string commandLineOf(std::uint32_t pid);
/// True when its environment was seen not to have the variable.
bool lacksVariable(std::uint32_t pid, std::string_view name);
std::string nameOf(std::uint32_t pid, std::uint32_t tid);
/// The file that it runs.
std::string programOf(std::uint32_t pid);
std::vector<std::uint32_t> threadsOf(std::uint32_t pid);
std::vector<std::uint32_t> childrenOf(std::uint32_t pid);

/// /proc/PID/stat, or a thread's.
struct Stat {
  char state = 0;
  std::uint32_t parent = 0;
  std::uint64_t startTicks = 0;  ///< since the machine booted, sysconf(_SC_CLK_TCK) in a second
  std::uint64_t minorFaults = 0;
  std::uint64_t majorFaults = 0;
  std::uint64_t residentPages = 0;
  std::uint16_t cpu = 0;
};
bool readStat(const std::string& path, Stat& out);

/// The state of a thread, which is asked for again and again: its file stays open.
class StateFile {
 public:
  StateFile() = default;
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  ~StateFile();
  /// As Stat::state; 0 where the thread is gone.
  char read(std::uint32_t pid, std::uint32_t tid);

 private:
  int fd_ = -1;
};

/// Time on a core and time waiting for one.
struct Schedule {
  std::uint64_t runNs = 0;
  std::uint64_t waitNs = 0;
};
bool readSchedule(std::uint32_t pid, std::uint32_t tid, Schedule& out);

/// How long these cores had nothing to do since the machine booted, all together.
bool readIdle(const cpu_set_t& cores, std::uint64_t& ns);

/// Bytes that came from a disk.
bool readDiskBytes(std::uint32_t pid, std::uint64_t& out);

}  // namespace lacuna::collector::proc
