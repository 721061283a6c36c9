// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMainWindow>

#include "app/analysis_runner.h"
#include "app/trace.h"

class QLabel;
class QStackedWidget;
class QTabBar;

namespace lacuna::gui {

class ErrorPage;
class Loader;
class LoadingPage;
class MemoryPage;
class OverviewPage;
class TablePage;
class TimelinePage;
class WelcomePage;

/// The window: the pages of one trace behind tabs, or what stands in for them while there is none.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  void openFile(const QString& path);
  /// "overview", "timeline", …; false for a name that is no page.
  bool showPage(const QString& name);
  [[nodiscard]] QStringList pageNames() const;
  void setDark(bool dark);

  [[nodiscard]] const TracePtr& trace() const { return trace_; }
  [[nodiscard]] Loader* loader() const { return loader_; }
  [[nodiscard]] TimelinePage* timeline() const { return timeline_; }
  [[nodiscard]] OverviewPage* overview() const { return overview_; }
  [[nodiscard]] MemoryPage* memory() const { return memory_; }
  [[nodiscard]] TablePage* kernels() const { return kernels_; }
  [[nodiscard]] TablePage* operators() const { return operators_; }
  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] ErrorPage* errorPage() const { return error_; }
  /// "welcome", "loading", "error" or "trace".
  [[nodiscard]] QString state() const;

 Q_SIGNALS:
  void traceShown();
  void traceFailed(const QString& message);
  /// The analyses have arrived, or could not be made.
  void analysisShown();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void addPage(const QString& name, const QString& title, QWidget* page);
  void makeMenus();
  void chooseFile();
  void showTrace(const TracePtr& trace);
  void remember(const QString& path);
  void showFindings(const Findings& findings);
  void saveSession();
  void restoreSession();
  void savePicture();
  void showOnTimeline(const std::vector<prof::TimeWindow>& windows, const QString& caption);

  Loader* loader_;
  AnalysisRunner* runner_;
  TracePtr trace_;
  Findings findings_;
  bool dark_ = true;
  QStackedWidget* states_;
  QStackedWidget* pages_;
  QTabBar* tabs_;
  QLabel* summary_;
  QLabel* warnings_;
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
  OverviewPage* overview_;
  TimelinePage* timeline_;
  MemoryPage* memory_;
  TablePage* kernels_;
  TablePage* operators_;
};

}  // namespace lacuna::gui
