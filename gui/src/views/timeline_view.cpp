// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_view.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <algorithm>
#include <utility>

#include "base/words.h"
#include "views/timeline_accessible.h"
#include "views/timeline_metrics.h"
#include "views/timeline_paint.h"
#include "views/timeline_words.h"

namespace lacuna::gui {

namespace {

constexpr double kFewPixels = 8;  // too few to see an event
constexpr double kAroundShort =
    8;  // of its length, to be shown on both sides of one that was too short
constexpr double kAroundLong = 0.1;

}  // namespace

TimelineView::TimelineView(QWidget* parent)
    : QWidget(parent), scroll_(new QScrollBar(Qt::Vertical, this)) {
  installTimelineAccessibility();  // first: whoever asks for the view's tree before gets, and
                                   // keeps, one without tracks
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumSize(480, 160);
  setAccessibleName(tr("Timeline"));
  connect(scroll_, &QScrollBar::valueChanged, this, &TimelineView::invalidate);
}

void TimelineView::setTrace(const TracePtr& trace) {
  model_.setTrace(trace);
  picture_.setTrace(trace);
  selection_ = {};
  pointer_.forgetHit();
  pointer_.drag = TimelinePointer::Drag::None;  // it would go on in the stretch of the trace before
  Q_EMIT highlightsChanged();
  followRows();
  scroll_->setValue(0);
  Q_EMIT appearanceChanged();
  Q_EMIT viewportChanged();
  Q_EMIT selectionChanged();
}

void TimelineView::setGrown(const TracePtr& trace) {
  const TracePtr old = model_.trace();
  const bool selected = selection_.event.has_value();
  model_.setGrown(trace);
  picture_.setTrace(trace);
  selection_.moveTo(*old, *trace);
  pointer_.forgetHit();
  pointer_.pressedView = pointer_.pressedView.within(trace->tracks->span);
  followRows();
  Q_EMIT rowOptionsChanged();
  Q_EMIT appearanceChanged();
  Q_EMIT viewportChanged();
  if (selected) Q_EMIT selectionChanged();
}

void TimelineView::setDark(bool dark) {
  dark_ = dark;
  invalidate();
  Q_EMIT appearanceChanged();
}

void TimelineView::setLedgers(LedgerStrips strips) {
  const bool shown = selection_.event && showsLane(*selection_.event);
  model_.setLedgers(std::move(strips));
  followRows();
  if (shown) scrollToLane(*selection_.event);
  Q_EMIT appearanceChanged();
}

void TimelineView::setViewport(const Viewport& view, Move move) {
  if (view == viewport()) return;
  model_.setViewport(view, move == Move::Jump);
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::back() {
  model_.back();
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::forward() {
  model_.forward();
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::fit() {
  setViewport(viewport().fitted(), Move::Jump);
}

void TimelineView::toEnd() {
  setViewport(viewport().movedTo(viewport().trace().endNs), Move::Jump);
}

void TimelineView::clearSelection() {
  selection_.measuredFrom.reset();
  selection_.row.reset();
  select(std::nullopt);
  setArea(std::nullopt);
  setHighlights({}, {});
}

void TimelineView::zoomToSelection() {
  if (selection_.area) return setViewport(viewport().showing(*selection_.area), Move::Jump);
  if (!selection_.event || !trace()) return;
  setViewport(viewport().showing(windowOf(*trace(), *selection_.event), 0.5), Move::Jump);
}

void TimelineView::setRowOptions(const RowOptions& options) {
  model_.setRowOptions(options);
  followRows();
  Q_EMIT rowOptionsChanged();
}

void TimelineView::toggle(const Row& row, bool pin) {
  model_.toggle(row, pin);
  followRows();
  Q_EMIT rowOptionsChanged();
}

void TimelineView::toggleAllGroups() {
  model_.toggleAllGroups();
  followRows();
  Q_EMIT rowOptionsChanged();
}

void TimelineView::toggleQuiet() {
  model_.toggleQuiet();
  followRows();
  Q_EMIT rowOptionsChanged();
}

void TimelineView::followRows() {
  updateScrollBar();
  invalidate();
}

void TimelineView::invalidate() {
  picture_.invalidate();
  nextCard_.reset();
  if (pointer_.mouse && pointer_.drag == TimelinePointer::Drag::None) {
    pointer_.hit = frame().hitAt(model_, *pointer_.mouse);
  }
  update();
}

void TimelineView::setArea(std::optional<prof::TimeWindow> area) {
  selection_.area = area;
  if (area) {
    const QString from = momentWords(viewport(), canvasWidth(), area->startNs);
    announce(tr("%1 selected, from %2").arg(durationWords(area->endNs - area->startNs), from));
  }
  update();
  Q_EMIT areaChanged();
}

void TimelineView::setHighlights(std::vector<prof::TimeWindow> windows, const QString& caption) {
  selection_.highlights = std::move(windows);
  selection_.caption = caption;
  selection_.marked.clear();
  update();
  Q_EMIT highlightsChanged();
}

void TimelineView::showRows(const std::vector<RowKey>& rows) {
  if (!trace()) return;
  selection_.marked = rows;
  setRowOptions(showing(*trace()->tracks, rowOptions(), rows));
  scroll_->setValue(scrollTo(model_.rows(), rows, scroll_->value(), canvasRect().height()));
}

void TimelineView::setLinks(std::vector<EventPlace> links) {
  selection_.links = std::move(links);
  update();
}

void TimelineView::setCursorMark(std::optional<prof::TimeNs> timeNs) {
  selection_.cursorMark = timeNs;
  update();
}

void TimelineView::setBookmarks(std::vector<Bookmark> bookmarks) {
  model_.setBookmarks(std::move(bookmarks));
  update();
  Q_EMIT bookmarksChanged();
}

void TimelineView::select(std::optional<EventPlace> place) {
  if (place == selection_.event) return;
  selection_.event = place;
  selection_.links.clear();
  if (place) setCurrentRow(RowKey{Row::Kind::Track, place->track});
  announce(place ? describe(*place) : QString());
  if (place && measuring()) measureTo(*place);
  update();
  Q_EMIT selectionChanged();
}

void TimelineView::measureTo(const EventPlace& other) {
  setArea(selection_.measuredTo(*trace(), other));
}

void TimelineView::revealLane(const EventPlace& place) {
  if (!trace()) return;
  RowOptions options = rowOptions();
  options.collapsedGroups.erase(place.track.group);
  options.collapsedTracks.erase(place.track);
  options.filter.clear();
  setRowOptions(options);
  scrollToLane(place);
}

void TimelineView::reveal(const EventPlace& place) {
  if (!trace()) return;
  revealLane(place);
  const prof::TimeWindow window = windowOf(*trace(), place);
  const Viewport& view = viewport();
  const double pixels =
      static_cast<double>(window.endNs - window.startNs) / view.nsPerPixel(canvasWidth());
  const bool inside = window.startNs >= view.startNs() && window.endNs <= view.endNs();
  if (pixels < kFewPixels || pixels > canvasWidth()) {
    setViewport(view.showing(window, pixels < kFewPixels ? kAroundShort : kAroundLong), Move::Jump);
  } else if (!inside) {
    setViewport(view.movedTo((window.startNs + window.endNs - view.spanNs()) / 2), Move::Jump);
  }
  select(place);
}

bool TimelineView::showsLane(const EventPlace& place) const {
  const auto y = model_.laneY(place);
  return y && frame().showsLaneAt(*y);
}

void TimelineView::scrollToLane(const EventPlace& place) {
  const auto y = model_.laneY(place);
  if (y && !showsLane(place)) scroll_->setValue(*y - canvasRect().height() / 3);
}

prof::TimeNs TimelineView::momentOfInterest() const {
  const TimelineFrame at = frame();
  const Viewport& view = viewport();
  const auto shown = [&](prof::TimeNs moment) {
    return moment >= view.startNs() && moment < view.endNs();
  };
  const auto& mouse = pointer_.mouse;
  if (mouse && at.isAcross(*mouse) && !pointer_.byKeys) return at.timeAt(view, mouse->x());
  if (selection_.cursorMark && shown(*selection_.cursorMark)) return *selection_.cursorMark;
  if (selection_.event) {
    const prof::TimeNs begin = windowOf(*trace(), *selection_.event).startNs;
    if (shown(begin)) return begin;
  }
  return view.startNs() + view.spanNs() / 2;
}

QRect TimelineView::canvasRect() const {
  const int bar = scroll_->isVisibleTo(this) ? scroll_->width() : 0;
  return {headerWidth_, kRulerHeight, std::max(1, width() - headerWidth_ - bar),
          std::max(1, height() - kRulerHeight)};
}

int TimelineView::canvasWidth() const {
  return canvasRect().width();
}

TimelineFrame TimelineView::frame() const {
  return {size(), canvasRect(), scroll_->value()};
}

TimelineState TimelineView::state() const {
  return {model_, selection_, pointer_, frame(), font(), dark_};
}

QRect TimelineView::rowRect(std::size_t row) const {
  return frame().rowRect(rows()[row]);
}

QRectF TimelineView::eventRect(const EventPlace& place) const {
  return frame().eventRect(model_, place);
}

void TimelineView::updateScrollBar() {
  const int content = rows().empty() ? 0 : rows().back().y + rows().back().height;
  const int page = height() - kRulerHeight;
  const int bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, scroll_);
  scroll_->setGeometry(width() - bar, kRulerHeight, bar, std::max(0, page));
  scroll_->setPageStep(page);
  scroll_->setSingleStep(kLanePitch);
  scroll_->setRange(0, std::max(0, content - page));
  scroll_->setVisible(content > page);
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateScrollBar();
  invalidate();
}

void TimelineView::renderNow() {
  picture_.render(state(), devicePixelRatioF());
}

void TimelineView::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const TimelineState now = state();
  picture_.paint(painter, now, event->region());
  painter.save();
  painter.setClipRect(now.frame.canvas);
  paintOverlays(painter, now, picture_);
  painter.restore();
  paintRowNames(painter, now, event->region());
  paintRuler(painter, now);
  const HoverCard card = nextCard_ ? *std::exchange(nextCard_, std::nullopt) : hoverCard(now);
  if (!card.lines.isEmpty()) paintHoverCard(painter, now, card);
  hoverPainted_ = hoverRegion(now, card);
}

QString TimelineView::rowName(const Row& row) const {
  return nameOfRow(*trace(), row);
}

QString TimelineView::emptyWords() const {
  return wordsForNoRows(model_);
}

QString TimelineView::quietWords(int counters) {
  return nameOfQuiet(counters);
}

QString TimelineView::describe(const EventPlace& place) const {
  return nameOfEvent(*trace(), place);
}

}  // namespace lacuna::gui
