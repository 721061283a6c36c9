// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>
#include <algorithm>

#include "views/timeline_state.h"

class QPainter;
class QRegion;

/// The layers of the timeline over its base picture, from the lowest up.
namespace lacuna::gui {

class TimelinePicture;

/// Bands, lines, outlines and arrows over the tracks. Captions keep clear of the names on the base
/// picture.
void paintOverlays(QPainter& painter, const TimelineState& state, TimelinePicture& base);
/// The names of the rows that `stale` touches.
void paintRowNames(QPainter& painter, const TimelineState& state, const QRegion& stale);
void paintRuler(QPainter& painter, const TimelineState& state);

/// A name across the tracks that follow.
inline bool isHeading(const Row& row) {
  return row.kind == Row::Kind::Group || row.kind == Row::Kind::PinHeader ||
         row.kind == Row::Kind::Counters;
}
inline constexpr int kHeadingLeft = 26;

/// A narrow and high rectangle, piece by piece: Qt wakes its threads for more than 95 rows, which
/// costs many times what it takes to paint a line.
template <class Paint>
void inShortPieces(const QRectF& rect, Paint&& paint) {
  constexpr double kRows = 64;
  for (double top = rect.top(); top < rect.bottom(); top += kRows) {
    paint(QRectF(rect.left(), top, rect.width(), std::min(kRows, rect.bottom() - top)));
  }
}

}  // namespace lacuna::gui
