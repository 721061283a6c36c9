// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_selection.h"

#include <algorithm>
#include <utility>

namespace lacuna::gui {

namespace {

/// The same event in the same trace with more in it: a range around it may have moved it a lane
/// down.
std::optional<EventPlace> movedPlace(const Trace& from, const EventPlace& place, const Trace& to) {
  const analyzer::Track& was = from.track(place.track);
  const analyzer::Lane& lane = was.lanes[static_cast<std::size_t>(place.lane)];
  const prof::TimeNs start = lane.startNs(place.event);
  for (std::size_t g = 0; g < to.tracks->groups.size(); ++g) {
    const analyzer::TrackGroup& group = to.tracks->groups[g];
    for (std::size_t t = 0; t < group.tracks.size(); ++t) {
      const analyzer::Track& track = group.tracks[t];
      // The process of a thread may become known late.
      const bool otherProcess = track.process != was.process && !was.thread && !was.queue;
      if (track.kind != was.kind || track.thread != was.thread || track.queue != was.queue ||
          otherProcess)
        continue;
      for (std::size_t n = 0; n < track.lanes.size(); ++n) {
        const std::size_t i = track.lanes[n].at(start);
        if (i == analyzer::Lane::kNone || track.lanes[n].startNs(i) != start ||
            track.lanes[n].durNs(i) != lane.durNs(place.event) ||
            track.lanes[n].name(i) != lane.name(place.event))
          continue;
        return EventPlace{{g, t}, static_cast<int>(n), i};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> TimelineSelection::rowAmong(const std::vector<Row>& rows) const {
  if (!row) return std::nullopt;
  const Row* found = findRow(rows, *row);
  return found ? std::optional(static_cast<std::size_t>(found - rows.data())) : std::nullopt;
}

prof::TimeWindow TimelineSelection::measuredTo(const Trace& trace, const EventPlace& other) const {
  const prof::TimeWindow a = windowOf(trace, measuredFrom.value_or(*event));
  const prof::TimeWindow b = windowOf(trace, other);
  return {std::min(a.startNs, b.startNs), std::max(a.endNs, b.endNs)};
}

void TimelineSelection::moveTo(const Trace& from, const Trace& to) {
  if (event) event = movedPlace(from, *event, to);
  if (measuredFrom) measuredFrom = movedPlace(from, *measuredFrom, to);
  links.clear();
  if (row) row = movedTo(*from.tracks, *row, *to.tracks);
  std::vector<RowKey> stay;
  for (const RowKey& key : marked) {
    if (const auto now = movedTo(*from.tracks, key, *to.tracks)) stay.push_back(*now);
  }
  marked = std::move(stay);
}

}  // namespace lacuna::gui
