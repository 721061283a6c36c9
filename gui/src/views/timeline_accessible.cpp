// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_accessible.h"

#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>
#include <vector>

#include "base/words.h"
#include "views/timeline_view.h"

namespace lacuna::gui {

namespace {

/// One row of the timeline. Rows come and go, so it looks its row up each time.
class RowAccessible : public QAccessibleInterface {
 public:
  RowAccessible(TimelineView* view, std::size_t row) : view_(view), row_(row) {}

  [[nodiscard]] bool isValid() const override {
    return view_ && view_->trace() && row_ < view_->rows().size();
  }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QWindow* window() const override {
    return view_ ? view_->window()->windowHandle() : nullptr;
  }
  [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* parent() const override {
    return QAccessible::queryAccessibleInterface(view_.data());
  }
  [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  void setText(QAccessible::Text, const QString&) override {}
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }

  [[nodiscard]] QString text(QAccessible::Text what) const override {
    if (!isValid()) return {};
    if (what == QAccessible::Name) return view_->rowName(row());
    if (what == QAccessible::Description) return facts();
    if (what == QAccessible::Value && holdsSelection()) return view_->describe(*view_->selection());
    return {};
  }

  [[nodiscard]] QRect rect() const override {
    if (!isValid()) return {};
    const QRect inside = view_->rowRect(row_);
    return {view_->mapToGlobal(inside.topLeft()), inside.size()};
  }

  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    if (!isValid()) {
      state.invalid = true;
      return state;
    }
    state.selectable = true;
    state.focusable = true;
    state.focused = view_->hasFocus() && view_->currentRow() == row_;
    state.selected = holdsSelection();
    state.expandable = folds();
    state.expanded = !row().collapsed;
    state.collapsed = row().collapsed;
    state.offscreen = !view_->rect().intersects(view_->rowRect(row_));
    return state;
  }

 private:
  [[nodiscard]] const Row& row() const { return view_->rows()[row_]; }
  [[nodiscard]] bool folds() const {
    if (row().kind != Row::Kind::Track) return row().kind != Row::Kind::Ledger;
    return view_->trace()->track(row().ref).lanes.size() > 1;
  }
  [[nodiscard]] bool holdsSelection() const {
    return row().kind == Row::Kind::Track && view_->selection() &&
           view_->selection()->track == row().ref;
  }
  [[nodiscard]] QString facts() const {
    const auto& group = view_->trace()->tracks->groups[row().ref.group];
    if (row().kind == Row::Kind::Group) {
      const std::size_t tracks = group.tracks.size();
      return tracks == 1 ? TimelineView::tr("1 track") : TimelineView::tr("%1 tracks").arg(tracks);
    }
    if (row().kind == Row::Kind::Counters)
      return row().lanes == 1 ? TimelineView::tr("1 track")
                              : TimelineView::tr("%1 tracks").arg(row().lanes);
    if (row().kind != Row::Kind::Track) return {};
    const analyzer::Track& track = group.tracks[row().ref.track];
    if (track.kind == analyzer::TrackKind::Counter) {
      return TimelineView::tr("up to %1")
          .arg(words(valueText(track.counter.highest(), track.unit)));
    }
    return track.events == 1 ? TimelineView::tr("1 event")
                             : TimelineView::tr("%1 events").arg(track.events);
  }

  QPointer<TimelineView> view_;
  std::size_t row_;
};

class TimelineAccessible : public QAccessibleWidget {
 public:
  explicit TimelineAccessible(TimelineView* view) : QAccessibleWidget(view, QAccessible::List) {}
  ~TimelineAccessible() override {
    for (const QAccessible::Id id : rows_) QAccessible::deleteAccessibleInterface(id);
  }

  [[nodiscard]] int childCount() const override { return static_cast<int>(view()->rows().size()); }
  [[nodiscard]] QAccessibleInterface* child(int index) const override {
    if (index < 0 || index >= childCount()) return nullptr;
    const auto row = static_cast<std::size_t>(index);
    while (rows_.size() <= row) {
      rows_.push_back(
          QAccessible::registerAccessibleInterface(new RowAccessible(view(), rows_.size())));
    }
    return QAccessible::accessibleInterface(rows_[row]);
  }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (QAccessible::accessibleInterface(rows_[row]) == child) return static_cast<int>(row);
    }
    return -1;
  }
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
    const QPoint at = view()->mapFromGlobal(QPoint(x, y));
    for (int row = 0; row < childCount(); ++row) {
      if (view()->rowRect(static_cast<std::size_t>(row)).contains(at)) return child(row);
    }
    return nullptr;
  }
  [[nodiscard]] QString text(QAccessible::Text what) const override {
    if (what == QAccessible::Value) return view()->announced();
    return QAccessibleWidget::text(what);
  }
  [[nodiscard]] QAccessibleInterface* focusChild() const override {
    const auto row = view()->currentRow();
    return row && view()->hasFocus() ? child(static_cast<int>(*row))
                                     : QAccessibleWidget::focusChild();
  }

 private:
  [[nodiscard]] TimelineView* view() const { return static_cast<TimelineView*>(object()); }
  mutable std::vector<QAccessible::Id> rows_;
};

QAccessibleInterface* makeAccessible(const QString&, QObject* object) {
  auto* view = qobject_cast<TimelineView*>(object);
  return view ? new TimelineAccessible(view) : nullptr;
}

}  // namespace

void installTimelineAccessibility() {
  static const bool once = [] {
    QAccessible::installFactory(&makeAccessible);
    return true;
  }();
  (void)once;
}

}  // namespace lacuna::gui
