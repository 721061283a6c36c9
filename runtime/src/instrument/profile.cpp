// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "backend/common/fork.h"
#include "instrument/profile_table.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

namespace {

struct Collected {
  std::mutex mutex;
  bool running = false;
  bool byShape = false;
  std::map<std::pair<std::string, std::string>, ProfileRow> rows;
};
Collected& collected() {
  static auto* table = new Collected;
  return *table;
}

ProfileRow& rowOf(Collected& table, const char* name, const char* shapes) {
  const std::string by = table.byShape && shapes != nullptr ? shapes : "";
  ProfileRow& row = table.rows[{name, by}];
  row.name = name;
  row.shapes = by;
  return row;
}

std::string bytesText(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"b", "Kb", "Mb", "Gb"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while ((value >= 1024 || value <= -1024) && unit < 3) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
  return text;
}

std::string timeText(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), ns < 1000000 ? "%.3fus" : "%.3fms",
                static_cast<double>(ns) / (ns < 1000000 ? 1e3 : 1e6));
  return text;
}

/// Turns the table sink off again, however the profiled body ended.
struct Running {
  ~Running() {
    instrument::gSinks.fetch_and(~instrument::kTableSink);
    const std::lock_guard lock(collected().mutex);
    collected().running = false;
  }
};

}  // namespace

void instrument::lockProfileTableForFork() {
  collected().mutex.lock();
}
void instrument::unlockProfileTableAfterFork() {
  collected().mutex.unlock();
}

void instrument::tableOperator(const OpContext& op, std::int64_t totalNs) {
  Collected& table = collected();
  const std::lock_guard lock(table.mutex);
  ProfileRow& row = rowOf(table, op.name->text, op.shapes);
  ++row.calls;
  row.cpuNs += totalNs;
  row.selfCpuNs += totalNs - op.childNs;
  row.cpuMemory += op.memory;
  row.selfCpuMemory += op.memory - op.childMemory;
}

void instrument::tableExecution(const Execution& execution, std::int64_t durationNs) {
  Collected& table = collected();
  const std::lock_guard lock(table.mutex);
  rowOf(table, execution.name->text, execution.shapes).deviceNs += durationNs;
}

ProfileTable profile(const std::function<void()>& body, ProfileOptions options) {
  Collected& table = collected();
  synchronize();
  {
    const std::lock_guard lock(table.mutex);
    if (table.running) fail("profile", "another profile is running");
    table.running = true;
    table.byShape = options.groupByShape;
    table.rows.clear();
  }
  {
    const Running running;
    instrument::gSinks.fetch_or(instrument::kTableSink);
    body();
    synchronize();
  }
  ProfileTable out;
  const std::lock_guard lock(table.mutex);
  for (auto& [key, row] : table.rows) out.rows.push_back(std::move(row));
  table.rows.clear();
  return out;
}

void ProfileTable::sort(ProfileSort by) {
  const auto value = [by](const ProfileRow& row) -> std::int64_t {
    switch (by) {
      case ProfileSort::Calls:
        return static_cast<std::int64_t>(row.calls);
      case ProfileSort::CpuTime:
        return row.cpuNs;
      case ProfileSort::SelfCpuTime:
        return row.selfCpuNs;
      case ProfileSort::DeviceTime:
        return row.deviceNs;
      case ProfileSort::CpuMemory:
        return row.cpuMemory;
      case ProfileSort::SelfCpuMemory:
        return row.selfCpuMemory;
      default:
        return 0;
    }
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const ProfileRow& a, const ProfileRow& b) {
    return by == ProfileSort::Name ? a.name < b.name : value(a) > value(b);
  });
}

std::string ProfileTable::toString(ProfileSort by, std::size_t limit) const {
  ProfileTable sorted = *this;
  sorted.sort(by);
  std::size_t width = 4;
  std::size_t shapeWidth = 0;
  for (const ProfileRow& row : rows) {
    width = std::max(width, row.name.size());
    shapeWidth = std::max(shapeWidth, row.shapes.size());
  }
  std::string text;
  char line[1024];
  const auto add = [&](const char* name, const std::string& mem, const std::string& selfMem, const std::string& calls,
                       const std::string& self, const std::string& cpu, const std::string& device,
                       const std::string& shapes) {
    std::snprintf(line, sizeof(line), "%-*s  %12s  %12s  %15s  %12s  %12s  %12s", static_cast<int>(width), name,
                  mem.c_str(), selfMem.c_str(), calls.c_str(), self.c_str(), cpu.c_str(), device.c_str());
    text += line;
    if (shapeWidth > 0) text += "  " + shapes;
    text += '\n';
  };
  add("Name", "CPU Mem", "Self CPU Mem", "Number of Calls", "Self CPU", "CPU total", "Device", "Input Shapes");
  for (std::size_t i = 0; i < sorted.rows.size() && i < limit; ++i) {
    const ProfileRow& row = sorted.rows[i];
    add(row.name.c_str(), bytesText(row.cpuMemory), bytesText(row.selfCpuMemory), std::to_string(row.calls),
        timeText(row.selfCpuNs), timeText(row.cpuNs), timeText(row.deviceNs), row.shapes);
  }
  return text;
}

}  // namespace lacuna::rt
