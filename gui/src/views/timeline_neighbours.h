// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "views/event_place.h"

/// The events beside, within and around each other, for keys to go to. A step of 1 goes on, one of
/// -1 goes back.
namespace lacuna::gui {

class TimelineModel;

/// In the same lane.
std::optional<EventPlace> eventBeside(const Trace& trace, const EventPlace& place, int step);
/// In the lane below, within the event, or in the one above, around it.
std::optional<EventPlace> eventNested(const Trace& trace, const EventPlace& place, int step);
/// The first one in the lanes below or above, in other tracks too, at the time of the event.
std::optional<EventPlace> eventAcross(const TimelineModel& model, const EventPlace& place,
                                      int step);
/// In the middle of the stretch in view, in the first row that ends below `scrollY` and has one.
std::optional<EventPlace> eventInMiddle(const TimelineModel& model, int scrollY);

}  // namespace lacuna::gui
