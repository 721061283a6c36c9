// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/main_window.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QCryptographicHash>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPainter>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QSvgGenerator>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/dialogs.h"
#include "app/live_follower.h"
#include "app/loader.h"
#include "app/query_runner.h"
#include "app/style.h"
#include "models/analysis_tables.h"
#include "timeline/text.h"
#include "views/compare_page.h"
#include "views/flame_page.h"
#include "views/histogram_view.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/sql_page.h"
#include "views/start_pages.h"
#include "views/steps_page.h"
#include "views/table_page.h"
#include "views/timeline_page.h"

namespace lacuna::gui {

namespace {
constexpr int kRecentKept = 8;
constexpr qint64 kAnalysisPause = 4;  // times as long as an analysis takes
constexpr int kMessageMs = 5000;
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
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);

  summary_ = new QLabel(this);
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
  connectPages();
  connect(loading_, &LoadingPage::cancelClicked, loader_, &Loader::cancel);
  connect(welcome_, &WelcomePage::openClicked, this, &MainWindow::chooseFile);
  connect(welcome_, &WelcomePage::recentClicked, this, &MainWindow::openFile);
  connect(error_, &ErrorPage::openClicked, this, &MainWindow::chooseFile);
  connect(error_, &ErrorPage::retryClicked, this, &MainWindow::openFile);
  welcome_->setRecent(QSettings().value(QStringLiteral("recent")).toStringList());
  timeline_->restoreLayout(QSettings().value(QStringLiteral("timelineSplit")).toByteArray());
}

void MainWindow::restoreLook() {
  const QSettings settings;
  if (!restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray())) {
    // The first time: as much of the screen as is of use, and never more than there is beside a window's frame.
    const QSize room = screen()->availableSize();
    resize(size().expandedTo(room * 3 / 5).boundedTo(room - QSize(16, 56)));
  }
  setDark(settings.value(QStringLiteral("dark"), true).toBool());
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
    analysisMs_ = analysisClock_.isValid() ? analysisClock_.restart() : 0;
    if (analyseAgain_) analyse();
  });
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
  timeline_->showFinding(findings_.analysis->findings[n]);
}

void MainWindow::playChange(const QString& change) {
  showPage(QStringLiteral("overview"));
  overview_->playChange(change);
}

void MainWindow::fillRecent() {
  recentMenu_->clear();
  for (const QString& path : QSettings().value(QStringLiteral("recent")).toStringList()) {
    recentMenu_->addAction(QFontMetrics(font()).elidedText(path, Qt::ElideMiddle, 480), this,
                           [this, path] { openFile(path); });
  }
  recentMenu_->setEnabled(!recentMenu_->isEmpty());
}

void MainWindow::findOnTimeline(const QString& name) {
  showPage(QStringLiteral("timeline"));
  timeline_->search()->setText(name);
  timeline_->findNext(true);
}

void MainWindow::addPage(const QString& name, const QString& title, QWidget* page) {
  pages_->addWidget(page);
  tabs_->setTabData(tabs_->addTab(title), name);
}

void MainWindow::makeMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::chooseFile);
  recentMenu_ = file->addMenu(tr("Open &recent"));
  connect(recentMenu_, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
  fillRecent();
  file->addAction(tr("&Compare with…"), this, [this] {
    showPage(QStringLiteral("compare"));
    compare_->choose();
  });
  file->addAction(tr("&Save picture…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), this, &MainWindow::savePicture);
  file->addAction(tr("Copy &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this, &MainWindow::copyPicture);
  file->addAction(tr("Save &data of the page…"), QKeySequence(Qt::CTRL | Qt::Key_E), this, &MainWindow::saveData);
  file->addSeparator();
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
  go->addAction(tr("Show or fold counters at &zero"), timeline, &TimelineView::toggleQuiet);
  go->addAction(tr("Set or clear a book&mark"), timeline_, &TimelinePage::toggleBookmark);
  go->addAction(tr("Write a &note on a bookmark…"), timeline_, &TimelinePage::askForNote);
  go->addSeparator();
  go->addAction(tr("To the memory &peak"), this, [this] {
    if (!findings_.analysis || !findings_.analysis->memory.present) return;
    showPage(QStringLiteral("memory"));
    memory_->setCursorMark(findings_.analysis->memory.peakAtNs);
  });
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys"), QKeySequence(Qt::Key_Question), this, [this] { showKeyHelp(this); });
  help->addAction(tr("&Commands…"), QKeySequence(Qt::CTRL | Qt::Key_P), this, [this] {
    QList<QAction*> all;
    for (QAction* menu : menuBar()->actions()) all += menu->menu()->actions();
    all += recentMenu_->actions();
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
  fillOperators();
  if (kernels_->model()->rows() > 0) kernels_->showSourceRow(0);
  steps_->setAnalysis(findings.analysis);
  compare_->setAnalysis(findings.analysis);
  Q_EMIT analysisShown();
}

void MainWindow::fillOperators() {
  if (!findings_.analysis) return;
  operators_->setTable(operatorTableOf(*findings_.analysis, byShapes_->isChecked()));
  if (operators_->model()->rows() > 0) operators_->showSourceRow(0);
}

bool MainWindow::savePictureTo(const QString& path) {
  QWidget* page = pages_->currentWidget();
  if (!path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) return page->grab().save(path);
  QSvgGenerator svg;
  svg.setFileName(path);
  svg.setSize(page->size());
  svg.setViewBox(page->rect());
  svg.setTitle(windowTitle());
  QPainter painter;
  if (!painter.begin(&svg)) return false;
  page->render(&painter);
  return painter.end();
}

void MainWindow::savePicture() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save picture"), {}, tr("Pictures (*.png *.svg)"));
  if (!path.isEmpty() && !savePictureTo(path)) {
    statusBar()->showMessage(tr("%1 cannot be written").arg(path), kMessageMs);
  }
}

QString MainWindow::pageCsv() const {
  const QWidget* page = pages_->currentWidget();
  if (page == overview_ || page == steps_) return overview_->csv();
  if (page == timeline_) return timeline_->csv();
  if (page == memory_) return memory_->live()->model()->csv();
  if (page == flame_) return flame_->csv();
  if (page == compare_) return compare_->csv();
  for (const TablePage* table : {kernels_, operators_}) {
    if (page == table) return table->model()->csv();
  }
  return {};
}

void MainWindow::saveData() {
  if (page() == QLatin1String("sql")) return sql_->chooseExport();
  const QString csv = trace_ ? pageCsv() : QString();
  if (csv.isEmpty()) return statusBar()->showMessage(tr("There is no data on this page yet"), kMessageMs);
  const QString path = QFileDialog::getSaveFileName(this, tr("Save data"), {}, tr("Comma-separated values (*.csv)"));
  if (path.isEmpty()) return;
  QFile out(path);
  const QByteArray bytes = csv.toUtf8();
  const bool written = out.open(QIODevice::WriteOnly) && out.write(bytes) == bytes.size() && out.flush();
  statusBar()->showMessage(
      written ? tr("%1 is written").arg(path) : tr("%1 cannot be written: %2").arg(path, out.errorString()),
      kMessageMs);
}

void MainWindow::copyPicture() {
  QApplication::clipboard()->setPixmap(pages_->currentWidget()->grab());
  statusBar()->showMessage(tr("The picture of the page is on the clipboard"), kMessageMs);
}

namespace {
/// Which rows are collapsed or pinned, by their names: "group", "track" or "pin", and the labels.
QStringList savedRows(const analyzer::TrackSet& tracks, const RowOptions& options) {
  QStringList out;
  const auto add = [&](const char* what, std::size_t g, const std::string& track) {
    out << QString::fromLatin1(what) << QString::fromStdString(tracks.groups[g].label) << QString::fromStdString(track);
  };
  for (const std::size_t g : options.collapsedGroups) add("group", g, {});
  for (const std::size_t g : options.quietShown) add("quiet", g, {});
  for (const TrackRef& ref : options.collapsedTracks) {
    add("track", ref.group, tracks.groups[ref.group].tracks[ref.track].label);
  }
  for (const TrackRef& ref : options.pinned) add("pin", ref.group, tracks.groups[ref.group].tracks[ref.track].label);
  return out;
}

RowOptions restoredRows(const analyzer::TrackSet& tracks, const QStringList& saved) {
  RowOptions out;
  for (qsizetype i = 0; i + 2 < saved.size(); i += 3) {
    for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
      if (QString::fromStdString(tracks.groups[g].label) != saved[i + 1]) continue;
      if (saved[i] == QLatin1String("group")) out.collapsedGroups.insert(g);
      if (saved[i] == QLatin1String("quiet")) out.quietShown.insert(g);
      for (std::size_t t = 0; t < tracks.groups[g].tracks.size(); ++t) {
        if (QString::fromStdString(tracks.groups[g].tracks[t].label) != saved[i + 2]) continue;
        if (saved[i] == QLatin1String("track")) out.collapsedTracks.insert({g, t});
        if (saved[i] == QLatin1String("pin")) out.pinned.insert({g, t});
      }
    }
  }
  return out;
}

QString sessionKey(const QString& path) {
  const QByteArray hash =
      QCryptographicHash::hash(QFileInfo(path).absoluteFilePath().toUtf8(), QCryptographicHash::Sha1);
  return QStringLiteral("session/") + QString::fromLatin1(hash.toHex());
}
}  // namespace

void MainWindow::saveSession() {
  QSettings settings;
  settings.setValue(QStringLiteral("dark"), dark_);
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  settings.setValue(QStringLiteral("timelineSplit"), timeline_->saveLayout());
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
  settings.setValue(QStringLiteral("rows"), savedRows(*trace_->tracks, timeline_->view()->rowOptions()));
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
  view->setRowOptions(restoredRows(*trace_->tracks, settings.value(QStringLiteral("rows")).toStringList()));
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
  return runner_->busy() || overview_->busy() || flame_->busy() || timeline_->busy() || memory_->busy() ||
         sql_->runner()->busy();
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
  memory_->setTrace(trace);
  kernels_->setTable({});
  operators_->setTable({});
  for (HistogramView* times : {kernelTimes_, operatorTimes_}) times->setTrace(trace);
  steps_->setTrace(trace);
  flame_->setTrace(trace);
  sql_->setTrace(trace);
  compare_->setAnalysis(nullptr);
  live_->stop();
  runner_->start(trace);
  timeline_->setTrace(trace);
  states_->setCurrentIndex(3);
  timeline_->view()->setFocus();
  showSummary();
  remember(trace->path);
  fillRecent();
  restoreSession();
  live_->watch(trace->path);
  Q_EMIT traceShown();
}

void MainWindow::showSummary() {
  setWindowTitle(tr("%1 · Lacuna").arg(QFileInfo(trace_->path).fileName()));
  const prof::TimeWindow span = trace_->tracks->span;
  summary_->setText(tr("%1   ·   %2   ·   %3 events")
                        .arg(QFileInfo(trace_->path).fileName(),
                             QString::fromStdString(durationText(static_cast<double>(span.endNs - span.startNs))),
                             QString::fromStdString(countText(static_cast<double>(trace_->tracks->events)))));
  QStringList warnings;
  for (const std::string& warning : trace_->store->warnings()) warnings << QString::fromStdString(warning);
  warnings_->setText(warnings.isEmpty() ? QString() : tr("%1 parts of the file were not read").arg(warnings.size()));
  warnings_->setToolTip(warnings.join(QLatin1Char('\n')));
  liveLabel_->setVisible(live_->live());
  liveLabel_->setText(tr("● live"));
}

void MainWindow::analyse() {
  // An analysis reads the whole trace, so while that grows it may take a fifth of the time and no more.
  const bool tooSoon =
      live_->live() && analysisClock_.isValid() && analysisClock_.elapsed() < kAnalysisPause * analysisMs_;
  analyseAgain_ = runner_->busy() || tooSoon;
  if (analyseAgain_) return;
  analysisClock_.start();
  runner_->start(trace_);
}

void MainWindow::showGrown(const TracePtr& trace) {
  trace_ = trace;
  timeline_->setGrown(trace);
  for (HistogramView* times : {kernelTimes_, operatorTimes_}) times->setTrace(trace);
  flame_->setTrace(trace);
  memory_->setGrown(trace);
  sql_->setGrown(trace);
  showSummary();
  analyse();
  Q_EMIT traceGrew();
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
