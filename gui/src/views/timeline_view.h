// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QWidget>
#include <optional>

#include "base/findings.h"
#include "base/trace.h"
#include "lacuna/analyzer/links.h"
#include "timeline/ledger_painter.h"
#include "views/label_painter.h"

class QScrollBar;

namespace lacuna::gui {

/// An event of the picture: the n-th of a lane.
struct EventPlace {
  TrackRef track;
  int lane = 0;
  std::size_t event = 0;
  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};

struct Bookmark {
  prof::TimeNs timeNs = 0;
  QString note;
};

/// The timeline: a ruler, track names, and the tracks themselves. The base picture is drawn when the viewport, the rows
/// or the size change; whatever follows the mouse is drawn over it.
class TimelineView : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. All settings stay, and the ledgers stay until there are new ones. A view that
  /// reached the end goes on reaching it.
  void setGrown(const TracePtr& trace);
  void setDark(bool dark);
  /// Strips to show below the names of their devices; null for none.
  void setLedgers(LedgerStrips strips);
  [[nodiscard]] const LedgerStrips& ledgers() const { return ledgers_; }
  [[nodiscard]] bool dark() const { return dark_; }
  [[nodiscard]] const TracePtr& trace() const { return trace_; }

  [[nodiscard]] const Viewport& viewport() const { return view_; }
  /// A jump can be undone with back(); a small move cannot.
  enum class Move { Small, Jump };
  void setViewport(const Viewport& view, Move move = Move::Small);
  void back();
  void forward();
  void fit();
  void zoomToSelection();

  [[nodiscard]] const RowOptions& rowOptions() const { return options_; }
  void setRowOptions(const RowOptions& options);
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  [[nodiscard]] std::optional<EventPlace> selection() const { return selected_; }
  void select(std::optional<EventPlace> place);
  /// Selects, and moves so that the event can be seen.
  void reveal(const EventPlace& place);
  /// Opens what hides the event's lane and scrolls to it; the stretch that is shown stays.
  void revealLane(const EventPlace& place);
  [[nodiscard]] std::optional<EventPlace> hovered() const { return hovered_; }

  [[nodiscard]] std::optional<prof::TimeWindow> area() const { return area_; }
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
  /// Moves the end of the selected stretch; the first time takes the selected event's, or begins one.
  void extendArea(int step);
  /// From now on the selected stretch reaches from the selected event to each one selected next; or no longer.
  void measure();
  [[nodiscard]] bool measuring() const { return measuredFrom_.has_value(); }
  /// To the next one, or the one before; after the last comes the first.
  void jumpToBookmark(int step);
  /// Announces to screen readers what is selected now, or was done.
  void say(const QString& what);
  [[nodiscard]] const QString& announced() const { return announced_; }
  void toEnd();
  /// Forgets the selected event and stretch, and the evidence.
  void clearSelection();
  /// Shows the counters that are always zero, or folds them away, in all groups.
  void toggleQuiet();
  /// Stretches shown as evidence, with the word that goes with them.
  void setHighlights(std::vector<prof::TimeWindow> windows, const QString& caption);
  [[nodiscard]] const std::vector<prof::TimeWindow>& highlights() const { return highlights_; }
  /// Opens what hides these rows, scrolls to them, and marks them until the highlights are gone.
  void showRows(const std::vector<RowKey>& rows);
  [[nodiscard]] const std::vector<RowKey>& markedRows() const { return marked_; }
  /// Events that the selected one is joined to by an arrow.
  void setLinks(std::vector<EventPlace> links);
  [[nodiscard]] const std::vector<EventPlace>& links() const { return links_; }
  /// Under the mouse, unless keys were used since; else the cursor's mark, the selected event's beginning, or the
  /// middle of what is shown.
  [[nodiscard]] prof::TimeNs momentOfInterest() const;
  /// A moment that other pages look at, too.
  void setCursorMark(std::optional<prof::TimeNs> timeNs);
  [[nodiscard]] std::optional<prof::TimeNs> cursorMark() const { return cursorMark_; }
  [[nodiscard]] const std::vector<Bookmark>& bookmarks() const { return bookmarks_; }
  void setBookmarks(std::vector<Bookmark> bookmarks);

  /// The picture of the tracks alone, for measurements: draws the base layer now.
  void renderNow();
  /// Number of times that the base layer was drawn so far.
  [[nodiscard]] int picturesDrawn() const { return picturesDrawn_; }
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
  enum class Drag { None, Maybe, Pan, Area, HeaderWidth };

  /// At this many device pixels per pixel.
  [[nodiscard]] Scene scene(double scale) const;
  void renderBase(double scale);
  /// The tracks without the names on their events, which labels_ then holds.
  void renderTracks(QImage& picture, double scale);
  [[nodiscard]] QRect canvasRect() const;
  [[nodiscard]] Hit hitAt(QPointF pos) const;
  void relayOut();
  void updateScrollBar();
  void invalidate();
  void clickHeader(QPointF pos);
  void toggle(const Row& row, bool pin);
  void setCurrentRow(std::optional<RowKey> row);
  [[nodiscard]] QString rowWords(const Row& row) const;
  [[nodiscard]] prof::TimeWindow windowOf(const EventPlace& place) const;
  /// Selects the stretch from the selected event, or the one that is measured from, to another one.
  void measureTo(const EventPlace& other);
  void selectNeighbour(int step);
  void selectNested(int step);
  /// From the selected event to what lies at its time in the lane above or below, in other tracks too.
  void selectAcross(int step);
  /// A moment as fine as the picture shows it, at least to the microsecond.
  [[nodiscard]] QString momentWords(prof::TimeNs timeNs) const;
  /// The event in the middle of what is shown, for those who have selected none.
  void selectSomething();
  /// The y of a lane among the rows; nothing where its row is not shown.
  [[nodiscard]] std::optional<int> laneY(const EventPlace& place) const;
  [[nodiscard]] bool showsLane(const EventPlace& place) const;
  void scrollToLane(const EventPlace& place);
  bool navigate(const QKeyEvent& event);

  void paintBase(QPainter& painter, const QRegion& stale);
  /// The same as shapes and texts.
  void paintShapes(QPainter& painter);
  void paintRuler(QPainter& painter);
  /// A bookmark's place on the ruler, from its flag on, and as much of its note as there is room for.
  struct NoteTag {
    QRectF place;
    QString text;
  };
  [[nodiscard]] std::vector<NoteTag> noteTags(const QFontMetrics& metrics) const;
  void paintHeaders(QPainter& painter, const QRegion& stale);
  void paintHeader(QPainter& painter, const Row& row, const QRect& rect);
  void paintOverlays(QPainter& painter);
  void paintBand(QPainter& painter, prof::TimeWindow window, Colour colour, const QString& caption);
  /// Where the caption of a band goes: below the tracks, or over them where it hides no name, if there is such a place.
  [[nodiscard]] QRectF captionRect(const QRectF& band, int width);
  /// For the name of an event, or of a group that reaches over the tracks.
  [[nodiscard]] bool hidesName(const QRectF& place);
  void paintLinks(QPainter& painter);
  struct HoverCard {
    QStringList lines;
    QRect rect;
    int lineHeight = 0;
  };
  [[nodiscard]] HoverCard hoverCard() const;
  [[nodiscard]] QFont cardFont(bool bold) const;
  void paintHoverCard(QPainter& painter, const HoverCard& card);
  /// The region that is drawn because the mouse is where it is.
  [[nodiscard]] QRegion hoverRegion(const HoverCard& card) const;
  [[nodiscard]] QStringList hoverLines() const;
  [[nodiscard]] const analyzer::LedgerStrip* stripOf(std::size_t group) const;
  void renderLedgers(const Canvas& canvas, double scale);
  /// Where a moment lies across the widget; of one far outside of the canvas, some place outside of it.
  [[nodiscard]] double xOf(prof::TimeNs timeNs) const;
  /// Where the last row ends, or the window does.
  [[nodiscard]] int contentBottom() const;

  TracePtr trace_;
  bool dark_ = true;
  Viewport view_;
  ViewHistory history_;
  RowOptions options_;
  std::vector<Row> rows_;
  int headerWidth_ = 240;
  QScrollBar* scroll_;

  StripRenderer renderer_;
  LedgerPainter ledgerPainter_;
  LedgerStrips ledgers_;
  LabelPainter labelPainter_;
  std::vector<Label> labels_;
  double labelScale_ = 1;  ///< device pixels to one, in labels_
  QImage base_;
  double baseScale_ = 0;  ///< that it was drawn at
  bool baseStale_ = true;
  int picturesDrawn_ = 0;

  std::optional<EventPlace> selected_, hovered_;
  std::optional<prof::TimeWindow> area_;
  std::vector<prof::TimeWindow> highlights_;
  QString highlightCaption_;
  std::vector<RowKey> marked_;  ///< the rows that they are about
  std::optional<RowKey> row_;   ///< that keys are about
  std::optional<EventPlace> measuredFrom_;
  prof::TimeNs areaAnchor_ = 0;  ///< the end of the stretch that keys leave where it is
  bool byKeys_ = false;          ///< the mouse has not moved since keys went to a moment
  QString announced_;
  std::vector<EventPlace> links_;
  std::vector<Bookmark> bookmarks_;
  std::optional<prof::TimeNs> cursorMark_;
  Hit hit_;
  std::optional<QPointF> mouse_;
  std::optional<HoverCard> nextCard_;  ///< laid out for the next picture, until something else changes
  QRegion hoverPainted_;               ///< of the last picture
  Drag drag_ = Drag::None;
  QPointF pressed_;
  Viewport pressedView_;
  int pressedScroll_ = 0;
  int wheelRest_ = 0;  ///< of a pixel, in parts of a notch, that the wheel has turned further
  QElapsedTimer sinceMove_;
};

}  // namespace lacuna::gui
