// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_neighbours.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "views/timeline_model.h"

namespace lacuna::gui {

using analyzer::Lane;

namespace {

/// The event of a lane at a moment, or the first after both it and `notBefore`, if it begins in
/// view.
std::optional<std::size_t> shownFrom(const Lane& lane, prof::TimeNs at, prof::TimeNs notBefore,
                                     const Viewport& view) {
  std::size_t event = lane.at(at);
  if (event == Lane::kNone) event = lane.lowerBound(notBefore);
  if (event >= lane.size() || lane.startNs(event) >= view.endNs()) return std::nullopt;
  return event;
}

/// The lanes of the rows from the top down, each as a place without an event.
std::vector<EventPlace> lanesOfRows(const std::vector<Row>& rows) {
  std::vector<EventPlace> lanes;
  // A pinned row is there twice; only its place in its group counts.
  const auto isGroup = [](const Row& row) { return row.kind == Row::Kind::Group; };
  const auto first = std::find_if(rows.begin(), rows.end(), isGroup);
  for (const Row& row : std::span(first, rows.end())) {
    if (row.kind != Row::Kind::Track) continue;
    for (int n = 0; n < row.lanes; ++n) lanes.push_back({row.ref, n, 0});
  }
  return lanes;
}

}  // namespace

std::optional<EventPlace> eventBeside(const Trace& trace, const EventPlace& place, int step) {
  const auto next = static_cast<std::ptrdiff_t>(place.event) + step;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(laneOf(trace, place).size()))
    return std::nullopt;
  return EventPlace{place.track, place.lane, static_cast<std::size_t>(next)};
}

std::optional<EventPlace> eventNested(const Trace& trace, const EventPlace& place, int step) {
  const auto& lanes = trace.track(place.track).lanes;
  const int to = place.lane + step;
  if (to < 0 || to >= static_cast<int>(lanes.size())) return std::nullopt;
  const prof::TimeWindow from = windowOf(trace, place);
  const Lane& lane = lanes[static_cast<std::size_t>(to)];
  const std::size_t event = lane.lowerBound(from.startNs);
  if (event >= lane.size() || lane.startNs(event) >= from.endNs) return std::nullopt;
  return EventPlace{place.track, to, event};
}

std::optional<EventPlace> eventAcross(const TimelineModel& model, const EventPlace& place,
                                      int step) {
  const Lane& from = laneOf(*model.trace(), place);
  const prof::TimeNs at = from.startNs(place.event) + from.durNs(place.event) / 2;
  const Viewport& view = model.viewport();
  const std::vector<EventPlace> lanes = lanesOfRows(model.rows());
  std::size_t here = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].track == place.track && lanes[i].lane == place.lane) here = i;
  }
  for (std::size_t i = here + static_cast<std::size_t>(step); i < lanes.size();
       i += static_cast<std::size_t>(step)) {
    const Lane& lane = laneOf(*model.trace(), lanes[i]);
    if (const auto event = shownFrom(lane, at, std::max(at, view.startNs()), view)) {
      return EventPlace{lanes[i].track, lanes[i].lane, *event};
    }
  }
  return std::nullopt;
}

std::optional<EventPlace> eventInMiddle(const TimelineModel& model, int scrollY) {
  const Viewport& view = model.viewport();
  for (const Row& row : model.rows()) {
    if (row.kind != Row::Kind::Track || row.y + row.height <= scrollY) continue;
    for (int n = 0; n < row.lanes; ++n) {
      const Lane& lane = laneOf(*model.trace(), {row.ref, n, 0});
      const auto event = shownFrom(lane, view.startNs() + view.spanNs() / 2, view.startNs(), view);
      if (event) return EventPlace{row.ref, n, *event};
    }
  }
  return std::nullopt;
}

}  // namespace lacuna::gui
