// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/step_stack.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <numeric>

#include "base/words.h"
#include "views/charts.h"
#include "views/parts.h"
#include "views/shapes.h"

namespace lacuna::gui {

namespace {

constexpr int kRow = 30;
constexpr int kCauses = 12;
constexpr int kWorkHeight = 10;
constexpr int kNames = 190;
constexpr int kScale = 28;
constexpr int kRight = 12;
constexpr int kScaleTicks = 6;

}  // namespace

StepStack::StepStack(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Steps below each other"));
}

void StepStack::setTrace(const TracePtr& trace) {
  trace_ = trace;
  analysis_ = nullptr;
  ledgers_ = nullptr;
  selected_.reset();
  findWork();
  arrange();
}

void StepStack::setGrown(const TracePtr& trace) {
  trace_ = trace;
  findWork();
  viewport()->update();
}

void StepStack::setAnalysis(AnalysisPtr analysis) {
  const auto before = std::exchange(analysis_, std::move(analysis));
  numbers_ = analysis_ ? stepNumbers(analysis_->steps.all) : std::vector<std::uint64_t>();
  if (const auto was = std::exchange(selected_, std::nullopt); was && before && analysis_) {
    // The same step of a trace that has grown, even where more were found before it.
    const auto& all = analysis_->steps.all;
    const auto same = std::find_if(all.begin(), all.end(), [&](const analyzer::Step& step) {
      return step.startNs == before->steps.all[*was].startNs &&
             step.name == before->steps.all[*was].name;
    });
    if (same != all.end()) selected_ = static_cast<std::size_t>(same - all.begin());
  }
  findWork();
  arrange();
}

void StepStack::findWork() {
  work_.clear();
  if (!analysis_ || !trace_) return;
  // The busiest queue of the process that the steps belong to, or of anybody.
  const analyzer::Track* best = nullptr;
  for (const auto& group : trace_->tracks->groups) {
    for (const auto& track : group.tracks) {
      if (track.kind != analyzer::TrackKind::Work) continue;
      const auto rank = [&](const analyzer::Track& t) {
        return std::pair(t.process == analysis_->steps.process, t.events);
      };
      if (!best || rank(track) > rank(*best)) best = &track;
    }
  }
  if (best && !best->lanes.empty()) work_.push_back(&best->lanes[0]);
}

void StepStack::setLedgers(LedgerStrips strips) {
  ledgers_ = std::move(strips);
  viewport()->update();
}

void StepStack::setDark(bool dark) {
  dark_ = dark;
  viewport()->update();
}

void StepStack::setOrder(Order order) {
  wanted_ = order;
  arrange();
}

void StepStack::arrange() {
  order_.resize(analysis_ ? analysis_->steps.all.size() : 0);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (wanted_ == Order::LongestFirst) {
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return analysis_->steps.all[a].durNs() > analysis_->steps.all[b].durNs();
    });
  }
  updateScrollBar();
  viewport()->update();
  Q_EMIT selectionChanged();
}

void StepStack::updateScrollBar() {
  const int page = viewport()->height() - kScale;
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setSingleStep(kRow);
  verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(order_.size()) * kRow - page));
}

void StepStack::select(std::optional<std::size_t> step) {
  selected_ = step;
  setAccessibleDescription(step ? describe(*step) : QString());
  if (step) {
    const auto row = std::find(order_.begin(), order_.end(), *step) - order_.begin();
    const int y = static_cast<int>(row) * kRow;
    const int page = verticalScrollBar()->pageStep();
    if (y < verticalScrollBar()->value()) verticalScrollBar()->setValue(y);
    if (y + kRow > verticalScrollBar()->value() + page)
      verticalScrollBar()->setValue(y + kRow - page);
  }
  viewport()->update();
  Q_EMIT selectionChanged();
}

QString StepStack::describe(std::size_t step) const {
  const analyzer::Step& at = analysis_->steps.all[step];
  QStringList parts{tr("%1: %2, median %3")
                        .arg(words(stepText(at, numbers_[step])), durationWords(at.durNs()),
                             durationWords(analysis_->steps.medianNs()))};
  if (at.warmUp) parts << tr("warm-up");
  if (at.isPlain) parts << tr("recorded without operators");
  if (step < analysis_->ledgers.steps.size()) {
    const analyzer::Ledger& ledger = analysis_->ledgers.steps[step];
    for (std::size_t c = 0; c < analyzer::kCauseCount; ++c) {
      if (ledger.ns[c] * 100 < ledger.totalNs()) continue;
      parts << tr("%1 %2").arg(words(analyzer::causeLabel(static_cast<analyzer::Cause>(c))),
                               durationWords(ledger.ns[c]));
    }
  }
  return parts.join(tr(" · "));
}

void StepStack::paintPicture(QPainter& painter, const analyzer::Step& step, QRect at,
                             double nsPerPixel) {
  const double scale = scaleOf(painter);
  const double full = static_cast<double>(step.durNs()) / nsPerPixel;
  const int pixels =
      std::max(1, static_cast<int>(std::min(full, static_cast<double>(at.width())) * scale));
  QImage picture(pixels, std::max(1, static_cast<int>(at.height() * scale)), QImage::Format_RGB32);
  const Theme& t = theme(dark_);
  picture.fill(rgb(t.window));
  const Canvas canvas{reinterpret_cast<Colour*>(picture.bits()), picture.width(), picture.height(),
                      static_cast<int>(picture.bytesPerLine() / 4)};
  const analyzer::PixelGrid grid{step.startNs, nsPerPixel / scale, canvas.width};
  if (ledgers_ && !ledgers_->empty()) {
    painter_.paint(ledgers_->front(), grid, dark_, 0, static_cast<int>(kCauses * scale), canvas);
  }
  if (!work_.empty()) {
    cells_.resize(static_cast<std::size_t>(canvas.width));
    work_[0]->query(grid, cells_);
    const NameStyles& styles = trace_->styles(dark_);
    const int top = canvas.height - static_cast<int>(kWorkHeight * scale);
    for (int x = 0; x < canvas.width; ++x) {
      const auto& cell = cells_[static_cast<std::size_t>(x)];
      if (!cell.occupied()) continue;
      const Colour colour = mix(t.window, styles.byName(cell.name), 0.35 + 0.65 * cell.busy);
      for (int y = top; y < canvas.height; ++y)
        canvas.pixels[static_cast<std::ptrdiff_t>(y) * canvas.stride + x] = colour;
    }
  }
  picture.setDevicePixelRatio(scale);
  gui::paintPicture(painter, at.topLeft(), picture);
  // A gap shows that the step goes on beyond the scale.
  if (full > at.width() + 1)
    painter.fillRect(at.right() - 12, at.y(), 4, at.height(), rgb(t.window));
}

void StepStack::paintRow(QPainter& painter, std::size_t row, int y, std::int64_t longest) {
  const Theme& t = theme(dark_);
  const std::size_t index = order_[row];
  const analyzer::Step& step = analysis_->steps.all[index];
  if (index == selected_) painter.fillRect(0, y, viewport()->width(), kRow, rgb(t.raised));
  painter.setPen(rgb(t.text));
  const QString number = QString::number(numbers_[index]);
  const QString name = step.isPlain  ? tr("%1 (plain)").arg(number)
                       : step.warmUp ? tr("%1 (warm-up)").arg(number)
                                     : number;
  painter.drawText(QRect(14, y, kNames - 90, kRow), Qt::AlignVCenter, name);
  painter.setPen(rgb(t.dim));
  painter.drawText(QRect(0, y, kNames - 14, kRow), Qt::AlignVCenter | Qt::AlignRight,
                   durationWords(step.durNs()));
  const int room = viewport()->width() - kNames - kRight;
  paintPicture(painter, step, {kNames, y + 3, room, kRow - 6},
               static_cast<double>(longest) / std::max(1, room));
}

void StepStack::paintScale(QPainter& painter, std::int64_t longest) {
  const Theme& t = theme(dark_);
  painter.fillRect(0, 0, viewport()->width(), kScale, rgb(t.panel));
  painter.fillRect(0, kScale - 1, viewport()->width(), 1, rgb(t.line));
  painter.setPen(rgb(t.dim));
  painter.drawText(QRect(14, 0, kNames, kScale), Qt::AlignVCenter, tr("step"));
  const int room = viewport()->width() - kNames - kRight;
  const Viewport scale = Viewport({0, longest}).showing({0, longest});
  for (const Tick& tick : ticks(scale, room, room / kScaleTicks)) {
    painter.fillRect(QRectF(kNames + tick.x, kScale - 7, 1, 6), rgb(t.line));
    const QString label = words(tick.label);
    const int w = painter.fontMetrics().horizontalAdvance(label);
    if (kNames + tick.x + 5 + w < viewport()->width())
      painter.drawText(QPointF(kNames + tick.x + 5, 18), label);
  }
}

void StepStack::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), rgb(theme(dark_).window));
  if (order_.empty()) return;
  QFont font = painter.font();
  font.setPixelSize(12);
  painter.setFont(font);
  const std::int64_t longest = stepScale(analysis_->steps);
  const int top = verticalScrollBar()->value();
  const auto first = static_cast<std::size_t>(top / kRow);
  for (std::size_t row = first; row < order_.size(); ++row) {
    const int y = kScale + static_cast<int>(row) * kRow - top;
    if (y > viewport()->height()) break;
    paintRow(painter, row, y, longest);
  }
  const int room = viewport()->width() - kNames - kRight;
  const double x = kNames + static_cast<double>(analysis_->steps.medianNs()) /
                                static_cast<double>(longest) * room;
  painter.setPen(QPen(rgb(theme(dark_).text, 150), 1, Qt::DashLine));
  const int bottom =
      std::min(viewport()->height(), kScale + static_cast<int>(order_.size()) * kRow - top);
  painter.drawLine(QPointF(x, kScale), QPointF(x, bottom));
  paintScale(painter, longest);
}

void StepStack::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  updateScrollBar();
}

std::optional<std::size_t> StepStack::rowAt(double y) const {
  if (y < kScale) return std::nullopt;
  const auto row = static_cast<std::size_t>((y - kScale + verticalScrollBar()->value()) / kRow);
  return row < order_.size() ? std::optional(row) : std::nullopt;
}

void StepStack::mousePressEvent(QMouseEvent* event) {
  const auto row = rowAt(event->position().y());
  select(row ? std::optional(order_[*row]) : std::nullopt);
}

void StepStack::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto row = rowAt(event->position().y())) Q_EMIT stepActivated(order_[*row]);
}

void StepStack::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  if (order_.empty()) return QAbstractScrollArea::keyPressEvent(event);
  if (key == Qt::Key_Up || key == Qt::Key_Down) {
    if (!selected_) return select(order_.front());
    const auto row = std::find(order_.begin(), order_.end(), *selected_) - order_.begin();
    const auto next = std::clamp<std::ptrdiff_t>(row + (key == Qt::Key_Up ? -1 : 1), 0,
                                                 static_cast<std::ptrdiff_t>(order_.size()) - 1);
    return select(order_[static_cast<std::size_t>(next)]);
  }
  if (key == Qt::Key_Home || key == Qt::Key_End)
    return select(key == Qt::Key_Home ? order_.front() : order_.back());
  if ((key == Qt::Key_Return || key == Qt::Key_Enter) && selected_) {
    Q_EMIT stepActivated(*selected_);
    return;
  }
  if (key == Qt::Key_Escape) return select(std::nullopt);
  QAbstractScrollArea::keyPressEvent(event);
}

bool StepStack::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    if (const auto row = rowAt(help->pos().y()))
      QToolTip::showText(help->globalPos(), tipWords(describe(order_[*row])), this);
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace lacuna::gui
