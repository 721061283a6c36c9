// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QCryptographicHash>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/dialogs.h"
#include "app/loader.h"
#include "app/style.h"
#include "models/analysis_tables.h"
#include "timeline/text.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/start_pages.h"
#include "views/table_page.h"
#include "views/timeline_page.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent), loader_(new Loader(this)), runner_(new AnalysisRunner(this)) {
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
  for (QWidget* page :
       {static_cast<QWidget*>(welcome_), static_cast<QWidget*>(loading_), static_cast<QWidget*>(error_), workspace}) {
    states_->addWidget(page);
  }
  setCentralWidget(states_);
  overview_ = new OverviewPage(pages_);
  timeline_ = new TimelinePage(pages_);
  memory_ = new MemoryPage(pages_);
  kernels_ = new TablePage(tr("Kernels"), tr("This trace records no device work."), pages_);
  operators_ = new TablePage(tr("Operators"), tr("This trace records no operators."), pages_);
  addPage(QStringLiteral("overview"), tr("Overview"), overview_);
  addPage(QStringLiteral("timeline"), tr("Timeline"), timeline_);
  addPage(QStringLiteral("memory"), tr("Memory"), memory_);
  addPage(QStringLiteral("kernels"), tr("Kernels"), kernels_);
  addPage(QStringLiteral("operators"), tr("Operators"), operators_);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);

  summary_ = new QLabel(this);
  warnings_ = new QLabel(this);
  statusBar()->addWidget(summary_, 1);
  statusBar()->addPermanentWidget(warnings_);
  statusBar()->setSizeGripEnabled(false);
  makeMenus();

  connect(loader_, &Loader::progressed, loading_, &LoadingPage::setProgress);
  connect(loader_, &Loader::opened, this, &MainWindow::showTrace);
  connect(loader_, &Loader::failed, this, [this](const QString& path, const QString& message) {
    error_->show(path, message);
    states_->setCurrentWidget(error_);
    Q_EMIT traceFailed(message);
  });
  connect(loader_, &Loader::cancelled, this, [this] { states_->setCurrentIndex(trace_ ? 3 : 0); });
  connect(runner_, &AnalysisRunner::finished, this, &MainWindow::showFindings);
  connect(runner_, &AnalysisRunner::failed, this, [this](const QString& message) {
    overview_->setFailure(message);
    Q_EMIT analysisShown();
  });
  connect(overview_, &OverviewPage::evidenceWanted, this, &MainWindow::showOnTimeline);
  connect(memory_, &MemoryPage::momentWanted, this, [this](prof::TimeNs at) {
    const prof::TimeNs around = (trace_->tracks->span.endNs - trace_->tracks->span.startNs) / 100;
    showOnTimeline({{at - around, at + around}}, QString());
  });
  for (TablePage* page : {kernels_, operators_}) {
    connect(page, &TablePage::nameActivated, this, [this](const QString& name) {
      showPage(QStringLiteral("timeline"));
      timeline_->search()->setText(name);
      timeline_->findNext(true);
    });
  }
  connect(loading_, &LoadingPage::cancelClicked, loader_, &Loader::cancel);
  connect(welcome_, &WelcomePage::openClicked, this, &MainWindow::chooseFile);
  connect(welcome_, &WelcomePage::recentClicked, this, &MainWindow::openFile);
  connect(error_, &ErrorPage::openClicked, this, &MainWindow::chooseFile);
  connect(error_, &ErrorPage::retryClicked, this, &MainWindow::openFile);
  welcome_->setRecent(QSettings().value(QStringLiteral("recent")).toStringList());
}

MainWindow::~MainWindow() = default;

void MainWindow::addPage(const QString& name, const QString& title, QWidget* page) {
  pages_->addWidget(page);
  tabs_->setTabData(tabs_->addTab(title), name);
}

void MainWindow::makeMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("&Save picture…"), this, &MainWindow::savePicture);
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < tabs_->count(); ++i) {
    view->addAction(tabs_->tabText(i), QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)), this,
                    [this, i] { tabs_->setCurrentIndex(i); });
  }
  view->addSeparator();
  view->addAction(tr("Switch between &dark and light"), QKeySequence(Qt::CTRL | Qt::Key_D), this,
                  [this] { setDark(!dark_); });
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  TimelineView* timeline = timeline_->view();
  go->addAction(tr("&Find events…"), QKeySequence::Find, this, [this] {
    showPage(QStringLiteral("timeline"));
    timeline_->search()->setFocus();
    timeline_->search()->selectAll();
  });
  go->addAction(tr("&Whole trace"), timeline, &TimelineView::fit);
  go->addAction(tr("&Zoom to the selection"), timeline, &TimelineView::zoomToSelection);
  go->addAction(tr("&Back"), timeline, &TimelineView::back);
  go->addAction(tr("F&orward"), timeline, &TimelineView::forward);
  go->addAction(tr("Between &launch and kernel"), timeline_, &TimelinePage::followLink);
  go->addAction(tr("Set or clear a book&mark"), timeline_, &TimelinePage::toggleBookmark);
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys"), QKeySequence(Qt::Key_Question), this, [this] { showKeyHelp(this); });
  help->addAction(tr("&Commands…"), QKeySequence(Qt::CTRL | Qt::Key_P), this, [this] {
    QList<QAction*> all;
    for (QAction* menu : menuBar()->actions()) all += menu->menu()->actions();
    showCommandPalette(this, all);
  });
}

void MainWindow::showOnTimeline(const std::vector<prof::TimeWindow>& windows, const QString& caption) {
  showPage(QStringLiteral("timeline"));
  timeline_->showEvidence(windows, caption);
}

void MainWindow::showFindings(const Findings& findings) {
  findings_ = findings;
  overview_->setFindings(findings);
  memory_->setAnalysis(findings.analysis);
  kernels_->setTable(kernelTableOf(*findings.analysis));
  operators_->setTable(operatorTableOf(*findings.analysis));
  Q_EMIT analysisShown();
}

void MainWindow::savePicture() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save picture"), {}, tr("Pictures (*.png)"));
  if (!path.isEmpty()) pages_->currentWidget()->grab().save(path);
}

namespace {
QString sessionKey(const QString& path) {
  const QByteArray hash =
      QCryptographicHash::hash(QFileInfo(path).absoluteFilePath().toUtf8(), QCryptographicHash::Sha1);
  return QStringLiteral("session/") + QString::fromLatin1(hash.toHex());
}
}  // namespace

void MainWindow::saveSession() {
  QSettings settings;
  settings.setValue(QStringLiteral("dark"), dark_);
  if (!trace_) return;
  settings.beginGroup(sessionKey(trace_->path));
  const Viewport& view = timeline_->view()->viewport();
  const prof::TimeNs zero = trace_->tracks->span.startNs;
  settings.setValue(QStringLiteral("start"), static_cast<qlonglong>(view.startNs() - zero));
  settings.setValue(QStringLiteral("span"), static_cast<qlonglong>(view.spanNs()));
  settings.setValue(QStringLiteral("page"), tabs_->tabData(tabs_->currentIndex()));
  QStringList marks;
  for (const Bookmark& mark : timeline_->view()->bookmarks())
    marks << QStringLiteral("%1 %2").arg(mark.timeNs - zero).arg(mark.note);
  settings.setValue(QStringLiteral("bookmarks"), marks);
}

void MainWindow::restoreSession() {
  QSettings settings;
  settings.beginGroup(sessionKey(trace_->path));
  const prof::TimeNs zero = trace_->tracks->span.startNs;
  const auto start = settings.value(QStringLiteral("start")).toLongLong() + zero;
  const auto span = settings.value(QStringLiteral("span")).toLongLong();
  TimelineView* view = timeline_->view();
  if (span > 0) view->setViewport(view->viewport().showing({start, start + span}), TimelineView::Move::Jump);
  std::vector<Bookmark> marks;
  for (const QString& mark : settings.value(QStringLiteral("bookmarks")).toStringList()) {
    marks.push_back({mark.section(QLatin1Char(' '), 0, 0).toLongLong() + zero, mark.section(QLatin1Char(' '), 1)});
  }
  view->setBookmarks(std::move(marks));
  showPage(settings.value(QStringLiteral("page"), QStringLiteral("overview")).toString());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveSession();
  QMainWindow::closeEvent(event);
}

void MainWindow::setDark(bool dark) {
  dark_ = dark;
  applyStyle(*qApp, dark);
  timeline_->setDark(dark);
  overview_->setDark(dark);
  memory_->setDark(dark);
}

QStringList MainWindow::pageNames() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabData(i).toString();
  return names;
}

bool MainWindow::showPage(const QString& name) {
  const auto at = static_cast<int>(pageNames().indexOf(name));
  if (at >= 0) tabs_->setCurrentIndex(at);
  return at >= 0;
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
      this, tr("Open a trace"), {}, tr("Traces (*.lcn *.json *.json.gz *.sqlite *.pb *.pickle);;All files (*)"));
  if (!path.isEmpty()) openFile(path);
}

void MainWindow::showTrace(const TracePtr& trace) {
  saveSession();
  trace_ = trace;
  findings_ = {};
  overview_->setWaiting();
  memory_->setAnalysis(nullptr);
  kernels_->setTable({});
  operators_->setTable({});
  runner_->start(trace);
  timeline_->setTrace(trace);
  states_->setCurrentIndex(3);
  timeline_->view()->setFocus();
  setWindowTitle(tr("%1 · Lacuna").arg(QFileInfo(trace->path).fileName()));
  const prof::TimeWindow span = trace->tracks->span;
  summary_->setText(tr("%1   ·   %2   ·   %3 events")
                        .arg(QFileInfo(trace->path).fileName(),
                             QString::fromStdString(durationText(static_cast<double>(span.endNs - span.startNs))),
                             QString::fromStdString(countText(static_cast<double>(trace->tracks->events)))));
  QStringList warnings;
  for (const std::string& warning : trace->store->warnings()) warnings << QString::fromStdString(warning);
  warnings_->setText(warnings.isEmpty() ? QString() : tr("not read: %1").arg(warnings.size()));
  warnings_->setToolTip(warnings.join(QLatin1Char('\n')));
  remember(trace->path);
  restoreSession();
  Q_EMIT traceShown();
}

void MainWindow::remember(const QString& path) {
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
  const auto urls = event->mimeData()->urls();
  if (!urls.isEmpty() && urls.first().isLocalFile()) openFile(urls.first().toLocalFile());
}

}  // namespace lacuna::gui
