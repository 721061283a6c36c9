// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/page.h"
#include "views/step_stack.h"

class QCheckBox;
class QLabel;

namespace lacuna::gui {

/// Every step of the run, one below the other.
class StepsPage : public Page {
  Q_OBJECT

 public:
  explicit StepsPage(QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  void setGrown(const TracePtr& trace);
  void setAnalysis(std::shared_ptr<const analyzer::Analysis> analysis);
  void setDark(bool dark);
  [[nodiscard]] StepStack* stack() const { return stack_; }
  [[nodiscard]] QCheckBox* longestFirst() const { return longest_; }

 Q_SIGNALS:
  void stepActivated(std::size_t step);

 private:
  void showDetails();
  /// Shows what the colours of the causes stand for, of those that are seen.
  void showLegend();

  std::shared_ptr<const analyzer::Analysis> analysis_;
  StepStack* stack_;
  QLabel* facts_;
  QLabel* legend_;
  QCheckBox* longest_;
  bool dark_ = true;
  QLabel* details_;
};

}  // namespace lacuna::gui
