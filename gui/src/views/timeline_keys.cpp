// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QAccessible>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QScrollBar>
#include <algorithm>

#include "views/timeline_metrics.h"
#include "views/timeline_neighbours.h"
#include "views/timeline_view.h"
#include "views/timeline_words.h"

/// The effects of keys on the timeline: everything that the mouse does.
namespace lacuna::gui {

using prof::TimeNs;

namespace {

constexpr double kKeyPan = 0.12;
constexpr double kKeyStretch = 0.02;  // of what is shown; closer by, it is finer

/// The keys at the places of W, A, S and D, whatever letters the keyboard layout puts there.
int placeOfKey(const QKeyEvent& event) {
  const QString platform = QGuiApplication::platformName();
  // Tests press keys offscreen, where there are no others.
  if (platform == QLatin1String("xcb") || platform.startsWith(QLatin1String("wayland")) ||
      platform == QLatin1String("offscreen")) {
    switch (event.nativeScanCode()) {
      case 25:
        return Qt::Key_W;
      case 38:
        return Qt::Key_A;
      case 39:
        return Qt::Key_S;
      case 40:
        return Qt::Key_D;
      default:
        break;
    }
  }
  return event.key();
}

}  // namespace

void TimelineView::announce(const QString& what) {
  announced_ = what;
  setAccessibleDescription(what);
  QAccessibleValueChangeEvent spoken(this, what);
  QAccessible::updateAccessibility(&spoken);
}

std::optional<std::size_t> TimelineView::currentRow() const {
  return selection_.rowAmong(rows());
}

void TimelineView::setCurrentRow(std::optional<RowKey> row) {
  selection_.row = row;
  const auto at = currentRow();
  if (at) {
    QAccessibleEvent focused(this, QAccessible::Focus);
    focused.setChild(static_cast<int>(*at));
    QAccessible::updateAccessibility(&focused);
  }
  update();
}

void TimelineView::moveRow(int step) {
  // A pinned row is there twice; only its place in its group counts.
  const auto isGroup = [](const Row& row) { return row.kind == Row::Kind::Group; };
  const auto first = std::find_if(rows().begin(), rows().end(), isGroup) - rows().begin();
  const auto last = static_cast<std::ptrdiff_t>(rows().size()) - 1;
  if (first > last) return;
  const auto from = currentRow();
  const std::ptrdiff_t to = from       ? static_cast<std::ptrdiff_t>(*from) + step
                            : step > 0 ? first
                                       : last;
  const Row& row = rows()[static_cast<std::size_t>(std::clamp(to, first, last))];
  const RowKey key{row.kind, row.ref};
  scroll_->setValue(scrollTo(rows(), {&key, 1}, scroll_->value(), height() - kRulerHeight));
  setCurrentRow(key);
  announce(stateOfRow(*trace(), row));
}

void TimelineView::toggleCurrentRow(bool pin) {
  const auto at = currentRow();
  if (!at) return;
  toggle(Row(rows()[*at]), pin);
  if (const auto now = currentRow()) announce(stateOfRow(*trace(), rows()[*now]));
}

void TimelineView::extendArea(int step) {
  if (!trace()) return;
  if (!selection_.area && selection_.event) {
    const prof::TimeWindow event = windowOf(*trace(), *selection_.event);
    areaAnchor_ = event.startNs;
    return setArea(event);
  }
  const prof::TimeWindow from =
      selection_.area.value_or(prof::TimeWindow{momentOfInterest(), momentOfInterest()});
  if (areaAnchor_ != from.endNs)
    areaAnchor_ = from.startNs;  // one made by the mouse grows at its end
  const TimeNs edge = areaAnchor_ == from.startNs ? from.endNs : from.startNs;
  const Viewport& view = viewport();
  const auto by =
      std::max<TimeNs>(1, static_cast<TimeNs>(kKeyStretch * static_cast<double>(view.spanNs())));
  const TimeNs to = std::clamp(edge + step * by, view.trace().startNs, view.trace().endNs);
  const prof::TimeWindow stretch{std::min(areaAnchor_, to), std::max(areaAnchor_, to)};
  setArea(to == areaAnchor_ ? std::nullopt : std::optional(stretch));
  if (to < view.startNs() || to > view.endNs()) setViewport(view.panned(step * kKeyPan));
}

void TimelineView::measure() {
  if (measuring() || !selection_.event) {
    selection_.measuredFrom.reset();
    return;
  }
  selection_.measuredFrom = selection_.event;
  measureTo(*selection_.event);
}

void TimelineView::jumpToBookmark(int step) {
  if (bookmarks().empty()) return;
  std::vector<Bookmark> marks = bookmarks();
  std::sort(marks.begin(), marks.end(),
            [](const Bookmark& a, const Bookmark& b) { return a.timeNs < b.timeNs; });
  const TimeNs from = momentOfInterest();
  const auto past = [&](const Bookmark& mark) {
    return step > 0 ? mark.timeNs <= from : mark.timeNs < from;
  };
  const auto count = static_cast<std::ptrdiff_t>(marks.size());
  const std::ptrdiff_t next =
      std::partition_point(marks.begin(), marks.end(), past) - marks.begin();
  const std::ptrdiff_t to = (step > 0 ? next : next + count - 1) % count;
  const Bookmark& mark = marks[static_cast<std::size_t>(to)];
  const Viewport& view = viewport();
  if (mark.timeNs < view.startNs() || mark.timeNs >= view.endNs())
    setViewport(view.movedTo(mark.timeNs - view.spanNs() / 2), Move::Jump);
  setCursorMark(mark.timeNs);
  pointer_.byKeys = true;
  const QString moment = momentWords(view, canvasWidth(), mark.timeNs);
  announce(tr("bookmark %1 of %2, at %3: %4").arg(to + 1).arg(count).arg(moment, mark.note));
  Q_EMIT momentPicked(mark.timeNs);
}

void TimelineView::selectNeighbour(int step) {
  if (!selection_.event) return selectSomething();
  if (const auto next = eventBeside(*trace(), *selection_.event, step)) reveal(*next);
}

void TimelineView::selectNested(int step) {
  if (!selection_.event) return;
  if (const auto next = eventNested(*trace(), *selection_.event, step)) reveal(*next);
}

void TimelineView::selectAcross(int step) {
  if (!selection_.event) return selectSomething();
  const auto next = eventAcross(model_, *selection_.event, step);
  if (!next) return;
  // The view stays where it is: what lies in other tracks at the same time is to be seen together.
  scrollToLane(*next);
  select(next);
}

void TimelineView::selectSomething() {
  if (const auto event = eventInMiddle(model_, scroll_->value())) select(event);
}

bool TimelineView::navigate(const QKeyEvent& event) {
  switch (placeOfKey(event)) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_S:
    case Qt::Key_Minus: {
      const int key = placeOfKey(event);
      const bool closer = key != Qt::Key_S && key != Qt::Key_Minus;
      const double share = std::clamp(viewport().pixelAt(momentOfInterest(), 1), 0.0, 1.0);
      setViewport(viewport().zoomed(closer ? kKeyZoom : 1 / kKeyZoom, share));
      return true;
    }
    case Qt::Key_A:
    case Qt::Key_Left:
      setViewport(viewport().panned(-kKeyPan));
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      setViewport(viewport().panned(kKeyPan));
      return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
      scroll_->setValue(scroll_->value() + (event.key() == Qt::Key_Up ? -2 : 2) * kLanePitch);
      return true;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      scroll_->setValue(scroll_->value() +
                        (event.key() == Qt::Key_PageUp ? -1 : 1) * scroll_->pageStep());
      return true;
    case Qt::Key_Home:
      fit();
      scroll_->setValue(0);
      return true;
    case Qt::Key_End:
      toEnd();
      return true;
    default:
      return false;
  }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!trace() || event->modifiers() & Qt::ControlModifier) return QWidget::keyPressEvent(event);
  const bool alt = event->modifiers() & Qt::AltModifier;
  const bool shift = event->modifiers() & Qt::ShiftModifier;
  if (shift && (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down))
    return selectAcross(event->key() == Qt::Key_Up ? -1 : 1);
  if (shift && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right))
    return extendArea(event->key() == Qt::Key_Left ? -1 : 1);
  if (alt && (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down))
    return moveRow(event->key() == Qt::Key_Up ? -1 : 1);
  if (alt && event->key() == Qt::Key_Left) return back();
  if (alt && event->key() == Qt::Key_Right) return forward();
  // The keys at the places of W, A, S and D are those, also where a layout has put a comma there.
  if (placeOfKey(*event) != event->key() && navigate(*event)) return;
  switch (event->key()) {
    case Qt::Key_F:
      return selection_.event || selection_.area ? zoomToSelection() : fit();
    case Qt::Key_Period:
      return selectNeighbour(1);
    case Qt::Key_Comma:
      return selectNeighbour(-1);
    case Qt::Key_BracketRight:
      return selectNested(1);
    case Qt::Key_BracketLeft:
      return selectNested(-1);
    case Qt::Key_C:
      return shift ? toggleAllGroups() : toggleCurrentRow(false);
    case Qt::Key_P:
      return toggleCurrentRow(true);
    case Qt::Key_M:
      return measure();
    case Qt::Key_J:
      return jumpToBookmark(shift ? -1 : 1);
    case Qt::Key_Slash:
      Q_EMIT filterWanted();
      return;
    case Qt::Key_Backspace:
      return back();
    case Qt::Key_Escape:
      return clearSelection();
    default:
      if (!navigate(*event)) QWidget::keyPressEvent(event);
  }
}

}  // namespace lacuna::gui
