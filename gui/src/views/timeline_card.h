// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QRect>
#include <QStringList>

#include "views/timeline_state.h"

class QPainter;
class QRegion;

namespace lacuna::gui {

/// The facts about what lies below the mouse, laid out beside it.
struct HoverCard {
  QStringList lines;  ///< none: there is no card
  QRect rect;
  int lineHeight = 0;
};

/// Empty while something is dragged.
HoverCard hoverCard(const TimelineState& state);
void paintHoverCard(QPainter& painter, const TimelineState& state, const HoverCard& card);
/// The region that is drawn because the mouse is where it is.
QRegion hoverRegion(const TimelineState& state, const HoverCard& card);
/// The font of texts over the tracks, from the widget's.
QFont cardFont(QFont font, bool bold);

}  // namespace lacuna::gui
