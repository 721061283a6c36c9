// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "base/page.h"
#include "views/step_stack.h"

class QCheckBox;
class QLabel;

namespace lacuna::gui {

/// Every step of the run, one below the other.
class StepsPage : public Page {
  Q_OBJECT

 public:
  explicit StepsPage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  void setGrown(const TracePtr& trace) override;
  void setFindings(const Findings& findings) override;
  void setLedgers(const LedgerStrips& strips) override;
  void setDark(bool dark) override;
  /// The ledger, then the steps.
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] std::vector<Command> commands() override;
  [[nodiscard]] StepStack* stack() const { return stack_; }
  [[nodiscard]] QCheckBox* longestFirst() const { return longest_; }

 private:
  void showDetails();
  /// Shows what the colours of the causes stand for, of those that are seen.
  void showLegend();

  AnalysisPtr analysis_;
  StepStack* stack_;
  QLabel* facts_;
  QLabel* legend_;
  QCheckBox* longest_;
  bool dark_ = true;
  QLabel* details_;
};

}  // namespace lacuna::gui
