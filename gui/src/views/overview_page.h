// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "base/page.h"

class QLabel;
class QLineEdit;
class QScrollArea;
class QBoxLayout;
class QVBoxLayout;

namespace lacuna::gui {

class ChangeControls;
class LedgerBar;
class StepChart;
class StepDrawing;
class TopTables;
class WhatIfCard;

/// The first page: the verdict, where the time went, the steps, the findings, and changes to play.
class OverviewPage : public Page {
  Q_OBJECT

 public:
  explicit OverviewPage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  /// The share of the first analysis; later ones, of a recording that grows, go on behind the page
  /// as it is.
  void setProgress(double share) override;
  void setFindings(const Findings& findings) override;
  void setFailure(const QString& message) override;
  void setDark(bool dark) override;
  /// As a click on the n-th finding does.
  void activateFinding(std::size_t n);
  /// Plays one change ("loader.workers=4", "fuse=on", "kernel:gelu*0.5") as if its control had been
  /// used.
  void playChange(const QString& change);
  [[nodiscard]] QString prediction() const;
  /// The ledger, then the steps.
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] ChangeControls* controls() const;
  [[nodiscard]] QLineEdit* otherChange() const;
  [[nodiscard]] StepDrawing* drawing() const;
  /// A change is being played.
  [[nodiscard]] bool busy() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeContent();
  QBoxLayout* makeBody(QWidget* parent);
  void setWaiting();
  void fillFindings();
  void fillTops();
  /// Shows the lists that there is room for.
  void arrangeTops();
  /// The height that the page needs at its width to show the list of causes whole.
  [[nodiscard]] int heightWithCauses() const;

  Desk& desk_;
  Findings findings_;
  bool dark_ = true;
  QLabel* verdict_;
  QLabel* run_;
  LedgerBar* ledger_;
  StepChart* steps_;
  QWidget* stepsCard_;
  QWidget* ledgerCard_;
  QWidget* column_;
  QBoxLayout* body_;
  QVBoxLayout* list_;
  WhatIfCard* whatIf_;
  TopTables* tops_;
  QScrollArea* scroll_;
};

}  // namespace lacuna::gui
