// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <vector>

#include "timeline/ledger_painter.h"
#include "timeline/strip_renderer.h"
#include "views/label_painter.h"
#include "views/timeline_state.h"

class QPainter;
class QRegion;

namespace lacuna::gui {

/// The base picture: the tracks with the names on their events. It is kept, and drawn anew once it
/// is stale.
class TimelinePicture {
 public:
  void setTrace(const TracePtr& trace) { labelPainter_.setTrace(trace); }
  void invalidate() { stale_ = true; }
  /// Draws it now, at this many device pixels per pixel.
  void render(const TimelineState& state, double scale);
  /// Paints the parts of `region`, from a fresh picture; all as shapes and texts where those are
  /// kept.
  void paint(QPainter& painter, const TimelineState& state, const QRegion& region);
  /// For the name of an event, at a place in the canvas.
  [[nodiscard]] bool hasNameOn(const QRectF& place);
  /// Number of times that it was drawn so far.
  [[nodiscard]] int timesDrawn() const { return timesDrawn_; }

 private:
  /// The tracks without the names on their events, which labels_ then holds.
  void renderTracks(const TimelineState& state, QImage& picture, double scale);
  void renderLedgers(const TimelineState& state, const Canvas& canvas, double scale);
  void paintShapes(QPainter& painter, const TimelineState& state);
  void paintPixels(QPainter& painter, const TimelineFrame& frame, const QRegion& region) const;

  StripRenderer renderer_;
  LedgerPainter ledgerPainter_;
  LabelPainter labelPainter_;
  std::vector<Label> labels_;
  double labelScale_ = 1;  ///< device pixels to one, in labels_
  QImage base_;
  double baseScale_ = 0;  ///< that it was drawn at
  bool stale_ = true;
  int timesDrawn_ = 0;
};

}  // namespace lacuna::gui
