// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Makes the processes, threads, devices and queues of a trace as an importer comes across them.
/// Ids count from 1 in the order of the rows, so the row of an id is columns<…>() at id - 1. Keys
/// are the source's own numbers.
class TracePlaces {
 public:
  explicit TracePlaces(StoreBuilder& builder) : builder_(builder) {}

  prof::ProcessId process(std::uint64_t key, std::uint32_t osPid);
  /// None for a process that process() was not asked for.
  [[nodiscard]] prof::ProcessId findProcess(std::uint64_t key) const {
    const auto found = processes_.find(key);
    return found == processes_.end() ? prof::ProcessId() : found->second;
  }
  prof::ThreadId thread(std::uint64_t key, prof::ProcessId process, std::uint32_t osTid);
  prof::DeviceId device(prof::DeviceKind kind, std::uint64_t key, std::uint32_t index);
  prof::QueueId queue(prof::DeviceId device, prof::ProcessId process, std::uint64_t key,
                      std::uint64_t nativeId);
  prof::TrackId track(const prof::CounterTrack& like);

  void name(prof::ProcessId id, std::string_view text) {
    builder_.columns<prof::Process>().name[id.value - 1] = builder_.intern(text);
  }
  void name(prof::ThreadId id, std::string_view text) {
    builder_.columns<prof::Thread>().name[id.value - 1] = builder_.intern(text);
  }
  void name(prof::QueueId id, std::string_view text) {
    builder_.columns<prof::Queue>().name[id.value - 1] = builder_.intern(text);
  }

 private:
  StoreBuilder& builder_;
  std::map<std::uint64_t, prof::ProcessId> processes_;
  std::map<std::uint64_t, prof::ThreadId> threads_;
  std::map<std::pair<prof::DeviceKind, std::uint64_t>, prof::DeviceId> devices_;
  std::map<std::tuple<prof::DeviceId, prof::ProcessId, std::uint64_t>, prof::QueueId> queues_;
  std::map<
      std::tuple<prof::ProcessId, prof::ThreadId, prof::DeviceId, prof::StringId, prof::StringId>,
      prof::TrackId>
      tracks_;
};

/// For rows that a file gives as they were. Makes the ids of a table 1 … n (by row, unless they are
/// that already), and every column that refers to them follow. A reference to no row becomes none.
void renumberIds(StoreBuilder& builder);
/// Computes the nesting depths of pushed ranges, for each thread (or queue) and domain; brings
/// ranges into time order.
void nestRanges(StoreBuilder& builder);
/// Gives every thread and process its first and last moment, from what happens on the threads.
void spanPlaces(StoreBuilder& builder);
/// Ends ranges and calls whose end was not seen (a negative length) at the last moment known.
/// Moments farther from 0 than json::kFarthestNs, which no clock shows, are brought back to it
/// first, and counted in a warning. So adding or subtracting moments of a store cannot overflow.
void closeUnfinished(StoreBuilder& builder);

}  // namespace lacuna::analyzer
