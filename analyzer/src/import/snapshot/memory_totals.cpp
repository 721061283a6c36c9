// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/memory_totals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "formats/own_columns.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::MemoryRole;
using prof::TimeNs;

struct Block {
  std::uint64_t address = 0, bytes = 0;
};

/// Follows the rows of one device in the order of time.
class DeviceTotals {
 public:
  /// `later` takes what its allocator took or gave back.
  void see(const Allocation& row, const MemoryTotals& totals, prof::StringId op,
           std::vector<Allocation>& later) {
    const bool isFirst = !hasBegun_;
    if (isFirst) begin(row, totals);
    if (!isKnown_) return;
    // Memory that is given back without having been taken was there before.
    const bool isNew = seen_.insert(row.address).second;
    if (isNew && row.action == MemoryAction::Free) earlier_.push_back({row.address, row.bytes});
    if (!isFirst && totals.reserved >= 0) moveReserved(row, totals.reserved, op, later);
  }

  void addBefore(prof::DeviceId device, TimeNs at, StoreBuilder& builder) const {
    Allocation row{.timeNs = at, .device = device, .op = builder.intern(kHeldBefore)};
    std::uint64_t rest = held_;
    for (const Block& block : earlier_) {
      row.address = block.address;
      row.bytes = block.bytes;
      builder.append(row);
      rest -= std::min(rest, block.bytes);
    }
    row.address = 0;
    row.bytes = rest;
    if (rest > 0) builder.append(row);
    row.action = MemoryAction::Reserve;
    row.role = MemoryRole::Cached;
    row.bytes = reservedBefore_;
    if (reservedBefore_ > 0) builder.append(row);
  }

 private:
  void begin(const Allocation& row, const MemoryTotals& totals) {
    hasBegun_ = true;
    isKnown_ = totals.allocated >= 0;
    if (!isKnown_) return;
    const auto behind = static_cast<std::uint64_t>(totals.allocated);
    held_ = row.action == MemoryAction::Free ? behind + row.bytes
                                             : behind - std::min(behind, row.bytes);
    reserved_ = std::max<std::int64_t>(0, totals.reserved);
    reservedBefore_ = static_cast<std::uint64_t>(reserved_);
  }
  void moveReserved(const Allocation& row, std::int64_t now, prof::StringId op,
                    std::vector<Allocation>& later) {
    if (now == reserved_) return;
    const bool takes = now > reserved_;
    later.push_back({.timeNs = row.timeNs,
                     .thread = row.thread,
                     .device = row.device,
                     .action = takes ? MemoryAction::Reserve : MemoryAction::Release,
                     .role = MemoryRole::Cached,
                     .bytes = static_cast<std::uint64_t>(takes ? now - reserved_ : reserved_ - now),
                     .op = op});
    reserved_ = now;
  }

  bool hasBegun_ = false, isKnown_ = false;
  std::uint64_t held_ = 0, reservedBefore_ = 0;
  std::int64_t reserved_ = 0;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Block> earlier_;
};

Allocation rowAt(const Allocation::Columns& rows, std::size_t i) {
  Allocation row;
  row.timeNs = rows.timeNs[i];
  row.thread = rows.thread[i];
  row.device = rows.device[i];
  row.action = rows.action[i];
  row.address = rows.address[i];
  row.bytes = rows.bytes[i];
  return row;
}

/// The begin of the trace, and before the first of the rows, so that what is freed by that was
/// there.
TimeNs timeBefore(StoreBuilder& builder, TimeNs firstRow) {
  const auto& starts = builder.columns<prof::Range>().startNs;
  const TimeNs start = starts.empty() ? firstRow : *std::min_element(starts.begin(), starts.end());
  return std::min(start, firstRow - 1);
}

}  // namespace

void addMemoryOfTotals(StoreBuilder& builder, std::span<const MemoryTotals> totals) {
  const auto& rows = builder.columns<Allocation>();
  if (std::ranges::none_of(totals, [](const MemoryTotals& one) { return one.allocated >= 0; }))
    return;
  std::vector<std::size_t> order(totals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rows.timeNs[i]; });
  const TimeNs before = timeBefore(builder, rows.timeNs[order.front()]);
  const prof::StringId op = builder.intern(kReservedTotal);
  std::map<prof::DeviceId, DeviceTotals> devices;
  std::vector<Allocation> later;
  for (const std::size_t i : order)
    devices[rows.device[i]].see(rowAt(rows, i), totals[i], op, later);
  for (const auto& [device, one] : devices) one.addBefore(device, before, builder);
  for (const Allocation& row : later) builder.append(row);
}

}  // namespace lacuna::analyzer
