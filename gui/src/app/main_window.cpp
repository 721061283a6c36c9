// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStatusBar>
#include <algorithm>

#include "app/live_follower.h"
#include "app/loader.h"
#include "app/session.h"
#include "app/status_line.h"
#include "app/style.h"
#include "base/desk.h"
#include "base/words.h"
#include "views/parts.h"
#include "views/start_pages.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      loader_(new Loader(this)),
      live_(new LiveFollower(this)),
      runner_(new AnalysisRunner(this)),
      schedule_(new AnalysisSchedule(runner_, live_, this)),
      desk_(new Desk(this)),
      states_(new WindowStates(this)),
      pages_(new PageStack(*desk_, states_)),
      status_(new StatusLine(statusBar())) {
  setWindowTitle(QStringLiteral("Lacuna"));
  setAcceptDrops(true);
  resize(1440, 900);
  states_->setPages(pages_);
  setCentralWidget(states_);
  makeMenus();
  connectLoader();
  connectRunner();
  connect(desk_, &Desk::messageWanted, this, &MainWindow::showMessage);
  connect(states_, &WindowStates::choiceWanted, this, &MainWindow::chooseFile);
  connect(states_, &WindowStates::pathWanted, this, &MainWindow::openFile);
}

void MainWindow::connectLoader() {
  connect(loader_, &Loader::progressed, states_->loading(), &LoadingPage::setProgress);
  connect(loader_, &Loader::opened, this, &MainWindow::showTrace);
  connect(loader_, &Loader::failed, this, &MainWindow::showFailure);
  connect(loader_, &Loader::cancelled, this,
          [this] { trace_ ? states_->showPages() : states_->showWelcome(); });
  connect(states_, &WindowStates::loadingCancelled, loader_, &Loader::cancel);
}

void MainWindow::restoreAppearance() {
  const QSettings settings;
  if (!restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray())) {
    // The first time: as much of the screen as is of use, and never more than there is beside a
    // window's frame.
    const QSize room = screen()->availableSize();
    resize(size().expandedTo(room * 3 / 5).boundedTo(room - QSize(16, 56)));
  }
  setDark(settings.value(QStringLiteral("dark"), true).toBool());
  for (Page* page : pages_->all()) page->restoreAppearance(settings);
  states_->welcome()->setRecent(settings.value(QStringLiteral("recent")).toStringList());
}

MainWindow::~MainWindow() = default;

void MainWindow::connectRunner() {
  connect(runner_, &AnalysisRunner::progressed, this, [this](double share) {
    for (Page* page : pages_->all()) page->setProgress(share);
  });
  connect(runner_, &AnalysisRunner::finished, this, &MainWindow::showFindings);
  connect(runner_, &AnalysisRunner::failed, this, [this](const QString& message) {
    if (findings_
            .analysis) {  // of a recording that has grown: the pages go on showing the last one
      showMessage(tr("The new events could not be analysed: %1").arg(message));
    } else {
      findings_ = {nullptr, nullptr, message};
      for (Page* page : pages_->all()) page->setFailure(message);
    }
    Q_EMIT analysisShown();
  });
  connect(live_, &LiveFollower::grew, this, &MainWindow::showGrown);
  connect(live_, &LiveFollower::ended, this, &MainWindow::showSummary);
  connect(runner_, &AnalysisRunner::stripsReady, this, [this](const LedgerStrips& strips) {
    for (Page* page : pages_->all()) page->setLedgers(strips);
  });
}

void MainWindow::showFindings(const Findings& findings) {
  findings_ = findings;
  for (Page* page : pages_->all()) page->setFindings(findings);
  Q_EMIT analysisShown();
}

void MainWindow::saveAppearance() {
  if (!remembering_) return;
  QSettings settings;
  settings.setValue(QStringLiteral("dark"), dark_);
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  for (const Page* page : pages_->all()) page->saveAppearance(settings);
}

void MainWindow::saveSession() {
  if (remembering_ && trace_) saveTraceSession(*trace_, pages_->all(), page());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveAppearance();
  saveSession();
  QMainWindow::closeEvent(event);
}

void MainWindow::setDark(bool dark) {
  dark_ = dark;
  applyStyle(*qApp, dark);
  for (Page* page : pages_->all()) page->setDark(dark);
}

bool MainWindow::busy() const {
  return runner_->busy() || std::ranges::any_of(pages_->all(), &Page::busy);
}

void MainWindow::openFile(const QString& path) {
  states_->showLoading(path);
  loader_->open(path);
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open a trace"), {},
      tr("Traces (*.lcn *.json *.json.gz *.sqlite *.pb *.pickle);;All files (*)"));
  if (!path.isEmpty()) openFile(path);
}

void MainWindow::showTrace(const TracePtr& trace) {
  saveSession();
  trace_ = trace;
  protectFile(trace->path);
  findings_ = {};
  live_->stop();
  schedule_->begin(trace);
  for (Page* page : pages_->all()) page->setTrace(trace);
  states_->showPages();
  showSummary();
  remember(trace->path);
  fillRecent();
  const QString first = pageNames().front();
  showPage(remembering_ ? restoreTraceSession(*trace_, pages_->all(), first) : first);
  pages_->current()->subject()->setFocus();  // also where it was shown before
  live_->watch(trace->path, trace->fileBytes);
  Q_EMIT traceShown();
}

void MainWindow::showFailure(const QString& path, const QString& message) {
  states_->showError(path, message, trace_ ? trace_->path : QString());
  Q_EMIT traceFailed(message);
}

void MainWindow::showSummary() {
  setWindowTitle(tr("%1 · Lacuna").arg(QFileInfo(trace_->path).fileName()));
  status_->show(*trace_, live_->live());
  warningsAction_->setEnabled(!trace_->store->warnings().empty());
}

void MainWindow::showGrown(const TracePtr& trace) {
  trace_ = trace;
  for (Page* page : pages_->all()) page->setGrown(trace);
  showSummary();
  schedule_->renew(trace);
  Q_EMIT traceGrew();
}

void MainWindow::remember(const QString& path) {
  if (!remembering_) return;
  QSettings settings;
  QStringList recent = settings.value(QStringLiteral("recent")).toStringList();
  const QString absolute = QFileInfo(path).absoluteFilePath();
  recent.removeAll(absolute);
  recent.prepend(absolute);
  while (recent.size() > kRecentKept) recent.removeLast();
  settings.setValue(QStringLiteral("recent"), recent);
  states_->welcome()->setRecent(recent);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList files;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) files << url.toLocalFile();
  }
  if (files.isEmpty()) return;
  openFile(files[0]);
  // Two at once are there to be compared.
  if (files.size() > 1) Q_EMIT desk_->secondWanted(files[1]);
}

}  // namespace lacuna::gui
