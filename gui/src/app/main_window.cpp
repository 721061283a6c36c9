// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/loader.h"
#include "app/style.h"
#include "timeline/text.h"
#include "views/start_pages.h"
#include "views/timeline_page.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), loader_(new Loader(this)) {
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
  timeline_ = new TimelinePage(pages_);
  addPage(QStringLiteral("timeline"), tr("Timeline"), timeline_);
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
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addAction(tr("Switch between &dark and light"), this, [this] { setDark(!dark_); });
  TimelineView* timeline = timeline_->view();
  view->addAction(tr("&Whole trace"), timeline, &TimelineView::fit);
  view->addAction(tr("&Back"), timeline, &TimelineView::back);
  view->addAction(tr("&Forward"), timeline, &TimelineView::forward);
}

void MainWindow::setDark(bool dark) {
  dark_ = dark;
  applyStyle(*qApp, dark);
  timeline_->setDark(dark);
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
  trace_ = trace;
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
  warnings_->setText(
      warnings.isEmpty() ? QString() : tr("%n part(s) could not be read", nullptr, static_cast<int>(warnings.size())));
  warnings_->setToolTip(warnings.join(QLatin1Char('\n')));
  remember(trace->path);
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
