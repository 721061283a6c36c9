// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <vector>

#include "base/words.h"
#include "timeline/text.h"
#include "views/timeline_metrics.h"
#include "views/timeline_paint.h"
#include "views/timeline_words.h"

/// The ruler of the timeline: ticks, flags with notes, and the moment below the mouse.
namespace lacuna::gui {

namespace {

constexpr int kRulerTickSpacing = 110;
constexpr int kNoteLeft = 13;
constexpr int kNoteGap = 6;

/// A bookmark's place on the ruler, from its flag on, and as much of its note as there is room for.
struct NoteTag {
  QRectF place;
  QString text;
};

std::vector<NoteTag> noteTags(const TimelineState& state, const QFontMetrics& metrics) {
  const QRect& canvas = state.frame.canvas;
  std::vector<NoteTag> tags;
  for (const Bookmark& mark : state.model.bookmarks()) {
    const double x = state.xOf(mark.timeNs);
    if (x >= canvas.x() - 1 && x <= canvas.right())
      tags.push_back({QRectF(x, 0, 0, kRulerHeight), mark.note});
  }
  std::sort(tags.begin(), tags.end(),
            [](const NoteTag& a, const NoteTag& b) { return a.place.x() < b.place.x(); });
  // A note reaches to the next flag at most.
  for (std::size_t n = 0; n < tags.size(); ++n) {
    NoteTag& tag = tags[n];
    const double end = n + 1 < tags.size() ? tags[n + 1].place.x() : canvas.right() + 1;
    const auto room = static_cast<int>(end - tag.place.x()) - kNoteLeft - kNoteGap;
    tag.text = room > 0 ? metrics.elidedText(tag.text, Qt::ElideRight, room) : QString();
    if (!tag.text.isEmpty())
      tag.place.setWidth(kNoteLeft + metrics.horizontalAdvance(tag.text) + kNoteGap);
  }
  return tags;
}

void paintTicks(QPainter& painter, const TimelineState& state, const std::vector<NoteTag>& notes) {
  const QRect& canvas = state.frame.canvas;
  for (const Tick& tick : ticks(state.model.viewport(), canvas.width(), kRulerTickSpacing)) {
    const double x = canvas.x() + tick.x;
    painter.fillRect(QRectF(x, kRulerHeight - 7, 1, 6), rgb(theme(state.dark).line));
    const QString label = words(tick.label);
    const QRectF place(x + 5, 0, painter.fontMetrics().horizontalAdvance(label), kRulerHeight);
    // Half of it misleads, and so do two texts on each other.
    const bool taken = std::any_of(notes.begin(), notes.end(), [&](const NoteTag& note) {
      return !note.text.isEmpty() && note.place.intersects(place);
    });
    if (!taken && place.right() <= canvas.right() + 1)
      painter.drawText(QPointF(place.x(), 19), label);
  }
}

void paintNotes(QPainter& painter, const Theme& t, const std::vector<NoteTag>& notes) {
  for (const NoteTag& note : notes) {
    const double x = note.place.x();
    QPainterPath flag;
    flag.addPolygon(QPolygonF({QPointF(x, 4), QPointF(x + 10, 8), QPointF(x, 12)}));
    painter.fillPath(flag, rgb(t.warn));
    painter.fillRect(QRectF(x - 1, 4, 1.5, kRulerHeight - 5), rgb(t.warn));
    painter.setPen(rgb(t.warn));
    painter.drawText(QPointF(x + kNoteLeft, 19), note.text);
  }
}

void paintMoment(QPainter& painter, const TimelineState& state, double x) {
  const Theme& t = theme(state.dark);
  const QRect& canvas = state.frame.canvas;
  const Viewport& view = state.model.viewport();
  const auto at = state.frame.timeAt(view, x);
  const auto fine = static_cast<prof::TimeNs>(view.nsPerPixel(canvas.width())) + 1;
  const QString label = words(momentText(at - view.trace().startNs, fine));
  const int w = painter.fontMetrics().horizontalAdvance(label) + 14;
  const int left = std::clamp(static_cast<int>(x) - w / 2, canvas.x(), canvas.right() - w + 1);
  painter.fillRect(left, 4, w, 20, rgb(t.accent));
  painter.setPen(rgb(inkOn(t.accent)));
  painter.drawText(QRect(left, 4, w, 20), Qt::AlignCenter, label);
}

}  // namespace

void paintRuler(QPainter& painter, const TimelineState& state) {
  const Theme& t = theme(state.dark);
  const QRect& canvas = state.frame.canvas;
  const int width = state.frame.size.width();
  painter.fillRect(0, 0, width, kRulerHeight, rgb(t.panel));
  painter.fillRect(0, kRulerHeight - 1, width, 1, rgb(t.line));
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  painter.setPen(rgb(t.dim));
  painter.drawText(
      QRect(12, 0, state.frame.headerWidth() - 20, kRulerHeight), Qt::AlignVCenter,
      TimelineWords::tr("%1 shown").arg(durationWords(state.model.viewport().spanNs())));
  painter.setClipRect(canvas.x(), 0, canvas.width(), kRulerHeight);
  const std::vector<NoteTag> notes = noteTags(state, painter.fontMetrics());
  paintTicks(painter, state, notes);
  paintNotes(painter, t, notes);
  const auto& mouse = state.pointer.mouse;
  if (mouse && state.frame.isAcross(*mouse)) paintMoment(painter, state, mouse->x());
  painter.setClipping(false);
}

}  // namespace lacuna::gui
