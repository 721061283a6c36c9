// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <optional>

#include "views/timeline_metrics.h"
#include "views/timeline_view.h"

/// The effects of mouse and wheel on the timeline.
namespace lacuna::gui {

using Drag = TimelinePointer::Drag;

namespace {

constexpr double kWheelPan = 0.12;  // for each notch of 120
constexpr int kEdgeReach = 4;       // pixels to both sides of the edge of the names

}  // namespace

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  const double share = std::clamp((event->position().x() - headerWidth_) / canvasWidth(), 0.0, 1.0);
  if (event->modifiers() & Qt::ControlModifier) {
    setViewport(viewport().zoomed(std::pow(kWheelZoom, delta.y() / 120.0), share));
  } else if (event->modifiers() & Qt::ShiftModifier || std::abs(delta.x()) > std::abs(delta.y())) {
    const int along = delta.x() != 0 ? delta.x() : delta.y();
    setViewport(viewport().panned(-along / 120.0 * kWheelPan));
  } else if (scroll_->isVisibleTo(this)) {
    scroll_->setValue(scroll_->value() - pointer_.wheelPixels(delta.y()));
  } else {
    setViewport(viewport().zoomed(std::pow(kWheelZoom, delta.y() / 120.0), share));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  nextCard_.reset();
  pointer_.press(event->position(), viewport(), scroll_->value());
  if (event->button() == Qt::MiddleButton) pointer_.drag = Drag::Pan;
  if (event->button() == Qt::LeftButton) pressLeft(event->modifiers());
}

void TimelineView::pressLeft(Qt::KeyboardModifiers keys) {
  const QPointF pos = pointer_.pressed;
  if (std::abs(pos.x() - headerWidth_) < kEdgeReach) {
    pointer_.drag = Drag::HeaderWidth;
  } else if (pos.x() < headerWidth_) {
    clickHeader(pos);
  } else if (pos.y() < kRulerHeight || keys & Qt::ShiftModifier) {
    pointer_.drag = Drag::Area;
  } else {
    pointer_.drag = Drag::Maybe;
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF pos = event->position();
  pointer_.mouse = pos;
  pointer_.byKeys = false;
  nextCard_.reset();
  const TimelineFrame before = frame();
  if (pointer_.drag == Drag::Maybe && pointer_.isDraggedTo(pos)) pointer_.drag = Drag::Pan;
  dragTo(pos);
  if (before.canvas.contains(pos.toPoint())) Q_EMIT cursorMoved(before.timeAt(viewport(), pos.x()));
  updateHover();
}

void TimelineView::dragTo(QPointF pos) {
  if (pointer_.drag == Drag::Pan) {
    panTo(pos);
  } else if (pointer_.drag == Drag::Area) {
    selectAreaTo(pos);
  } else if (pointer_.drag == Drag::HeaderWidth) {
    headerWidth_ = std::clamp(static_cast<int>(pos.x()), 100, std::max(101, width() / 2));
    invalidate();
    Q_EMIT viewportChanged();
  } else {
    hoverOver(pos);
  }
}

void TimelineView::panTo(QPointF pos) {
  const QPointF from = pointer_.pressed;
  setCursor(Qt::ClosedHandCursor);
  scroll_->setValue(pointer_.pressedScroll - static_cast<int>(pos.y() - from.y()));
  setViewport(pointer_.pressedView.panned((from.x() - pos.x()) / canvasWidth()));
}

void TimelineView::selectAreaTo(QPointF pos) {
  const TimelineFrame at = frame();
  const Viewport& view = viewport();
  // Beside the trace nothing was idle.
  const auto within = [&](double x) {
    return std::clamp(at.timeAt(view, x), view.trace().startNs, view.trace().endNs);
  };
  const auto [from, to] = std::minmax({within(pointer_.pressed.x()), within(pos.x())});
  setArea(from == to ? std::nullopt : std::optional(prof::TimeWindow{from, to}));
}

void TimelineView::hoverOver(QPointF pos) {
  pointer_.hit = frame().hitAt(model_, pos);
  pointer_.hovered = eventOfHit(pointer_.hit);
  setCursor(std::abs(pos.x() - headerWidth_) < kEdgeReach ? Qt::SplitHCursor
            : pointer_.hovered                            ? Qt::PointingHandCursor
                                                          : Qt::ArrowCursor);
}

void TimelineView::updateHover() {
  if (pointer_.drag != Drag::None || !hasWholePixels(devicePixelRatioF())) return update();
  const TimelineState now = state();
  nextCard_ = hoverCard(now);
  update(hoverPainted_ + hoverRegion(now, *nextCard_));
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  nextCard_.reset();
  if (pointer_.drag == Drag::Maybe) {
    click(event->position(), event->modifiers());
  } else if (pointer_.drag == Drag::Area && !pointer_.isDraggedTo(event->position())) {
    setArea(std::nullopt);
  }
  pointer_.drag = Drag::None;
  unsetCursor();
}

void TimelineView::click(QPointF pos, Qt::KeyboardModifiers keys) {
  const TimelineFrame at = frame();
  pointer_.hit = at.hitAt(model_, pos);
  if (trace()) {
    setCursorMark(at.timeAt(viewport(), pos.x()));
    Q_EMIT momentPicked(*selection_.cursorMark);
  }
  const auto clicked = eventOfHit(pointer_.hit);
  if (clicked && selection_.event && keys & Qt::ControlModifier) {
    measureTo(*clicked);
  } else if (clicked) {
    select(clicked);
  } else {
    select(std::nullopt);
    setArea(std::nullopt);
  }
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto place = eventOfHit(frame().hitAt(model_, event->position()));
  if (!place) return;
  select(place);
  zoomToSelection();
}

void TimelineView::leaveEvent(QEvent*) {
  pointer_.mouse.reset();
  pointer_.forgetHit();
  nextCard_.reset();
  update();
}

void TimelineView::clickHeader(QPointF pos) {
  const std::size_t i = frame().rowAt(rows(), static_cast<int>(pos.y()));
  if (pos.y() < kRulerHeight || i >= rows().size()) return;
  const Row row = rows()[i];
  toggle(row, row.kind == Row::Kind::Track && pos.x() > headerWidth_ - kPinWidth);
  if (row.kind != Row::Kind::PinHeader) setCurrentRow(RowKey{row.kind, row.ref});
}

}  // namespace lacuna::gui
