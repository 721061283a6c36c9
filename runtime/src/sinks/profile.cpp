// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/profile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/fork_locks.h"
#include "lacuna/runtime/tensor.h"
#include "sinks/profile_table.h"

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

struct Column {
  const char* head;
  std::string (*cell)(const ProfileRow& row);
  int width;  ///< below zero: the text stands on the left
};

std::vector<Column> columnsOf(const ProfileTable& table) {
  std::size_t longest = 4;
  bool byShape = false;
  bool elsewhere = false;
  for (const ProfileRow& row : table.rows) {
    longest = std::max(longest, row.name.size());
    byShape = byShape || !row.shapes.empty();
    elsewhere = elsewhere || row.deviceMemory != 0 || row.selfDeviceMemory != 0;
  }
  std::vector<Column> columns{
      {"Name", [](const ProfileRow& row) { return row.name; }, -static_cast<int>(longest)},
      {"CPU Mem", [](const ProfileRow& row) { return bytesText(row.cpuMemory); }, 12},
      {"Self CPU Mem", [](const ProfileRow& row) { return bytesText(row.selfCpuMemory); }, 12}};
  if (elsewhere) {
    columns.push_back(
        {"Device Mem", [](const ProfileRow& row) { return bytesText(row.deviceMemory); }, 12});
    columns.push_back({"Self Device Mem",
                       [](const ProfileRow& row) { return bytesText(row.selfDeviceMemory); }, 15});
  }
  columns.push_back(
      {"Number of Calls", [](const ProfileRow& row) { return std::to_string(row.calls); }, 15});
  columns.push_back(
      {"Self CPU", [](const ProfileRow& row) { return timeText(row.selfCpuNs); }, 12});
  columns.push_back({"CPU total", [](const ProfileRow& row) { return timeText(row.cpuNs); }, 12});
  columns.push_back({"Device", [](const ProfileRow& row) { return timeText(row.deviceNs); }, 12});
  if (byShape)
    columns.push_back({"Input Shapes", [](const ProfileRow& row) { return row.shapes; }, 0});
  return columns;
}

template <class Text>
std::string lineOf(const std::vector<Column>& columns, const Text& text) {
  std::string line;
  for (const Column& column : columns) {
    const std::string cell = text(column);
    const std::size_t width = static_cast<std::size_t>(std::abs(column.width));
    const std::string blanks(width - std::min(width, cell.size()), ' ');
    line += (line.empty() ? "" : "  ") + (column.width < 0 ? cell + blanks : blanks + cell);
  }
  return line + '\n';
}

/// Turns the table sink off again, however the profiled body ended.
struct TableInUse {
  ~TableInUse() {
    instrument::gSinks.fetch_and(~instrument::kTableSink);
    const std::lock_guard lock(collected().mutex);
    collected().running = false;
  }
};

const ForkLock kTableForkLock{LockOrder::ProfileTable, [] { collected().mutex.lock(); },
                              [] { collected().mutex.unlock(); }};

}  // namespace

void instrument::tableOperator(const OpContext& op, std::int64_t totalNs) {
  Collected& table = collected();
  const std::lock_guard lock(table.mutex);
  ProfileRow& row = rowOf(table, op.name->text, op.shapes);
  ++row.calls;
  row.cpuNs += totalNs;
  row.selfCpuNs += totalNs - op.childNs;
  (op.elsewhere ? row.deviceMemory : row.cpuMemory) += op.memory;
  (op.elsewhere ? row.selfDeviceMemory : row.selfCpuMemory) += op.memory - op.childMemory;
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
    const TableInUse inUse;
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
      case ProfileSort::DeviceMemory:
        return row.deviceMemory;
      case ProfileSort::SelfDeviceMemory:
        return row.selfDeviceMemory;
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
  if (sorted.rows.size() > limit) sorted.rows.resize(limit);
  const std::vector<Column> columns = columnsOf(*this);
  std::string text = lineOf(columns, [](const Column& column) { return std::string(column.head); });
  for (const ProfileRow& row : sorted.rows)
    text += lineOf(columns, [&](const Column& column) { return column.cell(row); });
  return text;
}

}  // namespace lacuna::rt
