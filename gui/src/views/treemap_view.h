// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "lacuna/analyzer/memory_at.h"
#include "timeline/treemap.h"

namespace lacuna::gui {

/// What is alive at a moment: an area for each block, in proportion to its size, coloured by role. Blocks too small to
/// be seen share one tile.
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
  [[nodiscard]] std::size_t shown() const { return shown_; }

 Q_SIGNALS:
  void blockClicked(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void layOut();
  [[nodiscard]] QString describe(std::size_t index) const;
  [[nodiscard]] int at(QPointF pos) const;

  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  std::vector<Tile> tiles_;  ///< of the first shown_ blocks, then one for the others
  std::vector<bool> marked_;
  std::size_t shown_ = 0;
  std::uint64_t othersBytes_ = 0;
  bool dark_ = true;
};

}  // namespace lacuna::gui
