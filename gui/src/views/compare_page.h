// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/desk.h"
#include "base/long_job.h"
#include "base/page.h"

class QLabel;
class QPushButton;
class QStackedWidget;

namespace lacuna::gui {

class LoadingPage;
class RunComparison;
class TablePage;

/// The open trace beside a second one: step times, the ledger, operators and kernels, and which
/// differences are more than noise. The comparison is the analyzer's, as in `lacuna check`.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  void setFindings(const Findings& findings) override;
  /// Opens and analyses a second trace in the background; it takes the place of the one before once
  /// it is there.
  void openSecond(const QString& path);
  /// Nothing comes any more of what openSecond() began.
  void cancel();
  void swap();
  /// The table that is shown; empty before there are two runs.
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] std::vector<Command> commands() override;
  /// Asks for the second trace.
  void choose();
  void setDark(bool dark) override;
  [[nodiscard]] AnalysisPtr before() const { return swapped_ ? second_ : first_; }
  [[nodiscard]] AnalysisPtr after() const { return swapped_ ? first_ : second_; }
  [[nodiscard]] TablePage* table(int n) const;
  [[nodiscard]] QString problem() const;

 Q_SIGNALS:
  void compared();
  void failed(const QString& message);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* makeEmpty();
  RunComparison* makeRuns();
  [[nodiscard]] QString hint() const;
  void refresh();

  Desk& desk_;
  AnalysisPtr
      first_;  ///< of the open trace; null while there is none, or while it is being analysed
  AnalysisPtr second_;
  bool swapped_ = false;
  bool dark_ = true;
  bool opening_ = false;
  QString problem_;  ///< why the second trace is not there
  QStackedWidget* states_;
  QLabel* hint_;
  QPushButton* choose_;
  RunComparison* runs_;
  LoadingPage* loading_;
  LongJob job_{this};
};

}  // namespace lacuna::gui
