// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "app/analysis_runner.h"

class QCheckBox;
class QLabel;
class QSlider;
class QBoxLayout;
class QVBoxLayout;

namespace lacuna::gui {

class LedgerBar;
class PredictionBars;
class StepChart;

/// The first page: the verdict, where the time went, the steps, the findings, and changes to play.
class OverviewPage : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewPage(QWidget* parent = nullptr);
  void setWaiting();
  void setFindings(const Findings& findings);
  void setFailure(const QString& message);
  void setDark(bool dark);
  /// As a click on the n-th finding does.
  void activateFinding(std::size_t n);
  [[nodiscard]] QString prediction() const;
  [[nodiscard]] QSlider* workers() const { return workers_; }

 Q_SIGNALS:
  /// Show these stretches, under this caption.
  void evidenceWanted(const std::vector<lacuna::prof::TimeWindow>& windows, const QString& caption);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* findingCard(std::size_t n);
  QWidget* whatIfCard();
  void fillFindings();
  void play();

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
  PredictionBars* bars_;
  QWidget* whatIf_;
  QSlider* workers_;
  QLabel* workersLabel_;
  QCheckBox* staticGraph_;
  QCheckBox* fuse_;
  QLabel* prediction_;
};

}  // namespace lacuna::gui
