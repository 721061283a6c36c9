// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_frame.h"

#include <algorithm>

#include "views/timeline_metrics.h"

namespace lacuna::gui {

prof::TimeNs TimelineFrame::timeAt(const Viewport& view, double x) const {
  return view.timeAt(x - canvas.x(), canvas.width());
}

double TimelineFrame::xOf(const Viewport& view, prof::TimeNs timeNs) const {
  return canvas.x() + view.pixelNear(timeNs, canvas.width());
}

std::size_t TimelineFrame::rowAt(const std::vector<Row>& rows, int y) const {
  return gui::rowAt(rows, y - kRulerHeight + scrollY);
}

QRect TimelineFrame::rowRect(const Row& row) const {
  return {0, kRulerHeight + row.y - scrollY, size.width(), row.height};
}

int TimelineFrame::contentBottom(const std::vector<Row>& rows) const {
  const int end = rows.empty() ? 0 : rows.back().y + rows.back().height - scrollY;
  return kRulerHeight + std::min(end, size.height() - kRulerHeight);
}

QRectF TimelineFrame::eventRect(const TimelineModel& model, const EventPlace& place) const {
  const auto [startNs, endNs] = windowOf(*model.trace(), place);
  const double left = std::max(model.viewport().pixelAt(startNs, canvas.width()), -20.0);
  const double right =
      std::min(model.viewport().pixelAt(endNs, canvas.width()), canvas.width() + 20.0);
  if (right < 0 || left > canvas.width()) return {};
  for (const Row& row : model.rows()) {
    if (row.kind != Row::Kind::Track || row.ref != place.track || place.lane >= row.lanes) continue;
    const int y = canvas.y() + row.y + 2 + place.lane * kLanePitch - scrollY;
    return {canvas.x() + left, static_cast<double>(y), std::max(2.0, right - left), kLaneHeight};
  }
  return {};
}

Hit TimelineFrame::hitAt(const TimelineModel& model, QPointF pos) const {
  if (!model.trace() || !canvas.contains(pos.toPoint())) return {};
  return hitTest(model.scene(scrollY, 1), pos.x() - canvas.x(),
                 static_cast<int>(pos.y()) - canvas.y() + scrollY, canvas.width());
}

bool TimelineFrame::isAcross(QPointF pos) const {
  return canvas.contains(QPoint(static_cast<int>(pos.x()), canvas.y()));
}

}  // namespace lacuna::gui
