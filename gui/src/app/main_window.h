// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMainWindow>

#include "app/analysis_runner.h"
#include "app/analysis_schedule.h"
#include "app/page_stack.h"
#include "app/window_states.h"
#include "base/trace.h"

class QAction;
class QMenu;

namespace lacuna::gui {

class Desk;
class ErrorPage;
class LiveFollower;
class Loader;
class StatusLine;

/// The window: the pages of one trace behind tabs, or what stands in for them while there is none.
/// It knows pages by the interface Page alone; views/page_list names them.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  void openFile(const QString& path);
  /// "overview", "timeline", …; false for a name that is no page.
  bool showPage(const QString& name) { return pages_->show(name); }
  [[nodiscard]] QStringList pageNames() const { return pages_->names(); }
  /// The name of the page that is shown.
  [[nodiscard]] QString page() const { return pages_->name(); }
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
  [[nodiscard]] Figures figures() const { return pages_->current()->figures(); }
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
  [[nodiscard]] ErrorPage* errorPage() const { return states_->error(); }
  /// Something is still being worked out in the background.
  [[nodiscard]] bool busy() const;
  /// Duration of the last analysis.
  [[nodiscard]] qint64 analysisMs() const { return schedule_->lastMs(); }
  /// "welcome", "loading", "error" or "trace".
  [[nodiscard]] QString state() const { return states_->name(); }

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
  void connectLoader();
  void connectRunner();
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
  AnalysisSchedule* schedule_;
  Desk* desk_;
  TracePtr trace_;
  Findings findings_;
  bool dark_ = true;
  WindowStates* states_;
  PageStack* pages_;
  StatusLine* status_;
  QMenu* recentMenu_ = nullptr;
  QList<QAction*> pageCommands_;  ///< that are in no menu
  QAction* warningsAction_ = nullptr;
  bool remembering_ = true;
};

}  // namespace lacuna::gui
