// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analyses/parts.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::DeviceId;
using prof::MemoryAction;
using prof::MemoryRole;
using prof::TimeNs;

constexpr TimeNs kUsePoints = 500;

/// Live blocks and segments of one device, by address.
class Heap {
 public:
  std::array<std::uint64_t, kRoleCount> byRole{};
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;

  void apply(MemoryAction action, MemoryRole ofRow, std::uint64_t address, std::uint64_t size) {
    const auto role = static_cast<std::size_t>(knownRole(ofRow));
    switch (action) {
      case MemoryAction::Allocate:
      case MemoryAction::ExternalAllocate:
        release(address);
        blocks_[address] = {size, role};
        bytes += size;
        byRole[role] += size;
        break;
      case MemoryAction::Free:
      case MemoryAction::ExternalFree:
        release(address);
        break;
      case MemoryAction::Reserve:
        segments_[address] += size;
        reserved += size;
        break;
      case MemoryAction::Release:
        reserved -= std::min(reserved, size);
        releaseSegment(address, size);
        break;
    }
  }

  [[nodiscard]] AllocatorState state() const {
    if (segments_.contains(0)) return {};  // some of it has no address
    AllocatorState state{.present = true, .reservedBytes = reserved, .segments = segments_.size()};
    for (const auto& [from, size] : segments_) addSegment(from, from + size, state);
    return state;
  }

 private:
  struct Block {
    std::uint64_t bytes = 0;
    std::size_t role = 0;
  };
  void release(std::uint64_t address) {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    bytes -= found->second.bytes;
    byRole[found->second.role] -= found->second.bytes;
    blocks_.erase(found);
  }
  /// A segment that can grow is given back in any pieces, across those in which it was taken.
  void releaseSegment(std::uint64_t from, std::uint64_t size) {
    const std::uint64_t end = from + std::min(size, UINT64_MAX - from);
    auto segment = segments_.upper_bound(from);
    if (segment != segments_.begin()) --segment;
    while (segment != segments_.end() && segment->first < end) {
      const std::uint64_t first = segment->first;
      const std::uint64_t last = first + segment->second;
      if (last <= from) {
        ++segment;
        continue;
      }
      segment = segments_.erase(segment);
      if (first < from) segments_[first] = from - first;
      if (last > end) segments_[end] = last - end;
    }
  }
  void addSegment(std::uint64_t from, std::uint64_t to, AllocatorState& state) const {
    const auto gap = [&](std::uint64_t size) {
      if (size == 0) return;
      ++state.freePieces;
      state.largestFreeBytes = std::max(state.largestFreeBytes, size);
    };
    std::uint64_t at = from;
    for (auto block = blocks_.lower_bound(from); block != blocks_.end() && block->first < to;
         ++block) {
      gap(block->first - std::min(block->first, at));
      const std::uint64_t end = std::min(to, block->first + block->second.bytes);
      prof::addTo(state.liveBytes, end - block->first);
      at = std::max(at, end);
    }
    gap(to - std::min(to, at));
  }

  std::map<std::uint64_t, Block> blocks_;
  std::map<std::uint64_t, std::uint64_t> segments_;
};

struct Follower {
  DeviceMemory memory;
  Heap heap;
  bool hasBegun = false;  ///< the window has
  std::uint64_t growthRow =
      UINT64_MAX;  ///< the reserve that raised the most reserved for the last time
};

/// Calls visit(follower, row number, time, action, bytes) before each row of the allocations is
/// applied, and after(follower, time) afterwards.
template <class Before, class After>
prof::Status replay(const Store& store, TimeNs until, std::map<DeviceId, Follower>& devices,
                    Before&& before, After&& after) {
  return store.scan<&Allocation::timeNs, &Allocation::device, &Allocation::action,
                    &Allocation::role, &Allocation::address, &Allocation::bytes>(
      {INT64_MIN, until}, [&](std::uint64_t first, auto time, auto device, auto action, auto role,
                              auto address, auto bytes) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          if (time[i] >= until) return false;
          Follower& at = devices[device[i]];
          if (!before(at, first + i, time[i], action[i], bytes[i])) return false;
          at.heap.apply(action[i], role[i], address[i], bytes[i]);
          after(at, time[i]);
        }
        return true;
      });
}

void addPoint(DeviceMemory& memory, const Heap& heap, TimeNs slot, TimeNs time) {
  if (memory.curve.empty() || memory.curve.back().timeNs < slot) {
    memory.curve.push_back({time, heap.byRole});
  } else if (heap.bytes >= memory.curve.back().totalBytes()) {
    memory.curve.back() = {time, heap.byRole};
  }
}

/// The kMostMemories with the highest peaks first, then the others; each part in the order of
/// devices.
void orderByUse(std::vector<DeviceMemory>& devices) {
  if (devices.size() <= kMostMemories) return;
  const auto rest = devices.begin() + static_cast<std::ptrdiff_t>(kMostMemories);
  std::ranges::nth_element(devices, rest, [](const DeviceMemory& a, const DeviceMemory& b) {
    return std::tie(b.peakBytes, a.device) < std::tie(a.peakBytes, b.device);
  });
  std::ranges::sort(devices.begin(), rest, {}, &DeviceMemory::device);
  std::ranges::sort(rest, devices.end(), {}, &DeviceMemory::device);
}

prof::Status computeMemory(Analysis& analysis) {
  MemoryTables& tables = analysis.of<MemoryTables>();
  const Store& store = *analysis.store;
  const Selection& only = analysis.scope.only;
  auto memory = memoryStats(store, analysis.window, analysis.steps, only);
  if (!memory) return memory.error();
  tables.all = std::move(*memory);
  auto devices = deviceMemory(store, analysis.window);
  if (!devices) return devices.error();
  std::erase_if(*devices, [&](const DeviceMemory& memory) { return !only.holds(memory.device); });
  orderByUse(*devices);
  tables.devices = std::move(*devices);
  if (tables.devices.size() == 1) return {};
  const std::size_t shown = std::min(kMostMemories, tables.devices.size());
  for (const DeviceMemory& device : std::span(tables.devices).first(shown)) {
    auto stats =
        memoryStats(store, analysis.window, analysis.steps, Selection::memoryOf(device.device));
    if (!stats) return stats.error();
    tables.byDevice.push_back(std::move(*stats));
  }
  return {};
}

}  // namespace

std::uint64_t RolePoint::totalBytes() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

prof::Result<std::vector<DeviceMemory>> deviceMemory(const Store& store, prof::TimeWindow window) {
  std::vector<DeviceMemory> out;
  if (store.rows<Allocation>() == 0) return out;
  const TimeNs start = std::max(window.startNs, store.span().startNs);
  const TimeNs width =
      std::max<TimeNs>(1, (std::min(window.endNs, store.span().endNs) - start) / kUsePoints + 1);
  std::map<DeviceId, Follower> devices;
  // The memory alive when the window begins counts for it too.
  const auto begin = [&](Follower& at) {
    if (std::exchange(at.hasBegun, true) || at.heap.bytes == 0) return;
    addPoint(at.memory, at.heap, start, start);
    at.memory.peakBytes = at.heap.bytes;
    at.memory.peakAtNs = start;
  };
  auto status = replay(
      store, window.endNs, devices,
      [&](Follower& at, std::uint64_t row, TimeNs time, MemoryAction action, std::uint64_t bytes) {
        if (time >= window.startNs) begin(at);
        if (action == MemoryAction::Reserve &&
            at.heap.reserved + bytes > at.memory.reservedPeakBytes) {
          at.memory.reservedPeakBytes = at.heap.reserved + bytes;
          at.growthRow = row;
        }
        return true;
      },
      [&](Follower& at, TimeNs time) {
        if (time < window.startNs) return;
        addPoint(at.memory, at.heap, start + (time - start) / width * width, time);
        if (at.heap.bytes <= at.memory.peakBytes) return;
        at.memory.peakBytes = at.heap.bytes;
        at.memory.peakAtNs = time;
      });
  if (!status) return status.error();
  std::map<DeviceId, Follower> again;
  for (auto& [id, follower] : devices) {
    begin(follower);
    follower.memory.device = id;
    again[id].growthRow = follower.growthRow;
  }
  status = replay(
      store, window.endNs, again,
      [&](Follower& at, std::uint64_t row, TimeNs time, MemoryAction, std::uint64_t bytes) {
        if (row != at.growthRow || store.row<prof::Allocation>(row).address == 0) return true;
        at.memory.allocator = at.heap.state();
        if (!at.memory.allocator.present) return true;
        at.memory.allocator.atNs = time;
        at.memory.allocator.requestedBytes = bytes;
        return true;
      },
      [](Follower&, TimeNs) {});
  if (!status) return status.error();
  for (auto& [id, follower] : devices) {
    follower.memory.allocator = again[id].memory.allocator;
    out.push_back(std::move(follower.memory));
  }
  return out;
}

constinit const AnalysisPart parts::memory{
    .name = "memory",
    .compute = computeMemory,
};

}  // namespace lacuna::analyzer
