// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"
#include "tracks/track_assembly.h"
#include "tracks/track_budget.h"
#include "tracks/track_feed.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;

namespace {

constexpr std::array<std::string_view, 11> kCopyNames{"copy",
                                                      "copy host to device",
                                                      "copy device to host",
                                                      "copy host to array",
                                                      "copy array to host",
                                                      "copy array to array",
                                                      "copy array to device",
                                                      "copy device to array",
                                                      "copy device to device",
                                                      "copy host to host",
                                                      "copy peer to peer"};

class TrackBuilder {
 public:
  TrackBuilder(const Store& store, const Progress& progress)
      : store_(store), progress_(progress), budget_(store), assembly_(store) {
    total_ = store.rows<prof::Range>() + store.rows<prof::ApiCall>() + store.rows<prof::Kernel>() +
             store.rows<prof::Memcpy>() + store.rows<prof::Memset>() +
             store.rows<prof::Allocation>() + store.rows<prof::CounterSample>();
  }

  prof::Result<std::shared_ptr<const TrackSet>> build() {
    if (prof::Status status = TrackFeed(store_, *this).read(); !status) return status.error();
    countUnusedCounters();
    if (prof::Status status = budget_.status(); !status) return status.error();
    for (std::size_t kind = 0; kind < kTrackKinds; ++kind) {
      for (auto& [id, stack] : stacks_[kind]) {
        Track& track = assembly_.track(static_cast<TrackKind>(kind), id);
        track.lanes = std::move(stack.lanes);
        track.events = stack.events;
        track.deeper = stack.deeper;
      }
    }
    for (auto& [id, lane] : counters_)
      assembly_.track(TrackKind::Counter, id).counter = std::move(lane);
    for (auto& [device, curves] : memory_) {
      if (curves.all.lane.size() == 0) continue;
      assembly_.memory(device, Track::kAllRoles).counter = std::move(curves.all.lane);
      for (auto& [role, curve] : curves.byRole)
        assembly_.memory(device, role).counter = std::move(curve.lane);
    }
    std::shared_ptr<const TrackSet> set = assembly_.finish();
    if (progress_) progress_(1.0);
    return set;
  }

  void event(TrackKind kind, std::uint32_t id, TimeNs start, TimeNs length, StringId name) {
    if (last_ == nullptr || kind != lastKind_ || id != lastId_) {
      last_ = partOf(stacks_[static_cast<std::size_t>(kind)], kind, id);
      lastKind_ = kind;
      lastId_ = id;
    }
    if (last_ != nullptr) last_->add(start, length, name);
  }
  void sample(std::uint32_t id, TimeNs time, double value) {
    if (CounterLane* lane = partOf(counters_, TrackKind::Counter, id); lane != nullptr)
      lane->add(time, value);
  }
  void allocation(std::uint32_t device, TimeNs time, prof::MemoryAction action, std::uint8_t role,
                  std::uint64_t address, std::uint64_t bytes) {
    MemoryCurves* curves = nullptr;
    if (const auto found = memory_.find(device); found != memory_.end()) curves = &found->second;
    if (curves == nullptr && budget_.takeMemory(device, Track::kAllRoles))
      curves = &memory_[device];
    if (curves == nullptr) return;
    if (curves->isNew(action, role) && !budget_.takeMemory(device, role)) return;
    curves->apply(time, action, role, address, bytes);
  }
  bool advance(std::uint64_t rows) {
    done_ += rows;
    return !progress_ ||
           progress_(total_ == 0 ? 1.0
                                 : 0.9 * static_cast<double>(done_) / static_cast<double>(total_));
  }

 private:
  /// Null where it is beyond the budget.
  template <class Part>
  Part* partOf(std::map<std::uint32_t, Part>& parts, TrackKind kind, std::uint32_t id) {
    const auto found = parts.find(id);
    if (found != parts.end()) return &found->second;
    return budget_.take(kind, id) ? &parts[id] : nullptr;
  }

  /// Each counter that the trace declares has a track, with samples or without.
  void countUnusedCounters() {
    for (std::uint64_t i = 0; i < store_.rows<prof::CounterTrack>(); ++i) {
      const std::uint32_t id = store_.row<prof::CounterTrack>(i).id.value;
      if (!counters_.contains(id)) (void)budget_.take(TrackKind::Counter, id);
    }
  }

  const Store& store_;
  const Progress& progress_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  TrackBudget budget_;
  TrackAssembly assembly_;
  // By kind, then by the id of thread, queue, …, which may be any number.
  std::array<std::map<std::uint32_t, LaneStack>, kTrackKinds> stacks_;
  std::map<std::uint32_t, CounterLane> counters_;
  LaneStack* last_ = nullptr;  // neighbouring events are mostly of one track
  TrackKind lastKind_ = TrackKind::Ranges;
  std::uint32_t lastId_ = 0;
  std::map<std::uint32_t, MemoryCurves> memory_;
};

template <auto Start, auto Length, auto Owner, auto Name>
EventRef findRow(const Store& store, EventRef::Table table, prof::ValueOf<Owner> owner,
                 TimeNs start, TimeNs length, StringId name) {
  EventRef found;
  (void)store.scan<Start, Length, Owner, Name>(
      {start, start + 1},
      [&](std::uint64_t first, auto starts, auto lengths, auto owners, auto names) {
        auto at = std::lower_bound(starts.begin(), starts.end(), start);
        for (; at != starts.end() && *at == start; ++at) {
          const auto i = static_cast<std::size_t>(at - starts.begin());
          const bool named = names[i] == name || (!names[i] && name.value >= kUnnamedCopy);
          if (lengths[i] != length || owners[i] != owner || !named) continue;
          found = {table, first + i};
          return false;
        }
        return true;
      });
  return found;
}

}  // namespace

WorkKind workKind(TrackKind track, std::string_view name) {
  const bool isWork = track == TrackKind::Work;
  if (isWork ? isCommunicationKernel(name) : beginsCommunication(name))
    return WorkKind::Communication;
  if (isWork) {
    if (name.starts_with("copy") || name.starts_with("Memcpy") || contains(name, "CopyDevice"))
      return WorkKind::Copy;
    if (name.starts_with("Memset") || name.starts_with("memset") || contains(name, "FillBuffer"))
      return WorkKind::Memset;
    return WorkKind::Compute;
  }
  if (contains(name, "ynchronize") || contains(name, "StreamWait"))
    return WorkKind::Synchronisation;
  if (contains(name, "DataLoader") || contains(name, "loader.")) return WorkKind::Loader;
  return track == TrackKind::Calls ? WorkKind::Call : WorkKind::Host;
}

std::string_view TrackSet::name(const Store& store, StringId id) {
  if (id.value == kUnnamedMemset) return "memset";
  if (id.value >= kUnnamedCopy && id.value < kUnnamedMemset)
    return kCopyNames[(id.value - kUnnamedCopy) % kCopyNames.size()];
  return store.text(id);
}

std::uint64_t TrackSet::bytes() const {
  std::uint64_t total = 0;
  for (const TrackGroup& group : groups) {
    for (const Track& track : group.tracks) {
      for (const Lane& lane : track.lanes) total += lane.bytes();
      total += track.counter.bytes();
    }
  }
  return total;
}

prof::Result<std::shared_ptr<const TrackSet>> buildTracks(const Store& store,
                                                          const Progress& progress) {
  return TrackBuilder(store, progress).build();
}

EventRef findEvent(const Store& store, const Track& track, TimeNs start, TimeNs length,
                   StringId name) {
  using prof::ApiCall, prof::Kernel, prof::Memcpy, prof::Memset, prof::Range;
  using Table = EventRef::Table;
  switch (track.kind) {
    case TrackKind::Ranges:
      return findRow<&Range::startNs, &Range::durNs, &Range::thread, &Range::name>(
          store, Table::Range, track.thread, start, length, name);
    case TrackKind::Annotations:
      return findRow<&Range::startNs, &Range::durNs, &Range::queue, &Range::name>(
          store, Table::Range, track.queue, start, length, name);
    case TrackKind::AsyncRanges: {
      using prof::RangeKind;
      return findRow<&Range::startNs, &Range::durNs, &Range::kind, &Range::name>(
          store, Table::Range, RangeKind::StartEnd, start, length, name);
    }
    case TrackKind::Calls:
      return findRow<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::name>(
          store, Table::ApiCall, track.thread, start, length, name);
    case TrackKind::Work: {
      EventRef found = findRow<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name>(
          store, Table::Kernel, track.queue, start, length, name);
      if (found.table == Table::None) {
        found = findRow<&Memcpy::startNs, &Memcpy::durNs, &Memcpy::queue, &Memcpy::name>(
            store, Table::Memcpy, track.queue, start, length, name);
      }
      if (found.table == Table::None) {
        found = findRow<&Memset::startNs, &Memset::durNs, &Memset::queue, &Memset::name>(
            store, Table::Memset, track.queue, start, length, name);
      }
      return found;
    }
    case TrackKind::Counter:
      break;
  }
  return {};
}

}  // namespace lacuna::analyzer
