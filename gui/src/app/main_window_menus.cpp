// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontMetrics>
#include <QMenuBar>
#include <QPainter>
#include <QSettings>
#include <QStatusBar>
#include <QSvgGenerator>

#include "app/dialogs.h"
#include "app/main_window.h"
#include "base/words.h"
#include "views/parts.h"

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
  // The generator of some versions writes it as it is, and a name of a file may have an & or a < in
  // it.
  const qsizetype at = bytes.indexOf(kTitle);
  return at < 0 ? bytes : bytes.replace(at, qstrlen(kTitle), title.toHtmlEscaped().toUtf8());
}

}  // namespace

void MainWindow::makeMenus() {
  makeFileMenu();
  makeViewMenu();
  makeGoMenu();
  addCommands(Command::Place::Palette, nullptr);
  makeHelpMenu();
}

void MainWindow::makeFileMenu() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::chooseFile);
  recentMenu_ = file->addMenu(tr("Open &recent"));
  connect(recentMenu_, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
  fillRecent();
  addCommands(Command::Place::FileMenu, file);
  file->addAction(tr("&Save picture…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), this,
                  &MainWindow::savePicture);
  file->addAction(tr("Copy &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
                  &MainWindow::copyPicture);
  file->addAction(tr("Save &data of the page…"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                  &MainWindow::saveData);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::makeViewMenu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  constexpr int kDigits = 9;  // are keys of the first pages
  const auto count = static_cast<int>(pages_->all().size());
  for (int i = 0; i < count; ++i) {
    const auto keys =
        i < kDigits ? QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)) : QKeySequence();
    view->addAction(pages_->titleOf(i), keys, this, [this, i] { pages_->show(i); });
  }
  view->addSeparator();
  view->addAction(tr("Switch between &dark and light"), QKeySequence(Qt::CTRL | Qt::Key_D), this,
                  [this] { setDark(!dark_); });
  warningsAction_ =
      view->addAction(tr("&Warnings about the file…"), this, &MainWindow::showWarnings);
  warningsAction_->setEnabled(false);
}

void MainWindow::showWarnings() {
  QStringList warnings;
  for (const std::string& warning : trace_->store->warnings()) warnings << words(warning);
  showText(this, tr("Warnings about the file"), warnings.join(QLatin1Char('\n')));
}

void MainWindow::makeGoMenu() {
  addCommands(Command::Place::GoMenu, menuBar()->addMenu(tr("&Go")));
}

void MainWindow::addCommands(Command::Place place, QMenu* menu) {
  for (Page* page : pages_->all()) {
    QList<QAction*> actions;
    for (const Command& command : page->commands()) {
      if (command.place == place) actions << makeAction(command, page);
    }
    if (menu == nullptr) pageCommands_ += actions;
    if (menu == nullptr || actions.isEmpty()) continue;
    if (place == Command::Place::GoMenu && !menu->isEmpty()) menu->addSeparator();
    menu->addActions(actions);
  }
}

QAction* MainWindow::makeAction(const Command& command, Page* page) {
  auto* action = new QAction(command.text, this);
  action->setShortcut(command.keys);
  connect(action, &QAction::triggered, page,
          [page, act = command.act, comesForward = command.comesForward] {
            if (comesForward) Q_EMIT page->wanted();
            act();
          });
  return action;
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
    recentMenu_->addAction(buttonWords(QFontMetrics(font()).elidedText(path, Qt::ElideMiddle, 480)),
                           this, [this, path] { openFile(path); });
  }
  recentMenu_->setEnabled(!recentMenu_->isEmpty());
}

bool MainWindow::savePictureTo(const QString& path, QString* problem) {
  QWidget* page = pages_->current();
  const bool shapes =
      QFileInfo(path).suffix().compare(QLatin1String("svg"), Qt::CaseInsensitive) == 0;
  const QString why = shapes ? writeFile(path, shapesOf(*page, windowTitle()))
                             : writePicture(path, page->grab().toImage());
  if (problem != nullptr) *problem = why;
  return why.isEmpty();
}

void MainWindow::showMessage(const QString& what) {
  statusBar()->showMessage(what, kMessageMs);
}

void MainWindow::savePicture() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save picture"), {}, tr("Pictures (*.png *.svg)"));
  if (path.isEmpty()) return;
  QString problem;
  showMessage(savePictureTo(path, &problem) ? tr("%1 is written").arg(path) : problem);
}

void MainWindow::saveData() {
  if (pages_->current()->saveData()) return;
  const Figures found = trace_ ? figures() : Figures();
  if (found.csv.isEmpty()) return showMessage(tr("There is no data on this page yet"));
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save data"), {}, tr("Comma-separated values (*.csv)"));
  if (!path.isEmpty()) writeData(path, found);
}

void MainWindow::writeData(const QString& path, const Figures& figures) {
  const QString problem = writeFile(path, figures.csv.toUtf8());
  if (!problem.isEmpty()) return showMessage(problem);
  showMessage(figures.cutAt > 0 ? tr("%1 has the first %2 events alone: select a shorter stretch")
                                      .arg(path, QString::number(figures.cutAt))
                                : tr("%1 is written").arg(path));
}

void MainWindow::copyPicture() {
  QApplication::clipboard()->setPixmap(pages_->current()->grab());
  showMessage(tr("The picture of the page is on the clipboard"));
}

}  // namespace lacuna::gui
