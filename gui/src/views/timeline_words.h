// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QString>

#include "views/event_place.h"

/// The names that the timeline has for what it shows.
namespace lacuna::gui {

class TimelineModel;

/// Translators find a text under the name of a class; functions have none.
struct TimelineWords {
  Q_DECLARE_TR_FUNCTIONS(TimelineWords)
};

QString nameOfRow(const Trace& trace, const Row& row);
/// The same with its state: "GPU 0, collapsed".
QString stateOfRow(const Trace& trace, const Row& row);
/// "3 counters at zero": what the row of those is called.
QString nameOfQuiet(int counters);
QString nameOfEvent(const Trace& trace, const EventPlace& place);
/// A moment as fine as a picture of this width shows it, at least to the microsecond.
QString momentWords(const Viewport& view, int width, prof::TimeNs timeNs);
/// The text in place of rows where there are none.
QString wordsForNoRows(const TimelineModel& model);

}  // namespace lacuna::gui
