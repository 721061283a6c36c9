// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>
#include <climits>

#include "app/live_follower.h"
#include "app/loader.h"
#include "app/session.h"
#include "app/style.h"
#include "base/desk.h"
#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "views/page_list.h"
#include "views/parts.h"
#include "views/start_pages.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
constexpr qint64 kAnalysisPause = 4;  // times as long as an analysis takes
}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      loader_(new Loader(this)),
      live_(new LiveFollower(this)),
      runner_(new AnalysisRunner(this)),
      desk_(new Desk(this)) {
  setWindowTitle(QStringLiteral("Lacuna"));
  setAcceptDrops(true);
  resize(1440, 900);
  states_ = new QStackedWidget(this);
  welcome_ = new WelcomePage(states_);
  loading_ = new LoadingPage(states_);
  error_ = new ErrorPage(states_);
  auto* workspace = new QWidget(states_);
  auto* down = new QVBoxLayout(workspace);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(0);
  auto* top = new QWidget(workspace);
  top->setObjectName(QStringLiteral("topBar"));
  auto* across = new QHBoxLayout(top);
  across->setContentsMargins(8, 0, 12, 0);
  tabs_ = new QTabBar(top);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("Pages"));
  across->addWidget(tabs_);
  across->addStretch();
  pages_ = new QStackedWidget(workspace);
  down->addWidget(top);
  down->addWidget(pages_, 1);
  for (QWidget* page : {static_cast<QWidget*>(welcome_), static_cast<QWidget*>(loading_),
                        static_cast<QWidget*>(error_), workspace}) {
    states_->addWidget(page);
  }
  setCentralWidget(states_);
  makePages();
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    // Keys go to what the page is about, unless it is the tabs that are walked through.
    if (!tabs_->hasFocus()) current()->subject()->setFocus();
  });

  summary_ = new QLabel(this);
  summary_->setTextFormat(Qt::PlainText);  // names of files, too, may look like tags
  warnings_ = new QLabel(this);
  statusBar()->addWidget(summary_, 1);
  liveLabel_ = new QLabel(this);
  liveLabel_->setObjectName(QStringLiteral("live"));
  liveLabel_->setToolTip(tr("The recording goes on; what is shown follows it"));
  liveLabel_->hide();
  statusBar()->addPermanentWidget(liveLabel_);
  statusBar()->addPermanentWidget(warnings_);
  statusBar()->setSizeGripEnabled(false);
  makeMenus();

  connect(loader_, &Loader::progressed, loading_, &LoadingPage::setProgress);
  connect(loader_, &Loader::opened, this, &MainWindow::showTrace);
  connect(loader_, &Loader::failed, this, &MainWindow::showFailure);
  connect(loader_, &Loader::cancelled, this, [this] { states_->setCurrentIndex(trace_ ? 3 : 0); });
  connectRunner();
  connect(loading_, &LoadingPage::cancelClicked, loader_, &Loader::cancel);
  connect(welcome_, &WelcomePage::openClicked, this, &MainWindow::chooseFile);
  connect(welcome_, &WelcomePage::recentClicked, this, &MainWindow::openFile);
  connect(error_, &ErrorPage::backClicked, this, [this] { states_->setCurrentIndex(3); });
  connect(error_, &ErrorPage::openClicked, this, &MainWindow::chooseFile);
  connect(error_, &ErrorPage::retryClicked, this, &MainWindow::openFile);
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
  for (Page* page : all_) page->restoreAppearance(settings);
  welcome_->setRecent(settings.value(QStringLiteral("recent")).toStringList());
}

MainWindow::~MainWindow() = default;

void MainWindow::makePages() {
  for (const PageEntry& entry : allPages()) all_.push_back(entry.make(*desk_, pages_));
  for (std::size_t n = 0; n < all_.size(); ++n) {
    const PageEntry& entry = allPages()[n];
    pages_->addWidget(all_[n]);
    const int tab = tabs_->addTab(tr(entry.title));
    tabs_->setTabData(tab, QString::fromLatin1(entry.name));
    connect(all_[n], &Page::wanted, this, [this, tab] { tabs_->setCurrentIndex(tab); });
  }
  connect(desk_, &Desk::messageWanted, this, &MainWindow::showMessage);
}

Page* MainWindow::current() const {
  return all_[static_cast<std::size_t>(pages_->currentIndex())];
}

void MainWindow::connectRunner() {
  connect(runner_, &AnalysisRunner::progressed, this, [this](double share) {
    for (Page* page : all_) page->setProgress(share);
  });
  connect(runner_, &AnalysisRunner::finished, this, &MainWindow::showFindings);
  connect(runner_, &AnalysisRunner::failed, this, [this](const QString& message) {
    if (findings_
            .analysis) {  // of a recording that has grown: the pages go on showing the last one
      showMessage(tr("The new events could not be analysed: %1").arg(message));
    } else {
      findings_ = {nullptr, nullptr, message};
      for (Page* page : all_) page->setFailure(message);
    }
    Q_EMIT analysisShown();
  });
  connect(live_, &LiveFollower::grew, this, &MainWindow::showGrown);
  connect(live_, &LiveFollower::ended, this, [this] {
    showSummary();
    if (analyseAgain_) analyse();
  });
  connect(runner_, &AnalysisRunner::settled, this, [this] {
    analysisMs_ = analysisClock_.restart();
    if (analyseAgain_) analyse();
  });
  analyseLater_.setSingleShot(true);
  connect(&analyseLater_, &QTimer::timeout, this, &MainWindow::analyse);
  connect(runner_, &AnalysisRunner::stripsReady, this, [this](const LedgerStrips& strips) {
    for (Page* page : all_) page->setLedgers(strips);
  });
}

void MainWindow::showFindings(const Findings& findings) {
  findings_ = findings;
  for (Page* page : all_) page->setFindings(findings);
  Q_EMIT analysisShown();
}

void MainWindow::saveAppearance() {
  if (!remembering_) return;
  QSettings settings;
  settings.setValue(QStringLiteral("dark"), dark_);
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  for (const Page* page : all_) page->saveAppearance(settings);
}

void MainWindow::saveSession() {
  if (remembering_ && trace_) saveTraceSession(*trace_, all_, page());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveAppearance();
  saveSession();
  QMainWindow::closeEvent(event);
}

void MainWindow::setDark(bool dark) {
  dark_ = dark;
  applyStyle(*qApp, dark);
  for (Page* page : all_) page->setDark(dark);
}

QStringList MainWindow::pageNames() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabData(i).toString();
  return names;
}

QString MainWindow::page() const {
  return tabs_->tabData(tabs_->currentIndex()).toString();
}

bool MainWindow::showPage(const QString& name) {
  const auto at = static_cast<int>(pageNames().indexOf(name));
  if (at >= 0) tabs_->setCurrentIndex(at);
  return at >= 0;
}

bool MainWindow::busy() const {
  return runner_->busy() ||
         std::any_of(all_.begin(), all_.end(), [](const Page* page) { return page->busy(); });
}

QString MainWindow::state() const {
  static const char* const kStates[] = {"welcome", "loading", "error", "trace"};
  return QString::fromLatin1(kStates[states_->currentIndex()]);
}

void MainWindow::openFile(const QString& path) {
  loading_->begin(path);
  states_->setCurrentWidget(loading_);
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
  analysisMs_ = 0;
  analyseAgain_ = false;
  analyseLater_.stop();
  analysisClock_.start();
  runner_->start(trace);
  for (Page* page : all_) page->setTrace(trace);
  states_->setCurrentIndex(3);
  showSummary();
  remember(trace->path);
  fillRecent();
  const QString first = pageNames().front();
  showPage(remembering_ ? restoreTraceSession(*trace_, all_, first) : first);
  current()->subject()->setFocus();  // also where it was shown before
  live_->watch(trace->path, trace->fileBytes);
  Q_EMIT traceShown();
}

void MainWindow::showFailure(const QString& path, const QString& message) {
  error_->show(path, message, trace_ ? trace_->path : QString());
  states_->setCurrentWidget(error_);
  Q_EMIT traceFailed(message);
}

void MainWindow::showSummary() {
  setWindowTitle(tr("%1 · Lacuna").arg(QFileInfo(trace_->path).fileName()));
  const prof::TimeWindow span = trace_->tracks->span;
  summary_->setText(tr("%1   ·   %2   ·   %3 events")
                        .arg(QFileInfo(trace_->path).fileName(),
                             QString::fromStdString(prof::timeText(span.endNs - span.startNs)),
                             QString::fromStdString(prof::scaledCount(trace_->tracks->events))));
  QStringList warnings;
  for (const std::string& warning : trace_->store->warnings())
    warnings << QString::fromStdString(warning);
  warnings_->setText(warnings.isEmpty() ? QString()
                     : warnings.size() == 1
                         ? tr("1 warning about the file")
                         : tr("%1 warnings about the file").arg(warnings.size()));
  warnings_->setToolTip(tipWords(warnings.join(QLatin1Char('\n'))));
  warningsAction_->setEnabled(!warnings.isEmpty());
  liveLabel_->setVisible(live_->live());
  liveLabel_->setText(tr("● live"));
}

void MainWindow::analyse() {
  // An analysis reads the whole trace, so while that grows it may take a fifth of the time and no
  // more.
  const qint64 early = live_->live() ? kAnalysisPause * analysisMs_ - analysisClock_.elapsed() : 0;
  analyseAgain_ = runner_->busy() || early > 0;
  if (early > 0 && !runner_->busy())
    analyseLater_.start(static_cast<int>(std::min<qint64>(early, INT_MAX)));
  if (analyseAgain_) return;
  analyseLater_.stop();
  analysisClock_.start();
  runner_->start(trace_);
}

void MainWindow::showGrown(const TracePtr& trace) {
  trace_ = trace;
  for (Page* page : all_) page->setGrown(trace);
  showSummary();
  analyse();
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
  welcome_->setRecent(recent);
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
