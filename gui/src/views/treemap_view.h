// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "timeline/memory_map.h"
#include "timeline/palette.h"

namespace lacuna::gui {

/// The memory that is alive at a moment. Each block has an area in proportion to its size, coloured
/// by role. With many blocks, those of one origin are in a frame. Blocks too small to be seen share
/// a tile that shows how many they are.
class TreemapView : public QWidget {
  Q_OBJECT

 public:
  explicit TreemapView(QWidget* parent = nullptr);
  void setMoment(std::shared_ptr<const analyzer::MemoryMoment> moment);
  /// Blocks that stand out from the others, by their place in the moment's list; empty: none does.
  void setMarked(std::vector<bool> marked);
  [[nodiscard]] const std::vector<bool>& marked() const { return marked_; }
  void setDark(bool dark);
  /// Blocks with a tile of their own.
  [[nodiscard]] std::size_t shown() const;
  [[nodiscard]] const std::vector<MapTile>& tiles() const { return tiles_; }
  /// Describes in words what a tile is and holds.
  [[nodiscard]] QString describe(const MapTile& tile) const;

 Q_SIGNALS:
  /// A block; of several, the largest.
  void blockClicked(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void layOut();
  void paintRole(QPainter& painter, const MapTile& tile) const;
  void paintOrigin(QPainter& painter, const MapTile& tile) const;
  void paintBlocks(QPainter& painter, const MapTile& tile) const;
  [[nodiscard]] QString nameOf(const MapTile& tile) const;
  [[nodiscard]] QString originOf(const BlockGroup& group) const;
  [[nodiscard]] double markedShare(const MapTile& tile) const;
  [[nodiscard]] const MapTile* at(QPointF pos) const;

  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  BlockTree tree_;
  std::vector<MapTile> tiles_;
  std::vector<bool> marked_;
  bool dark_ = true;
};

}  // namespace lacuna::gui
