// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/memory.h"
#include "timeline/palette.h"

/// Small painted charts of an analysis. They show numbers and work out none but where a pixel goes.
namespace lacuna::gui {

/// The whole window of a ledger as one bar, with a legend of what it is made of.
class LedgerBar : public QWidget {
  Q_OBJECT

 public:
  explicit LedgerBar(QWidget* parent = nullptr);
  /// `bands` is what recording may have added to each entry: hatched, and beside the figure. The
  /// greatest comes first, by this ledger or by `orderOf`, so that two bars can be compared.
  void setLedger(const analyzer::Ledger& ledger, const analyzer::Ledger& bands, bool dark,
                 const analyzer::Ledger* orderOf = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Entry {
    analyzer::Cause cause;
    std::int64_t ns;
    std::int64_t bandNs;
  };
  [[nodiscard]] int legendColumns(int width) const;
  std::vector<Entry> entries_;
  std::int64_t total_ = 0;
  bool dark_ = true;
};

/// The length that a chart of steps should reach. A few steps, warm-up above all, may take many
/// times as long as the rest, which would be flat beside them. The chart cuts them off and shows
/// that.
std::int64_t stepScale(const analyzer::Steps& steps);
/// The next number at or above v that is round, and round when divided by four.
double roundUp(double v);

/// A column for each step, as high as the step is long, coloured by the device's ledger. A click
/// names the step, and so does Enter on the one that the arrows went to.
class StepChart : public QWidget {
  Q_OBJECT

 public:
  explicit StepChart(QWidget* parent = nullptr);
  void setSteps(std::shared_ptr<const analyzer::Analysis> analysis, bool dark);
  std::function<void(std::size_t)> clicked;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] int stepAt(double x) const;
  [[nodiscard]] QString describe(std::size_t step) const;
  void goTo(std::size_t step);
  [[nodiscard]] QRect plot() const;
  std::shared_ptr<const analyzer::Analysis> analysis_;
  std::vector<std::uint64_t> numbers_;
  bool dark_ = true;
  int hovered_ = -1;
};

/// Bytes by role at a moment, as one bar with a legend.
class RoleBar : public QWidget {
  Q_OBJECT

 public:
  explicit RoleBar(QWidget* parent = nullptr);
  void setMoment(std::shared_ptr<const analyzer::MemoryMoment> moment, bool dark);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] int legendColumns(int width) const;
  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  bool dark_ = true;
};

}  // namespace lacuna::gui
