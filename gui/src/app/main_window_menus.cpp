// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QBuffer>
#include <QCheckBox>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontMetrics>
#include <QLineEdit>
#include <QMenuBar>
#include <QPainter>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QSvgGenerator>
#include <QTabBar>

#include "app/dialogs.h"
#include "app/main_window.h"
#include "views/compare_page.h"
#include "views/flame_page.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/parts.h"
#include "views/sql_page.h"
#include "views/steps_page.h"
#include "views/table_page.h"
#include "views/timeline_page.h"
#include "views/words.h"

/// The window's menus and commands, and what they save and copy.
namespace lacuna::gui {

namespace {
constexpr int kMessageMs = 5000;

constexpr auto kTitle = "lacuna-title";

/// A page as an SVG with a title.
QByteArray shapesOf(QWidget& page, const QString& title) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setTitle(QString::fromLatin1(kTitle));
  svg.setSize(page.size());
  svg.setResolution(page.logicalDpiX());  // letters as large as beside them
  svg.setViewBox(page.rect());
  QPainter painter(&svg);
  page.render(&painter);
  painter.end();
  // The generator of some versions writes it as it is, and a name of a file may have an & or a < in it.
  const qsizetype at = bytes.indexOf(kTitle);
  return at < 0 ? bytes : bytes.replace(at, qstrlen(kTitle), title.toHtmlEscaped().toUtf8());
}

}  // namespace

void MainWindow::makeMenus() {
  makeFileMenu();
  makeViewMenu();
  makeGoMenu();
  makePageCommands();
  makeHelpMenu();
}

void MainWindow::makeFileMenu() {
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
}

void MainWindow::makeViewMenu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < tabs_->count(); ++i) {
    view->addAction(tabs_->tabText(i), QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)), this,
                    [this, i] { tabs_->setCurrentIndex(i); });
  }
  view->addSeparator();
  view->addAction(tr("Switch between &dark and light"), QKeySequence(Qt::CTRL | Qt::Key_D), this,
                  [this] { setDark(!dark_); });
  warningsAction_ = view->addAction(tr("&Warnings about the file…"), this, &MainWindow::showWarnings);
  warningsAction_->setEnabled(false);
}

void MainWindow::showWarnings() {
  QStringList warnings;
  for (const std::string& warning : trace_->store->warnings()) warnings << words(warning);
  showText(this, tr("Warnings about the file"), warnings.join(QLatin1Char('\n')));
}

/// Keys that the timeline takes itself, with or without Ctrl, stand after a tab: a menu shows them and claims none.
void MainWindow::makeGoMenu() {
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  TimelineView* timeline = timeline_->view();
  go->addAction(tr("&Find events…"), QKeySequence::Find, this, [this] {
    showPage(QStringLiteral("timeline"));
    timeline_->search()->setFocus();
    timeline_->search()->selectAll();
  });
  const auto add = [this, go](const QString& text, auto&& act) {
    go->addAction(text, this, [this, act] {
      showPage(QStringLiteral("timeline"));  // where it can be seen
      act();
    });
  };
  add(tr("&Whole trace\tHome"), [timeline] { timeline->fit(); });
  add(tr("&End of the trace\tEnd"), [timeline] { timeline->toEnd(); });
  add(tr("&Zoom to the selection\tF"), [timeline] { timeline->zoomToSelection(); });
  add(tr("&Back\tAlt+←"), [timeline] { timeline->back(); });
  add(tr("F&orward\tAlt+→"), [timeline] { timeline->forward(); });
  add(tr("Between &launch and kernel\tL"), [this] { timeline_->followLink(); });
  add(tr("Show or fold counters at &zero"), [timeline] { timeline->toggleQuiet(); });
  add(tr("Set or clear a book&mark\tB"), [this] { timeline_->toggleBookmark(); });
  add(tr("Write a &note on a bookmark…\tN"), [this] { timeline_->askForNote(); });
  add(tr("Ne&xt bookmark\tJ"), [timeline] { timeline->jumpToBookmark(1); });
  add(tr("Pre&vious bookmark\tShift+J"), [timeline] { timeline->jumpToBookmark(-1); });
  go->addSeparator();
  go->addAction(tr("To the memory &peak"), this, [this] {
    if (!findings_.analysis || !findings_.analysis->of<analyzer::MemoryTables>().all.present) return;
    showPage(QStringLiteral("memory"));
    memory_->setCursorMark(findings_.analysis->of<analyzer::MemoryTables>().all.peakAtNs);
  });
}

void MainWindow::makePageCommands() {
  TimelineView* timeline = timeline_->view();
  const auto add = [this](const QString& text, const QString& page, auto&& act) {
    auto* action = new QAction(text, this);
    connect(action, &QAction::triggered, this, [this, page, act] {
      showPage(page);
      act();
    });
    pageCommands_ << action;
  };
  const QString onTimeline = QStringLiteral("timeline");
  add(tr("Timeline: next event found\tEnter"), onTimeline, [this] { timeline_->findNext(true); });
  add(tr("Timeline: previous event found\tShift+Enter"), onTimeline, [this] { timeline_->findNext(false); });
  add(tr("Timeline: filter tracks…\t/"), onTimeline, [timeline] { Q_EMIT timeline->filterWanted(); });
  add(tr("Timeline: the row above\tAlt+↑"), onTimeline, [timeline] { timeline->moveRow(-1); });
  add(tr("Timeline: the row below\tAlt+↓"), onTimeline, [timeline] { timeline->moveRow(1); });
  add(tr("Timeline: collapse or open the row\tC"), onTimeline, [timeline] { timeline->toggleCurrentRow(false); });
  add(tr("Timeline: collapse or open all groups\tShift+C"), onTimeline, [timeline] { timeline->toggleAllGroups(); });
  add(tr("Timeline: pin the row, or not\tP"), onTimeline, [timeline] { timeline->toggleCurrentRow(true); });
  add(tr("Timeline: select a stretch, later\tShift+→"), onTimeline, [timeline] { timeline->extendArea(1); });
  add(tr("Timeline: select a stretch, earlier\tShift+←"), onTimeline, [timeline] { timeline->extendArea(-1); });
  add(tr("Timeline: measure from the selected event, or no longer\tM"), onTimeline,
      [timeline] { timeline->measure(); });
  add(tr("Timeline: forget the selection\tEsc"), onTimeline, [timeline] { timeline->clearSelection(); });
  add(tr("Steps: longest first, or in the order of the run"), QStringLiteral("steps"),
      [this] { steps_->longestFirst()->toggle(); });
  const std::pair<const char*, QString> lists[] = {{"alive", tr("Memory: what is alive")},
                                                   {"edits", tr("Memory: lower the peak")},
                                                   {"allocator", tr("Memory: allocator")},
                                                   {"leaks", tr("Memory: leaks")},
                                                   {"advice", tr("Memory: advice")}};
  for (const auto& [tab, text] : lists) {
    add(text, QStringLiteral("memory"), [this, name = QString::fromLatin1(tab)] { memory_->showTab(name); });
  }
  add(tr("Operators: by input shapes, or together"), QStringLiteral("operators"), [this] { byShapes_->toggle(); });
  add(tr("Flame graph: export stacks…"), QStringLiteral("flame"), [this] { flame_->chooseExport(); });
  add(tr("SQL: run the statement\tCtrl+Enter"), QStringLiteral("sql"), [this] { sql_->run(); });
  add(tr("Compare: swap before and after"), QStringLiteral("compare"), [this] { compare_->swap(); });
}

void MainWindow::makeHelpMenu() {
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys"), QKeySequence(Qt::Key_Question), this, [this] { showKeyHelp(this); });
  help->addAction(tr("&Commands…"), QKeySequence(Qt::CTRL | Qt::Key_P), this, [this] {
    QList<QAction*> all;
    for (QAction* menu : menuBar()->actions()) all += menu->menu()->actions();
    all += recentMenu_->actions();
    showCommandPalette(this, all + pageCommands_);
  });
}

void MainWindow::fillRecent() {
  recentMenu_->clear();
  for (const QString& path : QSettings().value(QStringLiteral("recent")).toStringList()) {
    recentMenu_->addAction(buttonWords(QFontMetrics(font()).elidedText(path, Qt::ElideMiddle, 480)), this,
                           [this, path] { openFile(path); });
  }
  recentMenu_->setEnabled(!recentMenu_->isEmpty());
}

bool MainWindow::savePictureTo(const QString& path, QString* problem) {
  QWidget* page = pages_->currentWidget();
  const bool shapes = QFileInfo(path).suffix().compare(QLatin1String("svg"), Qt::CaseInsensitive) == 0;
  const QString why =
      shapes ? writeFile(path, shapesOf(*page, windowTitle())) : writePicture(path, page->grab().toImage());
  if (problem != nullptr) *problem = why;
  return why.isEmpty();
}

void MainWindow::tell(const QString& what) {
  statusBar()->showMessage(what, kMessageMs);
}

void MainWindow::savePicture() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save picture"), {}, tr("Pictures (*.png *.svg)"));
  if (path.isEmpty()) return;
  QString problem;
  tell(savePictureTo(path, &problem) ? tr("%1 is written").arg(path) : problem);
}

QString MainWindow::pageCsv(bool* cut) const {
  const QWidget* page = pages_->currentWidget();
  if (page == overview_ || page == steps_) return overview_->csv();
  if (page == timeline_) return timeline_->csv(cut);
  if (page == memory_) return memory_->csv();
  if (page == flame_) return flame_->csv();
  if (page == compare_) return compare_->csv();
  for (const TablePage* table : {kernels_, operators_}) {
    if (page == table) return table->model()->csv();
  }
  return {};
}

void MainWindow::saveData() {
  if (page() == QLatin1String("sql")) return sql_->chooseExport();
  bool cut = false;
  const QString csv = trace_ ? pageCsv(&cut) : QString();
  if (csv.isEmpty()) return tell(tr("There is no data on this page yet"));
  const QString path = QFileDialog::getSaveFileName(this, tr("Save data"), {}, tr("Comma-separated values (*.csv)"));
  if (!path.isEmpty()) writeData(path, csv, cut);
}

void MainWindow::writeData(const QString& path, const QString& csv, bool cut) {
  const QString problem = writeFile(path, csv.toUtf8());
  if (!problem.isEmpty()) return tell(problem);
  const QString most = QString::number(timeline_->mostCsvRows());
  tell(cut ? tr("%1 has the first %2 events alone: select a shorter stretch").arg(path, most)
           : tr("%1 is written").arg(path));
}

void MainWindow::copyPicture() {
  QApplication::clipboard()->setPixmap(pages_->currentWidget()->grab());
  tell(tr("The picture of the page is on the clipboard"));
}

}  // namespace lacuna::gui
