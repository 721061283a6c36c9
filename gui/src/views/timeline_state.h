// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>

#include "views/timeline_frame.h"
#include "views/timeline_model.h"
#include "views/timeline_pointer.h"
#include "views/timeline_selection.h"

namespace lacuna::gui {

/// Everything that a picture of the timeline depends on. Good for as long as it takes to paint one.
struct TimelineState {
  const TimelineModel& model;
  const TimelineSelection& selection;
  const TimelinePointer& pointer;
  TimelineFrame frame;
  QFont font;  ///< the widget's
  bool dark = true;

  [[nodiscard]] double xOf(prof::TimeNs timeNs) const {
    return frame.xOf(model.viewport(), timeNs);
  }
  [[nodiscard]] QRectF eventRect(const EventPlace& place) const {
    return frame.eventRect(model, place);
  }
};

}  // namespace lacuna::gui
