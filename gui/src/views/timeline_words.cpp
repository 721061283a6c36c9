// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_words.h"

#include <algorithm>
#include <string>

#include "base/words.h"
#include "timeline/text.h"
#include "views/timeline_model.h"

namespace lacuna::gui {

QString nameOfRow(const Trace& trace, const Row& row) {
  const analyzer::TrackGroup& group = trace.tracks->groups[row.ref.group];
  switch (row.kind) {
    case Row::Kind::PinHeader:
      return TimelineWords::tr("Pinned");
    case Row::Kind::Group:
      return words(group.label);
    case Row::Kind::Ledger:
      return TimelineWords::tr("where time goes");
    case Row::Kind::Quiet:
      return nameOfQuiet(row.lanes);
    case Row::Kind::Counters:
      return TimelineWords::tr("counters · %1").arg(words(group.label));
    case Row::Kind::Track:
      return words(group.tracks[row.ref.track].label);
  }
  return {};
}

QString stateOfRow(const Trace& trace, const Row& row) {
  QString name = nameOfRow(trace, row);
  if (row.collapsed) name = TimelineWords::tr("%1, collapsed").arg(name);
  return row.pinned ? TimelineWords::tr("%1, pinned").arg(name) : name;
}

QString nameOfQuiet(int counters) {
  return counters == 1 ? TimelineWords::tr("1 counter at zero")
                       : TimelineWords::tr("%1 counters at zero").arg(counters);
}

QString nameOfEvent(const Trace& trace, const EventPlace& place) {
  const analyzer::Lane& lane = laneOf(trace, place);
  return TimelineWords::tr("%1, %2, on %3")
      .arg(trace.name(lane.name(place.event)), durationWords(lane.durNs(place.event)),
           words(trace.track(place.track).label));
}

QString momentWords(const Viewport& view, int width, prof::TimeNs timeNs) {
  const auto pixelNs = static_cast<prof::TimeNs>(view.nsPerPixel(width));
  return words(
      momentText(timeNs - view.trace().startNs, std::clamp<prof::TimeNs>(pixelNs, 1, 1000)));
}

QString wordsForNoRows(const TimelineModel& model) {
  if (!model.trace() || !model.rows().empty()) return {};
  const std::string& filter = model.rowOptions().filter;
  return filter.empty() ? TimelineWords::tr("This trace has no events.")
                        : TimelineWords::tr("No track has \"%1\" in its name.").arg(words(filter));
}

}  // namespace lacuna::gui
