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
#include <QVBoxLayout>
#include <utility>
#include <vector>

namespace lacuna::gui {

namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("Dialogs", text);
}

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

using Keys = std::vector<std::pair<QString, QString>>;

Keys timelineKeys() {
  return {{tr("W  S,  Ctrl+wheel"), tr("closer, farther, at the cursor")},
          {tr("A  D,  ←  →,  drag"), tr("earlier, later")},
          {tr("↑  ↓,  Page Up  Page Down,  wheel"), tr("scroll the tracks")},
          {tr("F"), tr("zoom to what is selected, or show everything")},
          {tr("Home  End"), tr("the whole trace, its end")},
          {tr("Alt+←  Alt+→,  Backspace"), tr("where the view was before, and forth")},
          {tr("drag on the ruler,  Shift+drag"), tr("select a stretch and see its sums")},
          {tr("Shift+←  Shift+→"), tr("the same by keys: begin it, move its end")},
          {tr(".  ,"), tr("next and previous event of the same lane")},
          {tr("Shift+↑  Shift+↓"), tr("what lies above and below, in other tracks too")},
          {tr("]  ["), tr("into and out of a nested range")},
          {tr("Alt+↑  Alt+↓"), tr("the row above and below")},
          {tr("C  P,  Shift+C"), tr("collapse or pin it, collapse all groups")},
          {tr("/"), tr("filter the tracks by name")},
          {tr("L"), tr("jump between a launch and its kernel")},
          {tr("B  N,  J  Shift+J"), tr("bookmark: set, write on; next, previous")},
          {tr("M,  Ctrl+click"), tr("measure from the selected event to others")},
          {tr("Enter  Shift+Enter"), tr("next and previous event found")},
          {tr("Esc"), tr("forget the selection")}};
}

Keys otherKeys() {
  return {{tr("Ctrl+O"), tr("open a trace")},
          {tr("Ctrl+F"), tr("find events by name")},
          {tr("Ctrl+1 … Ctrl+9"), tr("pages")},
          {tr("Ctrl+P"), tr("every command by name")},
          {tr("Ctrl+D"), tr("dark or light")},
          {tr("Ctrl+Shift+C  Ctrl+Shift+S"), tr("copy or save a picture of the page")},
          {tr("Ctrl+E"), tr("save the page's data")},
          {tr("Ctrl+C  in a table"), tr("copy the selected rows")},
          {tr("Enter  in a table"), tr("show on the timeline")},
          {tr("Alt+↑  Alt+↓  in a table"), tr("sort by the column, up or down")},
          {tr("Arrows  Enter  on steps"), tr("choose a step, show it on the timeline")},
          {tr("←  →  Enter  on the memory curve"), tr("previous, next allocation, show it")},
          {tr("W  S  Home  on the memory curve"), tr("closer, farther, all of it")},
          {tr("↑ ↓ ← →  on the flame graph"), tr("walk the stacks")},
          {tr("Enter  Backspace  on the flame graph"), tr("look into a stack, back out")},
          {tr("Ctrl+Enter  Esc  on SQL"), tr("run the statement, cancel it")},
          {tr("Ctrl+Q"), tr("leave")}};
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
  dialog->setWindowTitle(tr("Keys"));
  auto* across = new QHBoxLayout(dialog);
  across->setContentsMargins(24, 18, 24, 20);
  across->setSpacing(40);
  across->addWidget(keyTable(tr("On the timeline"), timelineKeys(), dialog), 0, Qt::AlignTop);
  across->addWidget(keyTable(tr("Everywhere, and on other pages"), otherKeys(), dialog), 0, Qt::AlignTop);
  dialog->show();
}

void showCommandPalette(QWidget* parent, const QList<QAction*>& actions) {
  auto* dialog = new QDialog(parent, Qt::Popup);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAccessibleName(tr("Commands"));
  auto* down = new QVBoxLayout(dialog);
  down->setContentsMargins(8, 8, 8, 8);
  auto* input = new QLineEdit(dialog);
  input->setPlaceholderText(tr("Type a command"));
  input->setAccessibleName(tr("Command"));
  auto* list = new QListWidget(dialog);
  list->setAccessibleName(tr("Commands"));
  down->addWidget(input);
  down->addWidget(list);
  for (QAction* action : actions) {
    if (action->isSeparator() || action->menu() || !action->isEnabled()) continue;
    QString words = action->text().remove(QLatin1Char('&')).replace(QLatin1Char('\t'), QStringLiteral("   "));
    if (!action->shortcut().isEmpty())
      words += QStringLiteral("   ") + action->shortcut().toString(QKeySequence::NativeText);
    auto* item = new QListWidgetItem(words, list);
    item->setData(Qt::UserRole, QVariant::fromValue<QObject*>(action));
  }
  list->setCurrentRow(0);
  const auto run = [dialog, list] {
    QListWidgetItem* item = list->currentItem();
    auto* action = item ? qobject_cast<QAction*>(item->data(Qt::UserRole).value<QObject*>()) : nullptr;
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
