// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "store/track_assembly.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;

namespace {

/// Ids at the end of the range stand for the names that copies and memsets go by when the trace gives none.
constexpr std::uint32_t kUnnamedCopy = 0xFFFFFF00;
constexpr std::uint32_t kUnnamedMemset = 0xFFFFFF40;
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

/// Lays events of one track, in order of their starts, into lanes: each below whatever is still open.
struct Stacker {
  Track* track = nullptr;
  std::vector<TimeNs> open;

  void add(TimeNs start, TimeNs length, StringId name) {
    while (!open.empty() && open.back() <= start) open.pop_back();
    const std::size_t depth = open.size();
    if (track->lanes.size() <= depth) track->lanes.resize(depth + 1);
    track->lanes[depth].add(start, length, name);
    open.push_back(start + length);
    ++track->events;
  }
};

class TrackBuilder {
 public:
  TrackBuilder(const Store& store, const Progress& progress) : store_(store), progress_(progress), assembly_(store) {
    total_ = store.rows<prof::Range>() + store.rows<prof::ApiCall>() + store.rows<prof::Kernel>() +
             store.rows<prof::Memcpy>() + store.rows<prof::Memset>() + store.rows<prof::Allocation>() +
             store.rows<prof::CounterSample>();
  }

  prof::Result<std::shared_ptr<const TrackSet>> build() {
    for (const auto step : {&TrackBuilder::readRanges, &TrackBuilder::readCalls, &TrackBuilder::readWork,
                            &TrackBuilder::readCounters, &TrackBuilder::readMemory}) {
      if (prof::Status status = (this->*step)(); !status) return status.error();
      if (cancelled_) return prof::Error{"opening was cancelled"};
    }
    std::shared_ptr<const TrackSet> set = assembly_.finish();
    if (progress_) progress_(1.0);
    return set;
  }

 private:
  struct Buffered {
    TimeNs start, length;
    StringId name;
  };

  bool advance(std::uint64_t rows) {
    done_ += rows;
    if (progress_ && !progress_(total_ == 0 ? 1.0 : 0.9 * static_cast<double>(done_) / static_cast<double>(total_))) {
      cancelled_ = true;
    }
    return !cancelled_;
  }

  Stacker& stacker(TrackKind kind, std::uint32_t id) {
    auto& row = stackers_[static_cast<std::size_t>(kind)];
    if (id >= row.size()) row.resize(id + 1);
    if (row[id].track == nullptr) row[id].track = &assembly_.track(kind, id);
    return row[id];
  }

  prof::Status readRanges() {
    for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
      const auto thread = store_.row<prof::Thread>(i);
      processOf_[thread.id.value] = thread.process.value;
    }
    using R = prof::Range;
    return store_.scan<&R::startNs, &R::durNs, &R::thread, &R::queue, &R::kind, &R::name>(
        {}, [&](std::uint64_t, auto start, auto length, auto thread, auto queue, auto kind, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            if (queue[i]) {
              stacker(TrackKind::Annotations, queue[i].value).add(start[i], length[i], name[i]);
            } else if (kind[i] == prof::RangeKind::StartEnd) {
              stacker(TrackKind::AsyncRanges, processOf_[thread[i].value]).add(start[i], length[i], name[i]);
            } else {
              stacker(TrackKind::Ranges, thread[i].value).add(start[i], length[i], name[i]);
            }
          }
          return advance(start.size());
        });
  }

  prof::Status readCalls() {
    using A = prof::ApiCall;
    return store_.scan<&A::startNs, &A::durNs, &A::thread, &A::name>(
        {}, [&](std::uint64_t, auto start, auto length, auto thread, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            stacker(TrackKind::Calls, thread[i].value).add(start[i], length[i], name[i]);
          }
          return advance(start.size());
        });
  }

  /// Copies and memsets are few beside kernels: they wait in memory until the kernels pass by.
  prof::Status readWork() {
    using C = prof::Memcpy;
    using M = prof::Memset;
    using K = prof::Kernel;
    std::unordered_map<std::uint32_t, std::vector<Buffered>> waiting;
    prof::Status status = store_.scan<&C::startNs, &C::durNs, &C::queue, &C::name, &C::copyKind>(
        {}, [&](std::uint64_t, auto start, auto length, auto queue, auto name, auto kind) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            const StringId shown = name[i] ? name[i] : StringId(kUnnamedCopy + static_cast<std::uint32_t>(kind[i]));
            waiting[queue[i].value].push_back({start[i], length[i], shown});
          }
          return advance(start.size());
        });
    if (!status) return status;
    status = store_.scan<&M::startNs, &M::durNs, &M::queue, &M::name>(
        {}, [&](std::uint64_t, auto start, auto length, auto queue, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            waiting[queue[i].value].push_back({start[i], length[i], name[i] ? name[i] : StringId(kUnnamedMemset)});
          }
          return advance(start.size());
        });
    if (!status) return status;
    std::unordered_map<std::uint32_t, std::size_t> next;
    for (auto& [queue, events] : waiting) {
      std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    }
    const auto flush = [&](std::uint32_t queue, TimeNs until) {
      const auto found = waiting.find(queue);
      if (found == waiting.end()) return;
      std::size_t& at = next[queue];
      for (; at < found->second.size() && found->second[at].start < until; ++at) {
        const Buffered& event = found->second[at];
        stacker(TrackKind::Work, queue).add(event.start, event.length, event.name);
      }
    };
    status = store_.scan<&K::startNs, &K::durNs, &K::queue, &K::name>(
        {}, [&](std::uint64_t, auto start, auto length, auto queue, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            flush(queue[i].value, start[i]);
            stacker(TrackKind::Work, queue[i].value).add(start[i], length[i], name[i]);
          }
          return advance(start.size());
        });
    for (const auto& [queue, events] : waiting) flush(queue, INT64_MAX);
    return status;
  }

  prof::Status readCounters() {
    using S = prof::CounterSample;
    return store_.scan<&S::timeNs, &S::track, &S::value>({}, [&](std::uint64_t, auto time, auto id, auto value) {
      for (std::size_t i = 0; i < time.size(); ++i)
        stacker(TrackKind::Counter, id[i].value).track->counter.add(time[i], value[i]);
      return advance(time.size());
    });
  }

  struct RoleCurve {
    CounterLane* lane = nullptr;
    std::int64_t bytes = 0;
    void change(TimeNs time, std::int64_t by) { lane->add(time, static_cast<double>(bytes += by)); }
  };
  struct MemoryCurve {
    RoleCurve all;
    std::map<std::uint8_t, RoleCurve> byRole;
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint8_t>> alive;
  };

  void account(std::uint32_t device, MemoryCurve& curve, TimeNs time, std::int64_t change, std::uint8_t role) {
    if (curve.all.lane == nullptr) curve.all.lane = &assembly_.memory(device, Track::kAllRoles).counter;
    RoleCurve& ofRole = curve.byRole[role];
    if (ofRole.lane == nullptr) ofRole.lane = &assembly_.memory(device, role).counter;
    curve.all.change(time, change);
    ofRole.change(time, change);
  }

  prof::Status readMemory() {
    using A = prof::Allocation;
    using prof::MemoryAction;
    return store_.scan<&A::timeNs, &A::device, &A::action, &A::role, &A::address, &A::bytes>(
        {}, [&](std::uint64_t, auto time, auto device, auto action, auto role, auto address, auto bytes) {
          for (std::size_t i = 0; i < time.size(); ++i) {
            MemoryCurve& curve = memory_[device[i].value];
            if (action[i] == MemoryAction::Allocate || action[i] == MemoryAction::ExternalAllocate) {
              curve.alive[address[i]] = {bytes[i], static_cast<std::uint8_t>(role[i])};
              account(device[i].value, curve, time[i], static_cast<std::int64_t>(bytes[i]),
                      static_cast<std::uint8_t>(role[i]));
            } else if (action[i] == MemoryAction::Free || action[i] == MemoryAction::ExternalFree) {
              const auto found = curve.alive.find(address[i]);
              if (found == curve.alive.end()) continue;
              account(device[i].value, curve, time[i], -static_cast<std::int64_t>(found->second.first),
                      found->second.second);
              curve.alive.erase(found);
            }
          }
          return advance(time.size());
        });
  }

  const Store& store_;
  const Progress& progress_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  bool cancelled_ = false;
  TrackAssembly assembly_;
  std::array<std::vector<Stacker>, kTrackKinds> stackers_;  // by kind, then by the id of thread, queue, …
  std::unordered_map<std::uint32_t, std::uint32_t> processOf_;
  std::map<std::uint32_t, MemoryCurve> memory_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <auto Start, auto Length, auto Owner, auto Name>
EventRef findRow(const Store& store, EventRef::Table table, prof::ValueOf<Owner> owner, TimeNs start, TimeNs length,
                 StringId name) {
  EventRef found;
  (void)store.scan<Start, Length, Owner, Name>(
      {start, start + 1}, [&](std::uint64_t first, auto starts, auto lengths, auto owners, auto names) {
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
  if (contains(name, "nccl") || contains(name, "c10d::") || contains(name, "allreduce")) return WorkKind::Communication;
  if (track == TrackKind::Work) {
    if (name.starts_with("copy") || name.starts_with("Memcpy") || contains(name, "CopyDevice")) return WorkKind::Copy;
    if (name.starts_with("Memset") || name.starts_with("memset") || contains(name, "FillBuffer"))
      return WorkKind::Memset;
    return WorkKind::Compute;
  }
  if (contains(name, "ynchronize") || contains(name, "StreamWait")) return WorkKind::Synchronisation;
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

prof::Result<std::shared_ptr<const TrackSet>> buildTracks(const Store& store, const Progress& progress) {
  return TrackBuilder(store, progress).build();
}

EventRef findEvent(const Store& store, const Track& track, TimeNs start, TimeNs length, StringId name) {
  using prof::ApiCall, prof::Kernel, prof::Memcpy, prof::Memset, prof::Range;
  using Table = EventRef::Table;
  switch (track.kind) {
    case TrackKind::Ranges:
      return findRow<&Range::startNs, &Range::durNs, &Range::thread, &Range::name>(store, Table::Range, track.thread,
                                                                                   start, length, name);
    case TrackKind::Annotations:
      return findRow<&Range::startNs, &Range::durNs, &Range::queue, &Range::name>(store, Table::Range, track.queue,
                                                                                  start, length, name);
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
