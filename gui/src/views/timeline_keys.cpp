// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QAccessible>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QScrollBar>
#include <algorithm>

#include "base/words.h"
#include "views/timeline_metrics.h"
#include "views/timeline_view.h"

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

void TimelineView::say(const QString& what) {
  announced_ = what;
  setAccessibleDescription(what);
  QAccessibleValueChangeEvent spoken(this, what);
  QAccessible::updateAccessibility(&spoken);
}

std::optional<std::size_t> TimelineView::currentRow() const {
  if (!row_) return std::nullopt;
  const Row* row = findRow(rows_, *row_);
  return row ? std::optional(static_cast<std::size_t>(row - rows_.data())) : std::nullopt;
}

void TimelineView::setCurrentRow(std::optional<RowKey> row) {
  row_ = row;
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
  const auto first = std::find_if(rows_.begin(), rows_.end(), isGroup) - rows_.begin();
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  if (first > last) return;
  const auto from = currentRow();
  const std::ptrdiff_t to = from ? static_cast<std::ptrdiff_t>(*from) + step : step > 0 ? first : last;
  const Row& row = rows_[static_cast<std::size_t>(std::clamp(to, first, last))];
  const RowKey key{row.kind, row.ref};
  scroll_->setValue(scrollTo(rows_, {&key, 1}, scroll_->value(), height() - kRulerHeight));
  setCurrentRow(key);
  say(rowWords(row));
}

QString TimelineView::rowName(const Row& row) const {
  const analyzer::TrackGroup& group = trace_->tracks->groups[row.ref.group];
  switch (row.kind) {
    case Row::Kind::PinHeader:
      return tr("Pinned");
    case Row::Kind::Group:
      return words(group.label);
    case Row::Kind::Ledger:
      return tr("where time goes");
    case Row::Kind::Quiet:
      return quietWords(row.lanes);
    case Row::Kind::Counters:
      return tr("counters · %1").arg(words(group.label));
    case Row::Kind::Track:
      return words(group.tracks[row.ref.track].label);
  }
  return {};
}

QString TimelineView::rowWords(const Row& row) const {
  const QString name = row.collapsed ? tr("%1, collapsed").arg(rowName(row)) : rowName(row);
  return row.pinned ? tr("%1, pinned").arg(name) : name;
}

void TimelineView::toggle(const Row& row, bool pin) {
  RowOptions options = options_;
  const auto turn = [](auto& set, const auto& value) {
    if (!set.erase(value)) set.insert(value);
  };
  if (row.kind == Row::Kind::PinHeader) {
    options.pinnedFolded = !options.pinnedFolded;
  } else if (row.kind == Row::Kind::Track) {
    turn(pin ? options.pinned : options.collapsedTracks, row.ref);
    if (pin) options.pinnedFolded = false;  // or it would seem to go nowhere
  } else if (row.kind == Row::Kind::Group && !pin) {
    turn(options.collapsedGroups, row.ref.group);
  } else if (row.kind == Row::Kind::Quiet && !pin) {
    turn(options.quietShown, row.ref.group);
  } else if (row.kind == Row::Kind::Counters && !pin) {
    turn(options.foldedCounters, row.ref.group);
  }
  setRowOptions(options);
}

void TimelineView::toggleCurrentRow(bool pin) {
  const auto at = currentRow();
  if (!at) return;
  toggle(Row(rows_[*at]), pin);
  if (const auto now = currentRow()) say(rowWords(rows_[*now]));
}

void TimelineView::toggleAllGroups() {
  RowOptions options = options_;
  if (options.collapsedGroups.empty()) {
    for (std::size_t g = 0; trace_ && g < trace_->tracks->groups.size(); ++g) options.collapsedGroups.insert(g);
  } else {
    options.collapsedGroups.clear();
  }
  setRowOptions(options);
}

void TimelineView::extendArea(int step) {
  if (!trace_) return;
  if (!area_ && selected_) {
    areaAnchor_ = windowOf(*selected_).startNs;
    return setArea(windowOf(*selected_));
  }
  const prof::TimeWindow area = area_.value_or(prof::TimeWindow{momentOfInterest(), momentOfInterest()});
  if (areaAnchor_ != area.endNs) areaAnchor_ = area.startNs;  // one made by the mouse grows at its end
  const TimeNs edge = areaAnchor_ == area.startNs ? area.endNs : area.startNs;
  const auto by = std::max<TimeNs>(1, static_cast<TimeNs>(kKeyStretch * static_cast<double>(view_.spanNs())));
  const TimeNs to = std::clamp(edge + step * by, view_.trace().startNs, view_.trace().endNs);
  setArea(to == areaAnchor_ ? std::nullopt
                            : std::optional(prof::TimeWindow{std::min(areaAnchor_, to), std::max(areaAnchor_, to)}));
  if (to < view_.startNs() || to > view_.endNs()) setViewport(view_.panned(step * kKeyPan));
}

void TimelineView::measure() {
  if (measuredFrom_ || !selected_) {
    measuredFrom_.reset();
    return;
  }
  measuredFrom_ = selected_;
  measureTo(*selected_);
}

void TimelineView::jumpToBookmark(int step) {
  if (bookmarks_.empty()) return;
  std::vector<Bookmark> marks = bookmarks_;
  std::sort(marks.begin(), marks.end(), [](const Bookmark& a, const Bookmark& b) { return a.timeNs < b.timeNs; });
  const TimeNs from = momentOfInterest();
  const auto past = [&](const Bookmark& mark) { return step > 0 ? mark.timeNs <= from : mark.timeNs < from; };
  const auto count = static_cast<std::ptrdiff_t>(marks.size());
  const std::ptrdiff_t next = std::partition_point(marks.begin(), marks.end(), past) - marks.begin();
  const std::ptrdiff_t to = (step > 0 ? next : next + count - 1) % count;
  const Bookmark& mark = marks[static_cast<std::size_t>(to)];
  if (mark.timeNs < view_.startNs() || mark.timeNs >= view_.endNs())
    setViewport(view_.movedTo(mark.timeNs - view_.spanNs() / 2), Move::Jump);
  setCursorMark(mark.timeNs);
  byKeys_ = true;
  say(tr("bookmark %1 of %2, at %3: %4").arg(to + 1).arg(count).arg(momentWords(mark.timeNs), mark.note));
  Q_EMIT momentPicked(mark.timeNs);
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
      const double share = std::clamp(view_.pixelAt(momentOfInterest(), 1), 0.0, 1.0);
      setViewport(view_.zoomed(closer ? kKeyZoom : 1 / kKeyZoom, share));
      return true;
    }
    case Qt::Key_A:
    case Qt::Key_Left:
      setViewport(view_.panned(-kKeyPan));
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      setViewport(view_.panned(kKeyPan));
      return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
      scroll_->setValue(scroll_->value() + (event.key() == Qt::Key_Up ? -2 : 2) * kLanePitch);
      return true;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      scroll_->setValue(scroll_->value() + (event.key() == Qt::Key_PageUp ? -1 : 1) * scroll_->pageStep());
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
  if (!trace_ || event->modifiers() & Qt::ControlModifier) return QWidget::keyPressEvent(event);
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
      return selected_ || area_ ? zoomToSelection() : fit();
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
