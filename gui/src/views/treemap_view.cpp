// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/treemap_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/words.h"

namespace lacuna::gui {

namespace {
constexpr std::size_t kMostTiles = 600;
constexpr double kSmallestShare = 0.0004;
constexpr double kFaint = 0.28;
constexpr double kLabelWidth = 46;
constexpr double kLabelHeight = 18;
}  // namespace

TreemapView::TreemapView(QWidget* parent) : QWidget(parent) {
  setMinimumSize(240, 160);
  setAccessibleName(tr("What is alive, by size"));
}

void TreemapView::setMoment(std::shared_ptr<const analyzer::MemoryMoment> moment) {
  moment_ = std::move(moment);
  marked_.clear();
  layOut();
}

void TreemapView::setMarked(std::vector<bool> marked) {
  marked_ = std::move(marked);
  update();
}

void TreemapView::setDark(bool dark) {
  dark_ = dark;
  update();
}

void TreemapView::layOut() {
  tiles_.clear();
  shown_ = 0;
  othersBytes_ = 0;
  update();
  if (!moment_ || moment_->bytes == 0) return;
  std::vector<double> sizes;
  for (const analyzer::LiveBlock& block : moment_->live) {
    const auto bytes = static_cast<double>(block.tensor.bytes);
    if (shown_ == kMostTiles || bytes < kSmallestShare * static_cast<double>(moment_->bytes)) {
      othersBytes_ += block.tensor.bytes;
      continue;
    }
    sizes.push_back(bytes);
    ++shown_;
  }
  if (othersBytes_ > 0) sizes.push_back(static_cast<double>(othersBytes_));
  tiles_ = treemap(sizes, {0, 0, static_cast<double>(width()), static_cast<double>(height())});
  setAccessibleDescription(tr("%1 in %2 blocks").arg(bytesWords(moment_->bytes)).arg(moment_->live.size()));
}

void TreemapView::resizeEvent(QResizeEvent*) {
  layOut();
}

QString TreemapView::describe(std::size_t index) const {
  if (index >= shown_) {
    return tr("%1 smaller blocks, %2").arg(moment_->live.size() - shown_).arg(bytesWords(othersBytes_));
  }
  const analyzer::LiveTensor& tensor = moment_->live[index].tensor;
  QString name = words(tensor.tensor.empty() ? tensor.op : tensor.tensor);
  if (name.isEmpty()) name = tr("(unnamed)");
  return tr("%1, %2, %3").arg(name, words(analyzer::roleName(tensor.role)), bytesWords(tensor.bytes));
}

void TreemapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme(dark_);
  QFont font = painter.font();
  font.setPixelSize(11);
  painter.setFont(font);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const bool others = i >= shown_;
    const bool faint = !marked_.empty() && (others || !marked_[i]);
    const Colour role = others ? t.raised : roleColour(moment_->live[i].tensor.role, dark_);
    const Colour fill = faint ? mix(t.panel, role, kFaint) : role;
    const QRectF rect(tiles_[i].x, tiles_[i].y, tiles_[i].width, tiles_[i].height);
    painter.fillRect(rect.adjusted(0, 0, rect.width() > 3 ? -1 : 0, rect.height() > 3 ? -1 : 0), rgb(fill));
    if (!marked_.empty() && !faint && rect.width() > 4 && rect.height() > 4) {
      painter.setPen(QPen(rgb(t.text), 2));
      painter.drawRect(rect.adjusted(1, 1, -2, -2));
    }
    if (rect.width() < kLabelWidth || rect.height() < kLabelHeight) continue;
    painter.setPen(rgb(inkOn(fill)));
    const analyzer::LiveTensor* tensor = others ? nullptr : &moment_->live[i].tensor;
    const QString name = others                   ? tr("smaller blocks")
                         : tensor->tensor.empty() ? words(tensor->op)
                                                  : words(tensor->tensor);
    const int room = static_cast<int>(rect.width()) - 10;
    painter.drawText(QRectF(rect.x() + 5, rect.y() + 2, room, 15), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(name, Qt::ElideRight, room));
    if (rect.height() < 2 * kLabelHeight) continue;
    painter.drawText(QRectF(rect.x() + 5, rect.y() + 17, room, 15), Qt::AlignVCenter,
                     bytesWords(others ? othersBytes_ : tensor->bytes));
  }
}

int TreemapView::at(QPointF pos) const {
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (QRectF(tiles_[i].x, tiles_[i].y, tiles_[i].width, tiles_[i].height).contains(pos)) return static_cast<int>(i);
  }
  return -1;
}

void TreemapView::mousePressEvent(QMouseEvent* event) {
  const int index = at(event->position());
  if (index >= 0 && static_cast<std::size_t>(index) < shown_) Q_EMIT blockClicked(index);
}

bool TreemapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int index = at(help->pos());
  if (index >= 0) QToolTip::showText(help->globalPos(), describe(static_cast<std::size_t>(index)), this);
  return true;
}

}  // namespace lacuna::gui
