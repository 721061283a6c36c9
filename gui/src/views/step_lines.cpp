// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/step_lines.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "base/words.h"
#include "views/charts.h"

namespace lacuna::gui {

namespace {
constexpr int kLinesLeft = 64;
constexpr int kLinesTop = 26;
constexpr int kLinesBottom = 24;
}  // namespace

StepLines::StepLines(QWidget* parent) : QWidget(parent) {
  setMinimumSize(280, 150);
  setAccessibleName(tr("Step times of both runs"));
}

void StepLines::setRuns(std::shared_ptr<const analyzer::Analysis> before,
                        std::shared_ptr<const analyzer::Analysis> after, bool dark) {
  before_ = std::move(before);
  after_ = std::move(after);
  dark_ = dark;
  setAccessibleDescription(
      tr("median %1 before, %2 after")
          .arg(durationWords(before_->steps.medianNs()), durationWords(after_->steps.medianNs())));
  update();
}

QRect StepLines::plot() const {
  return {kLinesLeft, kLinesTop, width() - kLinesLeft - 6, height() - kLinesTop - kLinesBottom};
}

std::pair<QString, QString> StepLines::ends() const {
  const auto before = stepNumbers(before_->steps.all);
  const auto after = stepNumbers(after_->steps.all);
  const auto& longer = before.size() > after.size() ? before : after;
  if (longer.empty()) return {};
  // Two runs whose steps have other numbers are put side by side from their first steps on.
  const bool alike = before.empty() || after.empty() || before.front() == after.front();
  return {alike ? tr("step %1").arg(longer.front()) : tr("first step"),
          alike ? QString::number(longer.back()) : tr("last step")};
}

void StepLines::paintLine(QPainter& painter, const analyzer::Steps& steps, double top,
                          std::size_t most, bool after) const {
  const QRect area = plot();
  QPainterPath path;
  for (std::size_t i = 0; i < steps.all.size(); ++i) {
    const double x = area.x() + (static_cast<double>(i) + 0.5) /
                                    static_cast<double>(std::max<std::size_t>(1, most)) *
                                    area.width();
    const QPointF at(
        x, area.bottom() - static_cast<double>(steps.all[i].durNs()) / top * area.height());
    i == 0 ? path.moveTo(at) : path.lineTo(at);
  }
  QPen pen(rgb(chartColour(after ? 0 : 1, dark_)), 1.8);
  if (!after) pen.setStyle(Qt::DashLine);  // distinct without colour, too
  painter.strokePath(path, pen);
}

void StepLines::paintEvent(QPaintEvent*) {
  if (!before_ || !after_) return;
  const Theme& t = theme(dark_);
  QPainter painter(this);
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  const std::int64_t longest = std::max(stepScale(before_->steps), stepScale(after_->steps));
  const std::size_t most = std::max(before_->steps.all.size(), after_->steps.all.size());
  const double top = roundUp(static_cast<double>(longest));
  const QRect area = plot();
  for (int i = 0; i <= 2; ++i) {
    const int y = area.bottom() - i * area.height() / 2;
    painter.fillRect(area.x(), y, area.width(), 1, rgb(i == 0 ? t.line : t.grid));
    painter.setPen(rgb(t.dim));
    painter.drawText(QRect(0, y - 9, kLinesLeft - 10, 18), Qt::AlignRight | Qt::AlignVCenter,
                     words(axisText(top * i / 2)));
  }
  const auto [first, last] = ends();
  painter.drawText(QRect(area.x(), area.bottom() + 5, area.width(), 16), Qt::AlignLeft, first);
  painter.drawText(QRect(area.x(), area.bottom() + 5, area.width(), 16), Qt::AlignRight, last);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(area.adjusted(0, -2, 0, 2));
  paintLine(painter, before_->steps, top, most, false);
  paintLine(painter, after_->steps, top, most, true);
  painter.setClipping(false);
  const auto legend = [&](int x, bool after, const QString& words) {
    QPen pen(rgb(chartColour(after ? 0 : 1, dark_)), 1.8);
    if (!after) pen.setStyle(Qt::DashLine);
    painter.setPen(pen);
    painter.drawLine(x, 10, x + 24, 10);
    painter.setPen(rgb(t.text));
    painter.drawText(QRect(x + 32, 0, 200, 20), Qt::AlignVCenter, words);
  };
  const int names = painter.fontMetrics().horizontalAdvance(tr("step time")) + 24;
  painter.drawText(QRect(area.x(), 0, names, 20), Qt::AlignVCenter, tr("step time"));
  legend(area.x() + names, false, tr("before"));
  legend(area.x() + names + 100, true, tr("after"));
}

}  // namespace lacuna::gui
