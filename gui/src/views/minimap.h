// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QWidget>

#include "views/timeline_view.h"

namespace lacuna::gui {

/// The whole trace in a narrow strip above the timeline, with what the timeline shows framed. A
/// click or drag moves there, the wheel zooms, a double-click shows everything.
class Minimap : public QWidget {
  Q_OBJECT

 public:
  explicit Minimap(TimelineView* view, QWidget* parent = nullptr);
  void refresh();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  [[nodiscard]] QRect canvas() const;
  [[nodiscard]] Viewport full() const;
  void draw(double scale);
  void moveTo(double x);

  TimelineView* view_;
  QImage picture_;
  bool stale_ = true;
  LedgerPainter painter_;
};

}  // namespace lacuna::gui
