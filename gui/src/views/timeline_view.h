// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRegion>
#include <QWidget>
#include <optional>
#include <utility>
#include <vector>

#include "base/findings.h"
#include "base/trace.h"
#include "views/event_place.h"
#include "views/timeline_card.h"
#include "views/timeline_model.h"
#include "views/timeline_picture.h"
#include "views/timeline_pointer.h"
#include "views/timeline_selection.h"
#include "views/timeline_state.h"

class QScrollBar;

namespace lacuna::gui {

/// The timeline: a ruler, track names, and the tracks themselves. The base picture is drawn when
/// the viewport, the rows or the size change; whatever follows the mouse is drawn over it. The
/// widget changes its parts as mouse, keys and other views ask, and announces what has changed.
class TimelineView : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. All settings stay, and the ledgers stay until there are new
  /// ones. A view that reached the end goes on reaching it.
  void setGrown(const TracePtr& trace);
  void setDark(bool dark);
  /// Strips to show below the names of their devices; null for none.
  void setLedgers(LedgerStrips strips);
  [[nodiscard]] const LedgerStrips& ledgers() const { return model_.ledgers(); }
  [[nodiscard]] bool dark() const { return dark_; }
  [[nodiscard]] const TracePtr& trace() const { return model_.trace(); }

  [[nodiscard]] const Viewport& viewport() const { return model_.viewport(); }
  /// A jump can be undone with back(); a small move cannot.
  enum class Move { Small, Jump };
  void setViewport(const Viewport& view, Move move = Move::Small);
  void back();
  void forward();
  void fit();
  void zoomToSelection();

  [[nodiscard]] const RowOptions& rowOptions() const { return model_.rowOptions(); }
  void setRowOptions(const RowOptions& options);
  [[nodiscard]] const std::vector<Row>& rows() const { return model_.rows(); }

  [[nodiscard]] std::optional<EventPlace> selection() const { return selection_.event; }
  void select(std::optional<EventPlace> place);
  /// Selects, and moves so that the event can be seen.
  void reveal(const EventPlace& place);
  /// Opens what hides the event's lane and scrolls to it; the stretch that is shown stays.
  void revealLane(const EventPlace& place);
  [[nodiscard]] std::optional<EventPlace> hovered() const { return pointer_.hovered; }

  [[nodiscard]] std::optional<prof::TimeWindow> area() const { return selection_.area; }
  void setArea(std::optional<prof::TimeWindow> area);
  /// The row that keys are about, among rows(): that of the selected event until another is chosen.
  [[nodiscard]] std::optional<std::size_t> currentRow() const;
  /// To the row below or above, whatever it shows.
  void moveRow(int step);
  /// Collapses or pins the current row, or the other way round.
  void toggleCurrentRow(bool pin);
  /// Collapses all groups, or opens them.
  void toggleAllGroups();
  [[nodiscard]] QString rowName(const Row& row) const;
  /// Moves the end of the selected stretch; the first time takes the selected event's, or begins
  /// one.
  void extendArea(int step);
  /// From now on the selected stretch reaches from the selected event to each one selected next; or
  /// no longer.
  void measure();
  [[nodiscard]] bool measuring() const { return selection_.measuredFrom.has_value(); }
  /// To the next one, or the one before; after the last comes the first.
  void jumpToBookmark(int step);
  /// Announces to screen readers what is selected now, or was done.
  void announce(const QString& what);
  [[nodiscard]] const QString& announced() const { return announced_; }
  void toEnd();
  /// Forgets the selected event and stretch, and the evidence.
  void clearSelection();
  /// Shows the counters that are always zero, or folds them away, in all groups.
  void toggleQuiet();
  /// Stretches shown as evidence, with the word that goes with them.
  void setHighlights(std::vector<prof::TimeWindow> windows, const QString& caption);
  [[nodiscard]] const std::vector<prof::TimeWindow>& highlights() const {
    return selection_.highlights;
  }
  /// Opens what hides these rows, scrolls to them, and marks them until the highlights are gone.
  void showRows(const std::vector<RowKey>& rows);
  [[nodiscard]] const std::vector<RowKey>& markedRows() const { return selection_.marked; }
  /// Events that the selected one is joined to by an arrow.
  void setLinks(std::vector<EventPlace> links);
  [[nodiscard]] const std::vector<EventPlace>& links() const { return selection_.links; }
  /// Under the mouse, unless keys were used since; else the cursor's mark, the selected event's
  /// beginning, or the middle of what is shown.
  [[nodiscard]] prof::TimeNs momentOfInterest() const;
  /// A moment that other pages look at, too.
  void setCursorMark(std::optional<prof::TimeNs> timeNs);
  [[nodiscard]] std::optional<prof::TimeNs> cursorMark() const { return selection_.cursorMark; }
  [[nodiscard]] const std::vector<Bookmark>& bookmarks() const { return model_.bookmarks(); }
  void setBookmarks(std::vector<Bookmark> bookmarks);

  /// The picture of the tracks alone, for measurements: draws the base layer now.
  void renderNow();
  /// Number of times that the base layer was drawn so far.
  [[nodiscard]] int picturesDrawn() const { return picture_.timesDrawn(); }
  /// The rectangle of an event in widget coordinates; empty when it is not on screen.
  [[nodiscard]] QRectF eventRect(const EventPlace& place) const;
  [[nodiscard]] int canvasWidth() const;
  /// A row in widget coordinates, names included; it may lie outside of the window.
  [[nodiscard]] QRect rowRect(std::size_t row) const;
  [[nodiscard]] int headerWidth() const { return headerWidth_; }
  [[nodiscard]] QString describe(const EventPlace& place) const;
  /// The text in place of tracks where there are none.
  [[nodiscard]] QString emptyWords() const;
  /// "3 counters at zero": what the row of those is called.
  static QString quietWords(int counters);

 Q_SIGNALS:
  void viewportChanged();
  void selectionChanged();
  void areaChanged();
  void highlightsChanged();
  void bookmarksChanged();
  void cursorMoved(prof::TimeNs timeNs);
  /// A click put the cursor here.
  void momentPicked(lacuna::prof::TimeNs timeNs);
  void rowOptionsChanged();
  /// The ledgers or the colours are others.
  void appearanceChanged();
  /// A key asks for the filter of tracks.
  void filterWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] QRect canvasRect() const;
  [[nodiscard]] TimelineFrame frame() const;
  [[nodiscard]] TimelineState state() const;
  /// After the model has laid out its rows anew.
  void followRows();
  void updateScrollBar();
  void invalidate();
  void pressLeft(Qt::KeyboardModifiers keys);
  void dragTo(QPointF pos);
  void panTo(QPointF pos);
  void selectAreaTo(QPointF pos);
  void hoverOver(QPointF pos);
  /// Paints the little that is drawn because the mouse is where it is.
  void updateHover();
  void click(QPointF pos, Qt::KeyboardModifiers keys);
  void clickHeader(QPointF pos);
  void toggle(const Row& row, bool pin);
  void setCurrentRow(std::optional<RowKey> row);
  /// Selects the stretch from the selected event, or the one that is measured from, to another one.
  void measureTo(const EventPlace& other);
  void selectNeighbour(int step);
  void selectNested(int step);
  /// From the selected event to what lies at its time in the lane above or below, in other tracks
  /// too.
  void selectAcross(int step);
  /// The event in the middle of what is shown, for those who have selected none.
  void selectSomething();
  [[nodiscard]] bool showsLane(const EventPlace& place) const;
  void scrollToLane(const EventPlace& place);
  bool navigate(const QKeyEvent& event);

  TimelineModel model_;
  TimelineSelection selection_;
  TimelinePointer pointer_;
  TimelinePicture picture_;
  QScrollBar* scroll_;
  int headerWidth_ = 240;
  bool dark_ = true;
  prof::TimeNs areaAnchor_ = 0;  ///< the end of the selected stretch that keys leave where it is
  QString announced_;
  std::optional<HoverCard>
      nextCard_;          ///< laid out for the next picture, until something else changes
  QRegion hoverPainted_;  ///< of the last picture
};

}  // namespace lacuna::gui
