// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/devices.h"
#include "analysis/shown_steps.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_memory {
namespace {

constexpr std::size_t kLiveListed = 200;

constexpr std::string_view kRemedy =
    "`lacuna run` records PyTorch's allocations, PyTorch's profiler does with profile_memory=True, "
    "and programs of lacuna's runtime announce theirs";

constexpr int kLongestName = 1000;

/// Hundreds of blocks may share a name of megabytes.
std::string cellName(std::string_view name) {
  return name.size() <= kLongestName ? std::string(name)
                                     : shortened(name.substr(0, 8 * kLongestName), kLongestName);
}

/// A tensor that is alive at a peak.
struct Live {
  const LiveTensor* block;
  const TensorLife* life;
  std::string name, tensor, op, device, age, stay;
};

const Column<Live> kLive[]{
    {{"name", "alive at the peak", ColumnKind::Name, "the tensor and its operator"},
     kValueOf<&Live::name>},
    {{"bytes", "size", ColumnKind::Bytes, "of the block"},
     [](const Live& live) -> TableCell { return live.block->bytes; }},
    {{"role", "", ColumnKind::Text, "`parameter`, `gradient`, …; `other`: not known"},
     [](const Live& live) -> TableCell { return std::string(roleName(live.block->role)); }},
    {{"role_words", "role", ColumnKind::Text, "the same in words"},
     [](const Live& live) -> TableCell { return std::string(roleWords(live.block->role)); }},
    {{"tensor", "", ColumnKind::Name, "its name, where it has one"}, kValueOf<&Live::tensor>},
    {{"op", "", ColumnKind::Name, "the operator that allocated it"}, kValueOf<&Live::op>},
    {{"device", "", ColumnKind::Text, "as in `devices[]`"}, kValueOf<&Live::device>},
    {{"allocated_ns", "", ColumnKind::Time, "when it was allocated"},
     [](const Live& live) -> TableCell { return live.block->allocatedNs; }},
    {{"age", "allocated before the peak", ColumnKind::Text, "how long it has been there, in words"},
     kValueOf<&Live::age>},
    {{"steps_old", "", ColumnKind::Count, "steps that began since it was allocated"},
     [](const Live& live) -> TableCell { return live.life->stepsOld; }},
    {{"freed", "", ColumnKind::Flag, "within the trace"},
     [](const Live& live) -> TableCell { return live.life->freed; }},
    {{"freed_ns", "", ColumnKind::Time, "when it was freed; 0 where it was not"},
     [](const Live& live) -> TableCell { return live.life->freedNs; }},
    {{"stay", "freed behind it", ColumnKind::Text, "how long it stays, in words"},
     kValueOf<&Live::stay>},
    {{"steps_ahead", "", ColumnKind::Count,
      "steps that begin behind the peak before it goes, or the trace ends"},
     [](const Live& live) -> TableCell { return live.life->stepsAhead; }},
};

/// Without labels, tensors have no device's name.
Table liveTable(const MemoryStats& memory, const DeviceLabels* labels) {
  std::vector<Live> rows;
  for (std::size_t i = 0; i < std::min(kLiveListed, memory.live.size()); ++i) {
    const TensorLife& life = memory.lives[i];
    const std::string tensor = cellName(memory.live[i].tensor), op = cellName(memory.live[i].op);
    rows.push_back({&memory.live[i], &life, cellName(liveName({.tensor = tensor, .op = op})),
                    tensor, op, labels == nullptr ? std::string() : labels->of(life.device),
                    ageText(memory, i), stayText(memory, i)});
  }
  return tableOf("live",
                 "tensors that are alive at the peak, largest first; at most 200, names cut behind "
                 "1,000 characters",
                 kLive, rows);
}

/// An edit with the device whose peak it lowers.
struct Edit {
  const PeakEdit* edit;
  std::string device;
};

const Column<Edit> kEdits[]{
    {{"kind", "edit", ColumnKind::Text, "`free_earlier` or `recompute`"},
     [](const Edit& row) -> TableCell {
       return std::string(row.edit->kind == PeakEditKind::Recompute ? "recompute" : "free_earlier");
     }},
    {{"device", "", ColumnKind::Text, "whose peak it lowers"}, kValueOf<&Edit::device>},
    {{"origin", "of", ColumnKind::Name, "the operator, or the tensor, that holds the memory"},
     [](const Edit& row) -> TableCell { return row.edit->origin; }},
    {{"bytes", "takes off", ColumnKind::Bytes, "of the peak"},
     [](const Edit& row) -> TableCell { return row.edit->bytes; }},
    {{"count", "", ColumnKind::Count, "blocks"},
     [](const Edit& row) -> TableCell { return row.edit->count; }},
    {{"cost_ns_per_step", "", ColumnKind::Time,
      "device time that it costs; 0: nothing, -1: not known"},
     [](const Edit& row) -> TableCell { return row.edit->costNsPerStep; }},
    {{"peak_after_bytes", "peak then", ColumnKind::Bytes, "of the window, with this edit alone"},
     [](const Edit& row) -> TableCell { return row.edit->peakAfterBytes; }},
    {{"why", "why", ColumnKind::Text, "what makes it possible"},
     [](const Edit& row) -> TableCell { return row.edit->why; }},
};

Table editTable(const Analysis& analysis, const DeviceLabels& labels) {
  const bool isOne =
      analysis.of<MemoryTables>().byDevice.empty() && !analysis.of<MemoryTables>().devices.empty();
  std::vector<Edit> rows;
  for (const PeakEdit& edit : analysis.of<PeakEdits>())
    rows.push_back(
        {&edit, labels.of(isOne ? analysis.of<MemoryTables>().devices[0].device : edit.device)});
  return tableOf("peak_edits", "what would bring each device's peak down", kEdits, rows);
}

const Column<MemoryStats> kMemory[]{
    {{"peak_bytes", "", ColumnKind::Bytes,
      "all devices together; 0 where no allocations were recorded"},
     kValueOf<&MemoryStats::peakBytes>},
    {{"at_ns", "", ColumnKind::Time, "when that was"}, kValueOf<&MemoryStats::peakAtNs>},
    {{"reserved_peak_bytes", "", ColumnKind::Bytes, "the most that allocators held"},
     kValueOf<&MemoryStats::peakReservedBytes>},
    {{"leak_bytes_per_step", "", ColumnKind::Bytes,
      "steady growth across the steady steps; 0: none"},
     kValueOf<&MemoryStats::leakBytesPerStep>},
};

const Column<AllocatorState> kAllocator[]{
    {{"known", "", ColumnKind::Flag, "segments were recorded"}, kValueOf<&AllocatorState::present>},
    {{"at_ns", "", ColumnKind::Time, "when the allocator last took more than ever before"},
     kValueOf<&AllocatorState::atNs>},
    {{"requested_bytes", "", ColumnKind::Bytes, "that it took then"},
     kValueOf<&AllocatorState::requestedBytes>},
    {{"reserved_bytes", "", ColumnKind::Bytes, "that it held before"},
     kValueOf<&AllocatorState::reservedBytes>},
    {{"live_bytes", "", ColumnKind::Bytes, "of them handed out"},
     kValueOf<&AllocatorState::liveBytes>},
    {{"largest_free_bytes", "", ColumnKind::Bytes, "in one piece"},
     kValueOf<&AllocatorState::largestFreeBytes>},
    {{"segments", "", ColumnKind::Count, "that it held"}, kValueOf<&AllocatorState::segments>},
    {{"fragmentation", "", ColumnKind::Share,
      "of the free memory that is not in the largest piece"},
     kValueOf<&AllocatorState::fragmentation>},
};

/// The memory of one device; without statistics of its own where others have higher peaks.
struct MemoryOfDevice {
  const DeviceMemory& memory;
  const MemoryStats* stats;
  std::string device;
};

const Column<MemoryOfDevice> kDevices[]{
    {{"device", "", ColumnKind::Text, "as in `devices[]`"}, kValueOf<&MemoryOfDevice::device>},
    {{"peak_bytes", "", ColumnKind::Bytes, "its own peak"},
     [](const MemoryOfDevice& row) -> TableCell { return row.memory.peakBytes; }},
    {{"at_ns", "", ColumnKind::Time, "when that was"},
     [](const MemoryOfDevice& row) -> TableCell { return row.memory.peakAtNs; }},
    {{"reserved_peak_bytes", "", ColumnKind::Bytes, "the most that its allocator held"},
     [](const MemoryOfDevice& row) -> TableCell { return row.memory.reservedPeakBytes; }},
    {{"leak_bytes_per_step", "", ColumnKind::Bytes,
      "steady growth; nothing for devices behind the 64 with the highest peaks"},
     [](const MemoryOfDevice& row) -> TableCell {
       if (row.stats == nullptr) return {};
       return row.stats->leakBytesPerStep;
     }},
};

/// The bytes of each role, in an object with the time; roles without any are left out.
Table curveTable(const DeviceMemory& memory) {
  Table curve{.key = "curve",
              .about = "bytes by role over time",
              .columns = {},
              .rows = {},
              .place = "curve"};
  curve.columns.push_back({"time_ns", "", ColumnKind::Time, "from here to the next row"});
  for (std::size_t i = 0; i < kRoleCount; ++i)
    curve.columns.push_back(
        {roleName(static_cast<prof::MemoryRole>(i)), "", ColumnKind::Bytes, "of this role"});
  for (const RolePoint& point : memory.curve) {
    std::vector<TableCell>& cells = curve.rows.emplace_back();
    cells.emplace_back(point.timeNs);
    for (const std::uint64_t bytes : point.bytes) {
      TableCell& cell = cells.emplace_back();
      if (bytes > 0) cell = bytes;
    }
  }
  return curve;
}

std::vector<MemoryOfDevice> memoryRows(const Analysis& analysis, const DeviceLabels& labels) {
  const MemoryTables& memory = analysis.of<MemoryTables>();
  const std::span<const MemoryStats> stats =
      memory.byDevice.empty() ? std::span(&memory.all, 1) : std::span(memory.byDevice);
  std::vector<MemoryOfDevice> rows;
  for (std::size_t i = 0; i < memory.devices.size(); ++i) {
    const DeviceMemory& device = memory.devices[i];
    rows.push_back({device, i < stats.size() ? &stats[i] : nullptr, labels.of(device.device)});
  }
  return rows;
}

/// The labels are made once: a trace may have tens of thousands of devices, each with tables
/// inside.
using SharedLabels = std::shared_ptr<const DeviceLabels>;

Table deviceTable(const Analysis& analysis, const SharedLabels& labels) {
  const std::vector<MemoryOfDevice> rows = memoryRows(analysis, *labels);
  return holding(tableOf("memory_devices", "the memory of each device", kDevices, rows),
                 [rows, labels](std::size_t row) {
                   const MemoryOfDevice& device = rows[row];
                   std::vector<Table> inside{
                       recordOf("allocator", "of the device", kAllocator, device.memory.allocator),
                       curveTable(device.memory)};
                   if (device.stats != nullptr)
                     inside.push_back(liveTable(*device.stats, labels.get()));
                   return inside;
                 });
}

std::vector<Table> tables(const Analysis& analysis) {
  const MemoryStats& all = analysis.of<MemoryTables>().all;
  const auto labels = std::make_shared<const DeviceLabels>(analysis.store.get());
  return {
      holding(recordOf("memory", "all devices together", kMemory, all),
              [&all, labels](std::size_t) { return std::vector{liveTable(all, labels.get())}; }),
      deviceTable(analysis, labels), editTable(analysis, *labels)};
}

/// The memory of a device, and " of cuda:1" where there are several.
struct Memory {
  const MemoryStats* stats = nullptr;
  const DeviceMemory* device = nullptr;  ///< null where the trace does not separate devices
  std::string where;
};

/// Highest peak first.
std::vector<Memory> memoriesOf(const Analysis& analysis) {
  std::vector<Memory> out;
  if (analysis.of<MemoryTables>().byDevice.empty()) {
    const bool isOne = analysis.of<MemoryTables>().devices.size() == 1;
    out.push_back({&analysis.of<MemoryTables>().all,
                   isOne ? analysis.of<MemoryTables>().devices.data() : nullptr,
                   {}});
  }
  const DeviceLabels labels(analysis.store.get());
  for (std::size_t i = 0; i < analysis.of<MemoryTables>().byDevice.size(); ++i) {
    const DeviceMemory& memory = analysis.of<MemoryTables>().devices[i];
    if (memory.peakBytes == 0) continue;
    out.push_back({&analysis.of<MemoryTables>().byDevice[i], &memory,
                   " of " + whoseMemory(analysis, labels, memory.device)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Memory& a, const Memory& b) {
    return a.stats->peakBytes > b.stats->peakBytes;
  });
  return out;
}

void writeLive(TextPage& page, const MemoryStats& memory, int rows) {
  TextTable table({{"alive then"},
                   {"role", TextColumn::Kind::Text},
                   {"tensor (operator)", TextColumn::Kind::Name},
                   {"for", TextColumn::Kind::Figure, 1},
                   {"and for", TextColumn::Kind::Figure, 2}});
  for (std::size_t i = 0; i < memory.live.size() && static_cast<int>(i) < rows; ++i) {
    const LiveTensor& tensor = memory.live[i];
    table.add({prof::bytesText(tensor.bytes), std::string(roleWords(tensor.role)), liveName(tensor),
               ageText(memory, i), stayText(memory, i)});
  }
  page.table(table);
}

std::string peakLine(const MemoryStats& memory, std::string_view where) {
  std::string roles;
  for (std::size_t i = 1; i < kRoleCount; ++i) {
    if (memory.peakByRole[i] > 0)
      roles += fmt::format("{}{} {}", roles.empty() ? "" : ", ",
                           roleName(static_cast<prof::MemoryRole>(i)),
                           prof::bytesText(memory.peakByRole[i]));
  }
  if (roles.empty()) roles = "what it is for is not known";
  if (const std::uint64_t rest = memory.peakByRole[0]; rest > 0 && rest < memory.peakBytes)
    roles += ", not known " + prof::bytesText(rest);
  return fmt::format(" peak{} {} ({}){}", where, prof::bytesText(memory.peakBytes), roles,
                     memory.peakReservedBytes > 0
                         ? fmt::format("; {} reserved", prof::bytesText(memory.peakReservedBytes))
                         : "");
}

std::string allocatorLine(const AllocatorState& state) {
  const std::string why = state.fragmented()      ? "; no piece was large enough: fragmentation"
                          : state.freeBytes() > 0 ? ""
                                                  : "; none of it was free";
  return fmt::format(
      " allocator: took {} more when it held {} in {}, {} of it free (largest piece {}, "
      "fragmentation {}){}",
      prof::bytesText(state.requestedBytes), prof::bytesText(state.reservedBytes),
      prof::countText(state.segments, "segment"), prof::bytesText(state.freeBytes()),
      prof::bytesText(state.largestFreeBytes), prof::shareText(state.fragmentation()), why);
}

std::string costText(const PeakEdit& edit) {
  if (edit.kind == PeakEditKind::FreeEarlier) return "nothing";
  return edit.costNsPerStep < 0 ? "unknown" : prof::timeText(edit.costNsPerStep) + " a step";
}

void writeEdits(TextPage& page, const Analysis& analysis, const Memory& memory, int rows) {
  TextTable table({{"frees"}, {"costs"}, {"peak then"}, {"change", TextColumn::Kind::Prose}});
  int listed = 0;
  for (const PeakEdit& edit : analysis.of<PeakEdits>()) {
    if (edit.device && (memory.device == nullptr || edit.device != memory.device->device)) continue;
    if (++listed > rows) break;
    table.add({prof::bytesText(edit.bytes), costText(edit), prof::bytesText(edit.peakAfterBytes),
               oneLine(edit.origin + ": " + edit.why)});
  }
  if (!table.isEmpty()) page.line(fmt::format(" to bring the peak{} down:", memory.where));
  page.table(table);
}

/// Counts the devices that have no statistics of their own.
std::string otherMemories(const Analysis& analysis) {
  const std::size_t shown = analysis.of<MemoryTables>().byDevice.size();
  if (shown == 0 || shown == analysis.of<MemoryTables>().devices.size()) return {};
  return fmt::format(
      "memory of {} is not shown; none has a higher peak",
      prof::countText(analysis.of<MemoryTables>().devices.size() - shown, "further device"));
}

/// Explains the falls of the curve.
std::string plainStepsNote(const Analysis& analysis) {
  return showsPlainSteps(analysis)
             ? "what plain steps allocate is not recorded: there the curve falls to what stays"
             : "";
}

void writeMemory(TextPage& page, const Analysis& analysis, const Memory& memory, bool isFull,
                 int rows) {
  const MemoryStats& stats = *memory.stats;
  page.line(peakLine(stats, memory.where));
  if (isFull) writeLive(page, stats, rows);
  if (stats.leakBytesPerStep > 0)
    page.line(fmt::format(" grows by {} a step",
                          prof::bytesText(static_cast<std::uint64_t>(stats.leakBytesPerStep))));
  if (!isFull) return;
  if (memory.device != nullptr && memory.device->allocator.present)
    page.line(allocatorLine(memory.device->allocator));
  writeEdits(page, analysis, memory, rows);
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  if (!analysis.of<MemoryTables>().all.present) return writeLines(page, sections::memory, {});
  page.title(sections::memory.title);
  const std::vector<Memory> memories = memoriesOf(analysis);
  // In full only where that was asked for; else of the fullest.
  for (std::size_t i = 0; i < memories.size(); ++i)
    writeMemory(page, analysis, memories[i], i == 0 || rows == INT_MAX, rows);
  for (const std::string& note : {plainStepsNote(analysis), otherMemories(analysis)}) {
    if (!note.empty()) page.line(" " + note);
  }
}

void drawMemory(HtmlPage& page, const MemoryStats& memory, std::string_view where) {
  if (memory.curve.size() < 2) return;
  page.heading(fmt::format("Memory{}{}: peak {}", where.empty() ? "" : " of ", where,
                           prof::bytesText(memory.peakBytes)));
  constexpr double kWidth = 960, kHeight = 214, kBase = 190, kLeft = 132;
  const auto t0 = memory.curve.front().timeNs;
  const auto span = static_cast<double>(std::max<prof::TimeNs>(1, memory.curve.back().timeNs - t0));
  const auto peak = static_cast<double>(std::max<std::uint64_t>(1, memory.peakBytes));
  const auto x = [&](prof::TimeNs t) {
    return kLeft + static_cast<double>(t - t0) / span * (kWidth - kLeft);
  };
  const auto y = [&](std::uint64_t bytes) {
    return kBase - static_cast<double>(bytes) / peak * (kBase - 14);
  };
  std::string path = fmt::format("M{:.1f},{:.1f}", kLeft, kBase);
  for (const MemoryPoint& point : memory.curve)
    path += fmt::format("H{:.1f}V{:.1f}", x(point.timeNs), y(point.bytes));
  path += fmt::format("L{:.1f},{:.1f}Z", kWidth, kBase);
  page.markup(
      fmt::format("<div class=\"axis\">↑ bytes alive · time since the first allocation →</div><svg "
                  "viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"memory over time\">",
                  kWidth, kHeight));
  for (int tick = 0; tick <= 2; ++tick) {
    const auto bytes = memory.peakBytes / 2 * static_cast<std::uint64_t>(tick);
    page.markup(fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\".15\"/><text class=\"dim\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kLeft, kWidth, y(bytes), y(bytes), kLeft - 6, y(bytes) + 4, prof::bytesText(bytes)));
  }
  page.markup(
      fmt::format("<text class=\"dim\" x=\"{}\" y=\"209\">0</text><text class=\"dim\" x=\"{}\" "
                  "y=\"209\" text-anchor=\"end\">{}</text>",
                  kLeft, kWidth, prof::timeText(memory.curve.back().timeNs - t0)));
  page.markup(fmt::format(
      "<path d=\"{}\" fill=\"#4c8eda\" fill-opacity=\".45\" stroke=\"#4c8eda\"/>", path));
  page.markup(fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" "
      "fill=\"#d7263d\"><title>peak</title></circle></svg>\n",
      x(std::clamp(memory.peakAtNs, t0, memory.curve.back().timeNs)), y(memory.peakBytes)));
  page.table(liveTable(memory, nullptr), 10);
}

void html(HtmlPage& page, const Analysis& analysis) {
  if (!analysis.of<MemoryTables>().all.present) return;
  if (analysis.of<MemoryTables>().byDevice.empty())
    drawMemory(page, analysis.of<MemoryTables>().all, "");
  const DeviceLabels labels(analysis.store.get());
  for (std::size_t i = 0; i < analysis.of<MemoryTables>().byDevice.size(); ++i)
    drawMemory(page, analysis.of<MemoryTables>().byDevice[i],
               whoseMemory(analysis, labels, analysis.of<MemoryTables>().devices[i].device));
  for (const std::string& note : {plainStepsNote(analysis), otherMemories(analysis)}) {
    if (!note.empty()) page.notes({note});
  }
}

}  // namespace
}  // namespace of_memory

constinit const Section memory{
    .name = "memory",
    .title = "Memory",
    .about = "peaks, what is alive at them, and how to bring them down",
    .tables = of_memory::tables,
    .remedy = of_memory::kRemedy,
    .overviewRows = 3,
    .text = of_memory::text,
    .html = of_memory::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
