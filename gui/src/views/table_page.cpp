// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/table_page.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QSet>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "base/words.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

constexpr int kNarrowest = 64;
constexpr int kWidest = 260;
constexpr int kMeasuredRows = 50;
constexpr int kRowHeight = 26;
constexpr std::size_t kFewRows = 200;
constexpr std::size_t kMostSought = 200'000;  // rows, for what was selected
constexpr int kTableStretch = 4;              // beside what lies below it

/// Draws a row's share of the largest as a bar behind its name, so that a table reads at a glance,
/// however wide.
class ShareDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const double share = index.data(TableModel::kShareRole).toDouble();
    if (share <= 0) return;
    const QRectF room = QRectF(option.rect).adjusted(kBarInset, kBarInset, -kBarInset, -kBarInset);
    QColor fill = option.palette.color(QPalette::Link);
    fill.setAlpha(kBarAlpha);  // the name shines through
    painter->fillRect(
        QRectF(room.x(), room.y(), std::max(1.0, room.width() * share), room.height()), fill);
  }

 private:
  static constexpr double kBarInset = 3;
  static constexpr int kBarAlpha = 44;
};

/// A cell that breaks neither its row nor its line.
QString onOneLine(QString cell) {
  for (QChar& c : cell) {
    if (c == QLatin1Char('\t') || c == QLatin1Char('\n') || c == QLatin1Char('\r'))
      c = QLatin1Char(' ');
  }
  return cell;
}

/// The selected rows, a tab between columns, as spreadsheets take them.
QString selectedText(const QTableView& table) {
  QStringList lines;
  QModelIndexList rows = table.selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  for (const QModelIndex& row : rows) {
    QStringList cells;
    for (int column = 0; column < table.model()->columnCount(); ++column) {
      cells << onOneLine(row.siblingAtColumn(column).data().toString());
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n'));
}

/// The width of the first rows; the others are taken to be alike.
int contentWidth(const TableModel& model, int column, const QFontMetrics& font) {
  int widest = 0;
  for (int row = 0; row < std::min(model.rowCount(), kMeasuredRows); ++row) {
    widest = std::max(widest, font.horizontalAdvance(model.index(row, column).data().toString()));
  }
  return widest;
}

/// Sorting by keys, by the column that the current cell is in, where the header sorts, too.
void addSorting(QTableView* table) {
  const auto add = [table](const QString& what, const QKeySequence& keys, Qt::SortOrder order) {
    auto* action = new QAction(what, table);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(action, &QAction::triggered, table, [table, order] {
      const QModelIndex current = table->currentIndex();
      if (table->isSortingEnabled())
        table->sortByColumn(current.isValid() ? current.column() : 0, order);
    });
    table->addAction(action);
  };
  add(TablePage::tr("Sort by this column, smallest first"), Qt::ALT | Qt::Key_Up,
      Qt::AscendingOrder);
  add(TablePage::tr("Sort by this column, largest first"), Qt::ALT | Qt::Key_Down,
      Qt::DescendingOrder);
}

}  // namespace

QTableView* makeTable(QAbstractItemModel* model, const QString& name, QWidget* parent) {
  auto* table = new QTableView(parent);
  table->setModel(model);
  table->setItemDelegateForColumn(0, new ShareDelegate(table));
  table->setAccessibleName(name);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table->setWordWrap(false);
  table->setTabKeyNavigation(
      false);  // arrows walk the cells; Tab goes on to what is beside the table
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  table->horizontalHeader()->setHighlightSections(false);
  table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  auto* copy = new QAction(TablePage::tr("Copy rows"), table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, table,
                   [table] { QApplication::clipboard()->setText(selectedText(*table)); });
  table->addAction(copy);
  addSorting(table);
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
  return table;
}

TablePage::TablePage(const QString& title, const QString& empty, QWidget* parent) : Page(parent) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(24, 18, 24, 18);
  down->setSpacing(12);
  auto* across = across_ = new QHBoxLayout;
  auto* heading = new QLabel(title, this);
  heading->setObjectName(QStringLiteral("title"));
  heading->setVisible(!title.isEmpty());
  count_ = new QLabel(this);
  count_->setObjectName(QStringLiteral("dim"));
  filter_ = new QLineEdit(this);
  filter_->setPlaceholderText(tr("Filter"));
  filter_->setClearButtonEnabled(true);
  filter_->setFixedWidth(260);
  filter_->setAccessibleName(tr("Filter rows"));
  save_ = new QPushButton(tr("Export CSV…"), this);
  across->addWidget(heading);
  if (!title.isEmpty()) across->addSpacing(10);
  across->addWidget(count_);
  across->addStretch();
  across->addWidget(filter_);
  across->addWidget(save_);
  model_ = new TableModel(this);
  table_ = makeTable(model_, title, this);
  setSubject(table_);
  empty_ = new QLabel(empty, this);
  empty_->setObjectName(QStringLiteral("dim"));
  empty_->setAlignment(Qt::AlignCenter);
  down->addLayout(across);
  down->addWidget(table_, 1);
  down->addWidget(empty_, 1);
  connect(filter_, &QLineEdit::textChanged, model_, &TableModel::setFilter);
  connect(save_, &QPushButton::clicked, this, &TablePage::chooseExport);
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    Q_EMIT nameActivated(model_->table()[0].texts[model_->sourceRow(index.row())]);
  });
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid())
              Q_EMIT nameSelected(model_->table()[0].texts[model_->sourceRow(index.row())]);
          });
  connect(model_, &QAbstractItemModel::modelReset, this, [this] {
    count_->setText(model_->rows() == 1 ? tr("1 row") : tr("%1 rows").arg(model_->rows()));
  });
  setTable({});
}

void TablePage::setDetail(QWidget* detail) {
  detail_ = detail;
  detail->setVisible(model_->rowCount() > 0);
  auto* down = static_cast<QVBoxLayout*>(layout());
  down->setStretchFactor(table_, kTableStretch);
  down->addWidget(detail, 1);
  down->addStretch(0);
}

void TablePage::addControl(QWidget* control) {
  across_->insertWidget(across_->indexOf(filter_), control);
}

void TablePage::setTable(TableData table, int wide) {
  const bool any = rowsOf(table) > 0;
  table_->setSortingEnabled(false);
  model_->setTable(std::move(table));
  table_->setVisible(any);
  empty_->setVisible(!any);
  if (detail_) detail_->setVisible(any);
  count_->setVisible(any);
  filter_->setVisible(any);
  save_->setVisible(any);
  if (!any) return;
  QHeaderView* header = table_->horizontalHeader();
  fitRoom();
  header->setSectionResizeMode(QHeaderView::Interactive);
  header->setSortIndicator(-1, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  for (int column = 0; column < model_->columnCount(); ++column) {
    if (column == wide) continue;
    const int content = contentWidth(*model_, column, table_->fontMetrics());
    table_->setColumnWidth(
        column, std::clamp(content + 28, std::max(kNarrowest, header->sectionSizeHint(column) + 4),
                           kWidest));
  }
  header->setSectionResizeMode(wide, QHeaderView::Stretch);
}

void TablePage::fitRoom() {
  // The part below a short table comes right below it, however tall the window.
  const bool few = detail_ && model_->rows() <= kFewRows;
  table_->setMaximumHeight(few ? table_->horizontalHeader()->sizeHint().height() +
                                     (static_cast<int>(model_->rows()) + 1) * kRowHeight
                               : QWIDGETSIZE_MAX);
}

QString TablePage::keyOf(std::size_t row) const {
  QStringList texts;
  for (const TableColumn& column : model_->table()) {
    if (column.kind == TableColumn::Kind::Text && !column.right) texts << column.texts[row];
  }
  return texts.join(QLatin1Char('\n'));
}

void TablePage::renewTable(TableData table, int wide) {
  const auto sameColumns = [](const TableColumn& a, const TableColumn& b) {
    return a.title == b.title;
  };
  const bool same = std::ranges::equal(model_->table(), table, sameColumns);
  if (!same || rowsOf(model_->table()) == 0 || rowsOf(table) == 0)
    return setTable(std::move(table), wide);
  QItemSelectionModel* selection = table_->selectionModel();
  QSet<QString> selected;
  for (const QModelIndex& row : selection->selectedRows())
    selected << keyOf(model_->sourceRow(row.row()));
  const QModelIndex current = table_->currentIndex();
  const QString currentKey =
      current.isValid() ? keyOf(model_->sourceRow(current.row())) : QString();
  const int scrolled = table_->verticalScrollBar()->value();
  model_->renewTable(std::move(table));
  fitRoom();
  if (!current.isValid() && selected.isEmpty()) return;
  for (std::size_t row = 0; row < model_->rows() && row < kMostSought; ++row) {
    const auto at = static_cast<int>(row);
    const QString key = keyOf(model_->sourceRow(at));
    const bool first = current.isValid() && !table_->currentIndex().isValid() && key == currentKey;
    if (!first && !selected.remove(key)) continue;
    selected.remove(key);
    model_->fetchUpTo(at);
    const QModelIndex index = model_->index(at, first ? current.column() : 0);
    if (first) selection->setCurrentIndex(index, QItemSelectionModel::NoUpdate);
    selection->select(index, QItemSelectionModel::Select | QItemSelectionModel::Rows);
  }
  table_->verticalScrollBar()->setValue(scrolled);
}

void TablePage::showSourceRow(std::size_t row) {
  const auto at = model_->viewRow(row);
  if (!at) return;
  model_->fetchUpTo(*at);
  table_->selectRow(*at);
  table_->scrollTo(model_->index(*at, 0), QAbstractItemView::EnsureVisible);
}

void TablePage::chooseExport() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export"), {}, tr("Comma-separated values (*.csv)"));
  if (!path.isEmpty()) exportTo(path);
}

void TablePage::exportTo(const QString& path) {
  const QString problem = writeFile(path, model_->csv().toUtf8());
  Q_EMIT message(!problem.isEmpty()    ? problem
                 : model_->rows() == 1 ? tr("1 row written to %1").arg(path)
                                       : tr("%1 rows written to %2").arg(model_->rows()).arg(path));
}

}  // namespace lacuna::gui
