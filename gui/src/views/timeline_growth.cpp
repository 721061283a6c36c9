// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_view.h"

/// The parts of the timeline that stay when its trace has more in it.
namespace lacuna::gui {

namespace {

/// The same event in the same trace with more in it: a range around it may have moved it a lane down.
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
      if (track.kind != was.kind || track.thread != was.thread || track.queue != was.queue || otherProcess) continue;
      for (std::size_t n = 0; n < track.lanes.size(); ++n) {
        const std::size_t i = track.lanes[n].at(start);
        if (i == analyzer::Lane::kNone || track.lanes[n].startNs(i) != start ||
            track.lanes[n].durNs(i) != lane.durNs(place.event) || track.lanes[n].name(i) != lane.name(place.event))
          continue;
        return EventPlace{{g, t}, static_cast<int>(n), i};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void TimelineView::setGrown(const TracePtr& trace) {
  const TracePtr old = std::exchange(trace_, trace);
  const prof::TimeWindow span = trace->tracks->span;
  labelPainter_.setTrace(trace);
  const auto selected = std::exchange(selected_, std::nullopt);
  if (selected) selected_ = movedPlace(*old, *selected, *trace);
  hovered_.reset();
  hit_ = {};
  if (measuredFrom_) measuredFrom_ = movedPlace(*old, *measuredFrom_, *trace);
  links_.clear();
  if (row_) row_ = movedTo(*old->tracks, *row_, *trace->tracks);
  std::vector<RowKey> marked;
  for (const RowKey& key : marked_) {
    if (const auto now = movedTo(*old->tracks, key, *trace->tracks)) marked.push_back(*now);
  }
  marked_ = std::move(marked);
  history_ = history_.within(span);
  pressedView_ = pressedView_.within(span);
  view_ = view_.grown(span);
  setRowOptions(movedTo(*old->tracks, options_, *trace->tracks));
  Q_EMIT appearanceChanged();
  Q_EMIT viewportChanged();
  if (selected) Q_EMIT selectionChanged();
}

}  // namespace lacuna::gui
