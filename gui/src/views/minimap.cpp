// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/minimap.h"

#include <QMouseEvent>
#include <QPainter>
#include <cmath>

#include "base/words.h"
#include "views/parts.h"
#include "views/shapes.h"

namespace lacuna::gui {

namespace {

constexpr int kMinimapHeight = 34;
constexpr int kMinimapMargin = 6;

/// The busiest track of device work, or of anything.
const analyzer::Track* busiest(const analyzer::TrackSet& tracks) {
  const analyzer::Track* best = nullptr;
  for (const auto& group : tracks.groups) {
    for (const auto& track : group.tracks) {
      if (track.lanes.empty()) continue;
      const auto rank = [](const analyzer::Track& t) {
        return std::pair(t.kind == analyzer::TrackKind::Work, t.events);
      };
      if (!best || rank(track) > rank(*best)) best = &track;
    }
  }
  return best;
}

}  // namespace

Minimap::Minimap(TimelineView* view, QWidget* parent) : QWidget(parent), view_(view) {
  setFixedHeight(kMinimapHeight);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("The whole trace"));
  setToolTip(
      tr("The whole trace: click to go there, wheel to zoom, double-click to see everything"));
  connect(view, &TimelineView::viewportChanged, this, qOverload<>(&QWidget::update));
  connect(view, &TimelineView::bookmarksChanged, this, qOverload<>(&QWidget::update));
}

void Minimap::refresh() {
  stale_ = true;
  update();
}

QRect Minimap::canvas() const {
  return {view_->headerWidth(), kMinimapMargin, std::max(1, view_->canvasWidth()),
          height() - 2 * kMinimapMargin};
}

Viewport Minimap::full() const {
  return view_->viewport().fitted();
}

void Minimap::draw(double scale) {
  const QRect area = canvas();
  picture_ = QImage(area.size() * scale, QImage::Format_RGB32);
  const Theme& t = theme(view_->dark());
  picture_.fill(rgb(t.window));
  const Canvas pixels{reinterpret_cast<Colour*>(picture_.bits()), picture_.width(),
                      picture_.height(), static_cast<int>(picture_.bytesPerLine() / 4)};
  const analyzer::PixelGrid grid{full().startNs(), full().nsPerPixel(pixels.width), pixels.width};
  if (view_->ledgers() && !view_->ledgers()->empty()) {
    painter_.paint(view_->ledgers()->front(), grid, view_->dark(), 0, pixels.height, pixels);
  } else if (const analyzer::Track* track = busiest(*view_->trace()->tracks)) {
    std::vector<analyzer::Cell> cells(static_cast<std::size_t>(pixels.width));
    track->lanes[0].query(grid, cells);
    for (int x = 0; x < pixels.width; ++x) {
      const auto& cell = cells[static_cast<std::size_t>(x)];
      const int high = static_cast<int>(std::ceil(cell.busy * static_cast<float>(pixels.height)));
      for (int y = pixels.height - high; y < pixels.height; ++y) {
        pixels.pixels[static_cast<std::ptrdiff_t>(y) * pixels.stride + x] =
            view_->trace()->styles(view_->dark()).byKind(track->kind, cell.name);
      }
    }
  }
  picture_.setDevicePixelRatio(scale);
  stale_ = false;
}

void Minimap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme(view_->dark());
  painter.fillRect(rect(), rgb(t.panel));
  painter.fillRect(0, height() - 1, width(), 1, rgb(t.line));
  if (!view_->trace()) return;
  const QRect area = canvas();
  const double scale = scaleOf(painter);
  if (stale_ || picture_.size() != area.size() * scale) draw(scale);
  paintPicture(painter, area.topLeft(), picture_);
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  painter.setPen(rgb(t.dim));
  painter.drawText(QRect(12, 0, area.x() - 20, height()), Qt::AlignVCenter, tr("whole trace"));
  const Viewport all = full();
  const Viewport& shown = view_->viewport();
  const double left =
      std::clamp(all.pixelAt(shown.startNs(), area.width()), 0.0, area.width() - 3.0);
  const double right = std::clamp(all.pixelAt(shown.endNs(), area.width()), left + 3,
                                  static_cast<double>(area.width()));
  painter.fillRect(QRectF(area.x(), area.y(), left, area.height()), rgb(t.window, 170));
  painter.fillRect(QRectF(area.x() + right, area.y(), area.width() - right, area.height()),
                   rgb(t.window, 170));
  for (const Bookmark& mark : view_->bookmarks()) {
    painter.fillRect(QRectF(area.x() + all.pixelAt(mark.timeNs, area.width()), 1, 2, height() - 3),
                     rgb(t.warn));
  }
  painter.setPen(QPen(rgb(t.accent), 1.5));
  painter.drawRect(QRectF(area.x() + left, area.y() - 2.5, right - left, area.height() + 4));
}

void Minimap::resizeEvent(QResizeEvent*) {
  stale_ = true;
}

void Minimap::moveTo(double x) {
  if (!view_->trace()) return;
  const Viewport& shown = view_->viewport();
  const prof::TimeNs middle = full().timeAt(x - canvas().x(), canvas().width());
  view_->setViewport(shown.movedTo(middle - shown.spanNs() / 2));
}

void Minimap::mousePressEvent(QMouseEvent* event) {
  moveTo(event->position().x());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) moveTo(event->position().x());
}

void Minimap::mouseDoubleClickEvent(QMouseEvent*) {
  view_->fit();
}

void Minimap::wheelEvent(QWheelEvent* event) {
  view_->setViewport(
      view_->viewport().zoomed(std::pow(kWheelZoom, event->angleDelta().y() / 120.0), 0.5));
  event->accept();
}

}  // namespace lacuna::gui
