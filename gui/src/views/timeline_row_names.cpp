// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QFont>
#include <QPainter>
#include <QPainterPath>
#include <QRegion>
#include <algorithm>
#include <vector>

#include "base/words.h"
#include "timeline/text.h"
#include "views/shapes.h"
#include "views/timeline_metrics.h"
#include "views/timeline_paint.h"
#include "views/timeline_words.h"

/// The names of the timeline's rows, with what folds and pins them.
namespace lacuna::gui {

namespace {

constexpr int kNameLeft = 34;
constexpr int kMarkWidth = 4;

void paintTriangle(QPainter& painter, QPointF at, bool open, const QColor& fill) {
  QPainterPath path;
  if (open) {
    path.addPolygon(QPolygonF({at + QPointF(-4, -2), at + QPointF(4, -2), at + QPointF(0, 3)}));
  } else {
    path.addPolygon(QPolygonF({at + QPointF(-2, -4), at + QPointF(3, 0), at + QPointF(-2, 4)}));
  }
  painter.fillPath(path, fill);
}

void paintPin(QPainter& painter, QPointF centre, bool pinned, const Theme& t) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(pinned ? QBrush(rgb(t.accent)) : QBrush(Qt::NoBrush));
  painter.setPen(QPen(rgb(pinned ? t.accent : t.dim), 1.3));
  painter.drawEllipse(centre + QPointF(0, -2.5), 3.5, 3.5);
  painter.drawLine(centre + QPointF(0, 1), centre + QPointF(0, 6));
  painter.setBrush(Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void paintHeading(QPainter& painter, const TimelineState& state, const Row& row,
                  const QRect& rect) {
  const Theme& t = theme(state.dark);
  painter.fillRect(rect, rgb(t.raised));
  paintTriangle(painter, QPointF(14, rect.center().y() + 1), !row.collapsed, rgb(t.dim));
  const int room = row.collapsed ? state.frame.headerWidth() - 34 : state.frame.size.width() - 40;
  const QString name = nameOfRow(*state.model.trace(), row);
  painter.drawText(QRect(kHeadingLeft, rect.y(), room, rect.height()), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(name, Qt::ElideRight, room));
}

void paintPlainName(QPainter& painter, const TimelineState& state, const Row& row,
                    const QRect& rect) {
  const QRect place(kNameLeft, rect.y(), state.frame.headerWidth() - 42, rect.height());
  painter.drawText(place, Qt::AlignVCenter, nameOfRow(*state.model.trace(), row));
}

void paintQuietName(QPainter& painter, const TimelineState& state, const Row& row,
                    const QRect& rect) {
  const Theme& t = theme(state.dark);
  painter.setPen(rgb(t.dim));
  paintTriangle(painter, QPointF(22, rect.center().y() + 1), !row.collapsed, rgb(t.dim));
  paintPlainName(painter, state, row, rect);
  painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, rgb(t.grid));
}

void paintCounterName(QPainter& painter, const Theme& t, const analyzer::Track& track,
                      const QRect& place, const QString& label) {
  painter.drawText(QRect(place.x(), place.y() + 5, place.width(), 16), Qt::AlignVCenter, label);
  QFont font = painter.font();
  font.setPixelSize(10);
  painter.setFont(font);
  painter.setPen(rgb(t.dim));
  painter.drawText(
      QRect(place.x(), place.y() + 22, place.width(), 14), Qt::AlignVCenter,
      TimelineWords::tr("up to %1").arg(words(valueText(track.counter.highest(), track.unit))));
}

void paintTrackName(QPainter& painter, const TimelineState& state, const Row& row,
                    const QRect& rect) {
  const Theme& t = theme(state.dark);
  const analyzer::Track& track = state.model.trace()->track(row.ref);
  const bool counter = track.kind == analyzer::TrackKind::Counter;
  const int lineHeight = counter ? rect.height() : std::min(rect.height(), kLanePitch + 4);
  if (!counter && track.lanes.size() > 1) {
    paintTriangle(painter, QPointF(22, rect.y() + lineHeight / 2.0), !row.collapsed, rgb(t.dim));
  }
  const auto& mouse = state.pointer.mouse;
  const bool pin = row.pinned || (mouse && rect.contains(mouse->toPoint()));
  const int headerWidth = state.frame.headerWidth();
  const QRect place(kNameLeft, rect.y(), headerWidth - 34 - (pin ? kPinWidth : 8), lineHeight);
  const QString label =
      painter.fontMetrics().elidedText(words(track.label), Qt::ElideMiddle, place.width());
  counter ? paintCounterName(painter, t, track, place, label)
          : painter.drawText(place, Qt::AlignVCenter, label);
  const QPointF centre(headerWidth - kPinWidth / 2.0 - 1,
                       rect.y() + std::min(lineHeight, 24) / 2.0);
  if (pin) paintPin(painter, centre, row.pinned, t);
  painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, rgb(t.grid));
}

void paintRowName(QPainter& painter, const TimelineState& state, const Row& row,
                  const QRect& rect) {
  QFont font = painter.font();
  font.setPixelSize(12);
  font.setBold(isHeading(row));
  painter.setFont(font);
  painter.setPen(rgb(theme(state.dark).text));
  if (isHeading(row)) return paintHeading(painter, state, row, rect);
  if (row.kind == Row::Kind::Ledger) return paintPlainName(painter, state, row, rect);
  if (row.kind == Row::Kind::Quiet) return paintQuietName(painter, state, row, rect);
  paintTrackName(painter, state, row, rect);
}

void paintMark(QPainter& painter, const TimelineState& state, const Row& row, bool chosen,
               const QRect& rect) {
  const std::vector<RowKey>& marks = state.selection.marked;
  const bool marked =
      std::find(marks.begin(), marks.end(), RowKey{row.kind, row.ref}) != marks.end();
  if (!marked && !chosen) return;
  const Theme& t = theme(state.dark);
  painter.fillRect(rect.x(), rect.y(), kMarkWidth, rect.height(), rgb(chosen ? t.accent : t.warn));
}

}  // namespace

void paintRowNames(QPainter& painter, const TimelineState& state, const QRegion& stale) {
  const Theme& t = theme(state.dark);
  const QRect& canvas = state.frame.canvas;
  const QSize& size = state.frame.size;
  const int headerWidth = state.frame.headerWidth();
  painter.setClipRect(0, canvas.y(), size.width(), canvas.height());
  painter.fillRect(0, canvas.y(), headerWidth, canvas.height(), rgb(t.panel));
  const auto current = state.selection.rowAmong(state.model.rows());
  for (const Row& row : state.model.rows()) {
    // The label of a group that is open may reach over the tracks.
    const QRect reached = state.frame.rowRect(row);
    const QRect rect(0, reached.y(), headerWidth, reached.height());
    if (rect.bottom() < canvas.y()) continue;
    if (rect.top() > size.height()) break;
    if (rect.top() < 0 && keepsShapes(painter))
      continue;  // shapes are not clipped: its name would lie outside
    if (!stale.intersects(isHeading(row) ? reached : rect)) continue;
    paintRowName(painter, state, row, rect);
    paintMark(painter, state, row, current && &row == &state.model.rows()[*current], rect);
  }
  painter.fillRect(headerWidth - 1, canvas.y(), 1, canvas.height(), rgb(t.line));
  painter.setClipping(false);
}

}  // namespace lacuna::gui
