// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/dialogs.h"

#include <QAction>
#include <QCoreApplication>
#include <QDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPointer>
#include <QVBoxLayout>
#include <utility>
#include <vector>

namespace lacuna::gui {

namespace {

/// Translators find a text under the name of a class; functions have none.
struct Dialogs {
  Q_DECLARE_TR_FUNCTIONS(Dialogs)
};

/// Lets the arrow keys move through the list while one types.
class ListKeys : public QObject {
 public:
  ListKeys(QListWidget* list, QObject* parent) : QObject(parent), list_(list) {}
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::KeyPress) return QObject::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key != Qt::Key_Down && key != Qt::Key_Up) return QObject::eventFilter(watched, event);
    for (int row = list_->currentRow(), n = 0; n < list_->count(); ++n) {
      row = (row + (key == Qt::Key_Down ? 1 : -1) + list_->count()) % list_->count();
      if (list_->item(row)->isHidden()) continue;
      list_->setCurrentRow(row);
      break;
    }
    return true;
  }

 private:
  QListWidget* list_;
};

/// A menu's text without the & that stands before its key; two of them are one letter.
QString withoutMnemonic(const QString& text) {
  QString out;
  for (qsizetype n = 0; n < text.size(); ++n) {
    if (text[n] == QLatin1Char('&') && ++n == text.size()) break;
    out += text[n];
  }
  return out;
}

using Keys = std::vector<std::pair<QString, QString>>;

Keys timelineKeys() {
  return {
      {Dialogs::tr("W  S,  Ctrl+wheel"), Dialogs::tr("closer, farther, at the cursor")},
      {Dialogs::tr("A  D,  ←  →,  drag"), Dialogs::tr("earlier, later")},
      {Dialogs::tr("↑  ↓,  Page Up  Page Down,  wheel"), Dialogs::tr("scroll the tracks")},
      {Dialogs::tr("F"), Dialogs::tr("zoom to what is selected, or show everything")},
      {Dialogs::tr("Home  End"), Dialogs::tr("the whole trace, its end")},
      {Dialogs::tr("Alt+←  Alt+→,  Backspace"),
       Dialogs::tr("where the view was before, and forth")},
      {Dialogs::tr("drag on the ruler,  Shift+drag"),
       Dialogs::tr("select a stretch and see its sums")},
      {Dialogs::tr("Shift+←  Shift+→"), Dialogs::tr("the same by keys: begin it, move its end")},
      {Dialogs::tr(".  ,"), Dialogs::tr("next and previous event of the same lane")},
      {Dialogs::tr("Shift+↑  Shift+↓"),
       Dialogs::tr("what lies above and below, in other tracks too")},
      {Dialogs::tr("]  ["), Dialogs::tr("into and out of a nested range")},
      {Dialogs::tr("Alt+↑  Alt+↓"), Dialogs::tr("the row above and below")},
      {Dialogs::tr("C  P,  Shift+C"), Dialogs::tr("collapse or pin it, collapse all groups")},
      {Dialogs::tr("/"), Dialogs::tr("filter the tracks by name")},
      {Dialogs::tr("L"), Dialogs::tr("jump between a launch and its kernel")},
      {Dialogs::tr("B  N,  J  Shift+J"), Dialogs::tr("bookmark: set, write on; next, previous")},
      {Dialogs::tr("M,  Ctrl+click"), Dialogs::tr("measure from the selected event to others")},
      {Dialogs::tr("Enter  Shift+Enter"), Dialogs::tr("next and previous event found")},
      {Dialogs::tr("Esc"), Dialogs::tr("forget the selection")}};
}

Keys otherKeys() {
  return {
      {Dialogs::tr("Ctrl+O"), Dialogs::tr("open a trace")},
      {Dialogs::tr("Ctrl+F"), Dialogs::tr("find events by name")},
      {Dialogs::tr("Ctrl+1 … Ctrl+9"), Dialogs::tr("pages")},
      {Dialogs::tr("Ctrl+P"), Dialogs::tr("every command by name")},
      {Dialogs::tr("Ctrl+D"), Dialogs::tr("dark or light")},
      {Dialogs::tr("Ctrl+Shift+C  Ctrl+Shift+S"),
       Dialogs::tr("copy or save a picture of the page")},
      {Dialogs::tr("Ctrl+E"), Dialogs::tr("save the page's data")},
      {Dialogs::tr("Ctrl+C  in a table"), Dialogs::tr("copy the selected rows")},
      {Dialogs::tr("Enter  in a table"), Dialogs::tr("show on the timeline")},
      {Dialogs::tr("Alt+↑  Alt+↓  in a table"), Dialogs::tr("sort by the column, up or down")},
      {Dialogs::tr("Arrows  Home  End  Enter  on steps"),
       Dialogs::tr("choose a step, show it on the timeline")},
      {Dialogs::tr("←  →  Enter  on the memory curve"),
       Dialogs::tr("previous, next allocation, show it")},
      {Dialogs::tr("W  S  Home  on the memory curve"), Dialogs::tr("closer, farther, all of it")},
      {Dialogs::tr("↑ ↓ ← →  on the flame graph"), Dialogs::tr("walk the stacks")},
      {Dialogs::tr("Enter  Backspace  on the flame graph"),
       Dialogs::tr("look into a stack, back out")},
      {Dialogs::tr("Ctrl+Enter  Esc  on SQL"), Dialogs::tr("run the statement, cancel it")},
      {Dialogs::tr("Ctrl+Q"), Dialogs::tr("leave")}};
}

QWidget* keyTable(const QString& title, const Keys& keys, QWidget* parent) {
  auto* table = new QWidget(parent);
  auto* grid = new QGridLayout(table);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(22);
  grid->setVerticalSpacing(7);
  auto* heading = new QLabel(title, table);
  heading->setObjectName(QStringLiteral("heading"));
  grid->addWidget(heading, 0, 0, 1, 2);
  int row = 1;
  for (const auto& [key, what] : keys) {
    auto* left = new QLabel(key, table);
    left->setStyleSheet(QStringLiteral("font-weight: bold;"));
    auto* right = new QLabel(what, table);
    right->setObjectName(QStringLiteral("dim"));
    grid->addWidget(left, row, 0);
    grid->addWidget(right, row++, 1);
  }
  return table;
}

}  // namespace

void showKeyHelp(QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(Dialogs::tr("Keys"));
  auto* across = new QHBoxLayout(dialog);
  across->setContentsMargins(24, 18, 24, 20);
  across->setSpacing(40);
  across->addWidget(keyTable(Dialogs::tr("On the timeline"), timelineKeys(), dialog), 0,
                    Qt::AlignTop);
  across->addWidget(keyTable(Dialogs::tr("Everywhere, and on other pages"), otherKeys(), dialog), 0,
                    Qt::AlignTop);
  dialog->show();
}

void showText(QWidget* parent, const QString& title, const QString& text) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  auto* down = new QVBoxLayout(dialog);
  auto* reader = new QPlainTextEdit(text, dialog);
  reader->setReadOnly(true);
  reader->setTabChangesFocus(true);
  reader->setAccessibleName(title);
  down->addWidget(reader);
  dialog->resize(640, 280);
  dialog->show();
  reader->setFocus();
}

void showCommandPalette(QWidget* parent, const QList<QAction*>& actions) {
  auto* dialog = new QDialog(parent, Qt::Popup);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAccessibleName(Dialogs::tr("Commands"));
  auto* down = new QVBoxLayout(dialog);
  down->setContentsMargins(8, 8, 8, 8);
  auto* input = new QLineEdit(dialog);
  input->setPlaceholderText(Dialogs::tr("Type a command"));
  input->setAccessibleName(Dialogs::tr("Command"));
  auto* list = new QListWidget(dialog);
  list->setAccessibleName(Dialogs::tr("Commands"));
  down->addWidget(input);
  down->addWidget(list);
  QList<QPointer<QAction>> commands;  // by row; recent traces may go while the palette is open
  for (QAction* action : actions) {
    if (action->isSeparator() || action->menu() || !action->isEnabled()) continue;
    QString text =
        withoutMnemonic(action->text()).replace(QLatin1Char('\t'), QStringLiteral("   "));
    if (!action->shortcut().isEmpty())
      text += QStringLiteral("   ") + action->shortcut().toString(QKeySequence::NativeText);
    list->addItem(text);
    commands << action;
  }
  list->setCurrentRow(0);
  const auto run = [dialog, list, commands] {
    if (!dialog->isVisible()) return;  // where one click activates, both signals come
    const QPointer<QAction> action = commands.value(list->currentRow());  // none for row -1
    dialog->close();
    if (action) action->trigger();
  };
  QObject::connect(input, &QLineEdit::textChanged, list, [list](const QString& text) {
    int first = -1;
    for (int row = 0; row < list->count(); ++row) {
      const bool match = list->item(row)->text().contains(text, Qt::CaseInsensitive);
      list->item(row)->setHidden(!match);
      if (match && first < 0) first = row;
    }
    list->setCurrentRow(first);
  });
  QObject::connect(input, &QLineEdit::returnPressed, dialog, run);
  QObject::connect(list, &QListWidget::itemActivated, dialog, run);
  QObject::connect(list, &QListWidget::itemClicked, dialog, run);
  input->installEventFilter(new ListKeys(list, dialog));
  dialog->resize(520, 360);
  dialog->move(parent->mapToGlobal(QPoint((parent->width() - 520) / 2, 90)));
  dialog->show();
  input->setFocus();
}

}  // namespace lacuna::gui
