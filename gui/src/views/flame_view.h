// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "base/trace.h"
#include "lacuna/analyzer/charts.h"

namespace lacuna::gui {

/// The stacks of a flame graph as nested bars, callers above. A click makes a stack fill the width;
/// Backspace or a click on a caller goes back out. Only what is at least a pixel wide and on screen
/// is drawn.
class FlameView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit FlameView(QWidget* parent = nullptr);
  /// Null for none. Where there was one before, the stacks that are in focus and selected stay so.
  void setGraph(const TracePtr& trace, std::shared_ptr<const analyzer::FlameGraph> graph);
  void setDark(bool dark);
  /// Bars whose name contains this stand out.
  void setSearch(const QString& text);
  void focusOn(std::uint32_t node);
  [[nodiscard]] std::uint32_t focused() const { return focus_; }
  [[nodiscard]] std::optional<std::uint32_t> selected() const { return selected_; }
  void select(std::optional<std::uint32_t> node);
  /// "step" where steps of different names are one.
  [[nodiscard]] QString nameOf(std::uint32_t node) const;
  /// The same with how many steps there are: "step ×40".
  [[nodiscard]] QString labelOf(std::uint32_t node) const;
  [[nodiscard]] QString describe(std::uint32_t node) const;
  /// Where a bar lies in the viewport; empty when it is not drawn.
  [[nodiscard]] QRectF barOf(std::uint32_t node) const;

 Q_SIGNALS:
  void selectionChanged();
  void nameActivated(const QString& name);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Bar {
    std::uint32_t node = 0;
    QRectF rect;
  };
  /// The search that finds the ranges of a node by their names; empty where they have none.
  [[nodiscard]] QString searchOf(std::uint32_t node) const;
  /// The key that distinguishes a node from those beside it, also in a graph that has grown:
  /// threads have names in common.
  [[nodiscard]] QString keyOf(std::uint32_t node) const;
  /// The keys from the outermost frame to the node.
  [[nodiscard]] QStringList stackOf(std::uint32_t node) const;
  [[nodiscard]] std::optional<std::uint32_t> nodeOf(const QStringList& stack) const;
  void layOut();
  void place(std::uint32_t node, double left, double width, int level);
  [[nodiscard]] std::optional<std::uint32_t> barAt(QPointF pos) const;
  void paintBar(QPainter& painter, const Bar& bar) const;
  void move(int key);
  /// Selects, and makes sure that it is drawn and on screen.
  void goTo(std::uint32_t node);
  /// Scrolls to a bar that is drawn.
  void bringIntoSight(std::uint32_t node);

  TracePtr trace_;
  std::shared_ptr<const analyzer::FlameGraph> graph_;
  std::vector<QString> threads_;
  std::vector<Bar> bars_;
  QString search_;
  int pitch_ = 23;  ///< from one level to the next
  bool dark_ = true;
  std::uint32_t focus_ = 0;
  std::optional<std::uint32_t> selected_, hovered_;
};

}  // namespace lacuna::gui
