// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/treemap_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "base/words.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::gui {

namespace {

constexpr double kFaint = 0.28;
constexpr double kFrame = 0.42;  // of the role's colour in a frame's
constexpr double kRest = 0.66;   // … and in that of what is too small
constexpr double kLine = 15;
constexpr int kLeastRoom = 24;
constexpr qsizetype kFewestLetters = 8;
constexpr std::size_t kLongestName = 1000;  // bytes; no tile is that wide
constexpr double kSwatch = 9;
constexpr int kPad = 5;
constexpr int kFontPixels = 11;

QRectF rectOf(const Tile& tile) {
  return {tile.x, tile.y, tile.width, tile.height};
}

QString countWords(std::size_t count) {
  return words(prof::countText(count));
}

QString blocksWords(std::size_t count) {
  return count == 1 ? TreemapView::tr("1 block")
                    : TreemapView::tr("%1 blocks").arg(countWords(count));
}

/// A name at the left that is cut where it must be, and at the right the first of some amounts that
/// has room beside it.
void paintHeader(QPainter& painter, const QRectF& place, const QString& name,
                 const QStringList& amounts) {
  const QFontMetrics metrics = painter.fontMetrics();
  const int room = static_cast<int>(place.width()) - 2 * kPad;
  const auto needed = [&](const QString& amount) {
    return metrics.horizontalAdvance(amount) + 2 * kPad;
  };
  const auto fits = [&](const QString& amount) {
    return metrics.horizontalAdvance(name) + needed(amount) <= room || room >= 3 * needed(amount);
  };
  const auto amount = std::find_if(amounts.begin(), amounts.end(), fits);
  const QRectF text = place.adjusted(kPad, 0, -kPad, 0);
  const int left = amount == amounts.end() ? room : room - needed(*amount);
  painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                   metrics.elidedText(name, Qt::ElideMiddle, left));
  if (amount != amounts.end()) painter.drawText(text, Qt::AlignVCenter | Qt::AlignRight, *amount);
}

/// A name and below it an amount, each where it has room: less than some letters of a name mean
/// nothing, and less than an amount misleads.
void paintLabel(QPainter& painter, const QRectF& tile, const QString& name, const QString& amount) {
  const int room = static_cast<int>(tile.width()) - 2 * kPad;
  if (room < kLeastRoom || tile.height() < kLine) return;
  const QFontMetrics metrics = painter.fontMetrics();
  QString shown = metrics.elidedText(name, Qt::ElideMiddle, room);
  if (shown != name && shown.size() < kFewestLetters) shown.clear();
  double top = tile.y() + 2;
  for (const QString& line :
       {shown, metrics.horizontalAdvance(amount) <= room ? amount : QString()}) {
    if (line.isEmpty() || top + kLine > tile.bottom() + 1) continue;
    painter.drawText(QRectF(tile.x() + kPad, top, room, kLine), Qt::AlignVCenter, line);
    top += kLine;
  }
}

}  // namespace

TreemapView::TreemapView(QWidget* parent) : QWidget(parent) {
  setMinimumSize(240, 160);
  setAccessibleName(tr("What is alive, by size"));
}

void TreemapView::setMoment(std::shared_ptr<const analyzer::MemoryMoment> moment) {
  moment_ = std::move(moment);
  marked_.clear();
  tree_ = moment_ ? groupBlocks(moment_->live) : BlockTree();
  QStringList roles;
  for (const RoleGroup& role : tree_.roles) {
    roles << tr("%1 %2 (%3)")
                 .arg(words(analyzer::roleWords(role.role)), bytesWords(role.bytes),
                      countWords(role.count));
  }
  setAccessibleDescription(moment_ ? tr("%1 in %2: %3")
                                         .arg(bytesWords(moment_->bytes),
                                              blocksWords(moment_->live.size()),
                                              roles.join(QStringLiteral(", ")))
                                   : QString());
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
  tiles_ = layOutBlocks(tree_, {0, 0, static_cast<double>(width()), static_cast<double>(height())});
  update();
}

void TreemapView::resizeEvent(QResizeEvent*) {
  layOut();
}

std::size_t TreemapView::shown() const {
  return static_cast<std::size_t>(
      std::count_if(tiles_.begin(), tiles_.end(),
                    [](const MapTile& tile) { return tile.kind == MapTile::Kind::Block; }));
}

QString TreemapView::nameOf(const MapTile& tile) const {
  using Kind = MapTile::Kind;
  if (tile.kind == Kind::Role) return words(analyzer::roleWords(tile.role));
  if (tile.kind == Kind::Rest)
    return tile.group ? tr("%1 more").arg(countWords(tile.count))
                      : tr("%1 smaller").arg(countWords(tile.count));
  if (tile.kind != Kind::Block)
    return tr("%1 ×%2").arg(originOf(*tile.group), countWords(tile.count));
  const analyzer::LiveTensor& tensor = moment_->live[tree_.order[tile.first]].tensor;
  const QString name =
      words(analyzer::headOf(tensor.tensor.empty() ? tensor.op : tensor.tensor, kLongestName));
  return name.isEmpty() ? tr("(unnamed)") : name;
}

QString TreemapView::originOf(const BlockGroup& group) const {
  return group.name.empty() ? tr("(unnamed, of %1)").arg(bytesWords(tree_.sizes[group.first]))
                            : words(group.name);
}

QString TreemapView::describe(const MapTile& tile) const {
  using Kind = MapTile::Kind;
  const QString role = words(analyzer::roleWords(tile.role));
  const QString bytes = bytesWords(tile.bytes);
  if (tile.kind == Kind::Block) return tr("%1, %2, %3").arg(nameOf(tile), role, bytes);
  const QString blocks = blocksWords(tile.count);
  if (tile.kind == Kind::Role) return tr("%1: %2, %3").arg(role, blocks, bytes);
  const QString largest = bytesWords(*std::max_element(
      tree_.sizes.begin() + static_cast<std::ptrdiff_t>(tile.first),
      tree_.sizes.begin() + static_cast<std::ptrdiff_t>(tile.first + tile.count)));
  if (tile.group == nullptr)
    return tr("%1: %2 of smaller origins, %3, the largest %4").arg(role, blocks, bytes, largest);
  const QString name = originOf(*tile.group);
  return tile.kind == Kind::Rest
             ? tr("%1, %2: %3 more, %4, the largest %5").arg(name, role, blocks, bytes, largest)
             : tr("%1, %2: %3, %4, the largest %5").arg(name, role, blocks, bytes, largest);
}

double TreemapView::markedShare(const MapTile& tile) const {
  std::uint64_t bytes = 0;
  for (std::size_t n = tile.first; n < tile.first + tile.count; ++n)
    bytes += marked_[tree_.order[n]] ? tree_.sizes[n] : 0;
  return tile.bytes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(tile.bytes);
}

void TreemapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  QFont font = painter.font();
  font.setPixelSize(kFontPixels);
  painter.setFont(font);
  for (const MapTile& tile : tiles_) {
    switch (tile.kind) {
      case MapTile::Kind::Role:
        paintRole(painter, tile);
        break;
      case MapTile::Kind::Origin:
        paintOrigin(painter, tile);
        break;
      default:
        paintBlocks(painter, tile);
    }
  }
}

void TreemapView::paintRole(QPainter& painter, const MapTile& tile) const {
  if (tile.header.height <= 0) return;
  const QRectF place = rectOf(tile.header);
  const QRectF swatch(place.x(), place.center().y() - kSwatch / 2, kSwatch, kSwatch);
  painter.fillRect(swatch, rgb(roleColour(tile.role, dark_)));
  painter.setPen(rgb(theme(dark_).text));
  const QString bytes = bytesWords(tile.bytes);
  paintHeader(painter, place.adjusted(kSwatch, 0, 0, 0), nameOf(tile),
              {tr("%1 · %2").arg(blocksWords(tile.count), bytes), bytes});
}

void TreemapView::paintOrigin(QPainter& painter, const MapTile& tile) const {
  const bool faint = !marked_.empty() && markedShare(tile) == 0;
  const Colour fill =
      mix(theme(dark_).panel, roleColour(tile.role, dark_), faint ? kFaint * kFrame : kFrame);
  painter.fillRect(rectOf(tile.place).adjusted(0, 0, -1, -1), rgb(fill));
  painter.setPen(rgb(inkOn(fill)));
  paintHeader(painter, rectOf(tile.header), nameOf(tile), {bytesWords(tile.bytes)});
}

void TreemapView::paintBlocks(QPainter& painter, const MapTile& tile) const {
  const Theme& t = theme(dark_);
  const bool rest = tile.kind == MapTile::Kind::Rest;
  const Colour solid = mix(t.panel, roleColour(tile.role, dark_), rest ? kRest : 1);
  const Colour faint = mix(t.panel, solid, kFaint);
  const double share = marked_.empty() ? 1 : markedShare(tile);
  QRectF rect = rectOf(tile.place);
  rect.adjust(0, 0, rect.width() > 3 ? -1 : 0, rect.height() > 3 ? -1 : 0);
  if (share < 1) painter.fillRect(rect, rgb(faint));
  painter.fillRect(QRectF(rect.x(), rect.y(), rect.width() * share, rect.height()), rgb(solid));
  if (!marked_.empty() && share > 0 && rect.width() > 4 && rect.height() > 4) {
    painter.setPen(QPen(rgb(t.text), 2));
    painter.drawRect(rect.adjusted(1, 1, -1, -1));
  }
  painter.setPen(rgb(inkOn(share > 0.5 ? solid : faint)));
  paintLabel(painter, rect, nameOf(tile), bytesWords(tile.bytes));
}

const MapTile* TreemapView::at(QPointF pos) const {
  // The tiles in a frame come after it.
  const auto found = std::find_if(tiles_.rbegin(), tiles_.rend(), [&](const MapTile& tile) {
    return rectOf(tile.place).contains(pos);
  });
  return found == tiles_.rend() ? nullptr : &*found;
}

void TreemapView::mousePressEvent(QMouseEvent* event) {
  const MapTile* tile = at(event->position());
  if (tile == nullptr) return;
  const auto from = tree_.order.begin() + static_cast<std::ptrdiff_t>(tile->first);
  // The list has the largest first.
  Q_EMIT blockClicked(
      static_cast<int>(*std::min_element(from, from + static_cast<std::ptrdiff_t>(tile->count))));
}

bool TreemapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  if (const MapTile* tile = at(help->pos()))
    QToolTip::showText(help->globalPos(), tipWords(describe(*tile)), this);
  return true;
}

}  // namespace lacuna::gui
