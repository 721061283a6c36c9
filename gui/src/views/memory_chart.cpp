// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_chart.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/words.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::gui {

namespace {

constexpr int kCurveLeft = 74;
constexpr int kCurveTop = 26;
constexpr int kCurveBottom = 26;
constexpr double kRoom = 1.06;  // above the peak
constexpr int kCurveTickSpacing = 120;

}  // namespace

MemoryChart::MemoryChart(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(190);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Memory over time"));
}

void MemoryChart::setTrace(const TracePtr& trace) {
  trace_ = trace;
  device_.reset();
  peak_.reset();
  cursor_.reset();
  foreseen_.reset();
  view_ = trace ? Viewport(trace->tracks->span) : Viewport();
  findLanes();
}

void MemoryChart::setGrown(const TracePtr& trace) {
  trace_ = trace;
  view_ = view_.grown(trace->tracks->span);
  findLanes();
}

void MemoryChart::findLanes() {
  total_ = nullptr;
  bands_.clear();
  update();
  if (!trace_) return;
  const analyzer::TrackGroup* best = nullptr;
  for (const auto& group : trace_->tracks->groups) {
    if (device_ && group.device != *device_) continue;
    for (const auto& track : group.tracks) {
      if (track.kind != analyzer::TrackKind::Counter || track.label != analyzer::kMemoryCurve)
        continue;
      if (total_ && total_->highest() >= track.counter.highest()) continue;
      total_ = &track.counter;
      best = &group;
    }
  }
  if (!best) return;
  for (std::size_t i = 0; i < best->tracks.size(); ++i) {
    const auto& track = best->tracks[i];
    if (track.kind != analyzer::TrackKind::Counter ||
        !track.label.starts_with(analyzer::kRoleCurve))
      continue;
    bands_.push_back({&track.counter,
                      {counterColour(track.label, i, false), counterColour(track.label, i, true)}});
  }
}

void MemoryChart::setDevice(std::optional<prof::DeviceId> device) {
  device_ = device;
  findLanes();
}

void MemoryChart::setPeak(std::optional<Peak> peak) {
  peak_ = peak;
  update();
}

void MemoryChart::setDark(bool dark) {
  dark_ = dark;
  update();
}

QString MemoryChart::describe(prof::TimeNs timeNs) const {
  const QString when = words(momentText(timeNs - view_.trace().startNs, 1000));
  const std::size_t sample = total_ ? total_->at(timeNs) : SIZE_MAX;
  return sample == SIZE_MAX ? when : tr("%1 at %2").arg(bytesWords(total_->value(sample)), when);
}

void MemoryChart::setCursorMark(std::optional<prof::TimeNs> timeNs) {
  cursor_ = timeNs;
  setAccessibleDescription(timeNs ? describe(*timeNs) : QString());
  if (timeNs && (*timeNs < view_.startNs() || *timeNs >= view_.endNs()))
    view_ = view_.movedTo(*timeNs - view_.spanNs() / 2);
  update();
}

void MemoryChart::setForeseen(std::optional<Foreseen> foreseen) {
  foreseen_ = std::move(foreseen);
  update();
}

QRect MemoryChart::plot() const {
  return {kCurveLeft, kCurveTop, std::max(1, width() - kCurveLeft - 8),
          std::max(1, height() - kCurveTop - kCurveBottom)};
}

double MemoryChart::xOf(prof::TimeNs timeNs) const {
  const QRect area = plot();
  return area.x() + view_.pixelNear(timeNs, area.width());
}

double MemoryChart::top() const {
  return std::max(1.0, total_->highest() * kRoom);
}

prof::TimeNs MemoryChart::timeAt(double x) const {
  return view_.timeAt(std::clamp(x - kCurveLeft, 0.0, plot().width() - 1.0), plot().width());
}

void MemoryChart::paintBands(QPainter& painter) {
  const QRect area = plot();
  const auto width = static_cast<std::size_t>(area.width());
  const analyzer::PixelGrid grid{view_.startNs(), view_.nsPerPixel(area.width()), area.width()};
  std::vector<analyzer::CounterCell> cells(width);
  std::vector<double> base(width, 0);
  const double scale = area.height() / top();
  for (const Band& band : bands_) {
    band.lane->query(grid, cells);
    const QColor colour = rgb(band.colour[dark_ ? 1 : 0], 150);
    for (std::size_t x = 0; x < width; ++x) {
      if (!cells[x].known || cells[x].last <= 0) continue;
      const double height = cells[x].last * scale;
      painter.fillRect(QRectF(area.x() + static_cast<double>(x),
                              area.bottom() + 1 - base[x] - height, 1, height),
                       colour);
      base[x] += height;
    }
  }
  // The memory of roles at a pixel's end, and above them the most that there was within it.
  total_->query(grid, cells);
  QPainterPath line;
  bool begun = false;
  for (std::size_t x = 0; x < width; ++x) {
    if (!cells[x].known) continue;
    const double at = area.x() + static_cast<double>(x) + 0.5;
    const double high = area.bottom() + 1 - cells[x].high * scale;
    const double low = area.bottom() + 1 - cells[x].last * scale;
    begun ? line.lineTo(at, high) : line.moveTo(at, high);
    line.lineTo(at, low);
    begun = true;
    if (bands_.empty())
      painter.fillRect(QRectF(at - 0.5, low, 1, area.bottom() + 1 - low),
                       rgb(theme(dark_).accent, 70));
  }
  painter.strokePath(line, QPen(rgb(theme(dark_).text, 200), 1));
}

void MemoryChart::paintAxes(QPainter& painter) {
  const Theme& t = theme(dark_);
  const QRect area = plot();
  // Powers of two are round for bytes.
  const double step = std::exp2(std::floor(std::log2(top() / 2)));
  for (double bytes = 0; bytes <= top(); bytes += step) {
    const int y = area.bottom() + 1 - static_cast<int>(std::lround(bytes / top() * area.height()));
    painter.fillRect(area.x(), y, area.width(), 1, rgb(bytes == 0 ? t.line : t.grid));
    painter.setPen(rgb(t.dim));
    painter.drawText(QRect(0, y - 9, kCurveLeft - 10, 18), Qt::AlignRight | Qt::AlignVCenter,
                     words(prof::bytesAxisText(bytes, top())));
  }
  painter.setPen(rgb(t.dim));
  for (const Tick& tick : ticks(view_, area.width(), kCurveTickSpacing)) {
    const double x = area.x() + tick.x;
    painter.fillRect(QRectF(x, area.bottom() + 2, 1, 5), rgb(t.line));
    const QString label = words(tick.label);
    if (x + 5 + painter.fontMetrics().horizontalAdvance(label) > width())
      continue;  // half of it misleads
    painter.drawText(QPointF(x + 5, area.bottom() + 19), label);
  }
}

void MemoryChart::paintForeseen(QPainter& painter) {
  const Theme& t = theme(dark_);
  const QRect area = plot();
  // One strip for all blocks together, however many overlap.
  double painted = area.x();
  for (const prof::TimeWindow& alive : foreseen_->alive) {
    const double from = std::max(painted, xOf(alive.startNs));
    const double to = std::max(from + 1, xOf(alive.endNs));
    painter.fillRect(QRectF(from, area.bottom() - 3, to - from, 4), rgb(t.text));
    painted = to;
  }
  const double y =
      area.bottom() + 1 - static_cast<double>(foreseen_->bytes) / top() * area.height();
  painter.setPen(QPen(rgb(t.good), 1.5, Qt::DashLine));
  painter.drawLine(QPointF(area.x(), y), QPointF(area.right(), y));
  const QString label = tr("peak then %1").arg(bytesWords(foreseen_->bytes));
  const QRectF plate(area.x() + 8, y + 5, painter.fontMetrics().horizontalAdvance(label) + 14, 18);
  painter.fillRect(plate, rgb(t.window, 235));  // the curve may go up and down below it
  painter.setPen(rgb(t.good));
  painter.drawText(plate, Qt::AlignCenter, label);
}

void MemoryChart::paintMarks(QPainter& painter) {
  const Theme& t = theme(dark_);
  const QRect area = plot();
  if (peak_) {
    const QPointF peak(
        xOf(peak_->timeNs),
        area.bottom() + 1 - static_cast<double>(peak_->bytes) / top() * area.height());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(rgb(t.warn));
    painter.setPen(Qt::NoPen);
    painter.drawEllipse(peak, 4, 4);
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(rgb(t.warn));
    const QString label = tr("peak %1").arg(bytesWords(peak_->bytes));
    const int w = painter.fontMetrics().horizontalAdvance(label);
    const double left = std::clamp(peak.x() - w / 2.0, double(area.x()), double(area.right() - w));
    painter.drawText(QPointF(left, std::max(12.0, peak.y() - 9)), label);
  }
  if (mouseX_) painter.fillRect(QRectF(*mouseX_, area.y(), 1, area.height()), rgb(t.text, 70));
  if (!cursor_) return;
  const double x = xOf(*cursor_);
  painter.fillRect(QRectF(x - 0.5, area.y() - 4, 1.5, area.height() + 4), rgb(t.accent));
  const QString label =
      words(momentText(*cursor_ - view_.trace().startNs,
                       static_cast<prof::TimeNs>(view_.nsPerPixel(area.width())) + 1));
  const int w = painter.fontMetrics().horizontalAdvance(label) + 12;
  const QRectF tag(std::clamp(x - w / 2.0, double(area.x()), double(area.right() - w)),
                   area.bottom() + 3, w, 18);
  painter.fillRect(tag, rgb(t.accent));
  painter.setPen(rgb(inkOn(t.accent)));
  painter.drawText(tag, Qt::AlignCenter, label);
}

void MemoryChart::paintEvent(QPaintEvent*) {
  if (!total_) return;
  QPainter painter(this);
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  paintAxes(painter);
  painter.save();
  painter.setClipRect(plot().adjusted(0, -kCurveTop, 0, kCurveBottom));
  paintBands(painter);
  if (foreseen_) paintForeseen(painter);
  paintMarks(painter);
  painter.restore();
}

void MemoryChart::pick(prof::TimeNs timeNs) {
  setCursorMark(timeNs);
  Q_EMIT momentPicked(timeNs);
}

void MemoryChart::mousePressEvent(QMouseEvent* event) {
  if (total_) pick(timeAt(event->position().x()));
}

void MemoryChart::mouseMoveEvent(QMouseEvent* event) {
  mouseX_ = event->position().x();
  if (!plot().contains(event->position().toPoint())) mouseX_.reset();
  if (total_ && event->buttons() & Qt::LeftButton) pick(timeAt(event->position().x()));
  update();
}

void MemoryChart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (total_) Q_EMIT momentWanted(timeAt(event->position().x()));
}

void MemoryChart::leaveEvent(QEvent*) {
  mouseX_.reset();
  update();
}

void MemoryChart::wheelEvent(QWheelEvent* event) {
  const double share = std::clamp((event->position().x() - kCurveLeft) / plot().width(), 0.0, 1.0);
  const QPoint delta = event->angleDelta();
  view_ = event->modifiers() & Qt::ShiftModifier
              ? view_.panned(-(delta.x() + delta.y()) / 1000.0)
              : view_.zoomed(std::pow(kWheelZoom, delta.y() / 120.0), share);
  event->accept();
  update();
}

void MemoryChart::zoomAtCursor(double factor) {
  const double share = cursor_ ? view_.pixelAt(*cursor_, 1) : 0.5;
  view_ = view_.zoomed(factor, std::clamp(share, 0.0, 1.0));
  update();
}

void MemoryChart::keyPressEvent(QKeyEvent* event) {
  if (!total_) return QWidget::keyPressEvent(event);
  const prof::TimeNs at = cursor_.value_or(view_.startNs());
  const std::size_t sample = total_->at(at);
  switch (event->key()) {
    case Qt::Key_Right: {
      const std::size_t next = sample == SIZE_MAX ? 0 : sample + 1;
      if (next < total_->size()) pick(total_->timeNs(next));
      return;
    }
    case Qt::Key_Left:
      // Several may be of one moment.
      if (const std::size_t before = total_->at(at - 1); before != SIZE_MAX)
        pick(total_->timeNs(before));
      return;
    case Qt::Key_Home:
      view_ = view_.fitted();
      return update();
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoomAtCursor(kKeyZoom);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomAtCursor(1 / kKeyZoom);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      Q_EMIT momentWanted(at);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

}  // namespace lacuna::gui
