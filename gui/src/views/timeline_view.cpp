// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_view.h"

#include <QScrollBar>
#include <QStyle>
#include <algorithm>

#include "base/words.h"
#include "timeline/text.h"
#include "views/timeline_accessible.h"
#include "views/timeline_metrics.h"

namespace lacuna::gui {

using analyzer::Lane;

namespace {

/// Small moves closer together than this are one move for back().
constexpr qint64 kNewMoveAfterMs = 800;
constexpr double kFewPixels = 8;    // too few to see an event
constexpr double kAroundShort = 8;  // of its length, to be shown on both sides of one that was too short
constexpr double kAroundLong = 0.1;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QWidget(parent), scroll_(new QScrollBar(Qt::Vertical, this)) {
  installTimelineAccessibility();  // first: whoever asks for the view's tree before gets, and keeps, one without tracks
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumSize(480, 160);
  setAccessibleName(tr("Timeline"));
  connect(scroll_, &QScrollBar::valueChanged, this, &TimelineView::invalidate);
  sinceMove_.start();
}

void TimelineView::setTrace(const TracePtr& trace) {
  trace_ = trace;
  labelPainter_.setTrace(trace);
  selected_.reset();
  hovered_.reset();
  area_.reset();
  links_.clear();
  setHighlights({}, {});
  bookmarks_.clear();
  cursorMark_.reset();
  measuredFrom_.reset();
  row_.reset();
  marked_.clear();
  options_ = {};
  ledgers_ = nullptr;
  history_ = {};
  hit_ = {};
  drag_ = Drag::None;  // it would go on in the stretch of the trace before
  view_ = trace ? Viewport(trace->tracks->span) : Viewport();
  relayOut();
  scroll_->setValue(0);
  Q_EMIT appearanceChanged();
  Q_EMIT viewportChanged();
  Q_EMIT selectionChanged();
}

void TimelineView::setDark(bool dark) {
  dark_ = dark;
  invalidate();
  Q_EMIT appearanceChanged();
}

void TimelineView::setLedgers(LedgerStrips strips) {
  const bool shown = selected_ && showsLane(*selected_);
  ledgers_ = std::move(strips);
  options_.ledgers.clear();
  for (std::size_t g = 0; trace_ && g < trace_->tracks->groups.size(); ++g) {
    if (stripOf(g)) options_.ledgers.insert(g);
  }
  relayOut();
  if (shown) scrollToLane(*selected_);
  Q_EMIT appearanceChanged();
}

const analyzer::LedgerStrip* TimelineView::stripOf(std::size_t group) const {
  if (!ledgers_ || !trace_->tracks->groups[group].isDevice) return nullptr;
  const prof::DeviceId device = trace_->tracks->groups[group].device;
  for (const analyzer::LedgerStrip& strip : *ledgers_) {
    if (strip.device == device && !strip.causes.empty()) return &strip;
  }
  return nullptr;
}

void TimelineView::setViewport(const Viewport& view, Move move) {
  if (view == view_) return;
  if (move == Move::Jump || sinceMove_.elapsed() > kNewMoveAfterMs) history_.leave(view_);
  sinceMove_.restart();
  view_ = view;
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::back() {
  view_ = history_.back(view_);
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::forward() {
  view_ = history_.forward(view_);
  invalidate();
  Q_EMIT viewportChanged();
}

void TimelineView::fit() {
  setViewport(view_.fitted(), Move::Jump);
}

void TimelineView::toEnd() {
  setViewport(view_.movedTo(view_.trace().endNs), Move::Jump);
}

void TimelineView::clearSelection() {
  measuredFrom_.reset();
  row_.reset();
  select(std::nullopt);
  setArea(std::nullopt);
  setHighlights({}, {});
}

void TimelineView::zoomToSelection() {
  if (area_) return setViewport(view_.showing(*area_), Move::Jump);
  if (!selected_ || !trace_) return;
  setViewport(view_.showing(windowOf(*selected_), 0.5), Move::Jump);
}

void TimelineView::setRowOptions(const RowOptions& options) {
  options_ = options;
  if (ledgers_) {
    for (std::size_t g = 0; trace_ && g < trace_->tracks->groups.size(); ++g) {
      if (stripOf(g)) options_.ledgers.insert(g);
    }
  }
  relayOut();
  Q_EMIT rowOptionsChanged();
}

void TimelineView::toggleQuiet() {
  RowOptions options = options_;
  const bool any = !options.quietShown.empty();
  options.quietShown.clear();
  for (const Row& row : rows_) {
    if (!any && row.kind == Row::Kind::Quiet) options.quietShown.insert(row.ref.group);
  }
  setRowOptions(options);
}

void TimelineView::relayOut() {
  rows_ = trace_ ? layOut(*trace_->tracks, options_) : std::vector<Row>();
  updateScrollBar();
  invalidate();
}

void TimelineView::invalidate() {
  baseStale_ = true;
  nextCard_.reset();
  if (mouse_ && drag_ == Drag::None) hit_ = hitAt(*mouse_);
  update();
}

void TimelineView::setArea(std::optional<prof::TimeWindow> area) {
  area_ = area;
  if (area) {
    say(tr("%1 selected, from %2").arg(durationWords(area->endNs - area->startNs), momentWords(area->startNs)));
  }
  update();
  Q_EMIT areaChanged();
}

void TimelineView::setHighlights(std::vector<prof::TimeWindow> windows, const QString& caption) {
  highlights_ = std::move(windows);
  highlightCaption_ = caption;
  marked_.clear();
  update();
  Q_EMIT highlightsChanged();
}

void TimelineView::showRows(const std::vector<RowKey>& rows) {
  if (!trace_) return;
  marked_ = rows;
  setRowOptions(showing(*trace_->tracks, options_, rows));
  scroll_->setValue(scrollTo(rows_, rows, scroll_->value(), canvasRect().height()));
}

void TimelineView::setLinks(std::vector<EventPlace> links) {
  links_ = std::move(links);
  update();
}

void TimelineView::setCursorMark(std::optional<prof::TimeNs> timeNs) {
  cursorMark_ = timeNs;
  update();
}

void TimelineView::setBookmarks(std::vector<Bookmark> bookmarks) {
  bookmarks_ = std::move(bookmarks);
  update();
  Q_EMIT bookmarksChanged();
}

void TimelineView::select(std::optional<EventPlace> place) {
  if (place == selected_) return;
  selected_ = place;
  links_.clear();
  if (place) setCurrentRow(RowKey{Row::Kind::Track, place->track});
  say(place ? describe(*place) : QString());
  if (place && measuredFrom_) measureTo(*place);
  update();
  Q_EMIT selectionChanged();
}

void TimelineView::revealLane(const EventPlace& place) {
  if (!trace_) return;
  RowOptions options = options_;
  options.collapsedGroups.erase(place.track.group);
  options.collapsedTracks.erase(place.track);
  options.filter.clear();
  setRowOptions(options);
  scrollToLane(place);
}

void TimelineView::reveal(const EventPlace& place) {
  if (!trace_) return;
  revealLane(place);
  const prof::TimeWindow window = windowOf(place);
  const double pixels = static_cast<double>(window.endNs - window.startNs) / view_.nsPerPixel(canvasWidth());
  const bool inside = window.startNs >= view_.startNs() && window.endNs <= view_.endNs();
  if (pixels < kFewPixels || pixels > canvasWidth()) {
    setViewport(view_.showing(window, pixels < kFewPixels ? kAroundShort : kAroundLong), Move::Jump);
  } else if (!inside) {
    setViewport(view_.movedTo((window.startNs + window.endNs - view_.spanNs()) / 2), Move::Jump);
  }
  select(place);
}

std::optional<int> TimelineView::laneY(const EventPlace& place) const {
  for (const Row& row : rows_) {
    if (row.kind == Row::Kind::Track && row.ref == place.track) return row.y + place.lane * kLanePitch;
  }
  return std::nullopt;
}

bool TimelineView::showsLane(const EventPlace& place) const {
  const auto y = laneY(place);
  return y && *y >= scroll_->value() && *y + kLanePitch <= scroll_->value() + canvasRect().height();
}

void TimelineView::scrollToLane(const EventPlace& place) {
  const auto y = laneY(place);
  if (y && !showsLane(place)) scroll_->setValue(*y - canvasRect().height() / 3);
}

QRect TimelineView::canvasRect() const {
  const int bar = scroll_->isVisibleTo(this) ? scroll_->width() : 0;
  return {headerWidth_, kRulerHeight, std::max(1, width() - headerWidth_ - bar), std::max(1, height() - kRulerHeight)};
}

prof::TimeNs TimelineView::momentOfInterest() const {
  const QRect canvas = canvasRect();
  const auto shown = [&](prof::TimeNs at) { return at >= view_.startNs() && at < view_.endNs(); };
  const bool over = mouse_ && canvas.contains(QPoint(static_cast<int>(mouse_->x()), canvas.y()));
  if (over && !byKeys_) return view_.timeAt(mouse_->x() - canvas.x(), canvas.width());
  if (cursorMark_ && shown(*cursorMark_)) return *cursorMark_;
  if (selected_ && shown(windowOf(*selected_).startNs)) return windowOf(*selected_).startNs;
  return view_.startNs() + view_.spanNs() / 2;
}

int TimelineView::canvasWidth() const {
  return canvasRect().width();
}

Scene TimelineView::scene(double scale) const {
  return {trace_ ? trace_->tracks.get() : nullptr, rows_, view_, scroll_->value(), scale};
}

QRect TimelineView::rowRect(std::size_t row) const {
  return {0, kRulerHeight + rows_[row].y - scroll_->value(), width(), rows_[row].height};
}

void TimelineView::updateScrollBar() {
  const int content = rows_.empty() ? 0 : rows_.back().y + rows_.back().height;
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

Hit TimelineView::hitAt(QPointF pos) const {
  const QRect canvas = canvasRect();
  if (!trace_ || !canvas.contains(pos.toPoint())) return {};
  return hitTest(scene(1), pos.x() - canvas.x(), static_cast<int>(pos.y()) - canvas.y() + scroll_->value(),
                 canvas.width());
}

QString TimelineView::momentWords(prof::TimeNs timeNs) const {
  const auto pixelNs = static_cast<prof::TimeNs>(view_.nsPerPixel(canvasWidth()));
  return words(momentText(timeNs - view_.trace().startNs, std::clamp<prof::TimeNs>(pixelNs, 1, 1000)));
}

QString TimelineView::emptyWords() const {
  if (!trace_ || !rows_.empty()) return {};
  return options_.filter.empty() ? tr("This trace has no events.")
                                 : tr("No track has \"%1\" in its name.").arg(words(options_.filter));
}

QString TimelineView::quietWords(int counters) {
  return counters == 1 ? tr("1 counter at zero") : tr("%1 counters at zero").arg(counters);
}

prof::TimeWindow TimelineView::windowOf(const EventPlace& place) const {
  const Lane& lane = trace_->track(place.track).lanes[static_cast<std::size_t>(place.lane)];
  return {lane.startNs(place.event), lane.endNs(place.event)};
}

QString TimelineView::describe(const EventPlace& place) const {
  const analyzer::Track& track = trace_->track(place.track);
  const Lane& lane = track.lanes[static_cast<std::size_t>(place.lane)];
  return tr("%1, %2, on %3")
      .arg(trace_->name(lane.name(place.event)), durationWords(lane.durNs(place.event)), words(track.label));
}

}  // namespace lacuna::gui
