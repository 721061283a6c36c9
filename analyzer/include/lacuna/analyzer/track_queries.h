// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/lanes.h"

/// Questions about laid-out tracks: what is in a stretch, where is a name, what belongs to an event.
namespace lacuna::analyzer {

/// An event by its place in a TrackSet.
struct TrackEvent {
  std::size_t group = 0;
  std::size_t track = 0;
  std::size_t lane = 0;
  std::size_t event = 0;
  friend auto operator<=>(const TrackEvent&, const TrackEvent&) = default;
};

/// Sums over the events of one name within a window; events that reach out of it count with the part inside.
struct NameSum {
  prof::StringId name;
  TrackKind kind = TrackKind::Ranges;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t longestNs = 0;
};
/// How much of a window a queue or device was at work: busyNs + idleNs is the window's length.
struct BusySum {
  std::string label;
  bool device = false;  ///< any queue of the device counts
  std::int64_t busyNs = 0;
  std::int64_t idleNs = 0;
};
struct AreaStats {
  prof::TimeWindow window;
  std::vector<NameSum> names;  ///< greatest total first
  std::vector<BusySum> busy;   ///< each device followed by its queues
  /// Time in which more than one queue of a device was at work, over all devices.
  std::int64_t overlapNs = 0;
};
/// Linear in the events of the window; stops early, with what it has, when progress answers false.
AreaStats areaStats(const TrackSet& tracks, prof::TimeWindow window, const Progress& progress = {});

/// The names of a trace's events that a search is for.
struct NameMatches {
  std::vector<bool> texts;    ///< one flag for each string id
  std::vector<bool> unnamed;  ///< of copies and memsets that the trace leaves nameless (see TrackSet::name)
};
/// Asked now and then by a search; answering false calls it off, and its answer means nothing then. May be empty.
using SearchWanted = std::function<bool()>;
/// The names that contain `part`, in any ASCII case; none where it is empty.
NameMatches matchNames(const Store& store, std::string_view part, const SearchWanted& wanted = {});
/// The nearest matching event that begins after (or, going back, before) a moment.
std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names, prof::TimeNs from, bool forward,
                                    const SearchWanted& wanted = {});
/// The one after (or before) another event. What begins together follows in the order of tracks, lanes and events, so
/// that a walk from one to the next comes to all of them.
std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names, const TrackEvent& from,
                                    bool forward, const SearchWanted& wanted = {});
/// How many events match; stops early, with what it has, when progress answers false.
std::uint64_t countMatches(const TrackSet& tracks, const NameMatches& names, const Progress& progress = {});

/// The call or range that started a piece of device work, or the work that a call or range started, at most `limit`:
/// see Links, whose launches this computes if nobody did yet.
std::vector<EventRef> linkedEvents(const Store& store, const EventRef& event, std::size_t limit = 64);
/// Where a row lies among the tracks.
std::optional<TrackEvent> locate(const Store& store, const TrackSet& tracks, const EventRef& event);

}  // namespace lacuna::analyzer
