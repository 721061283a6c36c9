// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "views/timeline_metrics.h"
#include "views/timeline_view.h"

/// The effects of mouse and wheel on the timeline, and which events lie beside each other.
namespace lacuna::gui {

using analyzer::Lane;
using prof::TimeNs;

namespace {

constexpr double kWheelPan = 0.12;  // for each notch of 120
constexpr int kWheelScroll = 3 * kLanePitch;
constexpr int kNotch = 120;  // a touchpad reports less at a time
constexpr int kDragFromPx = 4;

}  // namespace

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  const double share = std::clamp((event->position().x() - headerWidth_) / canvasWidth(), 0.0, 1.0);
  if (event->modifiers() & Qt::ControlModifier) {
    setViewport(view_.zoomed(std::pow(kWheelZoom, delta.y() / 120.0), share));
  } else if (event->modifiers() & Qt::ShiftModifier || std::abs(delta.x()) > std::abs(delta.y())) {
    const int along = delta.x() != 0 ? delta.x() : delta.y();
    setViewport(view_.panned(-along / 120.0 * kWheelPan));
  } else if (scroll_->isVisibleTo(this)) {
    wheelRest_ += delta.y() * kWheelScroll;
    const int pixels = wheelRest_ / kNotch;
    wheelRest_ -= pixels * kNotch;
    scroll_->setValue(scroll_->value() - pixels);
  } else {
    setViewport(view_.zoomed(std::pow(kWheelZoom, delta.y() / 120.0), share));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  nextCard_.reset();
  pressed_ = event->position();
  pressedView_ = view_;
  pressedScroll_ = scroll_->value();
  if (event->button() == Qt::MiddleButton) {
    drag_ = Drag::Pan;
  } else if (event->button() == Qt::LeftButton) {
    const bool ruler = pressed_.y() < kRulerHeight;
    if (std::abs(pressed_.x() - headerWidth_) < 4) {
      drag_ = Drag::HeaderWidth;
    } else if (pressed_.x() < headerWidth_) {
      clickHeader(pressed_);
    } else if (ruler || event->modifiers() & Qt::ShiftModifier) {
      drag_ = Drag::Area;
    } else {
      drag_ = Drag::Maybe;
    }
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF pos = event->position();
  mouse_ = pos;
  byKeys_ = false;
  nextCard_.reset();
  const QRect canvas = canvasRect();
  if (drag_ == Drag::Maybe && (pos - pressed_).manhattanLength() >= kDragFromPx) drag_ = Drag::Pan;
  if (drag_ == Drag::Pan) {
    setCursor(Qt::ClosedHandCursor);
    scroll_->setValue(pressedScroll_ - static_cast<int>(pos.y() - pressed_.y()));
    setViewport(pressedView_.panned((pressed_.x() - pos.x()) / canvas.width()));
  } else if (drag_ == Drag::Area) {
    // Beside the trace nothing was idle.
    const auto within = [&](double x) {
      return std::clamp(view_.timeAt(x - canvas.x(), canvas.width()), view_.trace().startNs, view_.trace().endNs);
    };
    const auto [from, to] = std::minmax({within(pressed_.x()), within(pos.x())});
    setArea(from == to ? std::nullopt : std::optional(prof::TimeWindow{from, to}));
  } else if (drag_ == Drag::HeaderWidth) {
    headerWidth_ = std::clamp(static_cast<int>(pos.x()), 100, std::max(101, width() / 2));
    invalidate();
    Q_EMIT viewportChanged();
  } else {
    hit_ = hitAt(pos);
    hovered_.reset();
    if (hit_.lane >= 0 && hit_.event != Lane::kNone) hovered_ = EventPlace{hit_.track, hit_.lane, hit_.event};
    setCursor(std::abs(pos.x() - headerWidth_) < 4 ? Qt::SplitHCursor
              : hovered_                           ? Qt::PointingHandCursor
                                                   : Qt::ArrowCursor);
  }
  if (canvas.contains(pos.toPoint())) Q_EMIT cursorMoved(view_.timeAt(pos.x() - canvas.x(), canvas.width()));
  if (drag_ == Drag::None && hasWholePixels(devicePixelRatioF())) {
    nextCard_ = hoverCard();
    update(hoverPainted_ + hoverRegion(*nextCard_));
  } else {
    update();
  }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  nextCard_.reset();
  if (drag_ == Drag::Maybe) {
    hit_ = hitAt(event->position());
    if (trace_) {
      setCursorMark(view_.timeAt(event->position().x() - headerWidth_, canvasWidth()));
      Q_EMIT momentPicked(*cursorMark_);
    }
    const bool onEvent = hit_.lane >= 0 && hit_.event != Lane::kNone;
    const EventPlace clicked{hit_.track, hit_.lane, hit_.event};
    if (onEvent && selected_ && event->modifiers() & Qt::ControlModifier) {
      measureTo(clicked);
    } else if (onEvent) {
      select(clicked);
    } else {
      select(std::nullopt);
      setArea(std::nullopt);
    }
  } else if (drag_ == Drag::Area && (event->position() - pressed_).manhattanLength() < kDragFromPx) {
    setArea(std::nullopt);
  }
  drag_ = Drag::None;
  unsetCursor();
}

void TimelineView::measureTo(const EventPlace& other) {
  const prof::TimeWindow a = windowOf(measuredFrom_.value_or(*selected_));
  const prof::TimeWindow b = windowOf(other);
  setArea(prof::TimeWindow{std::min(a.startNs, b.startNs), std::max(a.endNs, b.endNs)});
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const Hit hit = hitAt(event->position());
  if (hit.lane < 0 || hit.event == Lane::kNone) return;
  select(EventPlace{hit.track, hit.lane, hit.event});
  zoomToSelection();
}

void TimelineView::leaveEvent(QEvent*) {
  mouse_.reset();
  nextCard_.reset();
  hovered_.reset();
  hit_ = {};
  update();
}

void TimelineView::clickHeader(QPointF pos) {
  const std::size_t i = rowAt(rows_, static_cast<int>(pos.y()) - kRulerHeight + scroll_->value());
  if (pos.y() < kRulerHeight || i >= rows_.size()) return;
  const Row row = rows_[i];
  toggle(row, row.kind == Row::Kind::Track && pos.x() > headerWidth_ - kPinWidth);
  if (row.kind != Row::Kind::PinHeader) setCurrentRow(RowKey{row.kind, row.ref});
}

void TimelineView::selectNeighbour(int step) {
  if (!selected_) return selectSomething();
  const Lane& lane = trace_->track(selected_->track).lanes[static_cast<std::size_t>(selected_->lane)];
  const auto next = static_cast<std::ptrdiff_t>(selected_->event) + step;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(lane.size())) return;
  reveal({selected_->track, selected_->lane, static_cast<std::size_t>(next)});
}

void TimelineView::selectSomething() {
  for (const Row& row : rows_) {
    if (row.kind != Row::Kind::Track || row.y + row.height <= scroll_->value()) continue;
    const analyzer::Track& track = trace_->track(row.ref);
    for (int n = 0; n < row.lanes; ++n) {
      const Lane& lane = track.lanes[static_cast<std::size_t>(n)];
      std::size_t event = lane.at(view_.startNs() + view_.spanNs() / 2);
      if (event == Lane::kNone) event = lane.lowerBound(view_.startNs());
      if (event < lane.size() && lane.startNs(event) < view_.endNs()) return select(EventPlace{row.ref, n, event});
    }
  }
}

void TimelineView::selectAcross(int step) {
  if (!selected_) return selectSomething();
  const Lane& from = trace_->track(selected_->track).lanes[static_cast<std::size_t>(selected_->lane)];
  const TimeNs at = from.startNs(selected_->event) + from.durNs(selected_->event) / 2;
  std::vector<std::pair<TrackRef, int>> lanes;
  std::size_t here = 0;
  // A pinned row is there twice; only its place in its group counts.
  const auto first =
      std::find_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.kind == Row::Kind::Group; });
  for (const Row& row : std::span(first, rows_.end())) {
    if (row.kind != Row::Kind::Track) continue;
    for (int n = 0; n < row.lanes; ++n) {
      if (row.ref == selected_->track && n == selected_->lane) here = lanes.size();
      lanes.emplace_back(row.ref, n);
    }
  }
  for (std::size_t i = here + static_cast<std::size_t>(step); i < lanes.size(); i += static_cast<std::size_t>(step)) {
    const auto& [ref, n] = lanes[i];
    const Lane& lane = trace_->track(ref).lanes[static_cast<std::size_t>(n)];
    std::size_t event = lane.at(at);
    if (event == Lane::kNone) event = lane.lowerBound(std::max(at, view_.startNs()));
    if (event >= lane.size() || lane.startNs(event) >= view_.endNs()) continue;
    // The view stays where it is: what lies in other tracks at the same time is to be seen together.
    scrollToLane({ref, n, event});
    return select(EventPlace{ref, n, event});
  }
}

void TimelineView::selectNested(int step) {
  if (!selected_) return;
  const auto& lanes = trace_->track(selected_->track).lanes;
  const int to = selected_->lane + step;
  if (to < 0 || to >= static_cast<int>(lanes.size())) return;
  const Lane& from = lanes[static_cast<std::size_t>(selected_->lane)];
  const Lane& lane = lanes[static_cast<std::size_t>(to)];
  const std::size_t event = lane.lowerBound(from.startNs(selected_->event));
  if (event < lane.size() && lane.startNs(event) < from.endNs(selected_->event)) reveal({selected_->track, to, event});
}

}  // namespace lacuna::gui
