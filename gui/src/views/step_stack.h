// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractScrollArea>
#include <optional>
#include <vector>

#include "base/findings.h"
#include "views/timeline_view.h"

namespace lacuna::gui {

/// All steps below each other, each from its own beginning and on one scale: the ledger of the
/// device above, its work below. Only the rows on screen are drawn.
class StepStack : public QAbstractScrollArea {
  Q_OBJECT

 public:
  enum class Order { AsRun, LongestFirst };

  explicit StepStack(QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. The findings so far stay until the next analysis.
  void setGrown(const TracePtr& trace);
  void setAnalysis(AnalysisPtr analysis);
  void setLedgers(LedgerStrips strips);
  void setDark(bool dark);
  void setOrder(Order order);
  void select(std::optional<std::size_t> step);
  [[nodiscard]] std::optional<std::size_t> selected() const { return selected_; }
  /// The step shown in the n-th row.
  [[nodiscard]] std::size_t stepOfRow(std::size_t row) const { return order_[row]; }
  [[nodiscard]] QString describe(std::size_t step) const;

 Q_SIGNALS:
  void selectionChanged();
  /// A double-click, or Enter.
  void stepActivated(std::size_t step);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void arrange();
  void findWork();
  void updateScrollBar();
  [[nodiscard]] std::optional<std::size_t> rowAt(double y) const;
  void paintRow(QPainter& painter, std::size_t row, int y, std::int64_t longest);
  void paintScale(QPainter& painter, std::int64_t longest);
  void paintPicture(QPainter& painter, const analyzer::Step& step, QRect at, double nsPerPixel);

  TracePtr trace_;
  AnalysisPtr analysis_;
  LedgerStrips ledgers_;
  std::vector<const analyzer::Lane*> work_;
  std::vector<std::uint64_t> numbers_;  ///< of the steps
  std::vector<std::size_t> order_;
  Order wanted_ = Order::AsRun;
  std::optional<std::size_t> selected_;
  bool dark_ = true;
  LedgerPainter painter_;
  std::vector<analyzer::Cell> cells_;
};

}  // namespace lacuna::gui
