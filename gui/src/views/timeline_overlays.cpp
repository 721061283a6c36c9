// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/words.h"
#include "views/timeline_card.h"
#include "views/timeline_paint.h"
#include "views/timeline_picture.h"
#include "views/timeline_words.h"

/// Bands, lines, outlines and arrows over the timeline's tracks.
namespace lacuna::gui {

namespace {

constexpr int kCaptionHeight = 20;
constexpr int kCaptionStep = 6;
constexpr int kCaptionPlaces = 24;  // that are tried, from the lowest up
constexpr std::size_t kMostBands = 400;
constexpr std::size_t kMostArrows = 64;

void paintUpright(QPainter& painter, const QRectF& line, const QColor& colour) {
  inShortPieces(line, [&](const QRectF& piece) { painter.fillRect(piece, colour); });
}

class OverlayPainter {
 public:
  OverlayPainter(QPainter& painter, const TimelineState& state, TimelinePicture& base)
      : painter_(painter), state_(state), base_(base), theme_(theme(state.dark)) {}

  void paintEmpty();
  void paintBands();
  void paintLines();
  void paintOutlines();

 private:
  void paintBand(prof::TimeWindow window, Colour tint, const QString& caption);
  void paintCaption(const QRectF& band, Colour tint, const QString& caption);
  /// Where the caption of a band goes: below the tracks, or over them where it hides no name, if
  /// there is such a place.
  [[nodiscard]] QRectF captionRect(const QRectF& band, int width);
  /// For the name of an event, or of a group that reaches over the tracks.
  [[nodiscard]] bool hidesName(const QRectF& place);
  void paintLine(double left, const QColor& colour);
  void paintOutline(const EventPlace& place, const QColor& colour, double width);
  void paintLinks();
  /// From an event to one that begins later.
  void paintArrow(const QRectF& from, const QRectF& to);

  QPainter& painter_;
  const TimelineState& state_;
  TimelinePicture& base_;
  const Theme& theme_;
};

void OverlayPainter::paintEmpty() {
  const QString empty = wordsForNoRows(state_.model);
  if (empty.isEmpty()) return;
  painter_.setPen(rgb(theme_.dim));
  painter_.drawText(state_.frame.canvas, Qt::AlignCenter, empty);
}

void OverlayPainter::paintBands() {
  const TimelineSelection& chosen = state_.selection;
  for (std::size_t i = 0; i < std::min(chosen.highlights.size(), kMostBands); ++i) {
    paintBand(chosen.highlights[i], theme_.warn, chosen.caption);
  }
  if (chosen.area)
    paintBand(*chosen.area, theme_.accent,
              durationWords(chosen.area->endNs - chosen.area->startNs));
}

void OverlayPainter::paintBand(prof::TimeWindow window, Colour tint, const QString& caption) {
  const QRect& canvas = state_.frame.canvas;
  const Viewport& view = state_.model.viewport();
  const double left = std::max(view.pixelAt(window.startNs, canvas.width()), -10.0);
  const double right = std::min(view.pixelAt(window.endNs, canvas.width()), canvas.width() + 10.0);
  if (right < 0 || left > canvas.width()) return;
  const int bottom = state_.frame.contentBottom(state_.model.rows());
  const QRectF band(canvas.x() + left, canvas.y(), std::max(1.0, right - left),
                    bottom - canvas.y());
  painter_.fillRect(band, rgb(tint, 36));
  paintUpright(painter_, QRectF(band.left(), band.top(), 1, band.height()), rgb(tint, 200));
  paintUpright(painter_, QRectF(band.right(), band.top(), 1, band.height()), rgb(tint, 200));
  if (!caption.isEmpty()) paintCaption(band, tint, caption);
}

void OverlayPainter::paintCaption(const QRectF& band, Colour tint, const QString& caption) {
  const int w = painter_.fontMetrics().horizontalAdvance(caption) + 14;
  if (band.width() < w) return;
  const QRectF tag = captionRect(band, w);
  painter_.fillRect(tag, rgb(tint));
  painter_.setPen(rgb(inkOn(tint)));
  painter_.drawText(tag, Qt::AlignCenter, caption);
}

QRectF OverlayPainter::captionRect(const QRectF& band, int width) {
  const QRect& canvas = state_.frame.canvas;
  const int bottom = state_.frame.contentBottom(state_.model.rows());
  const double lowest = std::min<double>(bottom + 6, canvas.bottom() - 6 - kCaptionHeight);
  QRectF tag(band.center().x() - width / 2.0, lowest, width, kCaptionHeight);
  for (int n = 0; n < kCaptionPlaces && tag.top() >= canvas.y();
       ++n, tag.translate(0, -kCaptionStep)) {
    if (!hidesName(tag)) return tag;
  }
  tag.moveTop(lowest);
  return tag;
}

bool OverlayPainter::hidesName(const QRectF& place) {
  if (base_.hasNameOn(place.translated(-state_.frame.canvas.topLeft()))) return true;
  const QFontMetrics metrics(cardFont(state_.font, true));
  const std::vector<Row>& rows = state_.model.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    if (!isHeading(row) || row.collapsed) return false;
    QRectF label = state_.frame.rowRect(row);
    if (!label.intersects(place)) return false;
    label.setWidth(kHeadingLeft + metrics.horizontalAdvance(nameOfRow(*state_.model.trace(), row)));
    return label.intersects(place);
  });
}

void OverlayPainter::paintLine(double left, const QColor& colour) {
  const QRect& canvas = state_.frame.canvas;
  paintUpright(painter_, QRectF(left, canvas.y(), 1, canvas.height()), colour);
}

void OverlayPainter::paintLines() {
  if (state_.selection.cursorMark)
    paintLine(state_.xOf(*state_.selection.cursorMark) - 0.5, rgb(theme_.accent, 150));
  for (const Bookmark& mark : state_.model.bookmarks())
    paintLine(state_.xOf(mark.timeNs) - 1, rgb(theme_.warn, 140));
  const auto& mouse = state_.pointer.mouse;
  if (mouse && state_.frame.canvas.contains(mouse->toPoint())) {
    paintLine(std::floor(mouse->x()), rgb(theme_.text, 60));
  }
}

void OverlayPainter::paintOutlines() {
  const auto& selected = state_.selection.event;
  const auto& hovered = state_.pointer.hovered;
  if (hovered && hovered != selected) paintOutline(*hovered, rgb(theme_.text, 170), 1);
  paintLinks();
  if (selected) paintOutline(*selected, rgb(theme_.text), 2);
}

void OverlayPainter::paintOutline(const EventPlace& place, const QColor& colour, double width) {
  const QRectF rect = state_.eventRect(place);
  if (rect.isNull()) return;
  painter_.setPen(QPen(colour, width));
  painter_.drawRect(rect.adjusted(-1, -1, 0, 0));
}

void OverlayPainter::paintLinks() {
  const std::optional<EventPlace>& selected = state_.selection.event;
  const std::vector<EventPlace>& links = state_.selection.links;
  if (!selected || links.empty()) return;
  const QRectF from = state_.eventRect(*selected);
  if (from.isNull()) return;
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setPen(QPen(rgb(theme_.accent), 1.6));
  for (std::size_t i = 0; i < std::min(links.size(), kMostArrows); ++i) {
    const QRectF to = state_.eventRect(links[i]);
    if (to.isNull()) continue;
    to.left() >= from.left() ? paintArrow(from, to) : paintArrow(to, from);
    painter_.drawRect(to.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  painter_.setRenderHint(QPainter::Antialiasing, false);
}

void OverlayPainter::paintArrow(const QRectF& from, const QRectF& to) {
  const QPointF start(from.left() + std::min(from.width(), 6.0), from.center().y());
  const QPointF end(to.left(), to.center().y());
  const double bend = std::clamp((end.x() - start.x()) / 2, 24.0, 160.0);
  QPainterPath path(start);
  path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
  painter_.drawPath(path);
  painter_.drawLine(end, end + QPointF(-6, -4));
  painter_.drawLine(end, end + QPointF(-6, 4));
}

}  // namespace

void paintOverlays(QPainter& painter, const TimelineState& state, TimelinePicture& base) {
  if (!state.model.trace()) return;
  OverlayPainter overlays(painter, state, base);
  overlays.paintEmpty();
  overlays.paintBands();
  overlays.paintLines();
  overlays.paintOutlines();
}

}  // namespace lacuna::gui
