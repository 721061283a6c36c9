// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/histogram_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "base/words.h"

namespace lacuna::gui {

namespace {
constexpr int kLowest = 168;
constexpr int kHighest = 420;
constexpr int kBarsTop = 44;
constexpr int kBarsBottom = 22;
constexpr int kLabels = 6;
}  // namespace

HistogramView::HistogramView(analyzer::TrackKind kind, QWidget* parent)
    : QWidget(parent), kind_(kind) {
  setMinimumHeight(kLowest);
  setMaximumHeight(kHighest);
  setAccessibleName(tr("How long they take"));
}

void HistogramView::setTrace(const TracePtr& trace) {
  trace_ = trace;
  setName({});
}

void HistogramView::setName(const QString& name) {
  if (name != name_) {
    histogram_ = {};
    setAccessibleDescription({});
  }
  name_ = name;
  update();
  if (!trace_ || name.isEmpty()) return job_.cancel();
  job_.start(
      this,
      [trace = trace_, kind = kind_, name](const Job::Wanted& wanted) {
        const prof::StringId id = trace->store->find(name.toStdString());
        return analyzer::durationHistogram(*trace->tracks, kind, id, 48,
                                           [&](double) { return wanted(); });
      },
      [this](const analyzer::DurationHistogram& histogram) {
        histogram_ = histogram;
        setAccessibleDescription(histogram.events > 0 ? tr("%1: %2").arg(name_, facts())
                                                      : QString());
        update();
        Q_EMIT ready();
      });
}

void HistogramView::setDark(bool dark) {
  dark_ = dark;
  update();
}

QString HistogramView::facts() const {
  return tr("%1 · %2 · shortest %3 · median %4 (the line) · 95 % within %5 · longest %6")
      .arg(kind_ == analyzer::TrackKind::Work ? tr("device time") : tr("host time"),
           histogram_.events == 1 ? tr("1 event") : tr("%1 events").arg(histogram_.events),
           durationWords(histogram_.shortestNs), durationWords(histogram_.medianNs),
           durationWords(histogram_.p95Ns), durationWords(histogram_.longestNs));
}

QRect HistogramView::plot() const {
  return {0, kBarsTop, width(), height() - kBarsTop - kBarsBottom};
}

void HistogramView::paintEvent(QPaintEvent*) {
  const Theme& t = theme(dark_);
  QPainter painter(this);
  QFont font = painter.font();
  font.setPixelSize(12);
  painter.setFont(font);
  painter.setPen(rgb(t.dim));
  if (histogram_.events == 0) {
    painter.drawText(rect(), Qt::AlignCenter, tr("Select a row to see how long its events take."));
    return;
  }
  painter.drawText(QRect(0, 22, width(), 18), Qt::AlignVCenter, facts());
  painter.setPen(rgb(t.text));
  painter.drawText(QRect(0, 2, width(), 18), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(name_, Qt::ElideRight, width()));
  const QRect area = plot();
  const auto most =
      static_cast<double>(*std::max_element(histogram_.counts.begin(), histogram_.counts.end()));
  const double pitch =
      static_cast<double>(area.width()) / static_cast<double>(histogram_.counts.size());
  for (std::size_t i = 0; i < histogram_.counts.size(); ++i) {
    if (histogram_.counts[i] == 0) continue;
    const double high =
        std::max(1.0, static_cast<double>(histogram_.counts[i]) / most * area.height());
    painter.fillRect(
        QRectF(static_cast<double>(i) * pitch, area.bottom() + 1 - high, pitch - 1, high),
        rgb(chartColour(0, dark_)));
  }
  painter.fillRect(area.x(), area.bottom() + 1, area.width(), 1, rgb(t.line));
  painter.setPen(rgb(t.dim));
  const auto count = static_cast<std::size_t>(kLabels);
  for (std::size_t i = 0; i <= count; ++i) {
    const std::size_t bucket = i * histogram_.counts.size() / count;
    const double x = static_cast<double>(bucket) * pitch;
    const Qt::Alignment side = i == 0       ? Qt::AlignLeft
                               : i == count ? Qt::AlignRight
                                            : Qt::AlignHCenter;
    const double left = i == 0 ? 0 : i == count ? width() - 100.0 : x - 50;
    painter.drawText(QRectF(left, area.bottom() + 4, 100, 16), side,
                     durationWords(std::round(histogram_.bucketStartNs(bucket))));
  }
  const double low = std::log(histogram_.bucketStartNs(0));
  const double range = std::log(histogram_.bucketStartNs(histogram_.counts.size())) - low;
  const double at =
      range > 0
          ? (std::log(static_cast<double>(std::max<std::int64_t>(1, histogram_.medianNs))) - low) /
                range * area.width()
          : 0;
  painter.fillRect(QRectF(at, area.y(), 1.5, area.height()), rgb(t.warn));
}

bool HistogramView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || histogram_.events == 0) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const auto count = static_cast<double>(histogram_.counts.size());
  const auto i =
      static_cast<std::size_t>(std::clamp(help->pos().x() * count / width(), 0.0, count - 1));
  QToolTip::showText(help->globalPos(),
                     tr("%1 events from %2 to %3")
                         .arg(histogram_.counts[i])
                         .arg(durationWords(histogram_.bucketStartNs(i)),
                              durationWords(histogram_.bucketStartNs(i + 1))),
                     this);
  return true;
}

}  // namespace lacuna::gui
