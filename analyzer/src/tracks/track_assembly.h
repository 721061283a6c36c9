// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::analyzer {

/// Collects tracks by what they belong to, then names, groups and sorts them. Where their events
/// come from does not matter here.
class TrackAssembly {
 public:
  explicit TrackAssembly(const Store& store) : store_(store) {}

  /// The track of a thread, process, queue or counter; made when it is new.
  Track& track(TrackKind kind, std::uint32_t id);
  /// The memory curve of a device, of one role or Track::kAllRoles.
  Track& memory(std::uint32_t device, std::uint32_t role);

  /// `built` is false for tracks whose lanes are finished already.
  std::shared_ptr<TrackSet> finish(bool built = true);

 private:
  void describeCounters();
  TrackGroup& processGroup(std::uint32_t process);
  TrackGroup& deviceGroup(std::uint32_t device);
  void nameGroups();
  void placeThreads();
  void placeQueues();
  void placeCounters();
  void dropRepeatedQueues();
  /// Behind the label, once every track has one.
  void nameDeeper();
  template <class Visit>
  void forEach(TrackKind kind, Visit&& visit);

  const Store& store_;
  bool built_ = true;
  std::array<std::map<std::uint32_t, Track>, kTrackKinds> tracks_;  // by kind, then by id
  std::map<std::uint32_t, std::map<std::uint32_t, Track>> memory_;  // by device, then by role
  std::vector<TrackGroup> groups_;
  std::unordered_map<std::uint32_t, std::size_t> processGroups_;
  std::unordered_map<std::uint32_t, std::size_t> deviceGroups_;
  std::set<prof::ProcessId>
      placesOnly_;  ///< no processes, but where a writer put rows that belong to none
};

}  // namespace lacuna::analyzer
