// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// A table of operators in process, with no tool attached:
///
///     const auto table = rt::profile([&] { trainOneStep(); });
///     std::cout << table.toString(rt::ProfileSort::SelfCpuMemory);
namespace lacuna::rt {

struct ProfileRow {
  std::string name;
  std::string shapes;  ///< of the inputs; empty unless grouped by them
  std::uint64_t calls = 0;
  std::int64_t cpuNs = 0;      ///< host time in the operator
  std::int64_t selfCpuNs = 0;  ///< without the operators that it called
  std::int64_t deviceNs = 0;   ///< time of its executions on the queue
  std::int64_t cpuMemory = 0;  ///< bytes allocated minus freed during it
  std::int64_t selfCpuMemory = 0;
  std::int64_t deviceMemory = 0;  ///< the same of a device that is not the CPU: meta
  std::int64_t selfDeviceMemory = 0;
};

enum class ProfileSort : std::uint8_t {
  Calls,
  CpuTime,
  SelfCpuTime,
  DeviceTime,
  CpuMemory,
  SelfCpuMemory,
  DeviceMemory,
  SelfDeviceMemory,
  Name
};

struct ProfileTable {
  std::vector<ProfileRow> rows;
  void sort(ProfileSort by);
  /// Name, CPU Mem, Self CPU Mem, Number of Calls, times; Device Mem and Self Device Mem where
  /// another device than the CPU has some; Input Shapes where grouped by them. The first `limit`
  /// rows.
  [[nodiscard]] std::string toString(ProfileSort by = ProfileSort::SelfCpuMemory,
                                     std::size_t limit = 100) const;
};

struct ProfileOptions {
  bool groupByShape = false;
};

/// Runs `body` and returns what its operators did, on any thread; waits for the queue before and
/// after. One at a time: throws when another profile is running.
[[nodiscard]] ProfileTable profile(const std::function<void()>& body, ProfileOptions options = {});

}  // namespace lacuna::rt
