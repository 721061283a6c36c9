// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_picture.h"

#include <QPainter>
#include <QRegion>
#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "views/parts.h"
#include "views/shapes.h"
#include "views/timeline_metrics.h"
#include "views/timeline_paint.h"

namespace lacuna::gui {

void TimelinePicture::render(const TimelineState& state, double scale) {
  renderTracks(state, base_, scale);
  base_.setDevicePixelRatio(scale);
  QPainter painter(&base_);
  labelPainter_.paint(painter, labels_, scale);
  painter.end();
  baseScale_ = scale;
  stale_ = false;
  ++timesDrawn_;
}

void TimelinePicture::renderTracks(const TimelineState& state, QImage& picture, double scale) {
  const QRect& canvas = state.frame.canvas;
  const QSize size(std::max(1, qRound(canvas.width() * scale)),
                   std::max(1, qRound(canvas.height() * scale)));
  if (picture.size() != size) picture = QImage(size, QImage::Format_RGB32);
  labels_.clear();
  labelScale_ = scale;
  const TracePtr& trace = state.model.trace();
  if (!trace) return picture.fill(rgb(theme(state.dark).window));
  const Canvas pixels{reinterpret_cast<Colour*>(picture.bits()), size.width(), size.height(),
                      static_cast<int>(picture.bytesPerLine() / 4)};
  renderer_.render(state.model.scene(state.frame.scrollY, scale), trace->styles(state.dark), pixels,
                   labels_);
  renderLedgers(state, pixels, scale);
}

void TimelinePicture::renderLedgers(const TimelineState& state, const Canvas& canvas,
                                    double scale) {
  const Viewport& view = state.model.viewport();
  const analyzer::PixelGrid grid{view.startNs(), view.nsPerPixel(canvas.width), canvas.width};
  for (const Row& row : state.model.rows()) {
    if (row.kind != Row::Kind::Ledger) continue;
    const auto top = static_cast<int>(std::lround((row.y + 3 - state.frame.scrollY) * scale));
    const auto height = static_cast<int>(std::lround((row.height - 6) * scale));
    if (top >= canvas.height || top + height <= 0) continue;
    if (const auto* strip = state.model.stripOf(row.ref.group)) {
      ledgerPainter_.paint(*strip, grid, state.dark, top, height, canvas);
    }
  }
}

void TimelinePicture::paint(QPainter& painter, const TimelineState& state, const QRegion& region) {
  if (keepsShapes(painter)) return paintShapes(painter, state);
  // A picture of the window may be taken at another scale than the screen's.
  const double scale = scaleOf(painter);
  if (stale_ || scale != baseScale_) render(state, scale);
  paintPixels(painter, state.frame, region);
}

void TimelinePicture::paintShapes(QPainter& painter, const TimelineState& state) {
  const QPoint at = state.frame.canvas.topLeft();
  QImage tracks;
  renderTracks(state, tracks, 1);
  paintAsRects(painter, at, tracks);
  painter.save();
  painter.translate(at);
  labelPainter_.paint(painter, labels_, 1);
  painter.restore();
}

void TimelinePicture::paintPixels(QPainter& painter, const TimelineFrame& frame,
                                  const QRegion& region) const {
  const QRect& canvas = frame.canvas;
  const double scale = base_.devicePixelRatio();
  const QRegion all(QRect(QPoint(), frame.size));
  if (region == all || !hasWholePixels(scale)) return painter.drawImage(canvas.topLeft(), base_);
  for (const QRect& part : region) {
    inShortPieces(part & canvas, [&](const QRectF& shown) {
      painter.drawImage(shown, base_,
                        QRectF((shown.topLeft() - canvas.topLeft()) * scale, shown.size() * scale));
    });
  }
}

bool TimelinePicture::hasNameOn(const QRectF& place) {
  return labelPainter_.isWrittenOn(place, labels_, labelScale_);
}

}  // namespace lacuna::gui
