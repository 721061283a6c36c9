// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/counter_lane.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/pod_array.h"
#include "lacuna/analyzer/pyramid.h"
#include "lacuna/analyzer/store.h"

/// What a timeline draws: every track of a trace, laid out in lanes and counters that a picture can be queried from.
namespace lacuna::analyzer {

enum class TrackKind : std::uint8_t {
  Ranges,       ///< nested ranges of a thread
  Calls,        ///< runtime and driver calls of a thread
  AsyncRanges,  ///< ranges of a process that begin and end anywhere
  Annotations,  ///< ranges that lie on a queue
  Work,         ///< kernels, copies and memsets of a queue
  Counter,
};
inline constexpr std::size_t kTrackKinds = 6;

/// What an event is for, told from its track and its name; the colour of a picture that is too far away for names.
enum class WorkKind : std::uint8_t { Host, Call, Synchronisation, Loader, Compute, Communication, Copy, Memset };
WorkKind workKind(TrackKind track, std::string_view name);

/// Nesting depths of a track that have lanes; deeper events are counted.
inline constexpr std::size_t kMostLanes = 1024;

/// Curves of a device's memory: of all of it, and of a role with its words behind this, by prof::MemoryRole.
inline constexpr std::string_view kMemoryCurve = "memory";
inline constexpr std::string_view kRoleCurve = "memory · ";
inline constexpr std::array<std::string_view, 9> kRoleCurves{"not known",   "parameters",    "gradients",
                                                             "activations", "optimizer",     "inputs",
                                                             "workspace",   "communication", "cached"};

/// One line of the timeline.
struct Track {
  static constexpr std::uint32_t kAllRoles = UINT32_MAX;

  TrackKind kind = TrackKind::Ranges;
  prof::ProcessId process;
  prof::ThreadId thread;
  prof::DeviceId device;
  prof::QueueId queue;
  prof::TrackId counterTrack;
  std::string label;
  std::string unit;         ///< counters only
  std::vector<Lane> lanes;  ///< by nesting depth; empty for counters
  CounterLane counter;
  bool isMemory = false;                 ///< a counter made from allocations
  std::uint32_t memoryRole = kAllRoles;  ///< of such a one
  std::uint64_t events = 0;
  std::uint64_t deeper = 0;  ///< of the events, those that have no lane; the label names them
};

/// A process or a device with its tracks.
struct TrackGroup {
  bool isDevice = false;
  prof::ProcessId process;
  prof::DeviceId device;
  std::string label;
  std::vector<Track> tracks;
};

/// Immutable once built; safe for many threads.
struct TrackSet {
  std::vector<TrackGroup> groups;
  prof::TimeWindow span;
  std::uint64_t events = 0;
  bool kept = false;  ///< came from a file (see track_file.h)
  /// Who reads the events of a kept set ahead; ends with the set, before what it reads.
  struct ReadAhead;
  struct EndReadAhead {
    void operator()(ReadAhead* ahead) const;
  };

  /// The name of an event of a lane. Copies and memsets that the trace leaves nameless are called after what they do.
  static std::string_view name(const Store& store, prof::StringId id);
  [[nodiscard]] std::uint64_t bytes() const;

  std::unique_ptr<ReadAhead, EndReadAhead> readAhead;
};

/// Reads the store once per table and lays out every track. Fails only when cancelled or when a block cannot be read.
prof::Result<std::shared_ptr<const TrackSet>> buildTracks(const Store& store, const Progress& progress = {});

/// The row behind an event of a lane, found by its start, length and track.
EventRef findEvent(const Store& store, const Track& track, prof::TimeNs startNs, prof::TimeNs durNs,
                   prof::StringId name);

}  // namespace lacuna::analyzer
