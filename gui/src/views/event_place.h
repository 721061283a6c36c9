// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/trace.h"

namespace lacuna::gui {

/// An event of the picture: the n-th of a lane.
struct EventPlace {
  TrackRef track;
  int lane = 0;
  std::size_t event = 0;
  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};

inline EventPlace placeOf(const analyzer::TrackEvent& event) {
  return {{event.group, event.track}, static_cast<int>(event.lane), event.event};
}

inline analyzer::TrackEvent eventOf(const EventPlace& place) {
  return {place.track.group, place.track.track, static_cast<std::size_t>(place.lane), place.event};
}

inline const analyzer::Lane& laneOf(const Trace& trace, const EventPlace& place) {
  return trace.track(place.track).lanes[static_cast<std::size_t>(place.lane)];
}

inline prof::TimeWindow windowOf(const Trace& trace, const EventPlace& place) {
  const analyzer::Lane& lane = laneOf(trace, place);
  return {lane.startNs(place.event), lane.endNs(place.event)};
}

}  // namespace lacuna::gui
