// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QString>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/findings.h"
#include "base/trace.h"
#include "views/event_place.h"

namespace lacuna::gui {

struct Bookmark {
  prof::TimeNs timeNs = 0;
  QString note;
};

/// The things that the timeline shows: a trace as rows, the stretch in view, ledgers and bookmarks.
class TimelineModel {
 public:
  TimelineModel() { sinceMove_.start(); }

  /// Nothing stays of the trace before.
  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. All settings stay.
  void setGrown(const TracePtr& trace);
  [[nodiscard]] const TracePtr& trace() const { return trace_; }

  /// Small moves that follow each other closely are one for back().
  void setViewport(const Viewport& view, bool jump);
  void back() { view_ = history_.back(view_); }
  void forward() { view_ = history_.forward(view_); }
  [[nodiscard]] const Viewport& viewport() const { return view_; }

  void setRowOptions(const RowOptions& options);
  [[nodiscard]] const RowOptions& rowOptions() const { return options_; }
  /// Folds what the row stands for or opens it; with `pin`, pins a track or lets it go.
  void toggle(const Row& row, bool pin);
  void toggleAllGroups();
  void toggleQuiet();
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The y of a lane among the rows; nothing where its row is not shown.
  [[nodiscard]] std::optional<int> laneY(const EventPlace& place) const;

  void setLedgers(LedgerStrips strips);
  [[nodiscard]] const LedgerStrips& ledgers() const { return ledgers_; }
  /// Null where the group is no device, or has no ledger.
  [[nodiscard]] const analyzer::LedgerStrip* stripOf(std::size_t group) const;

  void setBookmarks(std::vector<Bookmark> bookmarks) { bookmarks_ = std::move(bookmarks); }
  [[nodiscard]] const std::vector<Bookmark>& bookmarks() const { return bookmarks_; }

  /// The rows, scrolled, at this many device pixels per pixel.
  [[nodiscard]] Scene scene(int scrollY, double scale) const;

 private:
  void layOutRows();

  TracePtr trace_;
  Viewport view_;
  ViewHistory history_;
  QElapsedTimer sinceMove_;
  RowOptions options_;
  std::vector<Row> rows_;
  LedgerStrips ledgers_;
  std::vector<Bookmark> bookmarks_;
};

}  // namespace lacuna::gui
