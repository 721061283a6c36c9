// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/style.h"

#include <QApplication>
#include <QPalette>
#include <QStyleFactory>
#include <QVariant>

#include "timeline/palette.h"

namespace lacuna::gui {

namespace {

const char* const kSheet = R"(
QWidget { font-size: 13px; }
QMainWindow, QDialog { background: @window; }
QToolTip { background: @raised; color: @text; border: 1px solid @line; padding: 4px; }
QMenuBar { background: @panel; color: @text; border-bottom: 1px solid @line; }
QMenuBar::item { padding: 5px 10px; background: transparent; }
QMenuBar::item:selected, QMenu::item:selected { background: @raised; }
QMenu { background: @panel; color: @text; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 26px; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QStatusBar { background: @panel; color: @dim; border-top: 1px solid @line; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: @dim; padding: 2px 8px; }
QWidget#topBar { background: @panel; border-bottom: 1px solid @line; }
QTabBar#pages { background: transparent; qproperty-drawBase: 0; }
QTabBar#pages::tab { padding: 9px 15px 8px 15px; color: @dim; border: none; border-bottom: 2px solid transparent; background: transparent; }
QTabBar#pages::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar#pages::tab:hover { color: @text; }
QTabBar#pages::tab:focus { color: @accent; }
QLineEdit, QPlainTextEdit, QComboBox, QSpinBox { background: @window; color: @text; border: 1px solid @line; border-radius: 5px; padding: 5px 8px; selection-background-color: @accent; }
QLineEdit:focus, QPlainTextEdit:focus, QComboBox:focus { border-color: @accent; }
QPushButton { background: @raised; color: @text; border: 1px solid @line; border-radius: 5px; padding: 6px 14px; }
QPushButton:hover { border-color: @accent; }
QPushButton:focus { border-color: @accent; }
QPushButton:disabled { color: @dim; }
QPushButton#primary { background: @accent; color: @onAccent; border-color: @accent; font-weight: bold; }
QToolButton { background: transparent; color: @dim; border: 1px solid transparent; border-radius: 4px; padding: 4px 8px; }
QToolButton#small { color: @text; border-color: @line; background: @raised; }
QToolButton#small:hover, QToolButton#small:focus { border-color: @accent; }
QToolButton:hover, QToolButton:focus { color: @text; border-color: @line; background: @raised; }
QDockWidget { color: @text; font-weight: bold; }
QDockWidget::title { background: @panel; padding: 7px 12px; border-bottom: 1px solid @line; border-left: 1px solid @line; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QTableView, QTreeView, QListView { background: @window; alternate-background-color: @panel; color: @text; border: none; gridline-color: @grid; selection-background-color: @select; selection-color: @text; outline: none; }
QFrame#card QTableView { background: @panel; alternate-background-color: @window; }
QTableView::item, QTreeView::item { padding: 3px 9px; border: none; }
QListView::item { padding: 6px 10px; }
QHeaderView { background: @window; }
QFrame#card QHeaderView { background: @panel; }
QHeaderView::section { background: @panel; color: @dim; border: none; border-bottom: 1px solid @line; padding: 6px 11px; font-weight: normal; }
QTableCornerButton::section { background: @panel; border: none; }
QProgressBar { background: @raised; border: none; border-radius: 3px; height: 6px; max-height: 6px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QScrollBar { background: @window; border: none; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: @line; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @dim; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page { background: none; border: none; width: 0; height: 0; }
QScrollArea { border: none; background: @window; }
QSplitter::handle { background: @line; }
QSplitter#plain::handle { background: transparent; }
QLabel { color: @text; background: transparent; }
QLabel#dim { color: @dim; }
QLabel#title { font-size: 22px; font-weight: bold; }
QLabel#verdict { font-size: 18px; font-weight: bold; }
QLabel#heading { font-size: 14px; font-weight: bold; }
QFrame#card { background: @panel; border: 1px solid @line; border-radius: 8px; }
QFrame#card[clickable="true"]:hover, QFrame#card:focus { border-color: @accent; }
QWidget#page, QWidget#page > QWidget#content { background: @window; }
QSlider::groove:horizontal { background: @raised; height: 4px; border-radius: 2px; }
QSlider::handle:horizontal { background: @accent; width: 14px; margin: -5px 0; border-radius: 7px; }
QCheckBox { color: @text; spacing: 8px; }
QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid @dim; border-radius: 3px; background: @window; }
QCheckBox::indicator:hover, QCheckBox::indicator:focus { border-color: @accent; }
QCheckBox::indicator:checked { border-color: @accent; background: @accent; }
QCheckBox:focus { color: @accent; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox QAbstractItemView { background: @panel; color: @text; border: 1px solid @line; selection-background-color: @select; selection-color: @text; }
QPlainTextEdit { font-family: 'DejaVu Sans Mono', monospace; }
QLabel#error { color: @bad; }
QLabel#notice { color: @text; background: @raised; border: 1px solid @line; border-left: 3px solid @warn; padding: 7px 10px; }
QLabel#figure { font-size: 20px; font-weight: bold; }
)";

QString hexOf(Colour c) {
  return QColor::fromRgb(c).name();
}

}  // namespace

void applyStyle(QApplication& app, bool dark) {
  // Each of the steps below dresses every widget anew.
  static const char* const kApplied = "lacunaDark";
  const QVariant applied = app.property(kApplied);
  if (applied.isValid() && applied.toBool() == dark) return;
  const Theme& t = theme(dark);
  if (!applied.isValid()) app.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  app.setProperty(kApplied, dark);
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, Colour c) {
    palette.setColor(role, QColor::fromRgb(c));
  };
  set(QPalette::Window, t.window);
  set(QPalette::WindowText, t.text);
  set(QPalette::Base, t.panel);
  set(QPalette::AlternateBase, t.window);
  set(QPalette::Text, t.text);
  set(QPalette::Button, t.raised);
  set(QPalette::ButtonText, t.text);
  set(QPalette::Highlight, t.accent);
  set(QPalette::HighlightedText, inkOn(t.accent));
  set(QPalette::PlaceholderText, t.dim);
  set(QPalette::ToolTipBase, t.raised);
  set(QPalette::ToolTipText, t.text);
  set(QPalette::Link, t.accent);
  set(QPalette::Mid, t.line);
  app.setPalette(palette);
  QString sheet = QString::fromLatin1(kSheet);
  const std::pair<const char*, QString> values[] = {
      {"@window", hexOf(t.window)},
      {"@panel", hexOf(t.panel)},
      {"@raised", hexOf(t.raised)},
      {"@line", hexOf(t.line)},
      {"@grid", hexOf(t.grid)},
      {"@text", hexOf(t.text)},
      {"@dim", hexOf(t.dim)},
      {"@accent", hexOf(t.accent)},
      {"@bad", hexOf(t.bad)},
      {"@warn", hexOf(t.warn)},
      {"@onAccent", hexOf(inkOn(t.accent))},
      {"@select", hexOf(mix(t.panel, t.accent, 0.28))}};
  for (const auto& [key, value] : values) sheet.replace(QLatin1String(key), value);
  app.setStyleSheet(sheet);
}

}  // namespace lacuna::gui
