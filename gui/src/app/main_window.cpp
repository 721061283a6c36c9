// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QCheckBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <climits>

#include "app/live_follower.h"
#include "app/loader.h"
#include "app/query_runner.h"
#include "app/session.h"
#include "app/style.h"
#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "timeline/text.h"
#include "views/compare_page.h"
#include "views/flame_page.h"
#include "views/histogram_view.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/page.h"
#include "views/parts.h"
#include "views/sql_page.h"
#include "views/start_pages.h"
#include "views/steps_page.h"
#include "views/table_page.h"
#include "views/timeline_page.h"
#include "views/words.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
constexpr qint64 kAnalysisPause = 4;  // times as long as an analysis takes
}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent), loader_(new Loader(this)), live_(new LiveFollower(this)), runner_(new AnalysisRunner(this)) {
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
  makePages();
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    // Keys go to what the page is about, unless it is the tabs that are walked through.
    if (!tabs_->hasFocus()) static_cast<Page*>(pages_->currentWidget())->subject()->setFocus();
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
  connect(runner_, &AnalysisRunner::progressed, overview_, &OverviewPage::setProgress);
  connect(runner_, &AnalysisRunner::finished, this, &MainWindow::showFindings);
  connect(runner_, &AnalysisRunner::failed, this, [this](const QString& message) {
    if (findings_.analysis) {  // of a recording that has grown: the pages go on showing the last one
      tell(tr("The new events could not be analysed: %1").arg(message));
    } else {
      findings_ = {nullptr, nullptr, message};
      overview_->setFailure(message);
    }
    Q_EMIT analysisShown();
  });
  connectPages();
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
    // The first time: as much of the screen as is of use, and never more than there is beside a window's frame.
    const QSize room = screen()->availableSize();
    resize(size().expandedTo(room * 3 / 5).boundedTo(room - QSize(16, 56)));
  }
  setDark(settings.value(QStringLiteral("dark"), true).toBool());
  timeline_->restoreLayout(settings.value(QStringLiteral("timelineSplit")).toByteArray());
  welcome_->setRecent(settings.value(QStringLiteral("recent")).toStringList());
}

MainWindow::~MainWindow() = default;

void MainWindow::makePages() {
  overview_ = new OverviewPage(pages_);
  timeline_ = new TimelinePage(pages_);
  steps_ = new StepsPage(pages_);
  memory_ = new MemoryPage(pages_);
  kernels_ = new TablePage(tr("Kernels"), tr("This trace records no device work."), pages_);
  operators_ = new TablePage(tr("Operators"), tr("This trace records no operators."), pages_);
  kernelTimes_ = new HistogramView(analyzer::TrackKind::Work, kernels_);
  kernels_->setDetail(kernelTimes_);
  connect(kernels_, &TablePage::nameSelected, kernelTimes_, &HistogramView::setName);
  byShapes_ = new QCheckBox(tr("by input shapes"), operators_);
  operators_->addControl(byShapes_);
  connect(byShapes_, &QCheckBox::toggled, this, &MainWindow::fillOperators);
  operatorTimes_ = new HistogramView(analyzer::TrackKind::Ranges, operators_);
  operators_->setDetail(operatorTimes_);
  connect(operators_, &TablePage::nameSelected, operatorTimes_, &HistogramView::setName);
  flame_ = new FlamePage(pages_);
  sql_ = new SqlPage(pages_);
  compare_ = new ComparePage(pages_);
  addPage(QStringLiteral("overview"), tr("Overview"), overview_);
  addPage(QStringLiteral("timeline"), tr("Timeline"), timeline_);
  addPage(QStringLiteral("steps"), tr("Steps"), steps_);
  addPage(QStringLiteral("memory"), tr("Memory"), memory_);
  addPage(QStringLiteral("kernels"), tr("Kernels"), kernels_);
  addPage(QStringLiteral("operators"), tr("Operators"), operators_);
  addPage(QStringLiteral("flame"), tr("Flame graph"), flame_);
  addPage(QStringLiteral("sql"), tr("SQL"), sql_);
  addPage(QStringLiteral("compare"), tr("Compare"), compare_);
}

void MainWindow::connectPages() {
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
  connect(runner_, &AnalysisRunner::stripsReady, timeline_->view(), &TimelineView::setLedgers);
  connect(overview_, &OverviewPage::evidenceWanted, this, &MainWindow::showOnTimeline);
  connect(overview_, &OverviewPage::nameWanted, this, &MainWindow::findOnTimeline);
  connect(overview_, &OverviewPage::findingWanted, this, &MainWindow::showFinding);
  connect(timeline_, &TimelinePage::playWanted, this, &MainWindow::playChange);
  connect(memory_, &MemoryPage::momentPicked, timeline_->view(), &TimelineView::setCursorMark);
  connect(timeline_->view(), &TimelineView::momentPicked, memory_, &MemoryPage::setCursorMark);
  connect(memory_, &MemoryPage::momentWanted, this, [this](prof::TimeNs at) {
    const prof::TimeNs around = (trace_->tracks->span.endNs - trace_->tracks->span.startNs) / 100;
    showOnTimeline({{at - around, at + around}}, QString());
  });
  connect(memory_, &MemoryPage::lifetimesWanted, this, &MainWindow::showOnTimeline);
  for (TablePage* page : {kernels_, operators_}) {
    connect(page, &TablePage::nameActivated, this, &MainWindow::findOnTimeline);
  }
  for (TablePage* page : pages_->findChildren<TablePage*>()) {
    connect(page, &TablePage::message, this, &MainWindow::tell);
  }
  connect(flame_, &FlamePage::message, this, &MainWindow::tell);
  connect(runner_, &AnalysisRunner::stripsReady, steps_->stack(), &StepStack::setLedgers);
  connect(steps_, &StepsPage::stepActivated, this, [this](std::size_t n) {
    const analyzer::Step& step = findings_.analysis->steps.all[n];
    showOnTimeline({{step.startNs, step.endNs}}, QString::fromStdString(step.name));
  });
  connect(flame_, &FlamePage::nameActivated, this, &MainWindow::findOnTimeline);
  connect(compare_, &ComparePage::nameActivated, this, &MainWindow::findOnTimeline);
  connect(timeline_->view(), &TimelineView::areaChanged, this,
          [this] { flame_->setWindow(timeline_->view()->area()); });
}

void MainWindow::showFinding(std::size_t n) {
  showPage(QStringLiteral("timeline"));
  timeline_->showFinding(findings_.analysis->of<analyzer::Findings>()[n], *findings_.analysis);
}

void MainWindow::playChange(const QString& change) {
  showPage(QStringLiteral("overview"));
  overview_->playChange(change);
}

void MainWindow::findOnTimeline(const QString& name) {
  showPage(QStringLiteral("timeline"));
  timeline_->search()->setText(name);
  timeline_->findNext(true);
}

void MainWindow::addPage(const QString& name, const QString& title, Page* page) {
  pages_->addWidget(page);
  tabs_->setTabData(tabs_->addTab(title), name);
}

void MainWindow::showOnTimeline(const std::vector<prof::TimeWindow>& windows, const QString& caption) {
  showPage(QStringLiteral("timeline"));
  timeline_->showEvidence(windows, caption);
}

void MainWindow::showFindings(const Findings& findings) {
  findings_ = findings;
  overview_->setFindings(findings);
  memory_->setAnalysis(findings.analysis);
  kernels_->renewTable(kernelTableOf(*findings.analysis));
  if (!kernels_->table()->currentIndex().isValid()) kernels_->showSourceRow(0);
  fillOperators();
  steps_->setAnalysis(findings.analysis);
  compare_->setAnalysis(findings.analysis);
  Q_EMIT analysisShown();
}

void MainWindow::fillOperators() {
  if (!findings_.analysis) return;
  operators_->renewTable(operatorTableOf(*findings_.analysis, byShapes_->isChecked()));
  if (!operators_->table()->currentIndex().isValid()) operators_->showSourceRow(0);
}

void MainWindow::saveAppearance() {
  if (!remembering_) return;
  QSettings settings;
  settings.setValue(QStringLiteral("dark"), dark_);
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  settings.setValue(QStringLiteral("timelineSplit"), timeline_->saveLayout());
}

void MainWindow::saveSession() {
  if (remembering_ && trace_) saveTraceSession(*trace_, *timeline_->view(), page());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveAppearance();
  saveSession();
  QMainWindow::closeEvent(event);
}

void MainWindow::setDark(bool dark) {
  dark_ = dark;
  applyStyle(*qApp, dark);
  timeline_->setDark(dark);
  overview_->setDark(dark);
  memory_->setDark(dark);
  for (HistogramView* times : {kernelTimes_, operatorTimes_}) times->setDark(dark);
  steps_->setDark(dark);
  flame_->setDark(dark);
  sql_->setDark(dark);
  compare_->setDark(dark);
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
  return runner_->busy() || overview_->busy() || flame_->busy() || timeline_->busy() || memory_->busy() || sql_->busy();
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
  protectFile(trace->path);
  findings_ = {};
  overview_->setWaiting();
  memory_->setTrace(trace);
  kernels_->setTable({});
  operators_->setTable({});
  for (HistogramView* times : {kernelTimes_, operatorTimes_}) times->setTrace(trace);
  steps_->setTrace(trace);
  flame_->setTrace(trace);
  sql_->setTrace(trace);
  compare_->setAnalysis(nullptr);
  live_->stop();
  analysisMs_ = 0;
  analyseAgain_ = false;
  analyseLater_.stop();
  analysisClock_.start();
  runner_->start(trace);
  timeline_->setTrace(trace);
  states_->setCurrentIndex(3);
  showSummary();
  remember(trace->path);
  fillRecent();
  showPage(remembering_ ? restoreTraceSession(*trace_, *timeline_->view()) : QStringLiteral("overview"));
  static_cast<Page*>(pages_->currentWidget())->subject()->setFocus();  // also where it was shown before
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
  for (const std::string& warning : trace_->store->warnings()) warnings << QString::fromStdString(warning);
  warnings_->setText(warnings.isEmpty()     ? QString()
                     : warnings.size() == 1 ? tr("1 warning about the file")
                                            : tr("%1 warnings about the file").arg(warnings.size()));
  warnings_->setToolTip(tipWords(warnings.join(QLatin1Char('\n'))));
  warningsAction_->setEnabled(!warnings.isEmpty());
  liveLabel_->setVisible(live_->live());
  liveLabel_->setText(tr("● live"));
}

void MainWindow::analyse() {
  // An analysis reads the whole trace, so while that grows it may take a fifth of the time and no more.
  const qint64 early = live_->live() ? kAnalysisPause * analysisMs_ - analysisClock_.elapsed() : 0;
  analyseAgain_ = runner_->busy() || early > 0;
  if (early > 0 && !runner_->busy()) analyseLater_.start(static_cast<int>(std::min<qint64>(early, INT_MAX)));
  if (analyseAgain_) return;
  analyseLater_.stop();
  analysisClock_.start();
  runner_->start(trace_);
}

void MainWindow::showGrown(const TracePtr& trace) {
  trace_ = trace;
  timeline_->setGrown(trace);
  for (HistogramView* times : {kernelTimes_, operatorTimes_}) times->setGrown(trace);
  steps_->setGrown(trace);
  flame_->setGrown(trace);
  memory_->setGrown(trace);
  sql_->setGrown(trace);
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
  if (files.size() > 1) compare_->openSecond(files[1]);
}

}  // namespace lacuna::gui
