// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>

#include "app/analysis_runner.h"
#include "app/trace.h"

class QAction;
class QCheckBox;
class QLabel;
class QMenu;
class QStackedWidget;
class QTabBar;

namespace lacuna::gui {

class ComparePage;
class ErrorPage;
class FlamePage;
class HistogramView;
class LiveFollower;
class Loader;
class LoadingPage;
class MemoryPage;
class OverviewPage;
class Page;
class SqlPage;
class StepsPage;
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
  /// The name of the page that is shown.
  [[nodiscard]] QString page() const;
  void setDark(bool dark);
  /// Size, place, theme, the timeline's columns and the recent traces of the last time.
  void restoreAppearance();
  /// A window that forgets writes nothing to the settings, and opens a trace as if for the first time.
  void setRemembering(bool on) { remembering_ = on; }
  /// The current page as .png or .svg, or as what else Qt writes; a name without a format gets a PNG. `problem` gets
  /// the reason why it could not be written.
  bool savePictureTo(const QString& path, QString* problem = nullptr);
  /// The figures of the current page as comma-separated values; empty where it has none. `cut` states if there are more
  /// of them than that.
  [[nodiscard]] QString pageCsv(bool* cut = nullptr) const;
  /// Writes such figures, and reports it in the status bar.
  void writeData(const QString& path, const QString& csv, bool cut);

  [[nodiscard]] const TracePtr& trace() const { return trace_; }
  [[nodiscard]] Loader* loader() const { return loader_; }
  [[nodiscard]] LiveFollower* live() const { return live_; }
  [[nodiscard]] AnalysisRunner* runner() const { return runner_; }
  [[nodiscard]] TimelinePage* timeline() const { return timeline_; }
  [[nodiscard]] OverviewPage* overview() const { return overview_; }
  [[nodiscard]] MemoryPage* memory() const { return memory_; }
  [[nodiscard]] TablePage* kernels() const { return kernels_; }
  [[nodiscard]] TablePage* operators() const { return operators_; }
  [[nodiscard]] StepsPage* steps() const { return steps_; }
  [[nodiscard]] FlamePage* flame() const { return flame_; }
  [[nodiscard]] SqlPage* sql() const { return sql_; }
  [[nodiscard]] ComparePage* compare() const { return compare_; }
  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] ErrorPage* errorPage() const { return error_; }
  /// Something is still being worked out in the background.
  [[nodiscard]] bool busy() const;
  /// Duration of the last analysis.
  [[nodiscard]] qint64 analysisMs() const { return analysisMs_; }
  /// "welcome", "loading", "error" or "trace".
  [[nodiscard]] QString state() const;

 Q_SIGNALS:
  void traceShown();
  void traceFailed(const QString& message);
  /// The analyses have arrived, or could not be made.
  void analysisShown();
  /// The file has grown and the pages show it.
  void traceGrew();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void addPage(const QString& name, const QString& title, Page* page);
  void makeMenus();
  void makeFileMenu();
  void makeViewMenu();
  void makeGoMenu();
  void makeHelpMenu();
  /// The commands that pages offer as buttons and keys of their own, by name for the palette.
  void makePageCommands();
  void chooseFile();
  void showTrace(const TracePtr& trace);
  void showGrown(const TracePtr& trace);
  void showFailure(const QString& path, const QString& message);
  void showSummary();
  /// The warnings that the status bar counts, to be read.
  void showWarnings();
  void analyse();
  void remember(const QString& path);
  void showFindings(const Findings& findings);
  void saveAppearance();
  void saveSession();
  /// In the status bar, for some seconds.
  void tell(const QString& what);
  void savePicture();
  void copyPicture();
  void saveData();
  void fillOperators();
  void fillRecent();
  void showFinding(std::size_t n);
  void playChange(const QString& change);
  void findOnTimeline(const QString& name);
  void makePages();
  void connectPages();
  void showOnTimeline(const std::vector<prof::TimeWindow>& windows, const QString& caption);

  Loader* loader_;
  LiveFollower* live_;
  AnalysisRunner* runner_;
  TracePtr trace_;
  Findings findings_;
  bool dark_ = true;
  QStackedWidget* states_;
  QStackedWidget* pages_;
  QTabBar* tabs_;
  QMenu* recentMenu_ = nullptr;
  QList<QAction*> pageCommands_;
  QLabel* summary_;
  QLabel* warnings_;
  QAction* warningsAction_ = nullptr;
  QLabel* liveLabel_;
  bool remembering_ = true;
  bool analyseAgain_ = false;
  QTimer analyseLater_;          ///< when the next analysis may begin
  QElapsedTimer analysisClock_;  ///< since the last analysis began, then since it ended
  qint64 analysisMs_ = 0;        ///< that it took
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
  OverviewPage* overview_;
  TimelinePage* timeline_;
  MemoryPage* memory_;
  TablePage* kernels_;
  TablePage* operators_;
  HistogramView* kernelTimes_;
  HistogramView* operatorTimes_;
  QCheckBox* byShapes_;
  StepsPage* steps_;
  FlamePage* flame_;
  SqlPage* sql_;
  ComparePage* compare_;
};

}  // namespace lacuna::gui
