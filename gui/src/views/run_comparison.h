// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <array>

#include "base/findings.h"
#include "base/page.h"

class QLabel;
class QTabBar;

namespace lacuna::gui {

class LedgerBar;
class StepLines;
class TablePage;

/// Two runs beside each other: the verdict, their ledgers and step times, and a table of
/// differences for the run, the ledger, operators and kernels.
class RunComparison : public QWidget {
  Q_OBJECT

 public:
  explicit RunComparison(QWidget* parent);
  void setRuns(const AnalysisPtr& before, const AnalysisPtr& after, bool dark);
  [[nodiscard]] TablePage* table(int n) const { return tables_[static_cast<std::size_t>(n)]; }
  /// The tabs of the tables, where keys go first.
  [[nodiscard]] QTabBar* tabs() const { return tabs_; }
  /// Those of the table in front.
  [[nodiscard]] Figures figures() const;

 Q_SIGNALS:
  void swapWanted();
  /// Another trace is to be compared.
  void otherWanted();
  /// Show the next event of this name on the timeline.
  void nameWanted(const QString& name);
  /// The outcome of an export.
  void message(const QString& words);

 private:
  struct Side {
    QLabel* name = nullptr;
    LedgerBar* bar = nullptr;
  };
  QLayout* makeHeading();
  QLayout* makeCharts();
  QWidget* makeTables();
  void showSide(const Side& side, const QString& role, const analyzer::Analysis& run,
                const analyzer::Ledger& order, bool dark);
  void showTables(const analyzer::Analysis& before, const analyzer::Analysis& after);

  QLabel* verdict_;
  std::array<Side, 2> sides_;  ///< before, after
  StepLines* lines_;
  QTabBar* tabs_;
  std::array<TablePage*, 4> tables_;
};

}  // namespace lacuna::gui
