// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <cmath>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "timeline/text.h"
#include "views/parts.h"
#include "views/shapes.h"
#include "views/timeline_metrics.h"
#include "views/timeline_view.h"

namespace lacuna::gui {

using analyzer::Lane;
using analyzer::TrackKind;

namespace {

constexpr int kCardPadding = 10;
constexpr int kRulerTickSpacing = 110;
constexpr int kGroupLabelLeft = 26;
constexpr int kCaptionHeight = 20;
constexpr int kCaptionStep = 6;
constexpr int kCaptionPlaces = 24;  // that are tried, from the lowest up
constexpr int kNoteLeft = 13;
constexpr int kNoteGap = 6;
constexpr int kMarkWidth = 4;
constexpr std::size_t kMostBands = 400;
constexpr std::size_t kMostArrows = 64;

/// A narrow and high rectangle, piece by piece: Qt wakes its threads for more than 95 rows, which costs many times what
/// it takes to paint a line.
template <class Paint>
void inShortPieces(const QRectF& rect, Paint&& paint) {
  constexpr double kRows = 64;
  for (double top = rect.top(); top < rect.bottom(); top += kRows) {
    paint(QRectF(rect.left(), top, rect.width(), std::min(kRows, rect.bottom() - top)));
  }
}

void paintUpright(QPainter& painter, const QRectF& line, const QColor& colour) {
  inShortPieces(line, [&](const QRectF& piece) { painter.fillRect(piece, colour); });
}

/// A name across the tracks that follow.
bool isHeading(const Row& row) {
  return row.kind == Row::Kind::Group || row.kind == Row::Kind::PinHeader || row.kind == Row::Kind::Counters;
}

void paintTriangle(QPainter& painter, QPointF at, bool open, const QColor& fill) {
  QPainterPath path;
  if (open) {
    path.addPolygon(QPolygonF({at + QPointF(-4, -2), at + QPointF(4, -2), at + QPointF(0, 3)}));
  } else {
    path.addPolygon(QPolygonF({at + QPointF(-2, -4), at + QPointF(3, 0), at + QPointF(-2, 4)}));
  }
  painter.fillPath(path, fill);
}

}  // namespace

double TimelineView::xOf(prof::TimeNs timeNs) const {
  const QRect canvas = canvasRect();
  return canvas.x() + view_.pixelNear(timeNs, canvas.width());
}

void TimelineView::renderNow() {
  renderBase(devicePixelRatioF());
}

void TimelineView::renderTracks(QImage& picture, double scale) {
  const QRect canvas = canvasRect();
  const QSize size(std::max(1, qRound(canvas.width() * scale)), std::max(1, qRound(canvas.height() * scale)));
  if (picture.size() != size) picture = QImage(size, QImage::Format_RGB32);
  labels_.clear();
  labelScale_ = scale;
  if (!trace_) return picture.fill(rgb(theme(dark_).window));
  const Canvas pixels{reinterpret_cast<Colour*>(picture.bits()), size.width(), size.height(),
                      static_cast<int>(picture.bytesPerLine() / 4)};
  renderer_.render(scene(scale), trace_->styles(dark_), pixels, labels_);
  renderLedgers(pixels, scale);
}

void TimelineView::renderBase(double scale) {
  renderTracks(base_, scale);
  base_.setDevicePixelRatio(scale);
  QPainter painter(&base_);
  labelPainter_.paint(painter, labels_, scale);
  painter.end();
  baseScale_ = scale;
  baseStale_ = false;
  ++picturesDrawn_;
}

void TimelineView::paintShapes(QPainter& painter) {
  const QPoint at = canvasRect().topLeft();
  QImage tracks;
  renderTracks(tracks, 1);
  paintAsRects(painter, at, tracks);
  painter.save();
  painter.translate(at);
  labelPainter_.paint(painter, labels_, 1);
  painter.restore();
}

void TimelineView::renderLedgers(const Canvas& canvas, double scale) {
  const analyzer::PixelGrid grid{view_.startNs(), view_.nsPerPixel(canvas.width), canvas.width};
  for (const Row& row : rows_) {
    if (row.kind != Row::Kind::Ledger) continue;
    const auto top = static_cast<int>(std::lround((row.y + 3 - scroll_->value()) * scale));
    const auto height = static_cast<int>(std::lround((row.height - 6) * scale));
    if (top >= canvas.height || top + height <= 0) continue;
    if (const auto* strip = stripOf(row.ref.group)) {
      ledgerPainter_.paint(*strip, grid, dark_, top, height, canvas);
    }
  }
}

void TimelineView::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  // A picture of the window may be taken at another scale than the screen's.
  const double scale = scaleOf(painter);
  const bool shapes = keepsShapes(painter);
  if (!shapes && (baseStale_ || scale != baseScale_)) renderBase(scale);
  const QRect canvas = canvasRect();
  shapes ? paintShapes(painter) : paintBase(painter, event->region());
  painter.save();
  painter.setClipRect(canvas);
  paintOverlays(painter);
  painter.restore();
  paintHeaders(painter, event->region());
  paintRuler(painter);
  const HoverCard card = nextCard_ ? *std::exchange(nextCard_, std::nullopt) : hoverCard();
  if (!card.lines.isEmpty()) paintHoverCard(painter, card);
  hoverPainted_ = hoverRegion(card);
}

void TimelineView::paintBase(QPainter& painter, const QRegion& stale) {
  const QRect canvas = canvasRect();
  const double scale = base_.devicePixelRatio();
  if (stale == QRegion(rect()) || !hasWholePixels(scale)) return painter.drawImage(canvas.topLeft(), base_);
  for (const QRect& part : stale) {
    inShortPieces(part & canvas, [&](const QRectF& shown) {
      painter.drawImage(shown, base_, QRectF((shown.topLeft() - canvas.topLeft()) * scale, shown.size() * scale));
    });
  }
}

std::vector<TimelineView::NoteTag> TimelineView::noteTags(const QFontMetrics& metrics) const {
  const QRect canvas = canvasRect();
  std::vector<NoteTag> tags;
  for (const Bookmark& mark : bookmarks_) {
    const double x = xOf(mark.timeNs);
    if (x >= canvas.x() - 1 && x <= canvas.right()) tags.push_back({QRectF(x, 0, 0, kRulerHeight), mark.note});
  }
  std::sort(tags.begin(), tags.end(), [](const NoteTag& a, const NoteTag& b) { return a.place.x() < b.place.x(); });
  // A note reaches to the next flag at most.
  for (std::size_t n = 0; n < tags.size(); ++n) {
    NoteTag& tag = tags[n];
    const double end = n + 1 < tags.size() ? tags[n + 1].place.x() : canvas.right() + 1;
    const auto room = static_cast<int>(end - tag.place.x()) - kNoteLeft - kNoteGap;
    tag.text = room > 0 ? metrics.elidedText(tag.text, Qt::ElideRight, room) : QString();
    if (!tag.text.isEmpty()) tag.place.setWidth(kNoteLeft + metrics.horizontalAdvance(tag.text) + kNoteGap);
  }
  return tags;
}

void TimelineView::paintRuler(QPainter& painter) {
  const Theme& t = theme(dark_);
  const QRect canvas = canvasRect();
  painter.fillRect(0, 0, width(), kRulerHeight, rgb(t.panel));
  painter.fillRect(0, kRulerHeight - 1, width(), 1, rgb(t.line));
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  painter.setPen(rgb(t.dim));
  painter.drawText(QRect(12, 0, headerWidth_ - 20, kRulerHeight), Qt::AlignVCenter,
                   tr("%1 shown").arg(durationWords(view_.spanNs())));
  painter.setClipRect(canvas.x(), 0, canvas.width(), kRulerHeight);
  const std::vector<NoteTag> notes = noteTags(painter.fontMetrics());
  for (const Tick& tick : ticks(view_, canvas.width(), kRulerTickSpacing)) {
    const double x = canvas.x() + tick.x;
    painter.fillRect(QRectF(x, kRulerHeight - 7, 1, 6), rgb(t.line));
    const QString label = words(tick.label);
    const QRectF place(x + 5, 0, painter.fontMetrics().horizontalAdvance(label), kRulerHeight);
    // Half of it misleads, and so do two texts on each other.
    const bool taken = std::any_of(notes.begin(), notes.end(), [&](const NoteTag& note) {
      return !note.text.isEmpty() && note.place.intersects(place);
    });
    if (!taken && place.right() <= canvas.right() + 1) painter.drawText(QPointF(place.x(), 19), label);
  }
  for (const NoteTag& note : notes) {
    const double x = note.place.x();
    QPainterPath flag;
    flag.addPolygon(QPolygonF({QPointF(x, 4), QPointF(x + 10, 8), QPointF(x, 12)}));
    painter.fillPath(flag, rgb(t.warn));
    painter.fillRect(QRectF(x - 1, 4, 1.5, kRulerHeight - 5), rgb(t.warn));
    painter.setPen(rgb(t.warn));
    painter.drawText(QPointF(x + kNoteLeft, 19), note.text);
  }
  if (mouse_ && canvas.contains(QPoint(static_cast<int>(mouse_->x()), canvas.y()))) {
    const auto at = view_.timeAt(mouse_->x() - canvas.x(), canvas.width());
    const auto fine = static_cast<prof::TimeNs>(view_.nsPerPixel(canvas.width())) + 1;
    const QString label = words(momentText(at - view_.trace().startNs, fine));
    const int w = painter.fontMetrics().horizontalAdvance(label) + 14;
    const int left = std::clamp(static_cast<int>(mouse_->x()) - w / 2, canvas.x(), canvas.right() - w + 1);
    painter.fillRect(left, 4, w, 20, rgb(t.accent));
    painter.setPen(rgb(inkOn(t.accent)));
    painter.drawText(QRect(left, 4, w, 20), Qt::AlignCenter, label);
  }
  painter.setClipping(false);
}

void TimelineView::paintHeaders(QPainter& painter, const QRegion& stale) {
  const Theme& t = theme(dark_);
  const QRect canvas = canvasRect();
  painter.setClipRect(0, canvas.y(), width(), canvas.height());
  painter.fillRect(0, canvas.y(), headerWidth_, canvas.height(), rgb(t.panel));
  const auto current = currentRow();
  for (const Row& row : rows_) {
    const QRect rect(0, row.y - scroll_->value() + canvas.y(), headerWidth_, row.height);
    if (rect.bottom() < canvas.y()) continue;
    if (rect.top() > height()) break;
    if (rect.top() < 0 && keepsShapes(painter)) continue;  // shapes are not clipped: its name would lie outside
    // The label of a group that is open may reach over the tracks.
    const bool wide = isHeading(row);
    const QRect reached(0, rect.y(), wide ? width() : headerWidth_, rect.height());
    if (!stale.intersects(reached)) continue;
    paintHeader(painter, row, rect);
    const bool marked = std::find(marked_.begin(), marked_.end(), RowKey{row.kind, row.ref}) != marked_.end();
    const bool chosen = current && &row == &rows_[*current];
    if (marked || chosen)
      painter.fillRect(rect.x(), rect.y(), kMarkWidth, rect.height(), rgb(chosen ? t.accent : t.warn));
  }
  painter.fillRect(headerWidth_ - 1, canvas.y(), 1, canvas.height(), rgb(t.line));
  painter.setClipping(false);
}

void TimelineView::paintHeader(QPainter& painter, const Row& row, const QRect& rect) {
  const Theme& t = theme(dark_);
  QFont font = painter.font();
  font.setPixelSize(12);
  font.setBold(isHeading(row));
  painter.setFont(font);
  painter.setPen(rgb(t.text));
  if (row.kind == Row::Kind::Ledger) {
    painter.drawText(QRect(34, rect.y(), headerWidth_ - 42, rect.height()), Qt::AlignVCenter, tr("where time goes"));
    return;
  }
  if (row.kind == Row::Kind::Quiet) {
    painter.setPen(rgb(t.dim));
    paintTriangle(painter, QPointF(22, rect.center().y() + 1), !row.collapsed, rgb(t.dim));
    painter.drawText(QRect(34, rect.y(), headerWidth_ - 42, rect.height()), Qt::AlignVCenter, quietWords(row.lanes));
    painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, rgb(t.grid));
    return;
  }
  if (row.kind != Row::Kind::Track) {
    painter.fillRect(rect, rgb(t.raised));
    paintTriangle(painter, QPointF(14, rect.center().y() + 1), !row.collapsed, rgb(t.dim));
    const int room = row.collapsed ? headerWidth_ - 34 : width() - 40;
    painter.drawText(QRect(kGroupLabelLeft, rect.y(), room, rect.height()), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(rowName(row), Qt::ElideRight, room));
    return;
  }
  const analyzer::Track& track = trace_->track(row.ref);
  const bool counter = track.kind == TrackKind::Counter;
  const int lineHeight = counter ? rect.height() : std::min(rect.height(), kLanePitch + 4);
  if (!counter && track.lanes.size() > 1) {
    paintTriangle(painter, QPointF(22, rect.y() + lineHeight / 2.0), !row.collapsed, rgb(t.dim));
  }
  const bool over = mouse_ && rect.contains(mouse_->toPoint());
  const int room = headerWidth_ - 34 - (row.pinned || over ? kPinWidth : 8);
  const QString label = painter.fontMetrics().elidedText(words(track.label), Qt::ElideMiddle, room);
  if (counter) {
    painter.drawText(QRect(34, rect.y() + 5, room, 16), Qt::AlignVCenter, label);
    font.setPixelSize(10);
    painter.setFont(font);
    painter.setPen(rgb(t.dim));
    painter.drawText(QRect(34, rect.y() + 22, room, 14), Qt::AlignVCenter,
                     tr("up to %1").arg(words(valueText(track.counter.highest(), track.unit))));
  } else {
    painter.drawText(QRect(34, rect.y(), room, lineHeight), Qt::AlignVCenter, label);
  }
  if (row.pinned || over) {
    const QPointF centre(headerWidth_ - kPinWidth / 2.0 - 1, rect.y() + std::min(lineHeight, 24) / 2.0);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(row.pinned ? QBrush(rgb(t.accent)) : QBrush(Qt::NoBrush));
    painter.setPen(QPen(rgb(row.pinned ? t.accent : t.dim), 1.3));
    painter.drawEllipse(centre + QPointF(0, -2.5), 3.5, 3.5);
    painter.drawLine(centre + QPointF(0, 1), centre + QPointF(0, 6));
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, rgb(t.grid));
}

int TimelineView::contentBottom() const {
  const int rows = rows_.empty() ? 0 : rows_.back().y + rows_.back().height - scroll_->value();
  return kRulerHeight + std::min(rows, height() - kRulerHeight);
}

QRectF TimelineView::eventRect(const EventPlace& place) const {
  const QRect canvas = canvasRect();
  const Lane& lane = trace_->track(place.track).lanes[static_cast<std::size_t>(place.lane)];
  const double left = std::max(view_.pixelAt(lane.startNs(place.event), canvas.width()), -20.0);
  const double right = std::min(view_.pixelAt(lane.endNs(place.event), canvas.width()), canvas.width() + 20.0);
  if (right < 0 || left > canvas.width()) return {};
  for (const Row& row : rows_) {
    if (row.kind != Row::Kind::Track || row.ref != place.track || place.lane >= row.lanes) continue;
    const int y = canvas.y() + row.y + 2 + place.lane * kLanePitch - scroll_->value();
    return {canvas.x() + left, static_cast<double>(y), std::max(2.0, right - left), kLaneHeight};
  }
  return {};
}

void TimelineView::paintBand(QPainter& painter, prof::TimeWindow window, Colour tint, const QString& caption) {
  const QRect canvas = canvasRect();
  const double left = std::max(view_.pixelAt(window.startNs, canvas.width()), -10.0);
  const double right = std::min(view_.pixelAt(window.endNs, canvas.width()), canvas.width() + 10.0);
  if (right < 0 || left > canvas.width()) return;
  const int bottom = contentBottom();
  const QRectF band(canvas.x() + left, canvas.y(), std::max(1.0, right - left), bottom - canvas.y());
  painter.fillRect(band, rgb(tint, 36));
  paintUpright(painter, QRectF(band.left(), band.top(), 1, band.height()), rgb(tint, 200));
  paintUpright(painter, QRectF(band.right(), band.top(), 1, band.height()), rgb(tint, 200));
  if (caption.isEmpty()) return;
  const int w = painter.fontMetrics().horizontalAdvance(caption) + 14;
  if (band.width() < w) return;
  const QRectF tag = captionRect(band, w);
  painter.fillRect(tag, rgb(tint));
  painter.setPen(rgb(inkOn(tint)));
  painter.drawText(tag, Qt::AlignCenter, caption);
}

bool TimelineView::hidesName(const QRectF& place) {
  const QRect canvas = canvasRect();
  if (labelPainter_.isWrittenOn(place.translated(-canvas.topLeft()), labels_, labelScale_)) return true;
  const QFontMetrics metrics(cardFont(true));
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    if (!isHeading(row) || row.collapsed) return false;
    QRectF label(0, canvas.y() + row.y - scroll_->value(), width(), row.height);
    if (!label.intersects(place)) return false;
    label.setWidth(kGroupLabelLeft + metrics.horizontalAdvance(rowName(row)));
    return label.intersects(place);
  });
}

QRectF TimelineView::captionRect(const QRectF& band, int width) {
  const QRect canvas = canvasRect();
  const double lowest = std::min<double>(contentBottom() + 6, canvas.bottom() - 6 - kCaptionHeight);
  QRectF tag(band.center().x() - width / 2.0, lowest, width, kCaptionHeight);
  for (int n = 0; n < kCaptionPlaces && tag.top() >= canvas.y(); ++n, tag.translate(0, -kCaptionStep)) {
    if (!hidesName(tag)) return tag;
  }
  tag.moveTop(lowest);
  return tag;
}

void TimelineView::paintLinks(QPainter& painter) {
  if (!selected_ || links_.empty()) return;
  const QRectF from = eventRect(*selected_);
  if (from.isNull()) return;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(rgb(theme(dark_).accent), 1.6));
  for (std::size_t i = 0; i < std::min(links_.size(), kMostArrows); ++i) {
    const QRectF to = eventRect(links_[i]);
    if (to.isNull()) continue;
    const bool forward = to.left() >= from.left();
    const QRectF& a = forward ? from : to;
    const QRectF& b = forward ? to : from;
    const QPointF start(a.left() + std::min(a.width(), 6.0), a.center().y());
    const QPointF end(b.left(), b.center().y());
    const double bend = std::clamp((end.x() - start.x()) / 2, 24.0, 160.0);
    QPainterPath path(start);
    path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
    painter.drawPath(path);
    painter.drawLine(end, end + QPointF(-6, -4));
    painter.drawLine(end, end + QPointF(-6, 4));
    painter.drawRect(to.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::paintOverlays(QPainter& painter) {
  if (!trace_) return;
  const Theme& t = theme(dark_);
  const QRect canvas = canvasRect();
  if (const QString empty = emptyWords(); !empty.isEmpty()) {
    painter.setPen(rgb(t.dim));
    painter.drawText(canvas, Qt::AlignCenter, empty);
  }
  for (std::size_t i = 0; i < std::min(highlights_.size(), kMostBands); ++i) {
    paintBand(painter, highlights_[i], t.warn, highlightCaption_);
  }
  if (area_) {
    paintBand(painter, *area_, t.accent, durationWords(area_->endNs - area_->startNs));
  }
  if (cursorMark_) {
    paintUpright(painter, QRectF(xOf(*cursorMark_) - 0.5, canvas.y(), 1, canvas.height()), rgb(t.accent, 150));
  }
  for (const Bookmark& mark : bookmarks_) {
    paintUpright(painter, QRectF(xOf(mark.timeNs) - 1, canvas.y(), 1, canvas.height()), rgb(t.warn, 140));
  }
  if (mouse_ && canvas.contains(mouse_->toPoint())) {
    paintUpright(painter, QRectF(std::floor(mouse_->x()), canvas.y(), 1, canvas.height()), rgb(t.text, 60));
  }
  const auto outline = [&](const EventPlace& place, const QColor& c, double w) {
    const QRectF rect = eventRect(place);
    if (rect.isNull()) return;
    painter.setPen(QPen(c, w));
    painter.drawRect(rect.adjusted(-1, -1, 0, 0));
  };
  if (hovered_ && hovered_ != selected_) outline(*hovered_, rgb(t.text, 170), 1);
  paintLinks(painter);
  if (selected_) outline(*selected_, rgb(t.text), 2);
}

QStringList TimelineView::hoverLines() const {
  if (!trace_) return {};
  if (hit_.row < rows_.size() && rows_[hit_.row].kind == Row::Kind::Ledger && mouse_) {
    const auto* strip = stripOf(rows_[hit_.row].ref.group);
    const QRect canvas = canvasRect();
    if (!strip || mouse_->x() < canvas.x()) return {};
    const auto at = analyzer::causeAt(*strip, view_.timeAt(mouse_->x() - canvas.x(), canvas.width()));
    if (!at.lane) return {};
    QStringList lines{
        tr("%1, %2").arg(words(analyzer::causeLabel(at.lane->cause)), durationWords(at.lane->lane.durNs(at.event)))};
    const QString what = trace_->name(at.lane->lane.name(at.event));
    if (!what.isEmpty()) lines << what;
    return lines << words(trace_->tracks->groups[rows_[hit_.row].ref.group].label);
  }
  if (!hit_.onTrack) return {};
  const analyzer::Track& track = trace_->track(hit_.track);
  const QString where = words(trace_->tracks->groups[hit_.track.group].label + " › " + track.label);
  if (track.kind == TrackKind::Counter) {
    if (hit_.event == Lane::kNone || hit_.event >= track.counter.size()) return {};
    return {words(valueText(track.counter.value(hit_.event), track.unit)), where};
  }
  if (hit_.lane < 0) return {};
  if (hit_.event != Lane::kNone) {
    const Lane& lane = track.lanes[static_cast<std::size_t>(hit_.lane)];
    return {trace_->name(lane.name(hit_.event)),
            tr("%1, from %2").arg(durationWords(lane.durNs(hit_.event)), momentWords(lane.startNs(hit_.event))), where};
  }
  if (!hit_.cell.occupied()) return {};
  return {tr("about %1 events").arg(words(prof::scaledCount(std::round(hit_.cell.count)))),
          tr("longest: %1, %2").arg(trace_->name(hit_.cell.name), durationWords(hit_.cell.longestNs)),
          tr("%1 of this stretch is covered").arg(percentWords(hit_.cell.busy)), where};
}

QFont TimelineView::cardFont(bool bold) const {
  QFont font = this->font();
  font.setPixelSize(12);
  font.setBold(bold);
  return font;
}

TimelineView::HoverCard TimelineView::hoverCard() const {
  HoverCard card;
  if (mouse_ && drag_ == Drag::None) card.lines = hoverLines();
  if (card.lines.isEmpty()) return card;
  const QFontMetrics metrics(cardFont(true));
  const int most = std::min(460, width() - 40);
  int w = 0;
  for (const QString& line : card.lines) w = std::max(w, std::min(most, metrics.horizontalAdvance(line)));
  card.lineHeight = metrics.height() + 3;
  const int lineCount = static_cast<int>(card.lines.size());
  const QSize size(w + 2 * kCardPadding, lineCount * card.lineHeight + 2 * kCardPadding - 3);
  const QRectF event = hovered_ ? eventRect(*hovered_) : QRectF(*mouse_ - QPointF(2, 10), QSizeF(4, 20));
  // Below the event, or above it where the window ends: never on it.
  int y = static_cast<int>(event.bottom()) + 12;
  if (y + size.height() > height() - 4) y = static_cast<int>(event.top()) - size.height() - 12;
  const int x = std::clamp(static_cast<int>(mouse_->x()) + 14, 4, std::max(4, width() - size.width() - 8));
  card.rect = QRect(QPoint(x, y), size);
  return card;
}

void TimelineView::paintHoverCard(QPainter& painter, const HoverCard& card) {
  const Theme& t = theme(dark_);
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
    painter.setFont(cardFont(first));
    painter.setPen(rgb(first ? t.text : t.dim));
    painter.drawText(line, Qt::AlignVCenter,
                     QFontMetrics(painter.font()).elidedText(text, Qt::ElideMiddle, line.width()));
    line.translate(0, card.lineHeight);
  }
}

QRegion TimelineView::hoverRegion(const HoverCard& card) const {
  if (!mouse_) return {};
  const QRect canvas = canvasRect();
  const QPoint at = mouse_->toPoint();
  QRegion region(0, 0, width(), kRulerHeight);
  region += QRect(at.x() - 2, canvas.y(), 5, canvas.height());
  if (hovered_) region += eventRect(*hovered_).toAlignedRect().adjusted(-3, -3, 3, 3);
  region += card.rect;
  // The pin of the track that the mouse is on the name of.
  if (const std::size_t row = rowAt(rows_, at.y() - canvas.y() + scroll_->value()); row < rows_.size()) {
    region += rowRect(row) & QRect(0, canvas.y(), headerWidth_, canvas.height());
  }
  return region;
}

}  // namespace lacuna::gui
