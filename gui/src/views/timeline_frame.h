// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointF>
#include <QRect>
#include <QRectF>
#include <QSize>
#include <vector>

#include "views/timeline_model.h"

namespace lacuna::gui {

/// The window that the rows are seen through, in the widget's coordinates: it places things in
/// them, and finds them.
struct TimelineFrame {
  QSize size;       ///< of the widget
  QRect canvas;     ///< of the tracks: below the ruler, beside their names
  int scrollY = 0;  ///< how far the rows are scrolled

  [[nodiscard]] int headerWidth() const { return canvas.x(); }
  [[nodiscard]] prof::TimeNs timeAt(const Viewport& view, double x) const;
  /// Where a moment lies across the widget; of one far outside of the canvas, some place outside of
  /// it.
  [[nodiscard]] double xOf(const Viewport& view, prof::TimeNs timeNs) const;
  /// The row that this point is beside or in, or the number of rows when there is none.
  [[nodiscard]] std::size_t rowAt(const std::vector<Row>& rows, int y) const;
  /// A row, names included; it may lie outside of the window.
  [[nodiscard]] QRect rowRect(const Row& row) const;
  /// Where the last row ends, or the window does.
  [[nodiscard]] int contentBottom(const std::vector<Row>& rows) const;
  /// For the y of a lane among the rows.
  [[nodiscard]] bool showsLaneAt(int y) const {
    return y >= scrollY && y + kLanePitch <= scrollY + canvas.height();
  }
  /// Empty when the event is not on screen.
  [[nodiscard]] QRectF eventRect(const TimelineModel& model, const EventPlace& place) const;
  [[nodiscard]] Hit hitAt(const TimelineModel& model, QPointF pos) const;
  /// Whether the point is over the canvas or what lies above and below it.
  [[nodiscard]] bool isAcross(QPointF pos) const;
};

}  // namespace lacuna::gui
