// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/charts.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "base/words.h"
#include "timeline/text.h"

namespace lacuna::gui {

using analyzer::Cause;

namespace {

constexpr int kBarHeight = 30;
constexpr int kLegendLine = 22;
constexpr int kLegendEntry = 285;
constexpr int kRoleHeight = 14;
constexpr int kRoleEntry = 190;
constexpr int kAxisLeft = 64;
constexpr double kStepLabel = 44;  // room for a step's number

/// The next of 1, 2, 5, 10, 20, … at or above v.
std::uint64_t roundCount(double v) {
  std::uint64_t power = 1;
  for (;; power *= 10) {
    for (const std::uint64_t f : {1, 2, 5}) {
      if (v <= static_cast<double>(f * power)) return f * power;
    }
  }
}

void setPixelSize(QPainter& painter, int size) {
  QFont font = painter.font();
  font.setPixelSize(size);
  painter.setFont(font);
}

/// A colour, a label in the text's colour and a figure in a dimmer one.
void paintLegend(QPainter& painter, QRect at, Colour swatch, const QString& label,
                 const QString& figure, bool dark) {
  const Theme& t = theme(dark);
  painter.fillRect(QRect(at.x(), at.y() + 6, 10, 10), rgb(swatch));
  painter.setPen(rgb(t.text));
  const QFontMetrics metrics = painter.fontMetrics();
  const int figureWidth = metrics.horizontalAdvance(figure);
  const QString shown = metrics.elidedText(label, Qt::ElideRight, at.width() - figureWidth - 36);
  painter.drawText(QRect(at.x() + 16, at.y(), at.width(), at.height()), Qt::AlignVCenter, shown);
  painter.setPen(rgb(t.dim));
  painter.drawText(
      QRect(at.x() + 24 + metrics.horizontalAdvance(shown), at.y(), figureWidth + 4, at.height()),
      Qt::AlignVCenter, figure);
}

/// Horizontal lines at round values from 0 to `top`, labelled.
template <class Format>
void paintScale(QPainter& painter, QRect plot, double top, bool dark, Format&& format) {
  const Theme& t = theme(dark);
  for (int i = 0; i <= 4; ++i) {
    const int y = plot.bottom() - i * plot.height() / 4;
    painter.fillRect(plot.x(), y, plot.width(), 1, rgb(i == 0 ? t.line : t.grid));
    painter.setPen(rgb(t.dim));
    if (i % 2 == 0) {
      painter.drawText(QRect(0, y - 9, kAxisLeft - 10, 18), Qt::AlignRight | Qt::AlignVCenter,
                       format(top * i / 4));
    }
  }
}

}  // namespace

double roundUp(double v) {
  if (v <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(v)));
  for (const double f : {1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (v <= f * power) return f * power;
  }
  return 10 * power;
}

LedgerBar::LedgerBar(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Where the device's time went"));
}

void LedgerBar::setLedger(const analyzer::Ledger& ledger, const analyzer::Ledger& bands, bool dark,
                          const analyzer::Ledger* orderOf) {
  dark_ = dark;
  entries_.clear();
  total_ = ledger.totalNs();
  QStringList spoken;
  for (std::size_t i = 0; i < analyzer::kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (ledger[cause] == 0) continue;
    entries_.push_back({cause, ledger[cause], bands[cause]});
    spoken << words(analyzer::causeLabel(cause)) + QLatin1Char(' ') + durationWords(ledger[cause]) +
                  QLatin1Char(' ') + bandWords(bands[cause], ledger[cause]);
  }
  const analyzer::Ledger& sizes = orderOf != nullptr ? *orderOf : ledger;
  std::stable_sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return std::pair(!analyzer::isBusy(a.cause), -sizes[a.cause]) <
           std::pair(!analyzer::isBusy(b.cause), -sizes[b.cause]);
  });
  setAccessibleDescription(spoken.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

int LedgerBar::legendColumns(int width) const {
  return std::max(1, width / kLegendEntry);
}

QSize LedgerBar::sizeHint() const {
  return {600, heightForWidth(std::max(600, width()))};
}

int LedgerBar::heightForWidth(int width) const {
  const int columns = legendColumns(width);
  return kBarHeight + 10 +
         (static_cast<int>(entries_.size()) + columns - 1) / columns * kLegendLine;
}

void LedgerBar::paintEvent(QPaintEvent*) {
  if (total_ <= 0) return;
  QPainter painter(this);
  setPixelSize(painter, 12);
  QPainterPath round;
  round.addRoundedRect(QRectF(0, 0, width(), kBarHeight), 5, 5);
  painter.setClipPath(round);
  double x = 0;
  for (const Entry& entry : entries_) {
    const double w = static_cast<double>(entry.ns) / static_cast<double>(total_) * width();
    const Colour colour = causeColour(entry.cause, dark_);
    painter.fillRect(QRectF(x, 0, std::max(1.0, w - 1), kBarHeight), rgb(colour));
    const double band =
        w * std::min(1.0, static_cast<double>(entry.bandNs) / static_cast<double>(entry.ns));
    if (band >= 1)
      painter.fillRect(QRectF(x + w - 1 - band, 0, band, kBarHeight), bandBrush(colour));
    const QString share = percentWords(static_cast<double>(entry.ns) / static_cast<double>(total_));
    if (w > painter.fontMetrics().horizontalAdvance(share) + 12) {
      painter.setPen(rgb(inkOn(colour)));
      painter.drawText(QRectF(x, 0, w, kBarHeight), Qt::AlignCenter, share);
    }
    x += w;
  }
  painter.setClipping(false);
  const int columns = legendColumns(width());
  const int columnWidth = width() / columns;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto n = static_cast<int>(i);
    const QRect at(n % columns * columnWidth, kBarHeight + 10 + n / columns * kLegendLine,
                   columnWidth, kLegendLine);
    paintLegend(painter, at, causeColour(entries_[i].cause, dark_),
                words(analyzer::causeLabel(entries_[i].cause)),
                durationWords(entries_[i].ns) + QStringLiteral("  ") +
                    bandWords(entries_[i].bandNs, entries_[i].ns),
                dark_);
  }
}

std::int64_t stepScale(const analyzer::Steps& steps) {
  std::vector<std::int64_t> lengths;
  for (const analyzer::Step& step : steps.all) lengths.push_back(step.durNs());
  if (lengths.empty()) return 1;
  std::sort(lengths.begin(), lengths.end());
  // Neither of two steps is usual.
  const std::int64_t usual =
      lengths.size() < 3 ? lengths.back() : lengths[(lengths.size() - 1) * 19 / 20];
  const auto shown = std::upper_bound(lengths.begin(), lengths.end(), usual * 5 / 2);
  return std::max<std::int64_t>(1, *(shown - 1));
}

StepChart::StepChart(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(180);
  setMouseTracking(true);
  setCursor(Qt::PointingHandCursor);
  setFocusPolicy(Qt::TabFocus);
  setAccessibleName(tr("Time of each step"));
}

void StepChart::setSteps(std::shared_ptr<const analyzer::Analysis> analysis, bool dark) {
  analysis_ = std::move(analysis);
  numbers_ = analysis_ ? stepNumbers(analysis_->steps.all) : std::vector<std::uint64_t>();
  hovered_ = -1;
  dark_ = dark;
  update();
}

QRect StepChart::plot() const {
  return {kAxisLeft, 8, width() - kAxisLeft - 8, height() - 34};
}

int StepChart::stepAt(double x) const {
  if (!analysis_ || analysis_->steps.all.empty()) return -1;
  const QRect area = plot();
  const double share = (x - area.x()) / area.width();
  if (share < 0 || share >= 1) return -1;
  return static_cast<int>(share * static_cast<double>(analysis_->steps.all.size()));
}

namespace {

/// The lengths of steps that are cut at the top, each beside its column on the side that has room
/// for it; where neither has, the tooltip has it.
void paintCutLengths(QPainter& painter, const QRect& area, const std::vector<analyzer::Step>& steps,
                     double top, double pitch, double bar) {
  const QFontMetrics metrics(painter.font());
  const auto cut = [top](const analyzer::Step& step) {
    return static_cast<double>(step.durNs()) > top;
  };
  const auto columnAt = [&](auto step) {
    return area.x() + static_cast<double>(step - steps.begin()) * pitch;
  };
  double free = area.left();
  for (auto step = std::find_if(steps.begin(), steps.end(), cut); step != steps.end();) {
    const auto next = std::find_if(step + 1, steps.end(), cut);
    const double left = columnAt(step) + (pitch - bar) / 2;
    const QString length = durationWords(step->durNs());
    const double wide = metrics.horizontalAdvance(length);
    const double x = left + bar + 4 + wide <= columnAt(next) ? left + bar + 4 : left - 4 - wide;
    if (x >= free) painter.drawText(QPointF(x, area.top() + 11), length);
    free = (x >= free ? std::max(x + wide, left + bar) : left + bar) + 4;
    step = next;
  }
}

}  // namespace

void StepChart::paintEvent(QPaintEvent*) {
  if (!analysis_ || analysis_->steps.all.empty()) return;
  QPainter painter(this);
  setPixelSize(painter, 11);
  const auto& steps = analysis_->steps.all;
  const QRect area = plot();
  const double top = roundUp(static_cast<double>(stepScale(analysis_->steps)));
  paintScale(painter, area, top, dark_, [](double v) { return words(axisText(v)); });
  const double pitch = static_cast<double>(area.width()) / static_cast<double>(steps.size());
  const double bar = std::min(pitch > 4 ? pitch - 2 : pitch, std::max(64.0, pitch * 0.6));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = area.x() + static_cast<double>(i) * pitch + (pitch - bar) / 2;
    double y = area.bottom();
    const bool cut = static_cast<double>(steps[i].durNs()) > top;
    const double full =
        cut ? area.height() : static_cast<double>(steps[i].durNs()) / top * area.height();
    const analyzer::Ledger none;
    const analyzer::Ledger& ledger =
        i < analysis_->ledgers.steps.size() ? analysis_->ledgers.steps[i] : none;
    const std::int64_t total = ledger.totalNs();  // 0 of a plain step
    if (total == 0) painter.fillRect(QRectF(x, y - full, bar, full), rgb(theme(dark_).line));
    for (std::size_t c = 0; c < analyzer::kCauseCount && total > 0; ++c) {
      const double h = full * static_cast<double>(ledger.ns[c]) / static_cast<double>(total);
      painter.fillRect(QRectF(x, y - h, bar, h), rgb(causeColour(static_cast<Cause>(c), dark_)));
      y -= h;
    }
    const double band = static_cast<double>(analysis_->stepBandNs(i)) / top * area.height();
    if (band >= 1 && !cut) {
      painter.fillRect(QRectF(x, area.bottom() - full, bar, std::min(band, full)),
                       QBrush(rgb(theme(dark_).text, 200), Qt::BDiagPattern));
    }
    if (cut) {
      // A gap shows that the column goes on, a figure how far.
      painter.fillRect(QRectF(x - 1, area.top() + 14, bar + 2, 3), rgb(theme(dark_).panel));
    }
    if (static_cast<int>(i) == hovered_) {
      painter.setPen(QPen(rgb(theme(dark_).text), 1.5));
      painter.drawRect(QRectF(x - 1, area.bottom() - full - 1, bar + 2, full + 2));
    }
  }
  painter.setPen(rgb(theme(dark_).dim));
  paintCutLengths(painter, area, steps, top, pitch, bar);
  const std::uint64_t every = roundCount(kStepLabel / pitch);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (numbers_[i] % every != 0) continue;
    const QRectF at(area.x() + static_cast<double>(i) * pitch + pitch / 2 - 40, area.bottom() + 6,
                    80, 16);
    painter.drawText(at, Qt::AlignCenter, QString::number(numbers_[i]));
  }
}

void StepChart::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = stepAt(event->position().x());
  update();
}

void StepChart::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void StepChart::mouseReleaseEvent(QMouseEvent* event) {
  const int step = event->button() == Qt::LeftButton ? stepAt(event->position().x()) : -1;
  if (step >= 0 && clicked) clicked(static_cast<std::size_t>(step));
}

void StepChart::keyPressEvent(QKeyEvent* event) {
  const int last = analysis_ ? static_cast<int>(analysis_->steps.all.size()) - 1 : -1;
  const int key = event->key();
  if (last < 0) return QWidget::keyPressEvent(event);
  if (key == Qt::Key_Left || key == Qt::Key_Right) {
    return goTo(
        static_cast<std::size_t>(std::clamp(hovered_ + (key == Qt::Key_Left ? -1 : 1), 0, last)));
  }
  if (key == Qt::Key_Home || key == Qt::Key_End)
    return goTo(static_cast<std::size_t>(key == Qt::Key_Home ? 0 : last));
  if ((key == Qt::Key_Return || key == Qt::Key_Enter) && hovered_ >= 0 && clicked) {
    return clicked(static_cast<std::size_t>(hovered_));
  }
  QWidget::keyPressEvent(event);
}

void StepChart::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  if (analysis_ && !analysis_->steps.all.empty()) goTo(0);  // or nobody would see where the keys go
}

void StepChart::focusOutEvent(QFocusEvent* event) {
  hovered_ = -1;
  QToolTip::hideText();
  update();
  QWidget::focusOutEvent(event);
}

void StepChart::goTo(std::size_t step) {
  hovered_ = static_cast<int>(step);
  const QString about = describe(step);
  setAccessibleDescription(about);
  const QRect area = plot();
  const double share =
      (static_cast<double>(step) + 0.5) / static_cast<double>(analysis_->steps.all.size());
  const QPoint at(area.x() + static_cast<int>(share * area.width()), area.top());
  QToolTip::showText(mapToGlobal(at), tipWords(about), this);
  update();
}

QString StepChart::describe(std::size_t step) const {
  const analyzer::Step& one = analysis_->steps.all[step];
  QString about =
      tr("%1: %2").arg(words(stepText(one, numbers_[step])), durationWords(one.durNs()));
  if (one.warmUp) about += tr(" (warm-up)");
  if (one.isPlain) about += tr(" (recorded without operators)");
  const std::int64_t recordingNs = analysis_->stepBandNs(step);
  if (const QString band = bandWords(recordingNs, one.durNs()); !band.isEmpty()) {
    about += tr("\nrecording may have added %1 (%2)").arg(durationWords(recordingNs), band);
  }
  return about;
}

bool StepChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  if (const int at = stepAt(help->pos().x()); at >= 0) {
    QToolTip::showText(help->globalPos(), tipWords(describe(static_cast<std::size_t>(at))), this);
  }
  return true;
}

RoleBar::RoleBar(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Memory by role"));
}

void RoleBar::setMoment(std::shared_ptr<const analyzer::MemoryMoment> moment, bool dark) {
  moment_ = std::move(moment);
  dark_ = dark;
  updateGeometry();
  update();
}

int RoleBar::legendColumns(int width) const {
  return std::max(1, width / kRoleEntry);
}

QSize RoleBar::sizeHint() const {
  return {400, heightForWidth(std::max(400, width()))};
}

int RoleBar::heightForWidth(int width) const {
  int entries = 0;
  for (std::size_t role = 0; moment_ && role < moment_->byRole.size(); ++role)
    entries += moment_->byRole[role] > 0;
  const int columns = legendColumns(width);
  return kRoleHeight + 8 + std::max(1, (entries + columns - 1) / columns) * kLegendLine;
}

void RoleBar::paintEvent(QPaintEvent*) {
  if (!moment_ || moment_->bytes == 0) return;
  QPainter painter(this);
  setPixelSize(painter, 12);
  double x = 0;
  int shown = 0;
  const int columns = legendColumns(width());
  for (std::size_t role = 0; role < moment_->byRole.size(); ++role) {
    const std::uint64_t bytes = moment_->byRole[role];
    if (bytes == 0) continue;
    const double w = static_cast<double>(bytes) / static_cast<double>(moment_->bytes) * width();
    const Colour colour = roleColour(static_cast<prof::MemoryRole>(role), dark_);
    painter.fillRect(QRectF(x, 0, std::max(1.0, w - 1), kRoleHeight), rgb(colour));
    x += w;
    const QRect at(shown % columns * (width() / columns),
                   kRoleHeight + 8 + shown / columns * kLegendLine, width() / columns, kLegendLine);
    paintLegend(painter, at, colour,
                words(analyzer::roleWords(static_cast<prof::MemoryRole>(role))), bytesWords(bytes),
                dark_);
    ++shown;
  }
}

}  // namespace lacuna::gui
