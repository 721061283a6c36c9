// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_card.h"

#include <QFontMetrics>
#include <QPainter>
#include <QRegion>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "timeline/text.h"
#include "views/timeline_metrics.h"
#include "views/timeline_words.h"

namespace lacuna::gui {

using analyzer::Lane;

namespace {

constexpr int kCardPadding = 10;

QStringList ledgerLines(const TimelineState& state, std::size_t group) {
  const auto* strip = state.model.stripOf(group);
  const double x = state.pointer.mouse->x();
  if (!strip || x < state.frame.canvas.x()) return {};
  const auto at = analyzer::causeAt(*strip, state.frame.timeAt(state.model.viewport(), x));
  if (!at.lane) return {};
  const Trace& trace = *state.model.trace();
  const QString cause = words(analyzer::causeLabel(at.lane->cause));
  QStringList lines{
      TimelineWords::tr("%1, %2").arg(cause, durationWords(at.lane->lane.durNs(at.event)))};
  const QString what = trace.name(at.lane->lane.name(at.event));
  if (!what.isEmpty()) lines << what;
  return lines << words(trace.tracks->groups[group].label);
}

QStringList eventLines(const TimelineState& state, const Lane& lane, std::size_t event,
                       const QString& where) {
  const QString from =
      momentWords(state.model.viewport(), state.frame.canvas.width(), lane.startNs(event));
  return {state.model.trace()->name(lane.name(event)),
          TimelineWords::tr("%1, from %2").arg(durationWords(lane.durNs(event)), from), where};
}

QStringList cellLines(const Trace& trace, const analyzer::Cell& cell, const QString& where) {
  return {
      TimelineWords::tr("about %1 events").arg(words(prof::scaledCount(std::round(cell.count)))),
      TimelineWords::tr("longest: %1, %2")
          .arg(trace.name(cell.name), durationWords(cell.longestNs)),
      TimelineWords::tr("%1 of this stretch is covered").arg(percentWords(cell.busy)), where};
}

QStringList trackLines(const TimelineState& state, const Hit& hit) {
  const Trace& trace = *state.model.trace();
  const analyzer::Track& track = trace.track(hit.track);
  const QString where = words(trace.tracks->groups[hit.track.group].label + " › " + track.label);
  if (track.kind == analyzer::TrackKind::Counter) {
    if (hit.event == Lane::kNone || hit.event >= track.counter.size()) return {};
    return {words(valueText(track.counter.value(hit.event), track.unit)), where};
  }
  if (hit.lane < 0) return {};
  if (hit.event != Lane::kNone) {
    return eventLines(state, track.lanes[static_cast<std::size_t>(hit.lane)], hit.event, where);
  }
  return hit.cell.occupied() ? cellLines(trace, hit.cell, where) : QStringList();
}

QStringList hoverLines(const TimelineState& state) {
  if (!state.model.trace()) return {};
  const Hit& hit = state.pointer.hit;
  const std::vector<Row>& rows = state.model.rows();
  if (hit.row < rows.size() && rows[hit.row].kind == Row::Kind::Ledger && state.pointer.mouse) {
    return ledgerLines(state, rows[hit.row].ref.group);
  }
  return hit.onTrack ? trackLines(state, hit) : QStringList();
}

}  // namespace

QFont cardFont(QFont font, bool bold) {
  font.setPixelSize(12);
  font.setBold(bold);
  return font;
}

HoverCard hoverCard(const TimelineState& state) {
  HoverCard card;
  const TimelinePointer& pointer = state.pointer;
  if (pointer.mouse && pointer.drag == TimelinePointer::Drag::None) card.lines = hoverLines(state);
  if (card.lines.isEmpty()) return card;
  const QSize& within = state.frame.size;
  const QFontMetrics metrics(cardFont(state.font, true));
  const int most = std::min(460, within.width() - 40);
  int w = 0;
  for (const QString& line : card.lines)
    w = std::max(w, std::min(most, metrics.horizontalAdvance(line)));
  card.lineHeight = metrics.height() + 3;
  const int lineCount = static_cast<int>(card.lines.size());
  const QSize size(w + 2 * kCardPadding, lineCount * card.lineHeight + 2 * kCardPadding - 3);
  const QPointF mouse = *pointer.mouse;
  const auto& over = pointer.hovered;
  const QRectF event =
      over ? state.eventRect(*over) : QRectF(mouse - QPointF(2, 10), QSizeF(4, 20));
  // Below the event, or above it where the window ends: never on it.
  int y = static_cast<int>(event.bottom()) + 12;
  if (y + size.height() > within.height() - 4)
    y = static_cast<int>(event.top()) - size.height() - 12;
  const int x = std::clamp(static_cast<int>(mouse.x()) + 14, 4,
                           std::max(4, within.width() - size.width() - 8));
  card.rect = QRect(QPoint(x, y), size);
  return card;
}

void paintHoverCard(QPainter& painter, const TimelineState& state, const HoverCard& card) {
  const Theme& t = theme(state.dark);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(rgb(t.line), 1));
  painter.setBrush(rgb(t.raised, 245));
  painter.drawRoundedRect(QRectF(card.rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  painter.setBrush(Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
  QRect line = card.rect.adjusted(kCardPadding, kCardPadding - 1, -kCardPadding, 0);
  line.setHeight(card.lineHeight);
  for (const QString& text : card.lines) {
    const bool first = &text == &card.lines.front();
    painter.setFont(cardFont(state.font, first));
    painter.setPen(rgb(first ? t.text : t.dim));
    painter.drawText(line, Qt::AlignVCenter,
                     QFontMetrics(painter.font()).elidedText(text, Qt::ElideMiddle, line.width()));
    line.translate(0, card.lineHeight);
  }
}

QRegion hoverRegion(const TimelineState& state, const HoverCard& card) {
  if (!state.pointer.mouse) return {};
  const TimelineFrame& frame = state.frame;
  const QRect& canvas = frame.canvas;
  const QPoint at = state.pointer.mouse->toPoint();
  QRegion region(0, 0, frame.size.width(), kRulerHeight);
  region += QRect(at.x() - 2, canvas.y(), 5, canvas.height());
  if (state.pointer.hovered)
    region += state.eventRect(*state.pointer.hovered).toAlignedRect().adjusted(-3, -3, 3, 3);
  region += card.rect;
  // The pin of the track that the mouse is on the name of.
  const std::vector<Row>& rows = state.model.rows();
  if (const std::size_t row = frame.rowAt(rows, at.y()); row < rows.size()) {
    region += frame.rowRect(rows[row]) & QRect(0, canvas.y(), frame.headerWidth(), canvas.height());
  }
  return region;
}

}  // namespace lacuna::gui
