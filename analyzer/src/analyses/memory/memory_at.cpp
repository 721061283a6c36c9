// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "analyses/memory/allocation_rows.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::TimeNs;

struct BlockThen {
  std::uint64_t bytes = 0;
  TimeNs allocatedNs = 0;
  prof::StringId tensor, op;
  prof::MemoryRole role = prof::MemoryRole::Other;
  TimeNs freedNs = 0;
  bool freed = false;
};

class BlockFollower {
 public:
  explicit BlockFollower(TimeNs moment) : moment_(moment) {}

  /// False when everything that follows cannot matter.
  bool apply(const Allocation& row) {
    const bool before = row.timeNs <= moment_;
    const bool gone = row.timeNs < moment_;
    switch (row.action) {
      case MemoryAction::Allocate:
      case MemoryAction::ExternalAllocate:
        if (before) {
          // On a coarse clock an address is handed out again at the moment at which it was freed.
          BlockThen& block = blocks_[{row.device, row.address}];
          freed_ -= block.freed ? 1 : 0;
          block = {row.bytes, row.timeNs, row.tensor, row.op, row.role};
        } else {
          release(row);  // handed out again: its free was not seen
        }
        break;
      case MemoryAction::Free:
      case MemoryAction::ExternalFree:
        if (gone) {
          blocks_.erase({row.device, row.address});
        } else {
          release(row);
        }
        break;
      case MemoryAction::Reserve:
        if (before) prof::addTo(reserved_, row.bytes);
        break;
      case MemoryAction::Release:
        if (gone) reserved_ -= std::min(reserved_, row.bytes);
        break;
    }
    return before || freed_ < blocks_.size();
  }

  MemoryMoment finish(const Store& store) const {
    MemoryMoment out;
    out.timeNs = moment_;
    out.reservedBytes = reserved_;
    for (const auto& [key, block] : blocks_) {
      prof::addTo(out.bytes, block.bytes);
      prof::addTo(out.byRole[static_cast<std::size_t>(block.role)], block.bytes);
      out.live.push_back({{block.bytes, block.role, store.text(block.tensor), store.text(block.op),
                           block.allocatedNs},
                          key.first,
                          block.freedNs,
                          block.freed});
    }
    std::sort(out.live.begin(), out.live.end(), [](const LiveBlock& a, const LiveBlock& b) {
      return a.tensor.bytes != b.tensor.bytes ? a.tensor.bytes > b.tensor.bytes
                                              : a.tensor.allocatedNs < b.tensor.allocatedNs;
    });
    return out;
  }

 private:
  void release(const Allocation& row) {
    const auto found = blocks_.find({row.device, row.address});
    if (found == blocks_.end() || found->second.freed) return;
    found->second.freed = true;
    found->second.freedNs = row.timeNs;
    ++freed_;
  }

  TimeNs moment_;
  std::map<std::pair<prof::DeviceId, std::uint64_t>, BlockThen> blocks_;
  std::size_t freed_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace

prof::Result<MemoryMoment> memoryAt(const Store& store, TimeNs timeNs, const Progress& progress,
                                    std::optional<prof::DeviceId> only) {
  BlockFollower follower(timeNs);
  const auto rows = static_cast<double>(std::max<std::uint64_t>(1, store.rows<Allocation>()));
  bool cancelled = false;
  const prof::Status status =
      forEachAllocation(store, INT64_MAX, [&](const Allocation& row, std::uint64_t number) {
        if ((!only || row.device == *only) && !follower.apply(row)) return false;
        if (number % 4096 == 0)
          cancelled = progress && !progress(static_cast<double>(number + 1) / rows);
        return !cancelled;
      });
  if (!status) return status.error();
  if (cancelled) return prof::Error{"looking at the memory was cancelled"};
  return follower.finish(store);
}

}  // namespace lacuna::analyzer
