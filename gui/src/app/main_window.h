// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>
#include <vector>

#include "app/analysis_runner.h"
#include "base/page.h"
#include "base/trace.h"

class QAction;
class QLabel;
class QMenu;
class QStackedWidget;
class QTabBar;

namespace lacuna::gui {

class Desk;
class ErrorPage;
class LiveFollower;
class Loader;
class LoadingPage;
class WelcomePage;

/// The window: the pages of one trace behind tabs, or what stands in for them while there is none.
/// It knows pages by the interface Page alone; views/page_list names them.
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
  /// Size, place, theme, the looks of the pages and the recent traces of the last time.
  void restoreAppearance();
  /// A window that forgets writes nothing to the settings, and opens a trace as if for the first
  /// time.
  void setRemembering(bool on) { remembering_ = on; }
  /// The current page as .png or .svg, or as what else Qt writes; a name without a format gets a
  /// PNG. `problem` gets the reason why it could not be written.
  bool savePictureTo(const QString& path, QString* problem = nullptr);
  /// The figures of the current page.
  [[nodiscard]] Figures figures() const { return current()->figures(); }
  /// Writes such figures, and reports it in the status bar.
  void writeData(const QString& path, const Figures& figures);

  [[nodiscard]] const TracePtr& trace() const { return trace_; }
  [[nodiscard]] Loader* loader() const { return loader_; }
  [[nodiscard]] LiveFollower* live() const { return live_; }
  [[nodiscard]] AnalysisRunner* runner() const { return runner_; }
  /// The page of this class.
  template <class OnePage>
  [[nodiscard]] OnePage* pageOf() const {
    return findChild<OnePage*>();
  }
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
  void makePages();
  void connectRunner();
  [[nodiscard]] Page* current() const;
  void makeMenus();
  void makeFileMenu();
  void makeViewMenu();
  void makeGoMenu();
  void makeHelpMenu();
  /// Makes the commands that all pages have for this place. `menu` is null for the palette. In the
  /// Go menu a line separates the pages.
  void addCommands(Command::Place place, QMenu* menu);
  [[nodiscard]] QAction* makeAction(const Command& command, Page* page);
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
  void showMessage(const QString& what);
  void savePicture();
  void copyPicture();
  void saveData();
  void fillRecent();

  Loader* loader_;
  LiveFollower* live_;
  AnalysisRunner* runner_;
  Desk* desk_;
  TracePtr trace_;
  Findings findings_;
  bool dark_ = true;
  QStackedWidget* states_;
  QStackedWidget* pages_;
  QTabBar* tabs_;
  QMenu* recentMenu_ = nullptr;
  std::vector<Page*> all_;        ///< in the order of the page bar
  QList<QAction*> pageCommands_;  ///< that are in no menu
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
};

}  // namespace lacuna::gui
